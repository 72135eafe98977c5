"""Checks of sessions and of the version header over HTTP, before 2026-07-28."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Final

from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.checks.posts import (
    describe_status,
    http_connection,
    post,
    uses_sessions,
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
from mcpgen.factory.wire.frames import Frame
from mcpgen.factory.wire.session import Reply, Session

_SESSION: Final = "Mcp-Session-Id"
_VERSION: Final = "MCP-Protocol-Version"
_NO_SESSIONS: Final = "the server uses no sessions"
_IDS: Final = 4
_MIN_BITS: Final = 40  # well below the 128 bits that a secure id has
_UNSUPPORTED_VERSIONS: Final = ("2099-12-31", "mcpgen-no-version")


async def _ping(session: Session, changes: Mapping[str, str | None]) -> Reply:
    return await post(session, session.message("ping", None, session.next_id()), changes)


async def check_session_required(probe: Probe) -> Outcome:
    """A request without the id of a session is refused with HTTP 400."""
    session = await probe.get_session()
    if not uses_sessions(session):
        return skip(_NO_SESSIONS)
    reply = await _ping(session, {_SESSION: None})
    if reply.status < 400:
        return cannot_decide("the server does not require a session", reply.frames)
    if reply.status != 400:
        return fail(
            f"a request without `{_SESSION}` was answered with {describe_status(reply)},"
            " expected HTTP 400",
            reply.frames,
        )
    return succeed()


async def check_session_ended(probe: Probe) -> Outcome:
    """Requests of a session that was ended with DELETE are refused with HTTP 404."""
    async with probe.fresh() as session:
        connection = http_connection(session)
        if not uses_sessions(session):
            return skip(_NO_SESSIONS)
        headers = connection.standard_headers()
        del headers["Content-Type"]
        ended = await connection.fetch("DELETE", headers=headers, timeout_seconds=5.0)
        reply = await _ping(session, {})
        frames = [ended.request, ended.response, *reply.frames]
        if ended.status < 300:
            connection.session_id = None
        if ended.status == 405:
            return leave_untested("the server does not let clients end sessions")
        if ended.status >= 300:
            return cannot_decide(f"DELETE was answered with HTTP {ended.status}", frames)
        if reply.status != 404:
            return fail(
                "a request of a session that was ended with DELETE was answered with"
                f" {describe_status(reply)}, expected HTTP 404",
                frames,
            )
        return succeed()


def check_session_characters(probe: Probe, frames: Sequence[Frame]) -> Outcome:
    """Session ids consist of visible ASCII characters."""
    found = _session_ids(frames)
    for session_id, frame in found.items():
        if not all("!" <= character <= "~" for character in session_id):
            evidence = [frame.request, frame] if frame.request is not None else [frame]
            return fail("a session id contains characters other than visible ASCII", evidence)
    return succeed() if found else skip(_NO_SESSIONS)


def _session_ids(frames: Sequence[Frame]) -> dict[str, Frame]:
    return {
        session_id: frame
        for frame in frames
        if frame.http is not None
        and frame.answered_method == "initialize"
        and (session_id := frame.http.header("mcp-session-id"))
    }


async def check_session_randomness(probe: Probe) -> Outcome:
    """Session ids differ, and nobody can guess one from others."""
    found: list[str] = []
    evidence: list[Frame] = []
    for _ in range(_IDS):
        async with probe.fresh() as session:
            session_id = http_connection(session).session_id
            if session_id is None:
                return skip(_NO_SESSIONS)
            found.append(session_id)
            evidence += session.handshake.frames if session.handshake is not None else []
    if len(set(found)) < len(found):
        return fail("two sessions have the same id", evidence)
    bits = estimate_bits(found)
    if bits < _MIN_BITS:
        return fail(
            f"session ids can be guessed: {_IDS} ids differ by about {bits:.0f} bits", evidence
        )
    return succeed()


def estimate_bits(ids: Sequence[str]) -> float:
    """Estimate an upper bound of the random bits in ids: the characters between common ends."""
    start = _count_common(ids)
    rests = [it[start:] for it in ids]
    end = _count_common([it[::-1] for it in rests])
    varying = max(len(it) for it in rests) - end
    characters = {character for it in rests for character in it}
    if all(it in "0123456789" for it in characters):
        alphabet = 10
    elif all(it in "0123456789abcdefABCDEF-" for it in characters):
        alphabet = 16
    else:
        alphabet = 64
    return varying * math.log2(alphabet)


def _count_common(texts: Sequence[str]) -> int:
    """Return the length of the longest common start."""
    columns = zip(*texts, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda column: len(set(column)) == 1, columns))


async def check_version_header(probe: Probe) -> Outcome:
    """An unsupported version in the header is refused with HTTP 400."""
    session = await probe.get_session()
    for version in _UNSUPPORTED_VERSIONS:
        reply = await _ping(session, {_VERSION: version})
        if reply.status != 400:
            return fail(
                f"`{_VERSION}: {version}` was answered with {describe_status(reply)},"
                " expected HTTP 400",
                reply.frames,
            )
    return succeed()


async def check_version_header_absent(probe: Probe) -> Outcome:
    """A request without version header is served."""
    session = await probe.get_session()
    if not uses_sessions(session) and "2025-03-26" not in probe.known.supported:
        return skip("the server uses no sessions and does not support 2025-03-26")
    reply = await _ping(session, {_VERSION: None})
    if reply.status >= 400:
        return fail(
            f"a request without `{_VERSION}` was answered with {describe_status(reply)}",
            reply.frames,
        )
    return succeed()


ACTIVE: Mapping[str, ActiveCheck] = {
    "session-required": check_session_required,
    "session-ended": check_session_ended,
    "session-id-random": check_session_randomness,
    "version-header-invalid": check_version_header,
    "version-header-absent": check_version_header_absent,
}
PASSIVE: Mapping[str, PassiveCheck] = {"session-id-characters": check_session_characters}
