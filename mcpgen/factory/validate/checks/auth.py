"""Checks of authorization over HTTP: tokens, challenges and metadata of a protected server."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlsplit

from mcpgen.factory.validate.checks.calls import call_tools
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.posts import (
    describe_status,
    http_connection,
    is_loopback,
    post,
)
from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import (
    Outcome,
    cannot_decide,
    fail,
    leave_untested,
    skip,
    succeed,
)
from mcpgen.factory.wire.connection import ConnectionLostError
from mcpgen.factory.wire.frames import Frame, HttpHead
from mcpgen.factory.wire.http import Exchange
from mcpgen.factory.wire.session import Reply, Session
from mcpgen.jsonschema.types import JsonObject

_HEADER: Final = "Authorization"
_SESSION: Final = "Mcp-Session-Id"
_OPEN: Final = "the server serves requests without credentials"
_WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
_AUTHORIZATION_SERVER: Final = "/.well-known/oauth-authorization-server"
_PARAMETER: Final = re.compile(r'([A-Za-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_MIN_SECRET: Final = 8
_FOREIGN_KEY: Final = b"mcpgen-validate-foreign-key-0001"


# Requests without a token


@dataclass(frozen=True, slots=True)
class BareReplies:
    """Replies to requests without credentials; `opening` is that to the first request."""

    opening: Reply
    others: dict[str, Reply] = field(default_factory=dict)

    @property
    def all(self) -> dict[str, Reply]:
        """The replies to all requests, by their MCP method."""
        return {self.opening.request.method: self.opening, **self.others}

    @property
    def challenge(self) -> HttpHead | None:
        """The head of a response with HTTP 401, or else 403; None if nothing was refused."""
        heads = [it.head for it in self.all.values() if it.head is not None]
        return next(
            (head for status in (401, 403) for head in heads if head.status == status), None
        )

    @property
    def is_protected(self) -> bool:
        """Whether the server refuses some request for the lack of a token."""
        return self.challenge is not None


async def ask_without_token(probe: Probe) -> BareReplies:
    """Send the first request, a list and a call without credentials."""
    session = await probe.get_session()
    without: dict[str, str | None] = {_HEADER: None}
    if probe.is_modern:
        opening = await _send(session, "server/discover", None, without)
    else:
        message = session.message("initialize", session.initialize_params(), session.next_id())
        changes = {**without, _SESSION: None, "MCP-Protocol-Version": None}
        opening = await post(session, message, changes)
    others: dict[str, Reply] = {}
    if not probe.is_modern:
        others["ping"] = await _send(session, "ping", None, without)
    if probe.declares("tools"):
        others["tools/list"] = await _send(session, "tools/list", None, without)
    for call in [it for it in (await probe.once(call_tools)).made if it.is_complete][:1]:
        params = call.params
        others["tools/call"] = await _send(session, "tools/call", params, without)
    return BareReplies(opening, others)


async def _send(
    session: Session, method: str, params: JsonObject | None, changes: Mapping[str, str | None]
) -> Reply:
    return await post(session, session.message(method, params, session.next_id()), changes)


async def check_token_required(probe: Probe) -> Outcome:
    """A request without a token is refused with HTTP 401."""
    bare = await probe.once(ask_without_token)
    if not bare.is_protected:
        return skip(_OPEN)
    for method, reply in bare.all.items():
        if 400 <= reply.status != 401:
            return fail(
                f"`{method}` without a token was answered with {describe_status(reply)},"
                " expected HTTP 401",
                reply.frames,
            )
    return succeed()


async def check_every_request(probe: Probe) -> Outcome:
    """Every request needs a token."""
    bare = await probe.once(ask_without_token)
    if not bare.is_protected:
        return skip(_OPEN)
    if bare.opening.status >= 400 and not probe.is_modern:
        return succeed()  # all others have the id of a session, and have a check of their own
    for method, reply in bare.all.items():
        if reply.status < 400:
            return fail(f"`{method}` was served without a token", reply.frames)
    return succeed()


async def check_session_is_no_credential(probe: Probe) -> Outcome:
    """A request with the id of a session needs a token as well."""
    bare = await probe.once(ask_without_token)
    if not bare.is_protected:
        return skip(_OPEN)
    if http_connection(await probe.get_session()).session_id is None:
        return skip("the server uses no sessions")
    if bare.opening.status < 400:
        return skip("sessions are open to everyone")
    for method, reply in bare.others.items():
        if reply.status < 400:
            return fail(
                f"`{method}` with the id of a session was served without a token", reply.frames
            )
    return succeed()


# Other tokens


def _make_bad_tokens(probe: Probe) -> dict[str, str]:
    """Return tokens that no server may accept, by their fault."""
    claims: JsonObject = {
        "sub": "mcpgen",
        "aud": probe.target.url,
        "exp": int(time.time()) + 600,
        **_read_claims(probe.target.token),
    }
    unsigned = f"{_encode({'alg': 'none', 'typ': 'JWT'})}.{_encode(claims)}."
    body = f"{_encode({'alg': 'HS256', 'typ': 'JWT'})}.{_encode(claims)}"
    signature = hmac.new(_FOREIGN_KEY, body.encode(), hashlib.sha256).digest()
    tokens = {
        "an unknown token": "mcpgen-unknown-token",
        "an unsigned token": unsigned,
        "a token that is signed with a foreign key": f"{body}.{_base64(signature)}",
    }
    parts = probe.target.token.split(".")
    if len(parts) == 3 and _read_claims(probe.target.token):
        tokens["a token whose signature was changed"] = ".".join(
            (*parts[:2], _base64(hashlib.sha256(parts[2].encode()).digest() * 8))
        )
    return tokens


def _read_claims(token: str) -> JsonObject:
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}


def _encode(value: JsonObject) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


async def _send_bad_tokens(probe: Probe) -> dict[str, Reply]:
    session = await probe.get_session()
    replies: dict[str, Reply] = {}
    for what, token in _make_bad_tokens(probe).items():
        changes: dict[str, str | None] = {_HEADER: f"Bearer {token}"}
        if probe.is_modern:
            replies[what] = await _send(session, "server/discover", None, changes)
            continue
        changes |= {_SESSION: None, "MCP-Protocol-Version": None}
        message = session.message("initialize", session.initialize_params(), session.next_id())
        replies[what] = await post(session, message, changes)
    return replies


async def check_bad_tokens_refused(probe: Probe) -> Outcome:
    """Tokens that the authorization server did not issue are not accepted."""
    bare = await probe.once(ask_without_token)
    if bare.opening.status < 400:
        return skip(_OPEN)
    for what, reply in (await probe.once(_send_bad_tokens)).items():
        if reply.status < 400:
            return fail(f"{what} was accepted", reply.frames)
    return succeed()


async def check_bad_tokens_status(probe: Probe) -> Outcome:
    """An invalid token is refused with HTTP 401."""
    bare = await probe.once(ask_without_token)
    if bare.opening.status < 400:
        return skip(_OPEN)
    for what, reply in (await probe.once(_send_bad_tokens)).items():
        if 400 <= reply.status != 401:
            return fail(
                f"{what} was refused with {describe_status(reply)}, expected HTTP 401",
                reply.frames,
            )
    return succeed()


async def check_token_in_query(probe: Probe) -> Outcome:
    """A token in the query of the URL is not accepted."""
    bare = await probe.once(ask_without_token)
    if bare.opening.status < 400:
        return skip(_OPEN)
    token = probe.target.token
    if not token:
        return leave_untested("no token was given")
    # URLs end up in logs; so does a token in them.
    if not is_loopback(probe.target.url) or quote(token, safe="") != token:
        return leave_untested("a token is put into no URL of another machine")
    session = await probe.get_session()
    connection = http_connection(session)
    method = "server/discover" if probe.is_modern else "initialize"
    params = None if probe.is_modern else session.initialize_params()
    message = session.message(method, params, session.next_id())
    dropped = (
        {_HEADER, _SESSION} if probe.is_modern else {_HEADER, _SESSION, "MCP-Protocol-Version"}
    )
    headers = connection.standard_headers(message)
    exchange = await connection.fetch(
        "POST",
        headers={name: value for name, value in headers.items() if name not in dropped},
        body=json.dumps(message).encode(),
        url=f"{probe.target.url}?access_token={token}",
        timeout_seconds=5.0,
    )
    if exchange.status < 400:
        return fail(
            "a token in the query of the URL was accepted",
            [exchange.request, exchange.response],
        )
    return succeed()


# Challenges and metadata


def parse_challenge(value: str) -> dict[str, str]:
    """Return the parameters of a `WWW-Authenticate` header (RFC 9110, section 11.6.1)."""
    return {
        match[1].lower(): match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2])
        for match in _PARAMETER.finditer(value)
    }


@dataclass(frozen=True, slots=True)
class ResourceMetadata:
    """The metadata of the protected resource, and its URL.

    `exchanges` are the requests for it; the last one is that of `document`.
    """

    challenge: dict[str, str]
    exchanges: list[Exchange]
    document: JsonObject | None
    elsewhere: str = ""  # an address on another server, which is not asked
    has_issuer: bool = False  # the server has the metadata of an authorization server

    @property
    def is_oauth(self) -> bool:
        """Whether something shows that tokens come from an authorization server."""
        is_named = "resource_metadata" in self.challenge
        return is_named or self.document is not None or self.has_issuer

    @property
    def evidence(self) -> list[Frame]:
        """The requests and their responses."""
        return [frame for it in self.exchanges for frame in (it.request, it.response)]


async def find_metadata(probe: Probe) -> ResourceMetadata:
    """Request the metadata at the URL in the challenge, or else at the well-known paths (RFC 9728).

    Raises:
        ConnectionLostError: the server does not answer.
    """
    bare = await probe.once(ask_without_token)
    head = bare.challenge
    challenge = parse_challenge((head.header("www-authenticate") or "") if head else "")
    target = urlsplit(probe.target.url)
    origin = f"{target.scheme}://{target.netloc}"
    named = challenge.get("resource_metadata")
    exchanges: list[Exchange] = []
    if named is not None and not _is_same_host(named, probe.target.url):
        return ResourceMetadata(challenge, exchanges, None, named)
    path = target.path.rstrip("/")
    places = [named] if named else [f"{origin}{_WELL_KNOWN}{path}", f"{origin}{_WELL_KNOWN}"]
    connection = http_connection(await probe.get_session())
    for place in places:
        try:
            exchange = await connection.fetch(
                "GET", headers={"Accept": "application/json"}, url=place, timeout_seconds=5.0
            )
        except ConnectionLostError:
            continue
        exchanges.append(exchange)
        message = exchange.response.message
        if exchange.status == 200 and isinstance(message, dict):
            return ResourceMetadata(challenge, exchanges, message)
    issuer = await connection.fetch(
        "GET", url=f"{origin}{_AUTHORIZATION_SERVER}", timeout_seconds=5.0
    )
    document = issuer.response.message
    has_issuer = issuer.status == 200 and isinstance(document, dict) and "issuer" in document
    return ResourceMetadata(challenge, exchanges, None, has_issuer=has_issuer)


def _is_same_host(url: str, other: str) -> bool:
    first, second = urlsplit(url), urlsplit(other)
    if first.scheme not in {"http", "https"}:
        return False
    if is_loopback(url) and is_loopback(other):
        return first.port == second.port
    return (first.hostname, first.port) == (second.hostname, second.port)


async def _find_reason_to_skip(probe: Probe) -> Outcome | None:
    """Return why the rules of OAuth do not apply; None if they do."""
    bare = await probe.once(ask_without_token)
    if not bare.is_protected:
        return skip(_OPEN)
    # A server and its clients may agree on tokens of another kind (Base Protocol, "Auth").
    if not (await probe.once(find_metadata)).is_oauth:
        return skip("nothing shows that tokens come from an authorization server")
    return None


async def check_follows_mcp(probe: Probe) -> Outcome:
    """A client that has no token finds out where to get one."""
    bare = await probe.once(ask_without_token)
    if not bare.is_protected:
        return skip(_OPEN)
    found = await probe.once(find_metadata)
    if not found.is_oauth:
        return fail(
            "HTTP 401 comes without `resource_metadata`, and there is no metadata of the protected"
            " resource: clients cannot fetch a token",
            [*bare.opening.frames, *found.evidence],
        )
    return succeed()


async def check_metadata(probe: Probe) -> Outcome:
    """The metadata of the protected resource names an authorization server."""
    if (outcome := await _find_reason_to_skip(probe)) is not None:
        return outcome
    found = await probe.once(find_metadata)
    if found.elsewhere:
        return leave_untested(f"the metadata is on another server: {found.elsewhere}")
    if found.document is None:
        statuses = ", ".join(str(it.status) for it in found.exchanges) or "no response"
        return fail(
            f"the metadata of the protected resource was not found (HTTP {statuses})",
            found.evidence,
        )
    servers = found.document.get("authorization_servers")
    if not isinstance(servers, list) or not servers:
        return fail("the metadata has no `authorization_servers`", found.evidence)
    return succeed()


async def check_metadata_resource(probe: Probe) -> Outcome:
    """The metadata is that of this server."""
    if (outcome := await _find_reason_to_skip(probe)) is not None:
        return outcome
    found = await probe.once(find_metadata)
    if found.document is None:
        return cannot_decide("the metadata was not found", found.evidence)
    resource: Any = found.document.get("resource")
    if not isinstance(resource, str):
        return fail("the metadata has no `resource`", found.evidence)
    path = urlsplit(resource).path.rstrip("/")
    is_parent = (urlsplit(probe.target.url).path + "/").startswith(path + "/")
    if not _is_same_host(resource, probe.target.url) or not is_parent:
        return fail(
            f"the `resource` of the metadata is {resource}, not {probe.target.url}", found.evidence
        )
    return succeed()


async def check_metadata_in_challenge(probe: Probe) -> Outcome:
    """The challenge names the metadata."""
    if (outcome := await _find_reason_to_skip(probe)) is not None:
        return outcome
    found = await probe.once(find_metadata)
    if "resource_metadata" not in found.challenge:
        reply = (await probe.once(ask_without_token)).opening
        return fail("the challenge has no `resource_metadata`", reply.frames)
    return succeed()


async def check_metadata_discoverable(probe: Probe) -> Outcome:
    """The challenge names the metadata, or it is at a well-known path."""
    if (outcome := await _find_reason_to_skip(probe)) is not None:
        return outcome
    found = await probe.once(find_metadata)
    if "resource_metadata" in found.challenge or found.document is not None:
        return succeed()
    reply = (await probe.once(ask_without_token)).opening
    return fail(
        "neither the challenge nor a well-known path leads to the metadata",
        [*reply.frames, *found.evidence],
    )


async def check_challenge_scope(probe: Probe) -> Outcome:
    """The challenge names the scopes that are needed."""
    if (outcome := await _find_reason_to_skip(probe)) is not None:
        return outcome
    challenge = (await probe.once(find_metadata)).challenge
    if not challenge:
        return cannot_decide("HTTP 401 has no challenge")
    if "scope" not in challenge:
        reply = (await probe.once(ask_without_token)).opening
        return fail("the challenge has no `scope`", reply.frames)
    return succeed()


async def check_offline_access(probe: Probe) -> Outcome:
    """Neither the challenge nor the metadata names the scope `offline_access`."""
    if (outcome := await _find_reason_to_skip(probe)) is not None:
        return outcome
    found = await probe.once(find_metadata)
    supported = (found.document or {}).get("scopes_supported")
    if "offline_access" in found.challenge.get("scope", "").split():
        reply = (await probe.once(ask_without_token)).opening
        return fail("the challenge names `offline_access`", reply.frames)
    if isinstance(supported, list) and "offline_access" in supported:
        return fail("`scopes_supported` contains `offline_access`", found.evidence)
    return succeed()


async def check_authorization_server(probe: Probe) -> Outcome:
    """The server has the metadata of its authorization server, or the default endpoints."""
    bare = await probe.once(ask_without_token)
    if not bare.is_protected:
        return skip(_OPEN)
    connection = http_connection(await probe.get_session())
    target = urlsplit(probe.target.url)
    evidence: list[Frame] = []
    for path in (_AUTHORIZATION_SERVER, "/authorize"):
        exchange = await connection.fetch(
            "GET", url=f"{target.scheme}://{target.netloc}{path}", timeout_seconds=5.0
        )
        evidence += [exchange.request, exchange.response]
        if exchange.status in {401, 403}:
            return cannot_decide(f"`{path}` needs a token itself", evidence)
        if exchange.status not in {404, 405, 410}:
            return succeed()
    return fail(
        f"neither `{_AUTHORIZATION_SERVER}` nor `/authorize` exists on the server", evidence
    )


def check_insufficient_scope(_probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """HTTP 403 for lack of scope names the scopes and the metadata."""
    seen = False
    for frame in frames:
        head = frame.http
        if head is None or head.status != 403:
            continue
        challenge = parse_challenge(head.header("www-authenticate") or "")
        if challenge.get("error") != "insufficient_scope":
            continue
        seen = True
        missing = [it for it in ("scope", "resource_metadata") if it not in challenge]
        if missing:
            evidence = [frame.request, frame] if frame.request is not None else [frame]
            return fail(f"the challenge `insufficient_scope` has no `{missing[0]}`", evidence)
    return succeed() if seen else skip("no request needed another scope")


def check_secrets_in_messages(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Log messages do not contain credentials of this examination."""
    secrets = [it for it in probe.target.secrets if len(it) >= _MIN_SECRET]
    secrets += [it.removeprefix("Bearer ") for it in secrets if it.startswith("Bearer ")]
    if not probe.target.token or not secrets:
        return skip("no credential was given")
    logs = [frame for frame in frames if frame.method == "notifications/message"]
    for frame in logs:
        if any(secret.encode() in frame.raw for secret in secrets):
            return fail("a log message contains the access token", [frame])
    return succeed() if logs else skip("the server sent no log message")


ACTIVE: Mapping[str, ActiveCheck] = {
    "token-required": check_token_required,
    "token-required-everywhere": check_every_request,
    "session-is-no-credential": check_session_is_no_credential,
    "invalid-token-refused": check_bad_tokens_refused,
    "invalid-token-status": check_bad_tokens_status,
    "token-in-query-refused": check_token_in_query,
    "authorization-follows-mcp": check_follows_mcp,
    "resource-metadata": check_metadata,
    "resource-metadata-of-server": check_metadata_resource,
    "resource-metadata-in-challenge": check_metadata_in_challenge,
    "resource-metadata-discoverable": check_metadata_discoverable,
    "challenge-scope": check_challenge_scope,
    "no-offline-access": check_offline_access,
    "authorization-server-metadata": check_authorization_server,
}
PASSIVE: Mapping[str, PassiveCheck] = {
    "insufficient-scope-challenge": check_insufficient_scope,
    "no-token-in-logs": check_secrets_in_messages,
}
