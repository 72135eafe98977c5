"""Tests that only pages of allowed origins use the server from a browser (CORS of Fetch)."""

from __future__ import annotations

import pytest

from mcpgen.runtime.transports.http.host_check import HostCheck
from tests.support.http_server import Served, request, run, tool_call

PAGE = {"origin": "https://app.example"}
OWN_PAGE = {"origin": "http://127.0.0.1:8000"}
ALLOWED = HostCheck(allowed_origins=["https://app.example"])
SHOWN = {
    "access-control-allow-origin": "https://app.example",
    "vary": "origin",
    "access-control-expose-headers": (
        "mcp-protocol-version, mcp-session-id, retry-after, www-authenticate"
    ),
}
ASKED = "content-type, mcp-method, MCP-Name,mcp-param-region, x-other, authorization"


def cors(headers: dict[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in headers.items()
        if name == "vary" or name.startswith("access-control-")
    }


def preflight(**more: str) -> dict[str, str]:
    return {**PAGE, "access-control-request-method": "POST", **more}


@pytest.mark.parametrize("path", ["/mcp", "/messages"])
def test_a_preflight_allows_only_the_methods_and_headers_of_mcp(path: str) -> None:
    async def scenario(served: Served) -> None:
        asked = preflight(**{"access-control-request-headers": ASKED})
        response = await served.client.send("OPTIONS", path=path, headers=asked).complete()
        assert (response.status, response.body) == (200, b"")
        assert cors(response.headers) == {
            **SHOWN,
            "access-control-allow-methods": "GET, POST, DELETE",
            "access-control-allow-headers": (
                "content-type, mcp-method, mcp-name, mcp-param-region, authorization"
            ),
            "access-control-max-age": "600",
        }

    run(scenario, host_check=ALLOWED, with_sse=True)


def test_a_preflight_allows_delete_for_sessions() -> None:
    async def scenario(served: Served) -> None:
        asked = preflight(**{"access-control-request-method": "DELETE"})
        response = await served.client.send("OPTIONS", headers=asked).complete()
        assert "DELETE" in response.headers["access-control-allow-methods"]

    run(scenario, host_check=ALLOWED)


@pytest.mark.parametrize("origin", [OWN_PAGE, {}], ids=["own origin", "no origin"])
def test_requests_without_a_listed_origin_get_no_cors_headers(origin: dict[str, str]) -> None:
    async def scenario(served: Served) -> None:
        asked = {**origin, "access-control-request-method": "POST"}
        refused = await served.client.send("OPTIONS", headers=asked).complete()
        assert (refused.status, cors(refused.headers)) == (405, {})
        listed = await served.client.post_modern("tools/list", headers=origin)
        assert (listed.status, cors(listed.headers)) == (200, {})

    run(scenario, host_check=ALLOWED)


def test_a_foreign_origin_is_rejected_without_cors_headers() -> None:
    async def scenario(served: Served) -> None:
        for method in ("OPTIONS", "POST"):
            asked = preflight(origin="https://evil.example")
            response = await served.client.send(method, headers=asked).complete()
            assert (response.status, cors(response.headers)) == (403, {})
        rebound = preflight(host="evil.example")
        response = await served.client.send("OPTIONS", headers=rebound).complete()
        assert (response.status, cors(response.headers)) == (421, {})

    run(scenario, host_check=ALLOWED)


def test_a_preflight_is_rejected_without_allowed_origins() -> None:
    async def scenario(served: Served) -> None:
        response = await served.client.send("OPTIONS", headers=preflight()).complete()
        assert (response.status, cors(response.headers)) == (403, {})

    run(scenario)


def test_cors_headers_are_sent_with_results_events_and_errors() -> None:
    async def scenario(served: Served) -> None:
        listed = await served.client.post_modern("tools/list", headers=PAGE)
        served.tools.go_on.set()
        call = {"name": "report", "arguments": {}}
        events = await served.client.begin_modern(
            "tools/call", call, headers=PAGE, meta={"progressToken": 1}
        ).complete()
        assert events.headers["content-type"] == "text/event-stream"
        refused = await served.client.send("PUT", headers=PAGE).complete()
        assert refused.status == 405
        nowhere = await served.client.send("GET", path="/", headers=PAGE).complete()
        assert nowhere.status == 404
        for response in (listed, events, refused, nowhere):
            assert cors(response.headers) == SHOWN

    run(scenario, host_check=ALLOWED)


def test_an_allowed_page_can_use_a_session() -> None:
    async def scenario(served: Served) -> None:
        client = served.client
        opened = await client.post(
            request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}}), PAGE
        )
        assert cors(opened.headers) == SHOWN
        session = {**PAGE, "mcp-session-id": opened.headers["mcp-session-id"]}
        called = await client.post(tool_call("echo"), session)
        assert (called.status, cors(called.headers)) == (200, SHOWN)
        ended = await client.send("DELETE", headers=session).complete()
        assert (ended.status, cors(ended.headers)) == (204, SHOWN)

    run(scenario, host_check=ALLOWED)
