"""Detection of the revisions that a server supports over one transport."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from mcpgen.factory.validate.probe import START_SECONDS, Knowledge, Probe, ProbeOptions
from mcpgen.factory.wire.connection import (
    ConnectionLostError,
    UnauthorizedError,
    UnreachableError,
)
from mcpgen.factory.wire.frames import Frame, Recording
from mcpgen.factory.wire.session import LEGACY_REVISIONS, MODERN, REVISIONS, Reply, Session
from mcpgen.factory.wire.stdio import StdioConnection
from mcpgen.factory.wire.targets import Target
from mcpgen.jsonschema.types import JsonObject

# A server of earlier revisions may leave `server/discover` unanswered.
_MODERN_SECONDS: Final = 10.0
_AT_ONCE: Final = 2
_MODERN_MEMBERS: Final[dict[str, set[str]]] = {
    "server/discover": {"supportedVersions", "resultType"},
    "tools/list": {"resultType"},
}
_FIRST_AND_LAST: Final[dict[str, tuple[str, str]]] = {
    "stdio": (REVISIONS[0], REVISIONS[-1]),
    "http": ("2025-03-26", REVISIONS[-1]),
    "sse": ("2024-11-05", "2024-11-05"),
}


@dataclass(slots=True)
class Negotiation:
    """Supported revisions, and the reasons why others are not supported.

    `examined` is the same, or the latest handshake revision if a server answers and supports none:
    the faults of its answers are the result then.
    """

    supported: list[str] = field(default_factory=list)
    declined: dict[str, str] = field(default_factory=dict)
    examined: list[str] = field(default_factory=list)


def carries(transport: str, revision: str) -> bool:
    """Whether a transport is defined for a known revision."""
    first, last = _FIRST_AND_LAST[transport]
    return revision in REVISIONS and first <= revision <= last


async def negotiate(target: Target, transport: str) -> Negotiation:
    """Ask a server for each revision that a transport can carry.

    Raises:
        UnreachableError: the server cannot be started, or answers nothing.
        UnauthorizedError: it requires credentials.
    """
    found = Negotiation()
    candidates = [it for it in REVISIONS if carries(transport, it)]
    found.declined = {
        it: f"it is not defined for {transport}" for it in REVISIONS if it not in candidates
    }
    answers = await _ask_all(target, transport, candidates)
    for answer in answers:
        if answer.reason:
            found.declined[answer.revision] = answer.reason
        else:
            found.supported.append(answer.revision)
    if not any(answer.is_answered for answer in answers):
        raise UnreachableError(answers[0].reason)
    found.supported.sort()
    found.examined = found.supported or [max(it for it in LEGACY_REVISIONS if it in candidates)]
    return found


@dataclass(frozen=True, slots=True)
class _Answer:
    """Result of requesting a revision; `reason` states why it is not supported."""

    revision: str
    reason: str
    is_answered: bool


async def _ask_all(target: Target, transport: str, revisions: Sequence[str]) -> list[_Answer]:
    """Request revisions, the latest with a handshake first; the others only if that is answered."""
    gate = asyncio.Semaphore(_AT_ONCE)
    *earlier, latest = (it for it in revisions if it != MODERN)
    answers = [await _ask(target, transport, latest, START_SECONDS, gate)]
    if answers[0].is_answered:
        answers += await asyncio.gather(
            *(_ask(target, transport, it, START_SECONDS, gate) for it in earlier)
        )
    else:
        answers += [_Answer(it, answers[0].reason, is_answered=False) for it in earlier]
    if MODERN in revisions:
        is_supported = any(not answer.reason for answer in answers)
        seconds = _MODERN_SECONDS if is_supported else START_SECONDS
        answers.append(await _ask(target, transport, MODERN, seconds, gate))
    return answers


async def _ask(
    target: Target, transport: str, revision: str, seconds: float, gate: asyncio.Semaphore
) -> _Answer:
    """Request a revision from a server on a connection of its own."""
    async with gate:
        recording = Recording(target.secrets)
        probe = Probe(target, revision, transport, recording, ProbeOptions(), Knowledge())
        connection = await probe.connect()
        session = Session(connection, revision)
        try:
            if revision == MODERN:
                return await _ask_modern(session, seconds)
            return await _ask_legacy(session, seconds)
        except ConnectionLostError as error:
            return _Answer(revision, _add_log(str(error), connection), is_answered=False)
        finally:
            await connection.close()


async def _ask_legacy(session: Session, seconds: float) -> _Answer:
    """Request a revision by a handshake."""
    reply = await _ask_leniently(session, "initialize", session.initialize_params(), seconds)
    version = (reply.result or {}).get("protocolVersion")
    reason = _describe(reply)
    if reply.result is not None:
        reason = f"the server answered with {version!r}"
    is_supported = version == session.revision
    is_answered = reply.response is not None or reply.status > 0
    return _Answer(session.revision, "" if is_supported else reason, is_answered)


async def _ask_modern(session: Session, seconds: float) -> _Answer:
    """Look for results of 2026-07-28, from `server/discover` or else from `tools/list`."""
    reasons = []
    answered = False
    for method, members in _MODERN_MEMBERS.items():
        reply = await _ask_leniently(session, method, {}, seconds)
        answered = answered or reply.response is not None or reply.status > 0
        versions = (reply.result or {}).get("supportedVersions")
        if isinstance(versions, list) and versions and MODERN not in versions:
            return _Answer(MODERN, f"the server supports {', '.join(map(str, versions))}", True)
        if members & (reply.result or {}).keys():
            return _Answer(MODERN, "", True)
        reasons.append(f"`{method}`: {_describe(reply)}")
        if reply.response is None:
            break
    return _Answer(MODERN, reasons[0], answered)


async def _ask_leniently(
    session: Session, method: str, params: JsonObject, seconds: float
) -> Reply:
    """Send a request and take the first response, whatever id it has."""
    connection = session.connection
    since = len(connection.received)
    pending = await session.start(method, params)

    def is_answer(frame: Frame) -> bool:
        return frame.is_response or (frame.http is not None and frame.http.status >= 400)

    frame = await connection.wait_for(is_answer, seconds, since)
    if pending.head is not None and pending.head.status == 401:
        raise UnauthorizedError(pending.head.header("www-authenticate") or "")
    if frame is None and connection.lost:
        raise ConnectionLostError(connection.lost)
    is_message = frame is not None and frame.is_response
    return Reply(pending.request, frame if is_message else None, pending.head)


def _describe(reply: Reply) -> str:
    if reply.error is not None:
        return f"error {reply.code}: {reply.error.get('message')}"
    if reply.response is None:
        return f"HTTP {reply.status}" if reply.status else "no response"
    return "a result without the members of this revision"


def _add_log(reason: str, connection: object) -> str:
    """Add the last line that the server wrote to stderr."""
    if not isinstance(connection, StdioConnection):
        return reason
    lines = [line for line in connection.stderr.splitlines() if line.strip()]
    return f"{reason}: {lines[-1].strip()}" if lines else reason
