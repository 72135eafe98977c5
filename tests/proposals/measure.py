"""Measure the merged tools and workflows that `new` proposes for documents: `make proposals`.

`python -m tests.proposals.measure [--sample N] [DOCUMENT ...]`. Every proposal is planned as an
entry of the manifest, which must work. `--sample` prints proposals to judge, from each document in
turn; `judged.tsv` has those that were judged, and whether they are right.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct, convert

from mcpgen.diagnostics import Location, Problems, RejectedError, Severity
from mcpgen.ir.api import Api
from mcpgen.ir.manifest import LocatedManifest, Manifest
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.jsonschema.types import JsonObject
from mcpgen.manifest.workflows import read_workflows
from mcpgen.pipeline.build import plan_server
from mcpgen.pipeline.options import BuildOptions
from mcpgen.pipeline.parse import parse_source
from mcpgen.pipeline.server_name import choose_server_name
from mcpgen.plan.policy import Policy
from mcpgen.plan.proposals.find_then_act import find_workflows
from mcpgen.plan.proposals.similar import find_similar
from tests.support.corpus import corpus_documents

JUDGED = Path(__file__).with_name("judged.tsv")
GITHUB = "api.github.com"
_SEED = 22


class Proposal(Struct, frozen=True):
    """A proposal for one document."""

    document: str
    kind: str  # "merged" or "workflow"
    name: str
    operations: tuple[str, ...]  # "org: GET /orgs/{org}/secrets"


class Measured(Struct, frozen=True):
    """The proposals for one document, and the reasons for rejected entries."""

    document: str
    tools: int
    proposals: tuple[Proposal, ...]
    errors: tuple[str, ...]

    def count(self, kind: str) -> int:
        """Return the number of proposals of a kind."""
        return sum(it.kind == kind for it in self.proposals)

    @property
    def merged_tools(self) -> int:
        """Number of tools that the merged tools would replace."""
        return sum(len(it.operations) for it in self.proposals if it.kind == "merged")


class Judgement(Struct, frozen=True):
    """A row of `judged.tsv`."""

    document: str
    kind: str
    name: str
    operations: str
    is_right: str  # "yes" or "no"
    reason: str


def read_judged() -> list[Judgement]:
    """Read the proposals that were judged."""
    with JUDGED.open(encoding="utf-8", newline="") as file:
        return [Judgement(**row) for row in csv.DictReader(file, delimiter="\t")]


def propose(document: str, path: Path) -> Measured | None:
    """Return the proposals for a document, or None if no server can be planned for it."""
    problems = Problems()
    try:
        options = BuildOptions(external_validator=False)
        api = parse_source(str(path), options, problems, lambda _: None).api
        plan = _plan(api, {}, problems)
    except RejectedError:
        return None
    groups = find_similar(plan)
    flows = find_workflows(plan, {it.name for it in groups})
    proposals = [
        Proposal(
            document,
            "merged",
            group.name,
            tuple(f"{choice}: {tool.key}" for choice, tool in group.members.items()),
        )
        for group in groups
    ]
    proposals += [
        Proposal(
            document, "workflow", it.name, (f"by {it.by or 'link'}: {it.finds.key}", it.acts.key)
        )
        for it in flows
    ]
    entries = {
        "merged": {it.name: it.entry for it in groups},
        "workflows": {it.name: it.entry for it in flows},
    }
    return Measured(document, len(plan.tools), tuple(proposals), tuple(_find_errors(api, entries)))


def _plan(api: Api, entries: JsonObject, problems: Problems) -> ServerPlan:
    stated = {"server": {"name": choose_server_name(api.title)}, "sources": [], **entries}
    intent = LocatedManifest(convert(stated, Manifest), lambda _: Location("mcpgen.yaml"), stated)
    workflows = read_workflows(intent, lambda *_: NotImplemented, problems)
    policy = Policy(intent, workflows=workflows)
    return plan_server(api, policy, problems, lambda _: None, strict=False)


def _find_errors(api: Api, entries: JsonObject) -> Iterator[str]:
    """Yield the errors of proposed entries, of which there should be none."""
    problems = Problems()
    try:
        _plan(api, entries, problems)
    except RejectedError:
        for problem in problems:
            if problem.severity is Severity.ERROR:
                yield f"{problem.code}: {problem.message}"


def draw(proposals: Sequence[Proposal], count: int) -> list[Proposal]:
    """Return a sample that takes one proposal of each document in turn."""
    chance = random.Random(_SEED)
    by_document: dict[str, list[Proposal]] = {}
    for proposal in proposals:
        by_document.setdefault(proposal.document, []).append(proposal)
    for group in by_document.values():
        chance.shuffle(group)
    documents = sorted(by_document)
    chance.shuffle(documents)
    found: list[Proposal] = []
    while len(found) < min(count, len(proposals)):
        for document in documents:
            if by_document[document] and len(found) < count:
                found.append(by_document[document].pop())
    return found


def _print_table(measured: Iterable[Measured]) -> None:
    everything = list(measured)
    print(f"{'document':<50} {'tools':>6} {'merged':>7} {'replace':>8} {'workflows':>10}")
    for it in everything:
        if it.proposals:
            figures = f"{it.count('merged'):>7} {it.merged_tools:>8} {it.count('workflow'):>10}"
            print(f"{it.document[:50]:<50} {it.tools:>6} {figures}")
        for error in it.errors:
            print(f"  REJECTED {error}")
    github = [it for it in everything if GITHUB in it.document]
    for title, rows in (("all documents", everything), ("GitHub", github)):
        print(
            f"{title}: {len(rows)} documents, {sum(it.tools for it in rows):,} tools;"
            f" {sum(it.count('merged') for it in rows)} merged tools in place of"
            f" {sum(it.merged_tools for it in rows)}, {sum(it.count('workflow') for it in rows)}"
            f" workflows; {sum(len(it.errors) for it in rows)} rejected"
        )


def _print_judged(proposals: Iterable[Proposal]) -> None:
    current = {(it.document, it.kind, it.name, "; ".join(it.operations)) for it in proposals}
    judged = read_judged()
    for kind in ("merged", "workflow"):
        rows = [it for it in judged if it.kind == kind]
        right = sum(it.is_right == "yes" for it in rows)
        same = sum((it.document, kind, it.name, it.operations) in current for it in rows)
        print(f"judged {kind}: {right} of {len(rows)} right; {same} are proposed as judged")


def main() -> None:
    """Print the table, or a sample to judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("documents", nargs="*")
    options = parser.parse_args()
    wanted = options.documents
    found = [
        measured
        for it in corpus_documents()
        if it.kind == "api" and (not wanted or any(name in it.name for name in wanted))
        if (measured := propose(it.name, it.path)) is not None
    ]
    proposals = [proposal for it in found for proposal in it.proposals]
    if not options.sample:
        _print_table(found)
        _print_judged(proposals)
        return
    for kind in ("merged", "workflow"):
        for it in draw([it for it in proposals if it.kind == kind], options.sample):
            print(it.document, kind, it.name, "; ".join(it.operations), sep="\t")


if __name__ == "__main__":
    main()
