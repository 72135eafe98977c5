"""Tests that clients' credentials for the server are not sent to the API."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from tests.support.http_server import BOUND_SECONDS, Client, make_app
from tests.support.paths import EXAMPLES

PETSTORE = EXAMPLES / "petstore-mcp/src"
FOREIGN = {
    "authorization": "Bearer of-the-client",
    "proxy-authorization": "Basic of-the-client",
    "cookie": "session=of-the-client",
    "x-api-key": "of-the-client",
    "api_key": "of-the-client",
}


@pytest.mark.requirement("L153", "N130")
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_client_tokens_are_not_sent_to_the_api(era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PETSTORE))
    sent: list[HttpRequest] = []

    async def api(request: HttpRequest) -> HttpResponse:
        sent.append(request)
        return HttpResponse(200, (("Content-Type", "application/json"),), b"{}")

    async def scenario() -> None:
        package = ServerPackage.load("petstore_mcp")
        environment = {"PETSTORE_BEARER": "of-the-server", "PETSTORE_API_KEY": "of-the-server"}
        dispatcher = package.make_dispatcher(environment, send=api)
        app = make_app(package, dispatcher)
        client = Client(app)
        call: dict[str, Any] = {"name": "get_inventory", "arguments": {}}
        if era == "modern":
            response = await client.post_modern("tools/call", call, headers=FOREIGN)
        else:
            await client.initialize("2025-11-25")
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            response = await client.post(message, FOREIGN)
        assert "isError" not in response.json["result"]
        await dispatcher.aclose()

    asyncio.run(asyncio.wait_for(scenario(), BOUND_SECONDS))
    (request,) = sent
    assert "of-the-server" in str(request.headers)
    assert "of-the-client" not in f"{request.url} {request.headers} {request.body!r}"
