"""Lint the servers of the examples and of a hundred real documents: `make lint-corpus`.

`python -m tests.corpus.lint [--documents N] [--json FILE]`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mcpgen.factory.lint.load import load_package
from mcpgen.factory.lint.run import lint
from mcpgen.factory.lint.settings import parse_targets
from mcpgen.factory.packages import find_package
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options
from tests.corpus.in_children import Failure, in_children
from tests.support.corpus import CORPUS, CorpusDocument, corpus_documents, is_present
from tests.support.paths import EXAMPLES

BUDGET = 20_000  # tokens; the manifest's default
TIMEOUT_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Linted:
    """The findings of one server, counted by severity and rule."""

    name: str
    tools: int
    counts: dict[str, int] = field(default_factory=dict)  # "warning annotations": 3
    first: dict[str, str] = field(default_factory=dict)  # the first message of each

    @property
    def is_clean(self) -> bool:
        """Whether the server has neither errors nor warnings."""
        return not any(key.startswith(("error", "warning")) for key in self.counts)


def lint_folder(folder: Path, name: str) -> Linted:
    """Lint a generated project for the portable profile and all clients."""
    report = lint(load_package(find_package(folder)), parse_targets(("all",), BUDGET))
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for finding in report.findings:
        key = f"{finding.severity.value} {finding.rule}"
        counts[key] += 1
        first.setdefault(key, finding.message)
    return Linted(name, len(report.listing.all_tools), dict(counts), first)


def lint_document(document: CorpusDocument) -> Linted | None:
    """Generate a server of a document and lint it; return None if none can be generated."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "server"
        options = Options(cache=Path(folder) / "cache")
        report = new(str(document.path), target, options, lambda _: None)
        if report.outcome != "done" or report.plan is None:
            return None
        return lint_folder(target, document.name)


def choose(number: int) -> list[CorpusDocument]:
    """Select documents of APIs, spread evenly over the index."""
    wanted = [it for it in corpus_documents() if it.kind == "api" and it.expect == "generate"]
    step = max(1, len(wanted) // number)
    return wanted[::step][:number]


def print_table(title: str, linted: Sequence[Linted]) -> None:
    """Print the number of servers without findings, and the frequency of each kind of finding."""
    servers: Counter[str] = Counter()
    findings: Counter[str] = Counter()
    first: dict[str, str] = {}
    for each in linted:
        servers.update(each.counts.keys())
        findings.update(each.counts)
        for key, message in each.first.items():
            first.setdefault(key, f"{each.name}: {message}")
    clean = sum(each.is_clean for each in linted)
    tools = sum(each.tools for each in linted)
    print(f"\n{title}: {clean} of {len(linted)} servers clean, {tools:,} tools")
    for key, count in sorted(findings.items()):
        print(f"  {key:<36} {count:>6} in {servers[key]:>3} servers  {first[key][:120]}")


def main() -> int:
    """Lint the examples, then the documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    folders = sorted(path.parent for path in EXAMPLES.glob("*/mcpgen.yaml"))
    examples = [lint_folder(folder, folder.name) for folder in folders]
    print_table("Examples", examples)
    if not is_present():
        print(f"SKIPPED: there is no index.csv in {CORPUS}")
        return 0
    linted: list[Linted] = []
    failures: list[str] = []
    documents = choose(options.documents)
    for document, result in in_children(
        lint_document, documents, at_once=2, seconds=TIMEOUT_SECONDS
    ):
        if isinstance(result, Failure):
            failures.append(f"{document.name}: {result.kind}")
        elif result is None:
            print(f"refused: {document.name}", flush=True)
        else:
            linted.append(result)
    print_table("Documents", linted)
    for failure in failures:
        print(f"failed: {failure}")
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in linted], indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
