"""Measure the agreement of the validator and the official suite: `make validate-agreement`.

Arguments are parts of names of servers, or NAME=URL for a conformance server that runs already,
such as one of the SDKs. The exit code is 1 if a disagreement or a finding has no decision.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from tests.validate.agreement.compare import (
    Agreement,
    Compared,
    find_decision,
    find_uncompared,
    is_known_finding,
)
from tests.validate.agreement.examine import Examined, examine_both
from tests.validate.agreement.servers import EVERYTHING, SDK_SERVERS, serve_everything, serve_sdk

_DISAGREEMENTS: Final = (Agreement.SUITE_FAILS, Agreement.VALIDATE_FAILS)


class Subject(NamedTuple):
    """A server to examine; `url` is set if it is already running."""

    name: str
    url: str = ""

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Yield the URL of the server."""
        if self.url:
            yield self.url
        elif self.name == EVERYTHING:
            async with serve_everything() as url:
                yield url
        else:
            row = next(it for it in SDK_SERVERS if it.name == self.name)
            async with serve_sdk(row) as url:
                yield url

    @property
    def is_fixture(self) -> bool:
        """Whether the server has the tools that the suite requires by name."""
        return bool(self.url) or self.name == EVERYTHING


def choose_subjects(words: Sequence[str]) -> list[Subject]:
    """Return the servers selected by arguments, or those of this repository without any."""
    running = [Subject(*word.split("=", 1)) for word in words if "=" in word]
    parts = [word for word in words if "=" not in word]
    names = [EVERYTHING, *(it.name for it in SDK_SERVERS if it.is_installed)]
    if words and not parts:
        return running
    chosen = [Subject(it) for it in names if not parts or any(part in it for part in parts)]
    return [*chosen, *running]


def print_table(examined: Sequence[Examined]) -> None:
    """Print the number of checks by server, revision and agreement, in Markdown."""
    columns = [str(it) for it in Agreement]
    print("| server | revision | " + " | ".join(columns) + " | in validate only |")
    print("|---" * (len(columns) + 3) + "|")
    for each in examined:
        for revision, compared in sorted(each.compared.items()):
            counts = [sum(it.agreement is kind for it in compared) for kind in Agreement]
            others = find_uncompared(each.results[revision])
            cells = [*map(str, counts), str(len(others))]
            print(f"| {each.server} | {revision} | " + " | ".join(cells) + " |")


def print_disagreements(examined: Examined) -> int:
    """Print disagreements and the decisions on them; return the number without a decision."""
    undecided = 0
    for revision, compared in sorted(examined.compared.items()):
        for it in compared:
            if it.agreement in _DISAGREEMENTS:
                decision = find_decision(examined.server, revision, it.check)
                undecided += decision is None
                shown = f"{decision.right} is right: {decision.reason}" if decision else "UNDECIDED"
                print(f"{examined.server} {revision}: {it.agreement}: {it.check}: {shown}")
                print(f"    {_describe(it)}")
            elif it.agreement is Agreement.SUITE_ONLY and it.passed is False:
                print(f"{examined.server} {revision}: in suite only, and fails: {_describe(it)}")
    return undecided


def _describe(compared: Compared) -> str:
    verdicts = ", ".join(f"{rule} {verdict}" for rule, verdict in compared.requirements.items())
    messages = "; ".join(sorted(set(compared.messages)))[:200]
    return f"{compared.check}: {verdicts or '-'}; suite: {messages or 'passed'}"


def print_findings(examined: Examined) -> int:
    """Print the findings of the validator; return the number not confirmed by hand."""
    unknown = 0
    for revision in sorted(examined.results):
        for it in examined.findings(revision):
            rule = it.requirement.id
            is_known = is_known_finding(examined.server, rule)
            unknown += not is_known
            word = "true" if is_known else "UNDECIDED"
            print(f"{examined.server} {revision}: {word}: {rule}: {it.outcome.message[:160]}")
    return unknown


async def main(words: Sequence[str]) -> int:
    """Examine the selected servers; return the number of results without a decision."""
    examined = []
    for subject in choose_subjects(words):
        print(f"examining {subject.name}", file=sys.stderr, flush=True)
        async with subject.serve() as url:
            examined.append(await examine_both(subject.name, url, is_fixture=subject.is_fixture))
    print_table(examined)
    undecided = 0
    for each in examined:
        print()
        undecided += print_disagreements(each)
        undecided += print_findings(each)
    print(f"\n{undecided} results without a decision")
    return undecided


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(main(sys.argv[1:])) else 0)
