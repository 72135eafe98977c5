"""Examination of a server: which revisions it supports, all checks, and their results."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from mcpgen.diagnostics import Acceptance
from mcpgen.factory.validate.checks.table import ACTIVE, PASSIVE, PREPARATIONS
from mcpgen.factory.validate.hosting import host
from mcpgen.factory.validate.negotiation import negotiate
from mcpgen.factory.validate.probe import Knowledge, Probe, ProbeOptions
from mcpgen.factory.validate.requirements import Requirement, read_requirements
from mcpgen.factory.validate.verdicts import (
    Outcome,
    Verdict,
    cannot_decide,
    leave_untested,
    skip,
)
from mcpgen.factory.wire.connection import (
    ConnectionLostError,
    UnauthorizedError,
    UnreachableError,
)
from mcpgen.factory.wire.frames import Frame, Recording
from mcpgen.factory.wire.session import REVISIONS
from mcpgen.factory.wire.targets import Target
from mcpgen.jsonschema.types import JsonObject

CHECK_SECONDS: Final = 40.0
EXAMINATION_SECONDS: Final = 120.0  # of one revision; a server that answers needs a tenth of it
_TOO_LATE: Final = leave_untested(f"not begun within {EXAMINATION_SECONDS:g} seconds")
_MAX_EVIDENCE: Final = 6
_LAST_SENT: Final = 2  # messages before a lost connection, as evidence
_AT_ONCE: Final = 2  # revisions over stdio, each with processes of its own
# What reading a message of unknown shape can raise.
_MALFORMED = (LookupError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one requirement for one revision and transport."""

    requirement: Requirement
    revision: str
    transport: str
    outcome: Outcome
    evidence: Sequence[Mapping[str, object]] = ()


@dataclass(frozen=True, slots=True)
class Exchange:
    """Cost of the examination of one revision: messages sent to the server, and seconds."""

    requests: int = 0
    seconds: float = 0.0

    def __add__(self, other: Exchange) -> Exchange:
        return Exchange(self.requests + other.requests, self.seconds + other.seconds)


@dataclass(slots=True)
class Validation:
    """All results of a run. `trouble` states why a server could not be examined."""

    target: str
    results: list[Result] = field(default_factory=list)
    capabilities: dict[str, JsonObject] = field(default_factory=dict)  # of the server, by revision
    exchanges: dict[str, Exchange] = field(default_factory=dict)  # over all transports
    unsupported: dict[str, str] = field(default_factory=dict)  # revision: how it was declined
    trouble: str = ""
    trouble_kind: str = ""  # "unreachable" or "unauthorized"
    waived: dict[str, Acceptance] = field(default_factory=dict)  # by requirement

    @property
    def revisions(self) -> list[str]:
        """Examined revisions, oldest first."""
        return sorted({result.revision for result in self.results})


async def validate(
    target: Target,
    *,
    revisions: Sequence[str] = REVISIONS,
    transports: Sequence[str] = ("stdio",),
    options: ProbeOptions | None = None,
    progress: Callable[[str], None] = lambda _step: None,
) -> Validation:
    """Examine a server under each revision that it supports, over each transport.

    What cannot be reached or requires credentials is reported as the trouble of the result.
    """
    validation = Validation(str(target))
    try:
        known = Knowledge()
        async with host(target, transports) as targets:
            for transport, hosted in targets.items():
                progress(f"supported revisions over {transport}")
                found = await negotiate(hosted, transport)
                known.supported = frozenset(found.supported)
                gate = asyncio.Semaphore(_AT_ONCE if transport == "stdio" else 1)
                examinations: dict[str, _Examination] = {}
                for revision in sorted(revisions, reverse=True):
                    if revision in found.examined:
                        examinations[revision] = _Examination(
                            hosted, revision, transport, options or ProbeOptions(), known
                        )
                    else:
                        validation.unsupported.setdefault(revision, found.declined[revision])
                for results in await asyncio.gather(
                    *(examination.run(gate, progress) for examination in examinations.values())
                ):
                    validation.results += results
                for revision, examination in examinations.items():
                    validation.capabilities[revision] = examination.probe.capabilities
                    earlier = validation.exchanges.get(revision, Exchange())
                    validation.exchanges[revision] = earlier + examination.exchange
    except UnreachableError as error:
        validation.trouble, validation.trouble_kind = str(error), "unreachable"
    except UnauthorizedError as error:
        validation.trouble_kind = "unauthorized"
        validation.trouble = f"the server requires credentials ({error or 'HTTP 401'})"
    for revision in validation.revisions:
        validation.unsupported.pop(revision, None)
    return validation


class _Examination:
    """All checks of one revision over one transport."""

    def __init__(
        self,
        target: Target,
        revision: str,
        transport: str,
        options: ProbeOptions,
        known: Knowledge,
    ) -> None:
        self._recording = Recording(target.secrets)
        self.probe = Probe(target, revision, transport, self._recording, options, known)
        self._requirements = [
            it for it in read_requirements().requirement if it.covers(revision, transport)
        ]
        self._results: list[Result] = []
        self._seconds = 0.0

    @property
    def exchange(self) -> Exchange:
        """Cost of the examination."""
        sent = sum(not frame.is_received for frame in self._recording.frames)
        return Exchange(sent, self._seconds)

    async def run(self, gate: asyncio.Semaphore, progress: Callable[[str], None]) -> list[Result]:
        """Run active checks as soon as `gate` opens, then passive ones on all frames."""
        async with gate:
            progress(f"{self.probe.revision} over {self.probe.transport}")
            began = asyncio.get_running_loop().time()
            await self._exchange()
            self._seconds = asyncio.get_running_loop().time() - began
        self._examine_frames()
        return self._results

    async def _exchange(self) -> None:
        probe = self.probe
        try:
            with contextlib.suppress(ConnectionLostError):  # the checks report it
                await probe.inspect_offer()
            end = asyncio.get_running_loop().time() + EXAMINATION_SECONDS
            for requirement in self._requirements:
                if requirement.id in ACTIVE:
                    is_late = asyncio.get_running_loop().time() > end
                    outcome = _TOO_LATE if is_late else await self._run_active(requirement)
                    self._add(requirement, outcome)
            await self._prepare()
        finally:
            await probe.close()

    def _examine_frames(self) -> None:
        probe = self.probe
        received = [
            frame
            for frame in self._recording.frames
            if frame.is_received and frame.revision == probe.revision
        ]
        for requirement in self._requirements:
            if requirement.id in PASSIVE:
                outcome = self._find_reason_to_skip(requirement)
                if outcome is None:
                    try:
                        outcome = PASSIVE[requirement.id](probe, received)
                    except _MALFORMED as error:
                        outcome = _unreadable(error)
                self._add(requirement, outcome)

    async def _prepare(self) -> None:
        """Exchange what only passive checks look at."""
        if not self.probe.declares("tools"):
            return
        for experiment in PREPARATIONS:
            try:
                async with asyncio.timeout(CHECK_SECONDS):
                    await self.probe.once(experiment)
            except (TimeoutError, ConnectionLostError, UnauthorizedError, *_MALFORMED):
                continue  # passive checks examine the exchange until then

    def _find_reason_to_skip(self, requirement: Requirement) -> Outcome | None:
        if requirement.applies_if and not self.probe.declares(requirement.applies_if):
            shown = requirement.applies_if.replace("|", "` or `")
            return skip(f"the server does not declare `{shown}`")
        return None

    async def _run_active(self, requirement: Requirement) -> Outcome:
        outcome = self._find_reason_to_skip(requirement)
        if outcome is not None:
            return outcome
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                return await ACTIVE[requirement.id](self.probe)
        except TimeoutError:
            return cannot_decide(f"not decided within {CHECK_SECONDS:g} seconds")
        except (ConnectionLostError, UnreachableError) as error:
            return Outcome(
                Verdict.ERROR, f"the connection was lost: {error}", self._list_last_sent()
            )
        except UnauthorizedError:
            return leave_untested("the server requires credentials for this request")
        except _MALFORMED as error:
            return _unreadable(error)

    def _list_last_sent(self) -> list[Frame]:
        """Return the last messages that were sent, oldest first."""
        sent = (it for it in reversed(self._recording.frames) if not it.is_received)
        return list(islice(sent, _LAST_SENT))[::-1]

    def _add(self, requirement: Requirement, outcome: Outcome) -> None:
        evidence = self._recording.evidence(outcome.evidence[:_MAX_EVIDENCE])
        probe = self.probe
        self._results.append(
            Result(requirement, probe.revision, probe.transport, outcome, evidence)
        )


def _unreadable(error: Exception) -> Outcome:
    """Return the outcome of a check that met an unexpected shape, which `frame-schema` reports."""
    return cannot_decide(f"the messages of the server cannot be read ({error!r})")
