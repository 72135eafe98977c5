"""The type of experiments: rows of data with the messages that they send."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from mcpgen.factory.robustness.subject import Subject, ToolUnderTest, Variant

STDIO = ("stdio",)
HTTP = ("http",)
BOTH = ("stdio", "http")


class SkippedError(Exception):
    """An experiment does not apply to the tested server; the message states the reason."""


class UntestedError(Exception):
    """An experiment applies to the tested server, but cannot run; the message states the reason."""


def require_tools(subject: Subject) -> Sequence[ToolUnderTest]:
    """Return the tools that may be called.

    Raises:
        SkippedError: the server has no tools.
        UntestedError: none of them may be called, or answers.
    """
    if not subject.probe.tools:
        raise SkippedError("the server lists no tool")
    if not subject.tools:
        raise UntestedError("no tool may be called: none is read-only, or none answers")
    return subject.tools


class Experiment(Struct, frozen=True, kw_only=True):
    """One row: the messages, what they reveal, and the remedy for a fault.

    `variants` returns messages, of which the intensity selects some; `act` runs an experiment that
    consists of more than single messages.
    """

    id: str
    title: str
    why: str
    help: str
    transports: tuple[str, ...] = BOTH
    variants: Callable[[Subject], Awaitable[Sequence[Variant]]] | None = None
    act: Callable[[Subject], Awaitable[None]] | None = None


async def run_experiment(experiment: Experiment, subject: Subject) -> None:
    """Send the messages of an experiment, or as many as the intensity allows.

    Raises:
        SkippedError: the server offers nothing to which they apply.
        UntestedError: they apply, and cannot be sent.
        ServerLostError: the server does not answer any more.
        EndOfRunError: a bound of the run is reached.
    """
    if experiment.variants is not None:
        for variant in subject.choose(await experiment.variants(subject)):
            await subject.exchange(variant)
    if experiment.act is not None:
        await experiment.act(subject)
    await subject.check_alive("the last message")
