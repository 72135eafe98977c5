"""Tests of the health check of a container, with the servers that it may meet."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from mcpgen.runtime import healthcheck
from mcpgen.runtime.transports.http import streamable as streamable_http

PROGRAM = ["/server/bin/python", "/server/bin/petstore-mcp"]
EVERYWHERE = ["--host", "0.0.0.0", "--allow-remote"]


@contextmanager
def answering(status: int) -> Iterator[str]:
    """Answer every GET with a status; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers['Host']}")
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    asked: list[str] = []
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield str(server.server_port)
        assert asked == [f"/livez 127.0.0.1:{server.server_port}"]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_healthcheck_requests_the_health_path_of_the_server() -> None:
    assert healthcheck.HEALTH_PATH == streamable_http.LIVE_PATH


@pytest.mark.parametrize("form", [["--port", "{}"], ["--port={}"]], ids=["two words", "one word"])
def test_server_that_answers_is_healthy(form: list[str]) -> None:
    with answering(200) as port:
        arguments = [*PROGRAM, "--http", *EVERYWHERE, *(word.format(port) for word in form)]
        assert healthcheck.find_problem(arguments) == ""


def test_server_that_is_shutting_down_is_not_healthy() -> None:
    with answering(503) as port:
        problem = healthcheck.find_problem([*PROGRAM, "--http", "--port", port])
    assert problem == "/livez returned status 503"


def test_server_that_does_not_listen_is_not_healthy() -> None:
    with answering(200) as port:
        assert healthcheck.find_problem([*PROGRAM, "--http", "--port", port]) == ""

    problem = healthcheck.find_problem([*PROGRAM, "--http", "--port", port])

    assert problem.startswith(f"cannot connect to 127.0.0.1 on port {port}: ")


def test_server_over_stdio_is_healthy_while_it_runs() -> None:
    assert healthcheck.find_problem([*PROGRAM, "--drain-timeout", "1"]) == ""


def test_the_arguments_are_read_from_the_first_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first_process = tmp_path / "cmdline"
    with answering(200) as port:
        line = ["/sbin/docker-init", "--", *PROGRAM, "--http", "--port", port, ""]
        first_process.write_text("\0".join(line))
        assert healthcheck.main(first_process) == 0

    assert healthcheck.main(first_process) == 1
    assert capsys.readouterr().out.startswith("cannot connect to 127.0.0.1 ")
