"""Tests of telemetry in server processes: imports, exports, and output at shutdown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpgen.contract.extras import MODULE_OF_EXTRA
from mcpgen.runtime.telemetry import setup
from mcpgen.runtime.telemetry.setup import find_signals
from tests.runtime.telemetry.attribute_table import check_all
from tests.support.http_requests import ECHO, MODERN_ECHO, ask
from tests.support.otlp_receiver import OtlpReceiver
from tests.support.running_process import serving
from tests.support.stdio_process import StdioProcess, call, initialize, request, write_package

REPORTING = """
import atexit, sys
atexit.register(lambda: open("modules.txt", "w").write("\\n".join(sys.modules)))
from small_mcp.__main__ import main
main()
"""
WITHOUT_EXTRA = """
import importlib.machinery, sys

class Hidden(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.startswith("opentelemetry") else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(importlib.machinery.PathFinder)] = Hidden
from small_mcp.__main__ import main
main()
"""


def converse(folder: Path, script: str = REPORTING) -> str:
    """Start a server, list its tools, call two of them, and stop it; return its stderr."""
    with StdioProcess(folder, python=("-c", script)) as server:
        server.ask(initialize())
        assert "result" in server.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        assert "result" in server.ask(call(3, "echo", "private"))
        assert "result" in server.ask(call(4, "crash", "private"))
        server.close_stdin()
        assert server.wait() == 0
        return server.stderr


@pytest.mark.slow
def test_a_server_without_telemetry_imports_nothing_of_it(tmp_path: Path) -> None:
    converse(write_package(tmp_path))
    loaded = (tmp_path / "modules.txt").read_text().splitlines()
    assert not [name for name in loaded if "opentelemetry" in name or "telemetry" in name]
    assert "requests" not in loaded


@pytest.mark.slow
def test_a_server_over_http_without_telemetry_imports_nothing_of_it(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    report = folder / "modules.txt"
    (folder / "reporting.py").write_text(REPORTING.replace("modules.txt", str(report)))
    served = r"served at http://127\.0\.0\.1:(\d+)"
    with serving(folder, ["reporting", "--http", "--port", "0"], served) as port:
        status, *_ = ask(port, "POST", "/mcp", MODERN_ECHO, json.dumps(ECHO).encode())
        assert status == 200
    loaded = report.read_text().splitlines()
    assert "mcpgen.runtime.transports.http.streamable" in loaded
    assert not [name for name in loaded if "telemetry" in name]
    assert "requests" not in loaded


@pytest.mark.slow
def test_a_server_exports_over_stdio_and_flushes_at_its_end(
    tmp_path: Path, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "api-key=collector-key",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
        "SMALL_LOG_LEVEL": "info",
        "SMALL_LOG_FORMAT": "json",
    }
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    stderr = converse(write_package(tmp_path))
    names = [span.name for span in receiver.spans]
    assert names == ["initialize", "tools/list", "tools/call echo", "tools/call crash"]
    assert "private" not in str(receiver.spans)
    resource = receiver.resources[0]
    assert resource["service.name"] == "small"
    assert resource["deployment.environment.name"] == "test"
    assert receiver.headers[0]["api-key"] == "collector-key"
    assert {span.attributes["network.transport"] for span in receiver.spans} == {"pipe"}
    assert "mcp.server.operation.duration" in receiver.metrics
    check_all(receiver)
    logged = [json.loads(line) for line in stderr.splitlines()]
    calls = [line for line in logged if "outcome" in line]
    assert [(line["tool"], line["outcome"]) for line in calls] == [
        ("echo", "ok"),
        ("crash", "tool_error"),
    ]
    assert [line["trace"] for line in calls] == [span.trace_id for span in receiver.spans[2:]]


@pytest.mark.slow
def test_a_server_without_the_extra_says_so_and_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    stderr = converse(write_package(tmp_path), WITHOUT_EXTRA)
    assert stderr.count("pip install 'mcpgen[otel]'") == 1


@pytest.mark.slow
def test_an_audit_file_that_cannot_be_written_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMALL_AUDIT_FILE", str(tmp_path / "missing" / "audit.log"))
    with StdioProcess(write_package(tmp_path)) as server:
        server.send(request(1, "tools/list"))
        assert server.wait() == 2
        assert "invalid SMALL_AUDIT_FILE" in server.stderr


@pytest.mark.parametrize(
    ("environ", "signals"),
    [
        ({}, ()),
        ({"OTEL_SERVICE_NAME": "x"}, ()),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, ("traces", "metrics")),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, ("traces",)),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c:4318/v1/metrics"}, ("metrics",)),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, ("traces",)),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, ("metrics",)),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_TRACES_EXPORTER": "none"},
            ("metrics",),
        ),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "true"}, ()),
    ],
)
def test_signals_are_on_if_a_variable_of_their_exporter_is_set(
    environ: dict[str, str], signals: tuple[str, ...]
) -> None:
    assert find_signals(environ) == signals


def test_an_exporter_or_protocol_that_is_not_supported_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(setup, "log", lambda level, text: lines.append(text))
    assert find_signals({"OTEL_TRACES_EXPORTER": "zipkin"}) == ()
    find_signals({"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    assert len(lines) == 2


def test_the_extra_is_known() -> None:
    assert MODULE_OF_EXTRA["otel"] == "opentelemetry.exporter.otlp.proto.http"
