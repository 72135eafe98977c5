"""Tests of starting and stopping a stdio server in unusual environments."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mcpgen.runtime.transports.stdio.pipe import MAX_PIPE_BYTES
from tests.support.paths import REPOSITORY
from tests.support.stdio_process import (
    SECONDS,
    StdioProcess,
    call,
    request,
    wait_until_exists,
    write_package,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and select on pipes")

START = "from small_mcp.__main__ import main\nmain()\n"
LOUD = """
import os
from mcpgen.runtime import Features

features = Features()
print("loading", flush=True)
os.write(1, b"still loading")
"""
SIGNALLED_WHILE_LOADING = """
import os, signal
from mcpgen.runtime.transports.stdio import loop as stdio_loop

taken = stdio_loop._new_event_loop

def signalled():
    os.kill(os.getpid(), signal.SIGTERM)
    return taken()

stdio_loop._new_event_loop = signalled
"""
UNBLOCKED = """
import os
from mcpgen.runtime.transports.stdio import server as stdio

os.set_blocking(0, False)
os.set_blocking(1, False)
stdio.import_while_idle = lambda *_: None  # which waits for input
"""
IMPATIENT = """
from mcpgen.runtime.handlers import dispatcher as calls
from mcpgen.runtime.transports.stdio import server as stdio

calls.STOP_SECONDS = 0.1
stdio.FINAL_WRITE_SECONDS = 1
"""


def script(text: str) -> tuple[str, str]:
    return ("-c", f"{text}\n{START}")


@pytest.mark.requirement("L041", "N030")
def test_output_printed_during_an_import_is_redirected_to_stderr(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    (folder / "small_mcp/handlers/loud.py").write_text(LOUD)
    with StdioProcess(folder) as server:
        assert server.ask(request(1, "tools/list"))["id"] == 1
        server.close_stdin()
        assert server.rest() == []
        assert server.wait() == 0
        assert server.stderr == "loading\nstill loading"


def test_a_signal_during_the_import_of_a_handler_is_handled(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    with StdioProcess(folder, python=script(SIGNALLED_WHILE_LOADING)) as server:
        server.send(call(1, "echo", "x"))
        assert [answer["id"] for answer in server.rest() if "result" in answer] == [1]
        assert server.wait() == 0


LISTENED_TO = """
from mcpgen.runtime import Features

features = Features(changing=["tools"])
"""


@pytest.mark.requirement("N033", "N072", "N073")
@pytest.mark.parametrize("calls_first", [False, True], ids=["no call", "after a call"])
@pytest.mark.parametrize("ends_by", ["end of input", "a signal"])
def test_an_open_listen_is_answered_when_the_server_ends(
    tmp_path: Path, calls_first: bool, ends_by: str
) -> None:
    folder = write_package(tmp_path)
    (folder / "small_mcp/handlers/listened_to.py").write_text(LISTENED_TO)
    key = "io.modelcontextprotocol/subscriptionId"
    with StdioProcess(folder) as server:
        if calls_first:
            assert server.ask(call("first", "echo", "x"))["id"] == "first"
        filters = {"toolsListChanged": True}
        acknowledged = server.ask(request("sub", "subscriptions/listen", notifications=filters))
        assert acknowledged["params"]["notifications"] == filters
        if ends_by == "a signal":
            server.signal(signal.SIGTERM)
        else:
            server.close_stdin()
        cancelled, answer = server.rest()
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == "sub"
        assert answer["id"] == "sub"
        assert answer["result"]["resultType"] == "complete"
        assert answer["result"]["_meta"][key] == "sub"
        assert server.wait() == 0


def test_a_listen_followed_by_end_of_input_is_answered(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    (folder / "small_mcp/handlers/listened_to.py").write_text(LISTENED_TO)
    with StdioProcess(folder) as server:
        server.send(request(7, "subscriptions/listen", notifications={"toolsListChanged": True}))
        server.close_stdin()
        acknowledged, cancelled, answer = server.rest()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert cancelled["params"]["requestId"] == answer["id"] == 7
        assert server.wait() == 0


@pytest.mark.parametrize("is_repeated", [False, True], ids=["one signal", "two signals"])
def test_a_signal_ends_a_server_whose_client_does_not_read(
    tmp_path: Path, is_repeated: bool
) -> None:
    folder = write_package(tmp_path, listed=1000)
    listing = folder / "small_mcp/_generated/listing.json"
    long = "x" * (2 * MAX_PIPE_BYTES // 1000)  # so that no pipe can hold a page
    listing.write_text(listing.read_text().replace("A tool of a test.", long))
    with StdioProcess(folder, python=script(IMPATIENT)) as server:
        server.send(request(1, "tools/list"))
        server.wait_for_output()
        server.signal(signal.SIGTERM)
        if is_repeated:
            server.signal_until_it_ends(signal.SIGTERM)
        assert server.wait() == (128 + signal.SIGTERM if is_repeated else 0)
        assert "Traceback" not in server.stderr


def test_a_second_signal_ends_a_server_with_a_blocked_event_loop(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    with StdioProcess(folder) as server:
        server.send(call(1, "stays", "in the event loop"))
        wait_until_exists(folder / "staying")
        server.signal_until_it_ends(signal.SIGTERM)
        assert server.wait() == 128 + signal.SIGTERM


@pytest.mark.parametrize("how", ["in a thread", "whatever it is told"])
def test_a_handler_that_cannot_be_cancelled_does_not_prevent_the_exit(
    tmp_path: Path, how: str
) -> None:
    folder = write_package(tmp_path)
    with StdioProcess(folder, "--drain-timeout", "0.1", python=script(IMPATIENT)) as server:
        server.send(call(1, "stays", how))
        wait_until_exists(folder / "staying")
        server.close_stdin()
        assert [answer["error"]["code"] for answer in server.rest()] == [-32603]
        assert server.wait() == 0


def test_pipes_that_do_not_block_are_served(tmp_path: Path) -> None:
    with StdioProcess(write_package(tmp_path), python=script(UNBLOCKED)) as server:
        assert server.ask(request(1, "tools/list"))["id"] == 1
        assert server.ask(call(2, "echo", "x"))["id"] == 2
        server.close_stdin()
        assert server.wait() == 0


@pytest.mark.parametrize("closed", [0, 1, 2], ids=["stdin", "stdout", "stderr"])
def test_a_server_started_with_a_closed_descriptor_exits_normally(
    tmp_path: Path, closed: int
) -> None:
    folder = write_package(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "small_mcp"],
        input=json.dumps(call(1, "crash", "x")).encode() + b"\n",
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{folder}"},
        preexec_fn=lambda: os.close(closed),
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0
    answers = [json.loads(line)["id"] for line in done.stdout.splitlines()]
    assert answers == ([1] if closed == 2 else [])
