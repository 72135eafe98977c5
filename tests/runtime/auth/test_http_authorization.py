"""Tests of challenges, metadata and protected endpoints (MCP, "Authorization"; RFC 6750, 9728)."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.runtime.auth.claims import TokenClaims
from tests.support.authorized import PORT, RESOURCE, AuthorizedServer, run_authorized
from tests.support.authorized_scene import Scene, observe
from tests.support.http_server import LEGACY, OMITTED, request, tool_call

METADATA_URL = f"http://127.0.0.1:{PORT}/.well-known/oauth-protected-resource/mcp"
SCOPED = {
    "authorization": {
        "scopes": {"echo": ["pets:read"], "hang": ["pets:read", "pets:write"]},
        "includes": {"pets:admin": ["pets:write"], "pets:write": ["pets:read"]},
    },
    "aliases": {"say": "echo"},
    "search": {"search": "search", "describe": "describe", "call": "report"},
}


def with_scopes(issuer: Any) -> dict[str, str]:
    return {"AUTH_ISSUER": issuer.identifier, "AUTH_SCOPES": "mcp offline_access"}


def test_a_request_without_a_token_names_metadata_and_scopes_but_no_error() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        response = await server.ask()
        assert response.status == 401
        assert response.headers["www-authenticate"] == (
            f'Bearer scope="mcp", resource_metadata="{METADATA_URL}"'
        )
        assert response.json["error"]["message"] == "an access token is required"

    run_authorized(scenario, settings=with_scopes)


def test_an_invalid_token_is_an_error_in_the_challenge() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        response = await server.ask("opaque")
        assert response.status == 401
        assert response.headers["www-authenticate"] == (
            'Bearer error="invalid_token", '
            'error_description="the access token is unknown, or from another issuer", '
            f'scope="mcp", resource_metadata="{METADATA_URL}"'
        )

    run_authorized(scenario, settings=with_scopes)


@pytest.mark.parametrize(
    "credentials",
    [
        "Bearer",
        "Bearer ",
        "Bearer a b",
        "Bearer a, Bearer b",
        'Bearer "quoted"',
        "Bearer ä",
        "Bearer " + "x" * 16_385,
        "Bea rer x y",
        "=",
    ],
)
def test_malformed_credentials_are_refused(credentials: str) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        response = await server.ask(authorization=credentials)
        assert response.status in {400, 401}
        if credentials.startswith("Bearer"):
            assert response.status == 400
            assert 'error="invalid_request"' in response.headers["www-authenticate"]
        assert server.issuer.requests == []

    run_authorized(scenario)


def test_another_scheme_is_answered_as_a_missing_token() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        response = await server.ask(authorization="Basic YTpi")
        assert response.status == 401
        assert "error" not in response.headers["www-authenticate"]

    run_authorized(scenario)


def test_the_name_of_the_scheme_has_any_case() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        for scheme in ("bearer", "BEARER"):
            response = await server.ask(authorization=f"{scheme} {server.token()}")
            assert response.status == 200

    run_authorized(scenario)


@pytest.mark.parametrize("name", ["access_token", "access%5Ftoken"])
def test_a_token_in_the_query_is_refused_even_beside_a_valid_one(name: str) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        token = server.token()
        for headers in ({}, {"authorization": f"Bearer {token}"}):
            sent = server.served.client.send(
                "POST", tool_call("echo"), query=f"a=b&{name}={token}", headers=headers
            )
            response = await sent.complete()
            assert response.status == 400
            assert 'error="invalid_request"' in response.headers["www-authenticate"]

    run_authorized(scenario)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
        ("PUT", "/mcp"),
        ("OPTIONS", "/mcp"),
        ("GET", "/sse"),
        ("POST", "/messages"),
        ("GET", "/other"),
        ("POST", "/health"),
    ],
)
def test_every_endpoint_needs_a_token(method: str, path: str) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        client = server.served.client
        response = await client.send(method, tool_call("echo"), path=path).complete()
        is_open = path == "/health"
        assert response.status == (404 if is_open else 401)
        assert is_open or "resource_metadata" in response.headers["www-authenticate"]

    run_authorized(scenario, with_sse=True)


@pytest.mark.parametrize("revision", LEGACY)
def test_each_request_of_a_session_is_checked(revision: str) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        client = server.client(server.token())
        await client.initialize(revision)
        assert (await client.post(tool_call("echo"))).status == 200
        client.token = server.token(seconds=-100)
        for method, body in (("POST", tool_call("echo")), ("GET", None), ("DELETE", None)):
            sent = client.send(method, body, headers=client.session_headers)
            assert (await sent.complete()).status == 401
        anonymous = server.served.new_client()
        anonymous.session_id, anonymous.revision = client.session_id, revision
        assert (await anonymous.begin(tool_call("echo")).complete()).status == 401

    run_authorized(scenario)


def test_lists_are_not_for_shared_caches() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        for method in ("tools/list", "server/discover"):
            response = await server.ask(server.token(), method=method)
            assert response.json["result"]["cacheScope"] == "private"

    run_authorized(scenario)


@pytest.mark.parametrize("revision", LEGACY)
def test_legacy_requests_without_sessions_are_checked(revision: str) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        client = server.client(server.token())
        headers = {"mcp-protocol-version": revision}
        accepted = await client.send("POST", tool_call("report"), headers=headers).complete()
        assert accepted.status == 200
        refused = await client.send("POST", tool_call("echo"), headers=headers).complete()
        assert refused.status == 403
        client.token = "other"
        assert (
            await client.send("POST", tool_call("report"), headers=headers).complete()
        ).status == 401

    def start(server: AuthorizedServer) -> Any:
        server.served.tools.go_on.set()
        return scenario(server)

    run_authorized(start, contract=SCOPED, has_sessions=False)


@pytest.mark.parametrize("path", ["/health", "/livez", "/readyz"])
def test_health_needs_no_token(path: str) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        response = await server.served.client.send("GET", path=path).complete()
        assert response.status == 200

    run_authorized(scenario)


# -- metadata ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "/mcp"])
def test_metadata_describes_the_server_to_any_web_page(path: str) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        response = await server.served.client.send(
            "GET",
            path=f"/.well-known/oauth-protected-resource{path}",
            headers={"origin": "https://inspector.example"},
        ).complete()
        assert response.status == 200
        assert response.headers["access-control-allow-origin"] == "*"
        assert response.json == {
            "resource": RESOURCE,
            "authorization_servers": [server.issuer.identifier],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["mcp", "pets:read", "pets:write"],
            "resource_name": "Fake",
        }

    run_authorized(scenario, contract=SCOPED, settings=with_scopes)


def test_a_preflight_for_metadata_is_allowed() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        response = await server.served.client.send(
            "OPTIONS",
            path="/.well-known/oauth-protected-resource/mcp",
            headers={
                "origin": "https://inspector.example",
                "access-control-request-method": "GET",
                "access-control-request-headers": "mcp-protocol-version",
            },
        ).complete()
        assert response.status == 200
        assert "mcp-protocol-version" in response.headers["access-control-allow-headers"]

    run_authorized(scenario)


@pytest.mark.parametrize(
    ("method", "path", "host", "status"),
    [
        ("GET", "/other", "127.0.0.1:8000", 404),
        ("POST", "", "127.0.0.1:8000", 405),
        ("GET", "", "evil.example", 421),
        ("GET", "", "127.0.0.1:9999", 421),
        ("GET", "", "localhost:8000", 200),
    ],
)
def test_metadata_is_only_at_its_paths_and_hosts(
    method: str, path: str, host: str, status: int
) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        response = await server.served.client.send(
            method, path=f"/.well-known/oauth-protected-resource{path}", headers={"host": host}
        ).complete()
        assert response.status == status

    run_authorized(scenario)


def test_a_public_url_is_the_resource_whatever_the_host() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        response = await server.ask()
        assert response.headers["www-authenticate"] == (
            'Bearer resource_metadata="https://pets.example'
            '/.well-known/oauth-protected-resource/tools/mcp"'
        )
        for path in ("", "/mcp", "/tools/mcp"):
            metadata = await server.served.client.send(
                "GET", path=f"/.well-known/oauth-protected-resource{path}"
            ).complete()
            assert metadata.json["resource"] == "https://pets.example/tools/mcp"
        assert (await server.ask(server.token())).status == 401
        for audience in ("https://pets.example/tools/mcp", "https://pets.example:443/tools/mcp/"):
            assert (await server.ask(server.token(audience))).status == 200

    run_authorized(
        scenario,
        settings=lambda issuer: {
            "AUTH_ISSUER": issuer.identifier,
            "PUBLIC_URL": "HTTPS://Pets.example:443/tools/mcp/",
        },
    )


def test_a_configured_audience_replaces_the_url() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        assert (await server.ask(server.token())).status == 401
        for audience in ("api://pets", "other"):
            assert (await server.ask(server.token(audience))).status == 200

    run_authorized(
        scenario,
        settings=lambda issuer: {
            "AUTH_ISSUER": issuer.identifier,
            "AUTH_AUDIENCE": "api://pets, other",
        },
    )


# -- scopes --------------------------------------------------------------------------------------


def test_every_call_needs_the_configured_scopes() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        response = await server.ask(server.token(scope="openid offline_access"))
        assert response.status == 403
        assert response.headers["www-authenticate"] == (
            'Bearer error="insufficient_scope", error_description="missing scope: mcp", '
            f'scope="mcp openid", resource_metadata="{METADATA_URL}"'
        )
        assert (await server.ask(server.token(scope="a mcp"))).status == 200

    run_authorized(
        scenario,
        settings=lambda issuer: {"AUTH_ISSUER": issuer.identifier, "AUTH_SCOPES": "mcp"},
    )


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"scope": "pets:read pets:write"}, 200),
        ({"scp": ["pets:read", "pets:write"]}, 200),
        ({"scp": "pets:read pets:write"}, 200),
        ({"scope": ["pets:read", 7, "pets:write"]}, 200),
        ({"scope": "pets:admin"}, 200),  # it includes the others
        ({"scope": "pets:write"}, 200),
        ({"scope": "pets:read"}, 403),
        ({"scope": "pets:readpets:write"}, 403),
        ({"permissions": ["pets:read", "pets:write"]}, 403),  # not read from any issuer
        ({}, 403),
    ],
)
def test_a_tool_needs_its_scopes(claims: dict[str, Any], status: int) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        server.served.tools.go_on.set()
        response = await server.call(server.token(**claims), "hang")
        assert response.status == status
        assert bool(server.served.tools.calls) is (status == 200)

    run_authorized(scenario, contract=SCOPED)


def test_a_step_up_challenge_lists_what_the_caller_has_and_what_is_missing() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        response = await server.call(server.token(scope="pets:read openid"), "hang")
        assert response.status == 403
        assert response.headers["www-authenticate"] == (
            'Bearer error="insufficient_scope", '
            'error_description="missing scope: pets:write", '
            f'scope="openid pets:read pets:write", resource_metadata="{METADATA_URL}"'
        )
        stepped_up = server.token(scope="openid pets:read pets:write")
        server.served.tools.go_on.set()
        assert (await server.call(stepped_up, "hang")).status == 200

    run_authorized(scenario, contract=SCOPED)


@pytest.mark.parametrize(
    ("tool", "arguments", "status"),
    [
        ("report", {}, 200),
        ("say", {}, 403),  # a former name of `echo`
        ("report", {"name": "echo"}, 403),  # the tool that calls others
        ("report", {"name": "say"}, 403),
        ("report", {"name": ["echo"]}, 200),
    ],
)
def test_scopes_are_required_by_whatever_name_a_tool_is_called(
    tool: str, arguments: dict[str, Any], status: int
) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        server.served.tools.go_on.set()
        response = await server.call(server.token(), tool, **arguments)
        assert response.status == status

    run_authorized(scenario, contract=SCOPED)


def test_a_batch_needs_the_scopes_of_all_its_calls() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        client = server.client(server.token())
        await client.initialize("2025-03-26")
        batch = [request("ping"), tool_call("report", id=2), tool_call("echo", id=3)]
        response = await client.begin(batch).complete()
        assert response.status == 403
        assert 'scope="pets:read"' in response.headers["www-authenticate"]
        assert server.served.tools.calls == []

    run_authorized(scenario, contract=SCOPED)


def test_scopes_are_required_over_the_transport_of_2024_11_05() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        client = server.client(server.token())
        opened = client.send("GET", path="/sse")
        endpoint = (await opened.until_events(1)).events[0]["data"]
        sent = client.send(
            "POST", tool_call("echo"), path="/messages", query=endpoint.partition("?")[2]
        )
        response = await sent.complete()
        assert response.status == 403
        assert response.headers["www-authenticate"].endswith(
            'resource_metadata="http://127.0.0.1:8000/.well-known/oauth-protected-resource/sse"'
        )
        metadata = await server.served.client.send(
            "GET", path="/.well-known/oauth-protected-resource/sse"
        ).complete()
        resource = metadata.json["resource"]
        assert resource == "http://127.0.0.1:8000/sse"
        assert (await server.ask(server.token(resource))).status == 200
        await opened.leave()

    run_authorized(scenario, contract=SCOPED, with_sse=True)


def test_a_very_long_list_of_scopes_is_left_out_of_the_challenge() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        many = " ".join(f"scope-{number}" for number in range(900))
        response = await server.call(server.token(scope=many), "echo")
        assert response.status == 403
        assert 'scope="pets:read"' in response.headers["www-authenticate"]

    run_authorized(scenario, contract=SCOPED)


# -- other principals ----------------------------------------------------------------------------


@pytest.mark.parametrize("revision", LEGACY)
def test_a_session_of_another_principal_is_unknown(revision: str) -> None:
    async def scenario(server: AuthorizedServer) -> None:
        ada = server.client(server.token(subject="ada"))
        await ada.initialize(revision)
        eve = server.client(server.token(subject="eve"))
        eve.session_id, eve.revision = ada.session_id, revision
        bodies = (("POST", tool_call("echo")), ("GET", None), ("DELETE", None))
        for method, body in bodies:
            headers = {**eve.session_headers, "last-event-id": OMITTED}
            response = await eve.send(method, body, headers=headers).complete()
            assert response.status == 404
            assert response.json["error"]["message"].startswith("unknown session")
        assert (await ada.post(tool_call("echo"))).status == 200
        # The same subject with a new token is the same principal.
        ada.token = server.token(subject="ada", jti="2")
        assert (await ada.post(tool_call("echo"))).status == 200

    run_authorized(scenario)


def test_events_of_another_principal_cannot_be_resumed() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        ada = server.client(server.token(subject="ada"))
        await ada.initialize("2025-11-25")
        stream = ada.send("GET", headers=ada.session_headers)
        event_id = (await stream.until_events(1)).events[0]["id"]
        eve = server.client(server.token(subject="eve"))
        await eve.initialize("2025-11-25")
        for session in (ada.session_headers, eve.session_headers):
            headers = {**session, "last-event-id": event_id}
            response = await eve.send("GET", headers=headers).complete()
            assert response.status in {400, 404}
        await stream.leave()

    run_authorized(scenario)


def test_a_connection_of_another_principal_is_unknown_over_sse() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        ada = server.client(server.token(subject="ada"))
        opened = ada.send("GET", path="/sse")
        query = (await opened.until_events(1)).events[0]["data"].partition("?")[2]
        eve = server.client(server.token(subject="eve"))
        ping = request("ping")
        refused = await eve.send("POST", ping, path="/messages", query=query).complete()
        assert refused.status == 404
        accepted = await ada.send("POST", ping, path="/messages", query=query).complete()
        assert accepted.status == 202
        await opened.leave()

    run_authorized(scenario, with_sse=True)


def test_principals_of_two_issuers_are_never_the_same() -> None:
    def principal_of(issuer: str, **claims: Any) -> str:
        full = {"aud": "a", "exp": 2, **claims}
        return TokenClaims(issuer, full).check("", {"a"}, 1.0).principal

    principals = {
        principal_of("https://a.example", sub="x y"),
        principal_of("https://a.example/x", sub="y"),
        principal_of("https://a.example", sub="y"),
        principal_of("https://b.example", sub="y"),
        principal_of("https://a.example", client_id="y"),
        principal_of("https://a.example", sub="client_id y"),
    }
    assert len(principals) == 6


def test_the_state_of_another_principals_call_is_unknown() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        capabilities = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}

        async def call(subject: str, **answer: Any) -> Any:
            client = server.client(server.token(subject=subject))
            params = {"name": "ask", "arguments": {}, **answer}
            exchange = client.begin_modern("tools/call", params, meta=capabilities)
            return (await exchange.complete()).json

        asked = (await call("ada"))["result"]
        (key,) = asked["inputRequests"]
        answer = {
            "requestState": asked["requestState"],
            "inputResponses": {key: {"action": "decline"}},
        }
        assert "error" in await call("eve", **answer)
        done = (await call("ada", **answer))["result"]
        assert done["content"] == [{"type": "text", "text": "decline"}]

    run_authorized(scenario)


@pytest.mark.parametrize("kind", ["memory", "replica"])
def test_another_principal_cannot_answer_a_question_or_cancel_its_call(kind: str) -> None:
    async def scenario(scene: Scene) -> None:
        ada, bob = scene.client(subject="ada"), scene.client(subject="bob")
        for client in (ada, bob):
            await client.initialize("2025-11-25", {"elicitation": {}})
        call = ada.begin(tool_call("ask", id=7))
        response = await call.until(lambda it: b"elicitation/create" in it.body)
        question = response.messages[-1]["id"]
        answer = {"jsonrpc": "2.0", "id": question, "result": {"action": "accept", "content": {}}}
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        for message in (answer, cancel):
            assert (await bob.begin(message).complete()).status == 202
        assert not call.response.is_complete
        answer["result"] = {"action": "decline"}
        assert (await ada.begin(answer).complete()).status == 202
        *_, result = (await call.complete()).messages
        assert result["result"]["content"][0]["text"] == "decline"

    observe(kind, scenario)


def test_subscriptions_belong_to_the_session_of_their_principal() -> None:
    async def scenario(server: AuthorizedServer) -> None:
        ada = server.client(server.token(subject="ada"))
        await ada.initialize("2025-11-25")
        eve = server.client(server.token(subject="eve"))
        await eve.initialize("2025-11-25")
        stream = ada.send("GET", headers=ada.session_headers)
        await stream.until_events(1)
        for method in ("resources/subscribe", "resources/unsubscribe"):
            body = request(method, {"uri": "test://watched"})
            response = await eve.send("POST", body, headers=ada.session_headers).complete()
            assert response.status == 404
        await stream.leave()

    run_authorized(scenario)
