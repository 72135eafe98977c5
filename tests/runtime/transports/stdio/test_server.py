"""Tests of the stdio transport, as a client process sees it."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.stdio_process import (
    StdioProcess,
    call,
    initialize,
    request,
    wait_until_exists,
    write_package,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and select on pipes")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_package(tmp_path)


@pytest.fixture
def server(folder: Path) -> Iterator[StdioProcess]:
    with StdioProcess(folder) as process:
        yield process


def text_of(answer: dict[str, Any]) -> Any:
    return answer["result"]["structuredContent"]["text"]


@pytest.mark.requirement("L016", "L040", "N030", "N137")
def test_both_eras_are_served_on_one_pipe(server: StdioProcess) -> None:
    assert "tools" in server.ask(request(1, "server/discover"))["result"]["capabilities"]
    assert server.ask(initialize())["result"]["protocolVersion"] == "2025-11-25"
    server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert text_of(server.ask(call(2, "echo", "modern"))) == "modern"
    legacy = {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": "legacy"}},
    }
    answer = server.ask(legacy)
    assert text_of(answer) == "legacy"
    assert "resultType" not in answer["result"]
    assert server.ask({"jsonrpc": "2.0", "id": 4, "method": "ping"})["result"] == {}
    assert server.ask(request(5, "tools/list"))["result"]["tools"]


def test_switching_to_the_event_loop_loses_no_bytes(server: StdioProcess) -> None:
    last = json.dumps(call(5, "echo", "é" * 1000)).encode()
    server.send_bytes(
        b"".join(
            json.dumps(each).encode() + b"\n"
            for each in (
                request(1, "tools/list"),
                call(2, "echo", "first"),
                {"jsonrpc": "2.0", "id": 3, "method": "ping"},
                call(4, "echo", "second"),
            )
        )
        + last[:700]
    )
    answers = {answer["id"]: answer for answer in (server.receive() for _ in range(4))}
    assert answers.keys() == {1, 2, 3, 4}
    server.send_bytes(last[700:] + b"\n")
    assert text_of(server.receive()) == "é" * 1000


def test_a_line_can_arrive_byte_by_byte_and_end_with_crlf(server: StdioProcess) -> None:
    for byte in json.dumps(request(1, "tools/list")).encode() + b"\r\n":
        server.send_bytes(bytes([byte]))
    assert server.receive()["id"] == 1
    for byte in json.dumps(call(2, "echo", "x")).encode() + b"\r\n\n\r\n":
        server.send_bytes(bytes([byte]))
    assert text_of(server.receive()) == "x"


def test_a_last_line_without_a_line_feed_is_answered(server: StdioProcess) -> None:
    server.send_bytes(json.dumps(request(1, "tools/list")).encode())
    server.close_stdin()
    assert server.receive()["id"] == 1
    assert server.wait() == 0


@pytest.mark.requirement("N012")
def test_calls_run_at_the_same_time(server: StdioProcess) -> None:
    server.send(
        call(1, "wait_for", "gate"), call(2, "wait_for", "gate"), call(3, "release", "gate")
    )
    assert {server.receive()["id"] for _ in range(3)} == {1, 2, 3}


def test_lines_wait_while_there_are_too_many_calls(folder: Path) -> None:
    contract = folder / "small_mcp" / "_generated" / "contract.json"
    contract.write_text(json.dumps(json.loads(contract.read_text()) | {"limits": {"max_calls": 1}}))
    with StdioProcess(folder) as server:
        server.ask(call(1, "echo", "the event loop runs"))
        server.send(call(2, "started", "file"), {"jsonrpc": "2.0", "id": 3, "method": "ping"})
        assert [server.receive()["id"] for _ in range(2)] == [2, 3]


def test_ten_thousand_pipelined_calls_are_each_answered_once(server: StdioProcess) -> None:
    count = 10_000
    server.send(*(call(number, "echo", str(number)) for number in range(count)))
    answers = [server.receive() for _ in range(count)]
    assert sorted(answer["id"] for answer in answers) == list(range(count))
    assert all(text_of(answer) == str(answer["id"]) for answer in answers)
    assert peak_memory(server.pid) < 130 * 1024


@pytest.mark.requirement("L040", "L041", "N030")
def test_output_of_handlers_is_redirected_from_stdout_to_stderr(server: StdioProcess) -> None:
    answer = server.ask(call(1, "noise", "NOISE"))
    assert answer["result"]["structuredContent"] == {"text": "NOISE", "stdin": "", "child": 0}
    server.close_stdin()
    assert server.rest() == []
    assert server.wait() == 0
    assert server.stderr.count("NOISE") == 4


@pytest.mark.requirement("L029", "L032", "N031", "N032", "N074", "N076")
def test_a_cancelled_handler_stops_and_is_not_answered(server: StdioProcess, folder: Path) -> None:
    server.send(call(1, "wait_for", "stopped"), call(0, "echo", "it waits now"))
    assert server.receive()["id"] == 0
    cancel = {"requestId": 1, "reason": "the user left"}
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel})
    wait_until_exists(folder / "stopped")
    assert server.ask(call(2, "echo", "next"))["id"] == 2
    server.close_stdin()
    assert server.rest() == []
    assert server.wait() == 0
    assert "the user left" in server.stderr


@pytest.mark.requirement("L030", "N075")
def test_a_call_can_be_cancelled_before_its_handler_starts(server: StdioProcess) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    server.send(call(1, "wait_for", "never"), cancel, call(2, "echo", "next"))
    assert server.receive()["id"] == 2
    server.close_stdin()
    assert server.rest() == []
    assert server.wait(5) == 0


@pytest.mark.requirement("L111", "N083")
def test_a_crashing_handler_does_not_reveal_its_error(
    server: StdioProcess,
) -> None:
    answer = server.ask(call(1, "crash", "hunter2"))
    assert "hunter2" not in json.dumps(answer)
    assert server.ask(call(2, "echo", "alive"))["id"] == 2


MALFORMED: dict[str, tuple[bytes, int | None, Any]] = {  # line -> code, id; None: no response
    "no JSON": (b"hello", -32700, None),
    "half a message": (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"', -32700, None),
    "two messages on a line": (b"{}{}", -32700, None),
    "a trailing comma": (b'{"jsonrpc":"2.0",}', -32700, None),
    "single quotes": (b"{'jsonrpc':'2.0'}", -32700, None),
    "bytes that are no UTF-8": (b'{"jsonrpc":"2.0","id":"\xff\xfe"}', -32700, None),
    "UTF-16": ('{"id":1}'.encode("utf-16"), -32700, None),
    "NaN": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}', -32700, None),
    "Infinity": (b'{"a":Infinity}', -32700, None),
    "a control character in a string": (b'{"jsonrpc":"2.0","id":"\x01"}', -32700, None),
    "a NUL": (b"\x00", -32700, None),
    "a comment": (b"// ping", -32700, None),
    "a content-length header": (b"Content-Length: 42", -32700, None),
    "deep nesting": (b"[" * 100_000, -32600, None),
    "too many elements": (b"[" + b"1," * 200_000 + b"1]", -32600, None),
    "a number of 5000 digits": (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b"}", -32700, None),
    "a string": (b'"hello"', -32600, None),
    "a number": (b"42", -32600, None),
    "null": (b"null", -32600, None),
    "an empty object": (b"{}", -32600, None),
    "an empty batch": (b"[]", -32600, None),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
    "another JSON-RPC": (b'{"jsonrpc":"1.0","id":6,"method":"ping"}', -32600, 6),
    "no JSON-RPC": (b'{"id":7,"method":"ping"}', -32600, 7),
    "no method": (b'{"jsonrpc":"2.0","id":8}', -32600, 8),
    "a method that is a number": (b'{"jsonrpc":"2.0","id":9,"method":1}', -32600, 9),
    "a null id": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
    "an id that is an object": (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
    "params that are an array": (
        b'{"jsonrpc":"2.0","id":10,"method":"ping","params":[1]}',
        -32602,
        10,
    ),
    "no meta": (b'{"jsonrpc":"2.0","id":11,"method":"tools/list"}', -32602, 11),
    "a name twice": (
        b'{"jsonrpc":"2.0","id":13,"method":"ping","method":"tools/list"}',
        -32600,
        13,
    ),
    "half a surrogate pair": (rb'{"jsonrpc":"2.0","id":"\ud800","method":"ping"}', -32700, None),
    "a number out of range": (b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}', -32700, None),
    "a request that is too deep": (
        b'{"jsonrpc":"2.0","id":14,"method":"ping","params":' + b"[" * 200 + b"]" * 200 + b"}",
        -32600,
        14,
    ),
    "an unknown notification": (b'{"jsonrpc":"2.0","method":"notifications/x"}', None, None),
    "a response to nothing": (b'{"jsonrpc":"2.0","id":12,"result":{}}', None, None),
    "a blank line": (b"   ", None, None),
}


@pytest.mark.requirement("L002", "L009", "N002")
@pytest.mark.parametrize("is_hot", [False, True], ids=["cold", "hot"])
def test_every_malformed_line_is_answered_and_the_next_one_works(
    server: StdioProcess, is_hot: bool
) -> None:
    if is_hot:
        server.ask(call("warm", "echo", ""))
    for kind, (line, code, readable) in MALFORMED.items():
        server.send(line, {"jsonrpc": "2.0", "id": kind, "method": "ping"})
        if code is not None:
            answer = server.receive()
            assert (answer["error"]["code"], answer.get("id")) == (code, readable), kind
            assert ("id" in answer) == (readable is not None), kind
        assert server.receive() == {"jsonrpc": "2.0", "id": kind, "result": {}}, kind


@pytest.mark.parametrize("is_hot", [False, True], ids=["cold", "hot"])
def test_a_line_above_the_size_limit_is_skipped_in_bounded_memory(
    server: StdioProcess, is_hot: bool
) -> None:
    if is_hot:
        server.ask(call("warm", "echo", ""))
    else:
        server.ask(request("warm", "tools/list"))
    before = peak_memory(server.pid)
    chunk = b"x" * (1 << 20)
    server.send_bytes(b'{"jsonrpc":"2.0","id":0,"method":"ping","params":{"text":"')
    for _ in range(100):
        server.send_bytes(chunk)
    server.send_bytes(b'"}}\n')
    server.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    error = server.receive()
    assert error["error"]["code"] == -32600
    assert error["id"] == 0
    assert server.receive()["id"] == 1
    assert peak_memory(server.pid) - before < 20 * 1024


def peak_memory(pid: int) -> int:
    """Return the peak memory of a process in KiB."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        pytest.skip("peak memory is read from /proc")
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1])


@pytest.mark.requirement("N033")
@pytest.mark.parametrize("is_hot", [False, True], ids=["cold", "hot"])
@pytest.mark.parametrize("how", ["end of input", signal.SIGTERM, signal.SIGINT], ids=str)
def test_an_idle_server_exits_immediately(server: StdioProcess, how: Any, is_hot: bool) -> None:
    server.ask(call(1, "echo", "") if is_hot else request(1, "tools/list"))
    started = time.monotonic()
    if isinstance(how, signal.Signals):
        server.signal(how)
    else:
        server.close_stdin()
    assert server.wait() == 0
    assert time.monotonic() - started < 3
    assert "Traceback" not in server.stderr


# Records each timer and each wait, with or without asyncio.
WATCHING = """
import asyncio, time
from pathlib import Path

def watch(owner, name):
    taken = getattr(owner, name)
    def watched(*given, **named):
        Path(f"waited-{name}").touch()
        return taken(*given, **named)
    setattr(owner, name, watched)

watch(asyncio, "wait")
watch(asyncio, "wait_for")
watch(time, "sleep")
watch(asyncio.SelectorEventLoop, "call_at")
from mcpgen.runtime.transports.stdio import loop as stdio_loop
stdio_loop._new_event_loop = asyncio.SelectorEventLoop
from small_mcp.__main__ import main
main()
"""


@pytest.mark.requirement("N033")
@pytest.mark.parametrize("in_flight", [False, True], ids=["idle", "in flight"])
@pytest.mark.parametrize("is_hot", [False, True], ids=["cold", "hot"])
@pytest.mark.parametrize("how", ["end of input", signal.SIGTERM, signal.SIGINT], ids=str)
def test_the_server_waits_at_exit_only_for_calls_in_flight(
    folder: Path, how: Any, is_hot: bool, in_flight: bool
) -> None:
    with StdioProcess(folder, python=("-c", WATCHING)) as server:
        server.ask(call(1, "echo", "") if is_hot else request(1, "tools/list"))
        if in_flight:
            server.send(call(2, "started", "begun"))
            wait_until_exists(folder / "begun")
        if isinstance(how, signal.Signals):
            server.signal(how)
        else:
            server.close_stdin()
        assert server.wait() == 0
    waited = {path.name.removeprefix("waited-") for path in folder.glob("waited-*")}
    assert "wait" in waited if in_flight else not waited


@pytest.mark.parametrize("how", ["end of input", signal.SIGTERM, signal.SIGINT], ids=str)
def test_calls_in_flight_are_finished_before_leaving(
    server: StdioProcess, folder: Path, how: Any
) -> None:
    server.send(*(call(number, "started", f"call-{number}") for number in range(5)))
    wait_until_exists(folder / "call-4")
    if isinstance(how, signal.Signals):
        server.signal(how)
    else:
        server.close_stdin()
    assert sorted(answer["id"] for answer in server.rest() if "result" in answer) == [0, 1, 2, 3, 4]
    assert server.wait() == 0


def test_a_call_that_exceeds_the_drain_timeout_is_answered_with_an_error(folder: Path) -> None:
    with StdioProcess(folder, "--drain-timeout", "0.2") as server:
        server.send(call(1, "wait_for", "never"), call(2, "echo", "done"))
        assert server.receive()["id"] == 2
        server.close_stdin()
        (answer,) = server.rest()
        assert answer["id"] == 1
        assert answer["error"]["code"] == -32603
        assert server.wait() == 0
    assert (folder / "never").read_text() == "cancelled"


def test_a_second_signal_ends_the_server_at_once(server: StdioProcess, folder: Path) -> None:
    server.send(call(1, "wait_for", "never"), call(2, "echo", "done"))
    assert server.receive()["id"] == 2
    server.signal(signal.SIGTERM)
    started = time.monotonic()
    while server.is_running() and time.monotonic() - started < 10:
        server.signal(signal.SIGTERM)
        time.sleep(0.02)
    assert server.wait() == 128 + signal.SIGTERM
    assert not (folder / "never").exists()


@pytest.mark.parametrize("is_hot", [False, True], ids=["cold", "hot"])
def test_a_client_that_closes_stdout_ends_the_server_quietly(
    server: StdioProcess, is_hot: bool
) -> None:
    if is_hot:
        server.ask(call(1, "echo", ""))
    server.close_stdout()
    server.send(call(2, "echo", "lost") if is_hot else request(2, "tools/list"))
    assert server.wait() == 0
    assert "Traceback" not in server.stderr
    assert len(server.stderr.splitlines()) <= 1


def test_a_client_that_reads_late_receives_every_response(server: StdioProcess) -> None:
    count, size = 100, 90_000
    server.send(*(call(number, "big", str(size)) for number in range(count)))
    server.send(call("last", "echo", "end"))
    answers = [server.receive() for _ in range(count + 1)]
    assert {answer["id"] for answer in answers} == {*range(count), "last"}
    assert all(len(text_of(answer)) == size for answer in answers if answer["id"] != "last")


def test_unread_responses_are_bounded_in_memory(server: StdioProcess) -> None:
    server.ask(call("warm", "big", "90000"))
    before = peak_memory(server.pid)
    count = 350  # lines, which one read takes; 180 kB each when they are answered
    server.send(*(call(number, "big", "90000") for number in range(count)))
    server.wait_for_output()
    assert sorted(server.receive()["id"] for _ in range(count)) == list(range(count))
    assert peak_memory(server.pid) - before < 40 * 1024


def test_messages_can_be_read_from_a_file(folder: Path) -> None:
    lines = folder / "messages.jsonl"
    messages = [request(1, "tools/list"), call(2, "echo", "a"), call(3, "echo", "b")]
    lines.write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in messages))
    import subprocess

    from tests.support.stdio_process import REPOSITORY

    with lines.open("rb") as stdin:
        done = subprocess.run(
            [sys.executable, "-m", "small_mcp"],
            stdin=stdin,
            capture_output=True,
            cwd=folder,
            env={"PYTHONPATH": f"{REPOSITORY}:{folder}"},
            timeout=20,
            check=True,
        )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2, 3]
