"""Tests of `--check-env --live`: one harmless request, and the meaning of its outcome."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from mcpgen.runtime.serving import serve as run_server
from mcpgen.runtime.startup import live_check
from mcpgen.runtime.startup.live_check import LiveOutcome, check_live
from mcpgen.runtime.upstream.errors import ConnectError
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from tests.wire.served import Served, serve

DOCUMENT = """
openapi: 3.1.1
info: {title: Shop, version: "1"}
servers: [{url: "https://shop.example/v1"}]
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    login:
      type: oauth2
      flows: {clientCredentials: {tokenUrl: "https://login.shop.example/token", scopes: {}}}
paths:
"""
GETS = """
  /about: {get: {operationId: about, responses: {"200": {description: Done}}}}
  /me: {get: {operationId: me, security: [{key: []}], responses: {"200": {description: Done}}}}
"""
OTHERS = """
  /items/{id}:
    get:
      operationId: item
      security: [{login: []}]
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: Done}}
  /items:
    post: {operationId: add, security: [{login: []}], responses: {"200": {description: Done}}}
"""
NUMBERS = itertools.count(1)
SECRET = "hunter2-hunter2"

Make = Callable[[str], Served]
Answer = Callable[[HttpRequest], HttpResponse]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(paths: str) -> Served:
        folder = tmp_path / f"package-{next(NUMBERS)}"
        folder.mkdir()
        (folder / "openapi.yaml").write_text(DOCUMENT + paths, encoding="utf-8")
        return serve(
            folder / "openapi.yaml", f"live-{next(NUMBERS)}", folder, "https://login.shop.example"
        )

    return made


def outcome(served: Served, answer: Answer, **settings: str) -> tuple[LiveOutcome, list[str]]:
    """Return the outcome of the live call, and the requests that were sent."""
    sent = []

    async def send(request: HttpRequest) -> HttpResponse:
        sent.append(f"{request.method} {request.url}")
        return answer(request)

    environ = {f"{served.plan.env_prefix}{name}": value for name, value in settings.items()}
    return check_live(served.package, environ, send=send), sent


def says(status: int, body: bytes = b"{}") -> Answer:
    return lambda _: HttpResponse(status, (("Content-Type", "application/json"),), body)


def test_an_operation_that_needs_credentials_is_preferred(make: Make) -> None:
    served = make(GETS + OTHERS)

    found, sent = outcome(served, says(200), KEY=SECRET)
    assert (found.is_ok, found.operation, found.host) == (True, "GET /me", "shop.example")
    assert list(found.to_lines()) == ["live: GET /me at shop.example returned 200"]
    assert sent == ["GET https://shop.example/v1/me"]

    found, sent = outcome(served, says(200))
    assert (found.is_ok, sent) == (True, ["GET https://shop.example/v1/about"])


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "does not accept {key}"),
        (403, "may lack a scope or a permission"),
        (404, "check the path of the base URL"),
        (302, "the address that the API redirects to"),
        (429, "wait"),
        (503, "try again later"),
    ],
)
def test_a_status_is_explained(make: Make, status: int, advice: str) -> None:
    served = make(GETS)

    found, sent = outcome(
        served, says(status, b'{"title": "No", "key": "hunter2-hunter2"}'), KEY=SECRET
    )

    assert (found.is_ok, found.status, len(sent)) == (False, status, 1)
    assert advice.format(key=f"{served.plan.env_prefix}KEY") in found.advice
    assert SECRET not in str(found.to_json())


def test_a_failing_connection_is_explained(make: Make) -> None:
    def fail(_: HttpRequest) -> HttpResponse:
        raise ConnectError("could not be sent: unknown host name of the API.")

    found, _ = outcome(make(GETS), fail, KEY=SECRET)

    assert "unknown host name of the API" in found.message
    assert "Check the host in the base URL" in found.advice


def test_an_api_that_does_not_answer_times_out(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    async def send(_: HttpRequest) -> HttpResponse:
        await asyncio.Event().wait()
        raise AssertionError

    served = make(GETS)
    monkeypatch.setattr(live_check, "LIVE_SECONDS", 0.05)
    found = check_live(served.package, {f"{served.plan.env_prefix}KEY": SECRET}, send=send)

    assert (found.is_ok, found.operation) == (False, "GET /me")
    assert "within 0.05 seconds" in found.message


def test_a_token_is_requested_if_every_operation_needs_arguments(make: Make) -> None:
    served = make(OTHERS)
    client = {"LOGIN_CLIENT_ID": "shop", "LOGIN_CLIENT_SECRET": SECRET}

    found, sent = outcome(served, says(200, b'{"access_token": "abc"}'), **client)
    assert (found.is_ok, found.operation) == (True, "token request of `login`")
    assert sent == ["POST https://login.shop.example/token"]

    found, _ = outcome(served, says(401, b'{"error": "invalid_client"}'), **client)
    assert (found.is_ok, found.status) == (False, 401)
    assert f"check {served.plan.env_prefix}LOGIN_CLIENT_ID and" in found.message


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (OTHERS, "every GET operation needs arguments"),
        (GETS.replace("operationId: about,", "operationId: about, security: [{key: []}],"),
         "every operation that can be tried lacks a setting"),
    ],
    ids=["arguments", "settings"],
)  # fmt: skip
def test_nothing_is_sent_if_no_operation_can_be_called(
    make: Make, paths: str, message: str
) -> None:
    found, sent = outcome(make(paths), says(200))

    assert (found.is_ok, sent) == (False, [])
    assert message in found.message


class _Api(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_known = self.headers["X-Key"] == SECRET
        self.send_response(204 if is_known else 401)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def api() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Api) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("key", "code", "status"), [(SECRET, 0, "204"), ("old-key-1234", 1, "401")]
)
def test_the_command_calls_the_real_api(
    make: Make,
    api: str,
    key: str,
    code: int,
    status: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    served = make(GETS)
    monkeypatch.setenv(f"{served.plan.env_prefix}BASE_URL", api)
    monkeypatch.setenv(f"{served.plan.env_prefix}KEY", key)

    assert run_server(served.plan.package, ["--check-env", "--live"]) == code

    shown = capsys.readouterr().out
    (line,) = (line for line in shown.splitlines() if line.startswith("live: "))
    assert api.removeprefix("http://") in line
    assert status in line
    assert key not in shown
