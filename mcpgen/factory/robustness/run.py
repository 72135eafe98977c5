"""One robustness run: all experiments over each transport, and what was not exercised."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcpgen.factory.robustness.experiments.kinds import (
    Experiment,
    SkippedError,
    UntestedError,
    run_experiment,
)
from mcpgen.factory.robustness.experiments.table import GROUPS
from mcpgen.factory.robustness.faults import Finding
from mcpgen.factory.robustness.intensity import Intensity
from mcpgen.factory.robustness.subject import (
    EndOfRunError,
    ServerLostError,
    Subject,
    ToolUnderTest,
    Variant,
)
from mcpgen.factory.validate.arguments import NoArgumentsError, make_arguments
from mcpgen.factory.validate.checks.calls import call_tool, callable_tools
from mcpgen.factory.validate.negotiation import negotiate
from mcpgen.factory.validate.probe import Knowledge, Probe, ProbeOptions
from mcpgen.factory.wire.connection import (
    ConnectionLostError,
    UnauthorizedError,
    UnreachableError,
)
from mcpgen.factory.wire.frames import Recording
from mcpgen.factory.wire.targets import Target
from mcpgen.jsonschema.types import JsonObject
from mcpgen.jsonschema.validation import SchemaValidator

DEFAULT_SEED: Final = 1
_EXPERIMENT_SECONDS: Final = 90.0
_MAX_LOSSES: Final = 6  # of the server; each costs its time limit and a start
_TRANSPORTS: Final = frozenset({"stdio", "http"})


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one experiment over one transport."""

    experiment: Experiment
    group: str
    transport: str
    messages: int = 0
    faults: tuple[str, ...] = ()
    skipped: str = ""  # why it was not exercised, or not applicable
    is_applicable: bool = True  # False: the server offers nothing to which it applies


@dataclass(slots=True)
class Robustness:
    """The result of a run. `revisions` are those that were used, by transport."""

    intensity: Intensity
    seed: int
    rows: list[Row] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    revisions: dict[str, str] = field(default_factory=dict)
    tools: dict[str, list[str]] = field(default_factory=dict)  # that were called, by transport
    untouched_tools: dict[str, str] = field(default_factory=dict)  # and why
    memory: dict[str, list[int]] = field(default_factory=dict)  # bytes, by transport
    messages: int = 0
    trouble: str = ""

    @property
    def exercised(self) -> int:
        """Number of experiments that were exercised."""
        return sum(not row.skipped for row in self.rows)

    @property
    def applicable(self) -> int:
        """Number of experiments that apply to the server."""
        return sum(row.is_applicable for row in self.rows)


async def run_experiments(
    targets: Mapping[str, Target],
    *,
    intensity: Intensity,
    seed: int = DEFAULT_SEED,
    options: ProbeOptions | None = None,
    progress: Callable[[str], None] = lambda _step: None,
) -> Robustness:
    """Run all experiments against a server; `targets` names it by transport.

    Findings depend on the seed and the server alone. What cannot be reached, or requires
    credentials, is the trouble of the result.
    """
    result = Robustness(intensity, seed)
    for transport, target in targets.items():
        if transport not in _TRANSPORTS:
            reason = "experiments exist for stdio and Streamable HTTP"
            result.rows += _list_skipped(transport, reason)
            continue
        try:
            found = await negotiate(target, transport)
        except UnreachableError as error:
            result.trouble = result.trouble or f"over {transport}: {error}"
            continue
        except UnauthorizedError as error:
            result.trouble = result.trouble or f"the server requires credentials ({error})"
            continue
        revision = found.examined[-1]
        result.revisions[transport] = revision
        recording = Recording(target.secrets)
        probe = Probe(
            target, revision, transport, recording, options or ProbeOptions(), Knowledge()
        )
        await _Run(Subject(probe, intensity, seed), result, progress).run()
    return result


def _list_skipped(transport: str, reason: str) -> list[Row]:
    return [
        Row(experiment, group, transport, skipped=reason)
        for group, experiments in GROUPS.items()
        for experiment in experiments
        if "http" in experiment.transports
    ]


class _Run:
    """All experiments over one transport."""

    def __init__(
        self, subject: Subject, result: Robustness, progress: Callable[[str], None]
    ) -> None:
        self._subject = subject
        self._result = result
        self._progress = progress
        self._losses = 0
        self._end = ""  # why nothing more is sent

    async def run(self) -> None:
        """Prepare, and run one experiment after the other."""
        subject, result = self._subject, self._result
        transport = subject.probe.transport
        try:
            await self._prepare()
            for group, experiments in GROUPS.items():
                self._progress(f"robustness over {transport}: {group}")
                for experiment in experiments:
                    if transport in experiment.transports:
                        result.rows.append(await self._run_one(experiment, group))
        finally:
            await subject.probe.close()
        result.findings += subject.findings.values()
        result.messages += subject.messages
        result.tools[transport] = [tool.name for tool in subject.tools]
        if subject.memory:
            result.memory[transport] = subject.memory

    async def _run_one(self, experiment: Experiment, group: str) -> Row:
        subject = self._subject
        transport = subject.probe.transport
        if self._end:
            return Row(experiment, group, transport, skipped=self._end)
        subject.begin(experiment.id, group)
        before = subject.messages
        skipped, is_applicable = "", True
        try:
            async with asyncio.timeout(_EXPERIMENT_SECONDS):
                await run_experiment(experiment, subject)
        except SkippedError as error:
            skipped, is_applicable = str(error), False
        except UntestedError as error:
            skipped = str(error)
        except EndOfRunError as error:
            skipped = self._end = str(error)
        except ServerLostError:
            self._count_loss()
        except UnauthorizedError:
            skipped = self._end = "the server requires other credentials"
        except (ConnectionLostError, UnreachableError) as error:
            skipped = f"the server could not be started again: {error}"
            self._count_loss()
        except TimeoutError:
            skipped = f"not finished within {_EXPERIMENT_SECONDS:g} seconds"
            await subject.probe.close()
        faults = tuple(rule for rule, name in subject.findings if name == experiment.id)
        count = subject.messages - before
        return Row(experiment, group, transport, count, faults, skipped, is_applicable)

    def _count_loss(self) -> None:
        self._losses += 1
        if self._losses >= _MAX_LOSSES:
            self._end = f"the server stopped {self._losses} times before"

    async def _prepare(self) -> None:
        """Read the lists, and call tools with valid arguments."""
        subject, probe = self._subject, self._subject.probe
        subject.begin("preparation", "preparation")
        try:
            await probe.inspect_offer()
            known: list[str] = []
            for listed in probe.lists.values():
                known += [_text_of(reply.response.raw) for reply in listed if reply.response]
            subject.known_text = "".join(known)
            for tool in self._choose_tools():
                await self._try_tool(tool)
        except (ConnectionLostError, UnauthorizedError) as error:
            self._end = f"the connection was lost in the preparation: {error}"

    def _choose_tools(self) -> Sequence[JsonObject]:
        probe, untouched = self._subject.probe, self._result.untouched_tools
        usable = callable_tools(probe)
        names = {tool["name"] for tool in usable}
        for tool in probe.tools:
            if tool.get("name") not in names:
                untouched[str(tool.get("name"))] = "not marked as read-only"
        limit = self._subject.intensity.tools
        for tool in usable[limit:]:
            untouched[str(tool["name"])] = f"more than {limit} tools at this intensity"
        return usable[:limit]

    async def _try_tool(self, tool: JsonObject) -> None:
        subject = self._subject
        name = str(tool["name"])
        try:
            arguments = make_arguments(tool)
        except NoArgumentsError as error:
            self._result.untouched_tools[name] = str(error)
            return
        subject.spend(100)
        call = await call_tool(await subject.probe.get_session(), tool, arguments)
        if call.reply.response is None:
            reason = "no response in time to a call with valid arguments"
            self._result.untouched_tools[name] = reason
            return
        subject.known_text += _text_of(call.reply.response.raw)
        frames = [call.reply.response]
        subject.examine(frames, Variant(f"`{name}`", b"", is_client_fault=False))
        schema = tool.get("inputSchema")
        try:
            validator = SchemaValidator(schema) if isinstance(schema, dict) else None
        except ValueError:
            validator = None
        found = schema if isinstance(schema, dict) else {}
        subject.tools.append(ToolUnderTest(name, found, arguments, call.seconds, validator))


def _text_of(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
