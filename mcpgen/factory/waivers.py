"""Waivers of a server: findings that its owner accepts for a time (`waivers.yaml`).

A waiver changes what fails a command, and nothing else: a waived finding is still reported, and
counts in scores and in evidence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeAlias

from mcpgen.diagnostics import Diagnostic, Problems, Severity
from mcpgen.factory.status.model import WaiverState
from mcpgen.ir.waivers import WAIVERS_FILE, Waiver
from mcpgen.pipeline.project.project_folder import read_file

Subject: TypeAlias = tuple[str, str]
"""The rule and the tool of a finding; the tool is "" for a finding about the server."""


def current_date() -> date:
    """Return the date of now in UTC, by which waivers expire."""
    return read_clock().date()


def read_clock() -> datetime:
    """Return the time of now in UTC."""
    return datetime.now(UTC)


def read_waivers(target: Path, problems: Problems) -> tuple[Waiver, ...]:
    """Read the waivers of the server at `target`; () if it has no such file.

    Raises:
        RejectedError: the file is invalid, for the reasons in `problems`.
        OSError: it cannot be read.
    """
    content = read_file(target, WAIVERS_FILE)
    return () if content is None else parse_waivers(content, problems)


def parse_waivers(content: bytes, problems: Problems) -> tuple[Waiver, ...]:
    """Parse the content of a `waivers.yaml`.

    Raises:
        RejectedError: it is invalid, for the reasons in `problems`.
    """
    # Imported here: most servers have no waivers, and these load a validator and all rules.
    from mcpgen.changelog import RULES as CHANGES
    from mcpgen.factory.lint.findings import RULES as LINT
    from mcpgen.factory.robustness.faults import FAULTS
    from mcpgen.factory.validate.requirements import read_requirements
    from mcpgen.pipeline.project.waivers import parse_project_waivers

    of_tools = {*LINT, *CHANGES}
    requirements = {each.id for each in read_requirements().requirement}
    rules = {*of_tools, *requirements, *FAULTS}
    return parse_project_waivers(content, rules, of_tools, problems)


def find_waiver(waivers: Iterable[Waiver], subject: Subject, today: date) -> Waiver | None:
    """Return the waiver of a finding; None if there is none that has not expired."""
    covering = (it for it in waivers if it.covers(*subject) and not it.is_expired(today))
    return next(covering, None)


def check_waivers(
    waivers: Sequence[Waiver],
    subjects: Collection[Subject],
    rules: Collection[str],
    today: date,
) -> Iterator[Diagnostic]:
    """Yield an error for each expired waiver, and a note for each without a finding.

    `rules` are those that were checked, so that a finding of them would be among `subjects`.
    """
    for waiver in waivers:
        if waiver.rule not in rules:
            continue
        about = f"`{waiver.rule}`" + (f" of `{waiver.tool}`" if waiver.tool else "")
        is_used = any(waiver.covers(*subject) for subject in subjects)
        if waiver.is_expired(today):
            yield Diagnostic(
                "waiver-expired",
                Severity.ERROR,
                f"the waiver of {about} expired on {waiver.expires}",
                waiver.at,
                f"its findings count again; {waiver.owner} accepted them: {waiver.reason}"
                if is_used
                else "it has no finding any more",
                "correct what it is about and remove it, or decide again and set another date"
                if is_used
                else "remove it",
            )
        elif not is_used:
            yield Diagnostic(
                "waiver-unused",
                Severity.NOTE,
                f"the waiver of {about} has no finding",
                waiver.at,
                "it would hide a finding of the future that nobody has seen",
                "remove it, or correct its rule or tool",
            )


def list_states(
    waivers: Iterable[Waiver], subjects: Collection[Subject], today: date
) -> tuple[WaiverState, ...]:
    """Return the state of each waiver, with the number of findings that it is about."""
    return tuple(
        WaiverState(
            waiver.rule,
            waiver.reason,
            waiver.owner,
            waiver.expires.isoformat(),
            waiver.is_expired(today),
            sum(waiver.covers(*subject) for subject in subjects),
            waiver.tool,
        )
        for waiver in waivers
    )
