"""Examination of a server: which revisions it supports, all checks, and the report of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcpgen.factory.validate.checks.table import ACTIVE, PASSIVE
from mcpgen.factory.validate.probe import START_SECONDS, Probe, ProbeOptions
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
from mcpgen.factory.wire.frames import Recording
from mcpgen.factory.wire.session import REVISIONS, Session
from mcpgen.factory.wire.targets import Target

CHECK_SECONDS: Final = 40.0


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one requirement for one revision and transport."""

    requirement: Requirement
    revision: str
    transport: str
    outcome: Outcome
    evidence: Sequence[Mapping[str, object]] = ()


@dataclass(slots=True)
class Validation:
    """All results of a run. `trouble` says why a server could not be examined."""

    target: str
    results: list[Result] = field(default_factory=list)
    unsupported: dict[str, str] = field(default_factory=dict)  # revision: how it was declined
    trouble: str = ""
    trouble_kind: str = ""  # "unreachable" or "unauthorized"

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
    """Examine a server under each revision that it supports, over each transport."""
    validation = Validation(str(target))
    chosen = options or ProbeOptions()
    try:
        for transport in transports:
            for revision in revisions:
                progress(f"{revision} over {transport}")
                await _validate_revision(validation, target, revision, transport, chosen)
    except UnreachableError as error:
        validation.trouble, validation.trouble_kind = str(error), "unreachable"
    except UnauthorizedError as error:
        validation.trouble_kind = "unauthorized"
        validation.trouble = f"the server requires credentials: {error}"
    return validation


async def _validate_revision(
    validation: Validation, target: Target, revision: str, transport: str, options: ProbeOptions
) -> None:
    recording = Recording(target.secrets)
    probe = Probe(target, revision, transport, recording, options)
    try:
        declined = await find_reason_against(probe)
        if declined:
            validation.unsupported[revision] = declined
            return
        await probe.inspect_offer()
        for requirement in read_requirements().requirement:
            if requirement.covers(revision, transport) and requirement.id in ACTIVE:
                outcome = await _run_check(probe, requirement)
                _add(validation, probe, requirement, outcome)
    finally:
        await probe.close()
    received = [frame for frame in recording.frames if frame.is_received]
    for requirement in read_requirements().requirement:
        if requirement.covers(revision, transport) and requirement.id in PASSIVE:
            is_applicable = not requirement.applies_if or probe.declares(requirement.applies_if)
            outcome = (
                PASSIVE[requirement.id](probe, received)
                if is_applicable
                else skip(f"the server does not declare `{requirement.applies_if}`")
            )
            _add(validation, probe, requirement, outcome)


async def find_reason_against(probe: Probe) -> str:
    """Return why the server does not support the revision of a probe; "" if it does.

    Raises:
        UnreachableError: the server cannot be started, or does not respond at all.
    """
    session = Session(await probe.connect(), probe.revision)
    try:
        if probe.is_modern:
            reply = await session.request("server/discover", timeout_seconds=START_SECONDS)
            result = reply.result or {}
            if "supportedVersions" in result or "resultType" in result:
                return ""
            return "`server/discover` is not supported"
        reply = await session.request(
            "initialize", session.initialize_params(), timeout_seconds=START_SECONDS
        )
        version = (reply.result or {}).get("protocolVersion")
        return "" if version == probe.revision else f"the server answered with {version!r}"
    except ConnectionLostError as error:
        raise UnreachableError(str(error)) from None
    finally:
        await session.connection.close()


async def _run_check(probe: Probe, requirement: Requirement) -> Outcome:
    if requirement.applies_if and not probe.declares(requirement.applies_if):
        return skip(f"the server does not declare `{requirement.applies_if}`")
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await ACTIVE[requirement.id](probe)
    except TimeoutError:
        return cannot_decide(f"not decided within {CHECK_SECONDS:g} seconds")
    except (ConnectionLostError, UnreachableError) as error:
        return Outcome(Verdict.ERROR, f"the connection was lost: {error}")
    except UnauthorizedError:
        return leave_untested("the server requires credentials for this request")
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        # Messages of any shape arrive here; the schema checks report malformed ones.
        return cannot_decide(f"the messages of the server cannot be read ({error!r})")


def _add(validation: Validation, probe: Probe, requirement: Requirement, outcome: Outcome) -> None:
    evidence = probe.recording.evidence(outcome.evidence[:6])
    validation.results.append(
        Result(requirement, probe.revision, probe.transport, outcome, evidence)
    )
