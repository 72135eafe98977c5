"""Tests of HTTP and authorization checks: a finding behind a faulty proxy, none otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from aiohttp import web

from mcpgen.factory.packages import find_package
from mcpgen.factory.validate.checks.http_sessions import estimate_bits
from mcpgen.factory.validate.checks.table import ACTIVE, PASSIVE
from mcpgen.factory.validate.hosting import host
from mcpgen.factory.validate.probe import Knowledge, Probe, ProbeOptions
from mcpgen.factory.validate.report import compute_scores, iterate_findings
from mcpgen.factory.validate.run import Validation, validate
from mcpgen.factory.validate.verdicts import Outcome, Verdict
from mcpgen.factory.wire.frames import Recording
from mcpgen.factory.wire.session import MODERN, REVISIONS
from mcpgen.factory.wire.targets import Target
from tests.support.paths import REPOSITORY
from tests.unit.factory.validate.http_proxy import TOKEN, Protected, Proxy, Sent, serve

EXAMPLE = REPOSITORY / "generated_examples" / "everything-mcp"
LEGACY = "2025-11-25"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    """Run a correct server; yield its URL."""
    with asyncio.Runner() as runner:
        package = find_package(EXAMPLE)
        hosting = host(Target(command=package.command, package=package), ("http",))
        targets = runner.run(hosting.__aenter__())
        yield targets["http"].url
        runner.run(hosting.__aexit__(None, None, None))


def target(url: str, proxy: type[Proxy]) -> Target:
    if not issubclass(proxy, Protected):
        return Target(url=url)
    return Target(url=url, token=TOKEN, headers={"Authorization": f"Bearer {TOKEN}"})


def check(proxy: type[Proxy], upstream: str, revision: str, requirement: str) -> Outcome:
    """Return the outcome of one requirement behind a proxy."""

    async def run() -> Outcome:
        async with serve(proxy, upstream) as url:
            made = target(url, proxy)
            recording = Recording(made.secrets)
            known = Knowledge(frozenset(REVISIONS[1:]))
            probe = Probe(made, revision, "http", recording, ProbeOptions(), known)
            try:
                await probe.inspect_offer()
                if requirement in ACTIVE:
                    return await ACTIVE[requirement](probe)
                await ACTIVE["streams-end"](probe)
                if revision == MODERN:
                    await ACTIVE["subscription-acknowledged"](probe)
            finally:
                await probe.close()
            received = [frame for frame in recording.frames if frame.is_received]
            return PASSIVE[requirement](probe, received)

    return asyncio.run(run())


class OriginDropped(Proxy):
    def change_request(self, sent: Sent) -> web.Response | None:
        sent.headers.popall("Origin", None)
        sent.headers["Host"] = "127.0.0.1"
        return None


class UnknownMethodsRefusedAsText(Proxy):
    """A proxy that rejects unknown methods with an HTTP error whose body is not JSON."""

    def change_request(self, sent: Sent) -> web.Response | None:
        if b"mcpgen/unknown-method" in sent.body:
            return web.Response(status=400, text="unsupported")
        return None


def test_evidence_has_the_http_response_that_came_instead_of_a_message(upstream: str) -> None:
    found = check(UnknownMethodsRefusedAsText, upstream, LEGACY, "unknown-method-rejected")
    assert found.verdict is Verdict.FAIL
    assert [frame.raw for frame in found.evidence[1:]] == [b"unsupported"]


class OriginComparedWithHost(Proxy):
    def change_request(self, sent: Sent) -> web.Response | None:
        if sent.headers.get("Origin", "").endswith(sent.headers.get("Host", "")):
            sent.headers.popall("Origin", None)
            sent.headers["Host"] = "127.0.0.1"
        return None


class Statuses(Proxy):
    """A proxy that replaces one status by another."""

    old = new = 0

    def change_response(self, sent: Sent, head: web.StreamResponse) -> None:
        if head.status == self.old:
            head.set_status(self.new)


class OriginRefusedWith400(Statuses):
    old, new = 403, 400


class AcceptedWith200(Statuses):
    old, new = 202, 200


class EndedSessionsWith400(Statuses):
    old, new = 404, 400


class HeadersRefusedWith200(Statuses):
    old, new = 400, 200


class UnknownMethodsWith200(Statuses):
    old, new = 404, 200


class PlainText(Proxy):
    def change_response(self, sent: Sent, head: web.StreamResponse) -> None:
        if head.content_type == "application/json":
            head.headers["Content-Type"] = "text/plain"


class GetAsPage(Proxy):
    def change_request(self, sent: Sent) -> web.Response | None:
        return web.Response(text="welcome") if sent.method == "GET" else None


class DeleteIgnored(Proxy):
    def change_request(self, sent: Sent) -> web.Response | None:
        return web.Response(status=204) if sent.method == "DELETE" else None


class Sessions(Proxy):
    """A proxy that replaces session ids."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.ids: dict[str, str] = {}

    def make_id(self) -> str:
        raise NotImplementedError

    def change_request(self, sent: Sent) -> web.Response | None:
        shown = sent.headers.get("Mcp-Session-Id")
        if shown in self.ids:
            sent.headers["Mcp-Session-Id"] = self.ids[shown]
        return None

    def change_response(self, sent: Sent, head: web.StreamResponse) -> None:
        if "Mcp-Session-Id" in head.headers and sent.message.get("method") == "initialize":
            shown = self.make_id()
            self.ids[shown] = head.headers["Mcp-Session-Id"]
            head.headers["Mcp-Session-Id"] = shown


class CountedSessions(Sessions):
    def make_id(self) -> str:
        return f"session-{len(self.ids) + 1:016}"


class SpacesInSessions(Sessions):
    def make_id(self) -> str:
        return f"session {len(self.ids) + 1}"


class MissingSessionWith404(Proxy):
    def change_response(self, sent: Sent, head: web.StreamResponse) -> None:
        if "Mcp-Session-Id" not in sent.headers and head.status == 400:
            head.set_status(404)


class AnyVersion(Proxy):
    def change_request(self, sent: Sent) -> web.Response | None:
        if sent.headers.get("MCP-Protocol-Version") not in REVISIONS:
            sent.headers.popall("MCP-Protocol-Version", None)
        return None


class VersionRequired(Proxy):
    def change_request(self, sent: Sent) -> web.Response | None:
        needs = sent.method == "POST" and sent.message.get("method") != "initialize"
        lacks = "MCP-Protocol-Version" not in sent.headers
        return web.Response(status=400) if needs and lacks else None


class HeaderFilledIn(Proxy):
    """A proxy that copies a missing header from the body, or with `replaces` also a wrong one."""

    header = ""
    replaces = False

    def find_value(self, sent: Sent) -> str | None:
        raise NotImplementedError

    def change_request(self, sent: Sent) -> web.Response | None:
        value = self.find_value(sent) if sent.method == "POST" else None
        if value is not None and (self.header in sent.headers) == self.replaces:
            sent.headers[self.header] = value
        return None


class MissingMethod(HeaderFilledIn):
    header = "Mcp-Method"

    def find_value(self, sent: Sent) -> str | None:
        return sent.message.get("method")


class OtherMethod(MissingMethod):
    replaces = True


class MissingVersion(HeaderFilledIn):
    header = "MCP-Protocol-Version"

    def find_value(self, sent: Sent) -> str | None:
        return MODERN


class OtherVersion(MissingVersion):
    replaces = True


class MissingName(HeaderFilledIn):
    header = "Mcp-Name"

    def find_value(self, sent: Sent) -> str | None:
        params = sent.message.get("params", {})
        return params.get("name") or params.get("uri")


class OtherName(MissingName):
    replaces = True


class NameNotDecoded(Proxy):
    def change_request(self, sent: Sent) -> web.Response | None:
        if sent.headers.get("Mcp-Name", "").startswith("=?base64?"):
            sent.headers["Mcp-Name"] = "undecoded"
        return None


class ValuesInAnyCase(OtherMethod):
    def find_value(self, sent: Sent) -> str | None:
        method = str(sent.message.get("method"))
        return method if sent.headers.get("Mcp-Method", "").lower() == method.lower() else None


class NamesInOneCase(Proxy):
    def change_request(self, sent: Sent) -> web.Response | None:
        if "Mcp-Method" not in sent.spellings:
            sent.headers.popall("Mcp-Method", None)
        return None


class SessionsInModernResponses(Proxy):
    def change_response(self, sent: Sent, head: web.StreamResponse) -> None:
        head.headers["Mcp-Session-Id"] = "0f7e4d5f3c"


class BufferedStreams(Proxy):
    def change_response(self, sent: Sent, head: web.StreamResponse) -> None:
        head.headers.popall("X-Accel-Buffering", None)


HTTP_FAULTS: list[tuple[type[Proxy], str, str]] = [
    (OriginDropped, LEGACY, "origin-validated"),
    (OriginDropped, MODERN, "origin-validated"),
    (OriginComparedWithHost, LEGACY, "origin-validated"),
    (OriginRefusedWith400, MODERN, "origin-refused-with-403"),
    (AcceptedWith200, LEGACY, "notification-status"),
    (AcceptedWith200, MODERN, "notification-status"),
    (AcceptedWith200, LEGACY, "initialized-status"),
    (PlainText, LEGACY, "content-types"),
    (PlainText, MODERN, "content-types"),
    (GetAsPage, LEGACY, "get-answered"),
    (DeleteIgnored, LEGACY, "session-ended"),
    (EndedSessionsWith400, LEGACY, "session-ended"),
    (CountedSessions, LEGACY, "session-id-random"),
    (SpacesInSessions, LEGACY, "session-id-characters"),
    (MissingSessionWith404, LEGACY, "session-required"),
    (AnyVersion, LEGACY, "version-header-invalid"),
    (VersionRequired, LEGACY, "version-header-absent"),
    (MissingVersion, MODERN, "version-header-required"),
    (OtherVersion, MODERN, "version-header-matches"),
    (MissingMethod, MODERN, "method-header-required"),
    (OtherMethod, MODERN, "method-header-matches"),
    (MissingName, MODERN, "name-header-required"),
    (OtherName, MODERN, "name-header-matches"),
    (NameNotDecoded, MODERN, "name-header-decoded"),
    (ValuesInAnyCase, MODERN, "header-values-exact"),
    (NamesInOneCase, MODERN, "header-names-any-case"),
    (HeadersRefusedWith200, MODERN, "header-refusal"),
    (HeadersRefusedWith200, MODERN, "meta-error-status"),
    (HeadersRefusedWith200, MODERN, "version-error-status"),
    (UnknownMethodsWith200, MODERN, "unknown-method-status"),
    (UnknownMethodsWith200, MODERN, "removed-methods-refused"),
    (SessionsInModernResponses, MODERN, "no-sessions"),
    (BufferedStreams, MODERN, "no-response-buffering"),
]


class AnyToken(Protected):
    def accepts(self, sent: Sent) -> bool:
        return "Authorization" in sent.headers


class AnyUnsignedToken(Protected):
    def accepts(self, sent: Sent) -> bool:
        return super().accepts(sent) or sent.headers.get("Authorization", "").endswith(".")


class TokenInQuery(Protected):
    def accepts(self, sent: Sent) -> bool:
        return super().accepts(sent) or sent.query.get("access_token") == TOKEN


class RefusedWith403(Protected):
    status = 403


class SessionAsCredential(Protected):
    def accepts(self, sent: Sent) -> bool:
        has_token = "Authorization" in sent.headers
        return super().accepts(sent) or ("Mcp-Session-Id" in sent.headers and not has_token)


class NoAuthorizationEndpoint(Protected):
    def change_request(self, sent: Sent) -> web.Response | None:
        return super().change_request(sent) if sent.path == "/mcp" else web.Response(status=404)


class OpenDiscovery(Protected):
    def accepts(self, sent: Sent) -> bool:
        return super().accepts(sent) or sent.message.get("method") != "tools/call"


class NoChallenge(Protected):
    challenges = False


class Undiscoverable(NoChallenge):
    def serve_metadata(self, sent: Sent) -> web.Response:
        return web.Response(status=404)


class MetadataNotFound(Protected):
    def serve_metadata(self, sent: Sent) -> web.Response:
        return web.Response(status=404)


class IssuerOnly(NoChallenge):
    def serve_metadata(self, sent: Sent) -> web.Response:
        if sent.path == "/.well-known/oauth-authorization-server":
            return web.json_response({"issuer": "https://auth.example.com"})
        return web.Response(status=404)


class NoScope(Protected):
    scope = ""


class OfflineAccess(Protected):
    scope = ', scope="mcp offline_access"'


class NoAuthorizationServer(Protected):
    servers = ()


class OtherResource(Protected):
    def get_resource(self) -> str:
        return "https://other.example.com/mcp"


TOKEN_FAULTS: list[tuple[type[Proxy], str, str]] = [
    (AnyToken, LEGACY, "invalid-token-refused"),
    (AnyUnsignedToken, MODERN, "invalid-token-refused"),
    (TokenInQuery, LEGACY, "token-in-query-refused"),
    (TokenInQuery, MODERN, "token-in-query-refused"),
    (RefusedWith403, LEGACY, "token-required"),
    (RefusedWith403, MODERN, "invalid-token-status"),
    (SessionAsCredential, LEGACY, "session-is-no-credential"),
    (OpenDiscovery, MODERN, "token-required-everywhere"),
    (NoChallenge, "2025-06-18", "resource-metadata-in-challenge"),
    (Undiscoverable, LEGACY, "authorization-follows-mcp"),
    (IssuerOnly, LEGACY, "resource-metadata-discoverable"),
    (MetadataNotFound, LEGACY, "resource-metadata"),
    (NoAuthorizationServer, MODERN, "resource-metadata"),
    (OtherResource, MODERN, "resource-metadata-of-server"),
    (NoScope, LEGACY, "challenge-scope"),
    (OfflineAccess, MODERN, "no-offline-access"),
    (NoAuthorizationEndpoint, "2025-03-26", "authorization-server-metadata"),
]


@pytest.mark.parametrize(
    ("proxy", "revision", "requirement"),
    [*HTTP_FAULTS, *TOKEN_FAULTS],
    ids=lambda it: it if isinstance(it, str) else it.__name__,
)
def test_a_fault_is_found(
    upstream: str, proxy: type[Proxy], revision: str, requirement: str
) -> None:
    outcome = check(proxy, upstream, revision, requirement)
    assert outcome.verdict is Verdict.FAIL, outcome


def test_the_metadata_may_be_at_a_well_known_path_only(upstream: str) -> None:
    outcome = check(NoChallenge, upstream, LEGACY, "resource-metadata-discoverable")
    assert outcome.verdict is Verdict.PASS, outcome


def test_tokens_without_authorization_server_need_no_metadata(upstream: str) -> None:
    outcome = check(Undiscoverable, upstream, LEGACY, "resource-metadata")
    assert outcome.verdict is Verdict.NOT_APPLICABLE, outcome


def validated(proxy: type[Proxy], upstream: str, token: str = TOKEN) -> Validation:
    async def run() -> Validation:
        async with serve(proxy, upstream) as url:
            made = target(url, proxy) if token else Target(url=url)
            return await validate(made, revisions=(LEGACY, MODERN), transports=("http",))

    return asyncio.run(run())


@pytest.mark.parametrize("proxy", [Proxy, Protected])
def test_a_correct_server_has_no_finding(upstream: str, proxy: type[Proxy]) -> None:
    validation = validated(proxy, upstream)
    found = [(it.requirement.id, it.outcome.message) for it in iterate_findings(validation)]
    assert found == []
    for score in compute_scores(validation).values():
        assert score.coverage >= 0.9


def test_a_protected_server_without_a_token_is_unauthorized(upstream: str) -> None:
    validation = validated(Protected, upstream, token="")
    assert validation.trouble_kind == "unauthorized"


def test_the_token_is_in_no_evidence(upstream: str) -> None:
    validation = validated(AnyToken, upstream)
    shown = [str(it.evidence) for it in validation.results if it.evidence]
    assert shown
    assert not any(TOKEN in text for text in shown)


@pytest.mark.parametrize(
    ("ids", "is_random"),
    [
        (["session-1", "session-2", "session-3"], False),
        (["1700000000001", "1700000000254", "1700000000399"], False),
        (["5a2f0c4e9b7d4f1a8c3e6b0d2f4a6c8e", "0d1c2b3a4f5e6d7c8b9a0f1e2d3c4b5a"], True),
        (
            [
                "f81d4fae-7dec-41d0-a765-00a0c91e6bf6",
                "0b9c1a52-93f4-4c0e-8d5b-6e1f2a3b4c5d",
            ],
            True,
        ),
    ],
)
def test_ids_that_differ_little_can_be_guessed(ids: list[str], is_random: bool) -> None:
    assert (estimate_bits(ids) >= 40) == is_random
