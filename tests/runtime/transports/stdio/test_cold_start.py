"""Tests of the cold start: imports before the tools are listed, and the command line."""

from __future__ import annotations

import json
import re
import select
import sys
from pathlib import Path

import pytest

from mcpgen.render.json_text import compact
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.transports.stdio.server import serve_stdio
from tests.support.stdio_process import (
    NAMES,
    StdioProcess,
    call,
    initialize,
    request,
    wait_until_exists,
    write_package,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="select on pipes")

REPORTING = """
import atexit, sys
atexit.register(lambda: open("modules.txt", "w").write("\\n".join(sys.modules)))
from small_mcp.__main__ import main
main()
"""
EXPENSIVE = {
    "aiohttp",
    "argparse",
    "asyncio",
    "dataclasses",
    "hashlib",
    "inspect",
    "jsonschema_rs",
    "logging",
    "msgspec",
    "pathlib",
    "socket",
    "ssl",
    "subprocess",
    "threading",
    "typing",
    "typing_extensions",
    "urllib",
}


RARE = {
    f"mcpgen.runtime.upstream.{name}"
    for name in ("auth.oauth2", "request.multipart", "request.xml_bodies")
} | {"hmac", "secrets"}


def modules_after(folder: Path, *messages: object) -> set[str]:
    """Return the modules that a server has imported when it exits after these messages."""
    with StdioProcess(folder, python=("-c", REPORTING)) as server:
        server.send(*messages)
        server.close_stdin()  # before the responses, so that no pause looks like an idle client
        assert all("error" not in answer for answer in server.rest())
        assert server.wait() == 0
    return set((folder / "modules.txt").read_text().splitlines())


def test_tools_are_listed_before_expensive_imports(tmp_path: Path) -> None:
    loaded = modules_after(
        write_package(tmp_path),
        request(1, "server/discover"),
        request(2, "tools/list"),
        initialize(),
        {"jsonrpc": "2.0", "id": 4, "method": "ping"},
        {"jsonrpc": "2.0", "id": 5, "method": "tools/list"},
    )
    assert sorted(EXPENSIVE & loaded) == []
    assert not {name for name in loaded if name.startswith("small_mcp._generated")}


def test_tools_are_listed_to_a_legacy_client_before_expensive_imports(tmp_path: Path) -> None:
    listed = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    loaded = modules_after(write_package(tmp_path), initialize("2024-11-05"), listed)
    assert sorted(EXPENSIVE & loaded) == []


def test_the_first_call_imports_the_call_dependencies(tmp_path: Path) -> None:
    loaded = modules_after(write_package(tmp_path), call(1, "echo", "x"))
    assert loaded >= {"asyncio", "msgspec", "jsonschema_rs", "small_mcp._generated.tools.some"}
    assert "mcpgen.runtime.upstream.http.sender" not in loaded  # comes with the first request


def test_the_first_call_imports_nothing_that_few_tools_need(tmp_path: Path) -> None:
    loaded = modules_after(write_package(tmp_path), call(1, "echo", "x"))
    assert sorted(RARE & loaded) == []


def test_garbage_is_collected_while_calls_are_served(tmp_path: Path) -> None:
    reporting = f"""
import gc
from mcpgen.runtime.transports.stdio.loop import StdioLoop
serve = StdioLoop.serve
def report(self, *args):
    with open("garbage.txt", "w") as file:
        file.write(f"{{gc.isenabled()}} {{gc.get_freeze_count() > 1000}}")
    return serve(self, *args)
StdioLoop.serve = report
{REPORTING}"""
    with StdioProcess(write_package(tmp_path), python=("-c", reporting)) as server:
        assert server.ask(call(1, "echo", "x"))["id"] == 1
        server.close_stdin()
        assert server.wait() == 0
    assert (tmp_path / "garbage.txt").read_text() == "True True"


@pytest.mark.skipif(not hasattr(select, "poll"), reason="pipes cannot be asked here")
def test_call_dependencies_are_imported_while_the_client_is_idle(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    reporting = REPORTING.replace(
        "from small_mcp",
        "from mcpgen.runtime.transports import preimport as warming\n"
        "last = warming.CALL_MODULES[-1]\n"
        "taken = warming.import_module\n"
        "def take(name):\n"
        "    taken(name)\n"
        "    if name == last:\n"
        "        open('warm', 'w').close()\n"
        "warming.import_module = take\n"
        "from small_mcp",
    )
    with StdioProcess(folder, python=("-c", reporting)) as server:
        server.ask(request(1, "tools/list"))
        wait_until_exists(folder / "warm")
        assert server.ask(request(2, "tools/list"))["id"] == 2
        assert server.ask(call(3, "echo", "x"))["id"] == 3
        server.close_stdin()
        assert server.wait() == 0


def test_a_thousand_tools_need_no_more_imports_and_fit_in_one_page(tmp_path: Path) -> None:
    few, many = tmp_path / "few", tmp_path / "many"
    loaded = [
        modules_after(write_package(few), request(1, "tools/list")),
        modules_after(write_package(many, listed=1000 - len(NAMES)), request(1, "tools/list")),
    ]
    assert loaded[1] - loaded[0] <= {"fcntl"}  # which makes room for the page in the pipe
    with StdioProcess(many) as server:
        assert len(server.ask(request(1, "tools/list"))["result"]["tools"]) == 1000


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a pipe grow")
def test_the_pipe_is_enlarged_to_hold_a_long_page(tmp_path: Path) -> None:
    import fcntl

    with StdioProcess(write_package(tmp_path, listed=1000)) as server:
        before = fcntl.fcntl(server.stdout, fcntl.F_GETPIPE_SZ)
        page = json.dumps(server.ask(request(1, "tools/list")), separators=(",", ":"))
        assert before < len(page) <= fcntl.fcntl(server.stdout, fcntl.F_GETPIPE_SZ)


def test_a_missing_package_file_is_reported_by_name(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    (folder / "small_mcp/_generated/contract.json").unlink()
    with StdioProcess(folder) as server:
        assert server.wait() == 1
        assert server.stderr == "error: `_generated/contract.json` of `small_mcp` is missing\n"


@pytest.mark.parametrize("text", ["", "[]", "{}", "{"])
def test_a_damaged_contract_is_reported_in_one_line(tmp_path: Path, text: str) -> None:
    folder = write_package(tmp_path)
    (folder / "small_mcp/_generated/contract.json").write_text(text)
    with StdioProcess(folder) as server:
        assert server.wait() == 1
        assert server.stderr.startswith(
            "error: `_generated/contract.json` of `small_mcp` is damaged"
        )
        assert len(server.stderr.splitlines()) == 1


def test_the_command_line_prints_the_version_and_the_settings(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    with StdioProcess(folder, "--version") as server:
        assert server.receive_line() == b"small-mcp 0.1.0"
    with StdioProcess(folder, "--check-env") as server:
        assert [re.split("  +", server.receive_line().decode()) for _ in range(3)] == [
            ["SETTING", "STATE", "USE", "DESCRIPTION"],
            ["SMALL_KEY", "missing", "needed by 8 of 8 tools", "The key."],
            ["SMALL_REGION", "not set", "optional", "Where."],
        ]
        assert server.wait() == 1


def test_settings_are_checked_at_start_without_importing_the_http_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMALL_KEY", "secret")
    loaded = modules_after(write_package(tmp_path), request(1, "tools/list"))
    assert "mcpgen.runtime.startup.startup_checks" in loaded
    assert not (EXPENSIVE - {"urllib", "typing"}) & loaded


def test_certificates_of_the_environment_are_checked_without_expensive_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    loaded = modules_after(write_package(tmp_path), request(1, "tools/list"))
    assert "mcpgen.runtime.startup.tls_environment" in loaded
    assert sorted(EXPENSIVE & loaded) == []


def test_stdio_on_windows_suggests_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ConfigurationError, match="--http"):
        serve_stdio(None)  # type: ignore[arg-type]  # refused before it is looked at


def test_options_of_another_transport_are_rejected(tmp_path: Path) -> None:
    with StdioProcess(write_package(tmp_path), "--sse") as server:
        assert server.wait() == 2
        assert "--http" in server.stderr


def test_the_listing_is_sent_byte_for_byte(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    tools = json.loads((folder / "small_mcp/_generated/listing.json").read_bytes())
    with StdioProcess(folder) as server:
        server.send(request(1, "tools/list"))
        assert b'"tools":%s' % compact(tools) in server.receive_line()
        assert tools[0]["name"] == "big"


@pytest.mark.parametrize("layout", ["earlier", "reformatted", "crlf"])
def test_the_layout_of_the_listing_file_does_not_affect_the_wire(
    tmp_path: Path, layout: str
) -> None:
    folder = write_package(tmp_path)
    path = folder / "small_mcp/_generated/listing.json"
    written = path.read_bytes()
    tools = json.loads(written)
    if layout == "earlier":
        path.with_suffix(".jsonl").write_bytes(b"".join(compact(it) + b"\n" for it in tools))
        path.unlink()
    elif layout == "reformatted":
        path.write_text(json.dumps(tools, indent=2))
    else:
        path.write_bytes(written.replace(b"\n", b"\r\n"))
    with StdioProcess(folder) as server:
        server.send(request(1, "tools/list"))
        assert b'"tools":%s' % compact(tools) in server.receive_line()
