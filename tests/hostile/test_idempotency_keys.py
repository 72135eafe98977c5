"""Tests that a retried POST keeps its idempotency key, and that the model sees no key."""

from __future__ import annotations

import time
from pathlib import Path
from uuid import UUID

import pytest

from mcpgen.cli.app import run
from tests.support.attack.api import Exchange, HostileApi
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import PREFIX, Bystander, HttpClient, generate, serve_http
from tests.support.generated_files import tool_contracts

KEY = "Idempotency-Key"
ANSWER = {"type": "object", "properties": {"id": {"type": "string"}}}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate a server with a declared key (`declared`), a named one (`named`), none (`plain`)."""
    header = {"name": KEY, "in": "header", "required": True, "schema": {"type": "string"}}
    document = api_document(
        {
            "/declared": {"post": operation("declared", schema=ANSWER, parameters=[header])},
            "/named": {"patch": operation("named", schema=ANSWER)},
            "/plain": {"post": operation("plain", schema=ANSWER)},
        }
    )
    folder = tmp_path_factory.mktemp("keys")
    target = generate(folder, document)
    manifest = target / "mcpgen.yaml"
    entry = f"\noperations:\n  named: {{idempotency_header: {KEY}}}\n"
    manifest.write_text(manifest.read_text() + entry)
    assert run(["generate", str(target), "-q"]) == 0
    return target


class FlakyApi:
    """An API that fails the first two requests of each key as in `failure`, and counts effects."""

    def __init__(self, failure: int | None) -> None:
        self.failure = failure  # a status, or None to close the connection
        self.requests: dict[str, int] = {}  # by key

    async def answer(self, exchange: Exchange) -> None:
        key = ", ".join(exchange.headers(KEY))
        self.requests[key] = self.requests.get(key, 0) + 1
        if self.requests[key] > 2:
            await exchange.answer({"id": key})
        elif self.failure is None:
            raise OSError("the connection ends without an answer")
        else:
            await exchange.answer({"title": "Busy"}, status=self.failure)


def test_the_idempotency_key_is_not_an_argument(project: Path) -> None:
    for name, tool in tool_contracts(project).items():
        assert tool["listing"]["inputSchema"].get("required", []) in ([], ["id"]), name
        header = KEY if name in {"declared", "named"} else None
        assert tool["request"].get("idempotency_header") == header


@pytest.mark.parametrize(
    ("tool", "failure"), [("declared", 429), ("named", 503), ("declared", None)]
)
def test_retries_keep_the_key_of_their_request(
    project: Path, tool: str, failure: int | None
) -> None:
    flaky, plain = FlakyApi(failure), FlakyApi(failure)
    with HostileApi() as api:
        api.on(f"/{tool}", flaky.answer)
        api.on("/plain", plain.answer)
        environ = {f"{PREFIX}BASE_URL": api.base_url}
        with serve_http(project, environ) as server:
            with Bystander(server) as bystander, HttpClient(server.port) as client:
                answer = client.call_tool(tool, {})
                refused = client.call_tool("plain", {})
                time.sleep(0.2)
            bystander.check()
    (key,) = flaky.requests
    assert UUID(key).version == 4
    assert flaky.requests[key] == 3
    assert answer["result"]["structuredContent"] == {"id": key}
    assert plain.requests == {"": 1}
    assert refused["result"]["isError"]
