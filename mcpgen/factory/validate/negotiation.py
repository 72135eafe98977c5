"""Which revisions a server supports over one transport."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mcpgen.factory.validate.probe import START_SECONDS, Knowledge, Probe, ProbeOptions
from mcpgen.factory.wire.connection import ConnectionLostError, UnreachableError
from mcpgen.factory.wire.frames import Recording
from mcpgen.factory.wire.session import LEGACY_REVISIONS, MODERN, REVISIONS, Reply, Session
from mcpgen.factory.wire.stdio import StdioConnection
from mcpgen.factory.wire.targets import Target

# A server of earlier revisions may leave `server/discover` unanswered.
_MODERN_SECONDS: Final = 5.0
_FIRST_AND_LAST: Final[dict[str, tuple[str, str]]] = {
    "stdio": (REVISIONS[0], REVISIONS[-1]),
    "http": ("2025-03-26", REVISIONS[-1]),
    "sse": ("2024-11-05", "2024-11-05"),
}


@dataclass(slots=True)
class Negotiation:
    """Supported revisions, and why others are not.

    `examined` is the same, or the latest handshake revision where a server answers and supports
    none: what is wrong with its answers is the result then.
    """

    supported: list[str] = field(default_factory=list)
    declined: dict[str, str] = field(default_factory=dict)
    examined: list[str] = field(default_factory=list)


async def negotiate(target: Target, transport: str) -> Negotiation:
    """Ask a server for each revision that a transport can carry.

    Raises:
        UnreachableError: the server cannot be started, or answers nothing.
        UnauthorizedError: it requires credentials.
    """
    found = Negotiation()
    first, last = _FIRST_AND_LAST[transport]
    has_answered = False
    trouble = ""
    for revision in REVISIONS:
        if not first <= revision <= last:
            found.declined[revision] = f"it is not defined for {transport}"
            continue
        recording = Recording(target.secrets)
        probe = Probe(target, revision, transport, recording, ProbeOptions(), Knowledge())
        try:
            reason, answered = await _ask(probe, is_patient=not found.supported)
        except ConnectionLostError as error:
            reason, answered, trouble = f"the connection was lost: {error}", False, str(error)
        has_answered = has_answered or answered
        if reason:
            found.declined[revision] = reason
        else:
            found.supported.append(revision)
    if not has_answered:
        raise UnreachableError(trouble or "the server answers neither `initialize` nor others")
    found.examined = found.supported or [max(it for it in LEGACY_REVISIONS if first <= it <= last)]
    return found


async def _ask(probe: Probe, *, is_patient: bool) -> tuple[str, bool]:
    """Return why the server does not support a revision ("" if it does), and if it answered."""
    connection = await probe.connect()
    session = Session(connection, probe.revision)
    seconds = START_SECONDS if is_patient else _MODERN_SECONDS
    try:
        if probe.revision == MODERN:
            return await _ask_modern(session, seconds)
        reply = await session.request(
            "initialize", session.initialize_params(), timeout_seconds=START_SECONDS
        )
    except ConnectionLostError as error:
        raise ConnectionLostError(_add_log(str(error), connection)) from None
    finally:
        await connection.close()
    version = (reply.result or {}).get("protocolVersion")
    if version == probe.revision:
        return "", True
    if reply.result is not None:
        return f"the server answered with {version!r}", True
    return _describe(reply), reply.response is not None


async def _ask_modern(session: Session, seconds: float) -> tuple[str, bool]:
    """Look for results of 2026-07-28, from `server/discover` or else from `tools/list`."""
    answered = False
    reason = ""
    for method, members in (
        ("server/discover", {"supportedVersions", "resultType"}),
        ("tools/list", {"resultType"}),
    ):
        reply = await session.request(method, timeout_seconds=seconds)
        answered = answered or reply.response is not None
        versions = (reply.result or {}).get("supportedVersions")
        if isinstance(versions, list) and versions and MODERN not in versions:
            return f"the server supports {', '.join(map(str, versions))}", True
        if members & (reply.result or {}).keys():
            return "", True
        reason = reason or f"`{method}`: {_describe(reply)}"
        if reply.response is None:
            break
    return reason, answered


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
