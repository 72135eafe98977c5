"""Compare the grades of mcpgen and another tool for a random sample of steps: `make grades`.

`python -m tests.directory.grades --results FILE --listings FOLDER --write FOLDER` reads what
`make histories` stored, has mcp-contract compare the `tools/list` results of each step, and writes
a file for each step of the sample, for a person to read beside the documents.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.directory.__main__ import read_results
from tests.support.paths import CACHE, REPOSITORY

COMMAND = (
    str(CACHE / "peers" / "mcp-contract-0.6.0" / "bin" / "python"),
    str(REPOSITORY / "tests" / "peers" / "contract_changes.py"),
)
Change = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GradedStep:
    """One step between two versions, graded by mcpgen (`ours`) and by mcp-contract."""

    name: str
    ours: Sequence[Change]
    theirs: Sequence[Change]

    @property
    def is_breaking(self) -> tuple[bool, bool]:
        """Whether there is a breaking change according to mcpgen, and according to mcp-contract."""
        return bool(self.list_breaking_tools()[0]), bool(self.list_breaking_tools()[1])

    def list_breaking_tools(self) -> tuple[set[str], set[str]]:
        """Return the tools with a breaking change according to mcpgen, and to mcp-contract."""
        return (
            {each["tool"] for each in self.ours if each["level"] == "major"},
            {each["tool"] for each in self.theirs if each["severity"] == "breaking"},
        )


def grade(results: Sequence[Mapping[str, Any]], listings: Path) -> list[GradedStep]:
    """Run mcp-contract on the steps whose lists are stored."""
    steps: list[tuple[str, Sequence[Change], str]] = []
    for result in results:
        for number, step in enumerate(result["steps"], 1):
            files = [listings / result["api"] / f"{each}.json.gz" for each in (number - 1, number)]
            if step["level"] and all(file.exists() for file in files):
                before, after = (json.loads(gzip.decompress(file.read_bytes())) for file in files)
                pair = json.dumps({"before": before, "after": after})
                steps.append((f"{result['api']} {step['version']}", step["changes"], pair))
    done = subprocess.run(
        COMMAND,
        input="".join(f"{pair}\n" for *_, pair in steps),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answers = map(json.loads, done.stdout.splitlines())
    return [
        GradedStep(name, ours, theirs)
        for (name, ours, _), theirs in zip(steps, answers, strict=True)
    ]


def make_table(steps: Sequence[GradedStep]) -> str:
    """Return how often both agree on whole steps and on tools, in Markdown."""
    whole = Counter(step.is_breaking for step in steps)
    tools: Counter[tuple[bool, bool]] = Counter()
    for step in steps:
        mine, judged = step.list_breaking_tools()
        tools[True, True] += len(mine & judged)
        tools[True, False] += len(mine - judged)
        tools[False, True] += len(judged - mine)
    rows = (
        ("breaking for both", whole[True, True], tools[True, True]),
        ("breaking for mcpgen only", whole[True, False], tools[True, False]),
        ("breaking for mcp-contract only", whole[False, True], tools[False, True]),
        ("breaking for neither", whole[False, False], ""),
    )
    lines = ["| | steps | tools |", "|---|---:|---:|"]
    return "\n".join([*lines, *(f"| {title} | {one} | {other} |" for title, one, other in rows)])


def format_step(step: GradedStep) -> str:
    """Return the changes of a step, by tool, for a human reader."""
    by_tool: dict[str, list[str]] = {}
    for each in step.ours:
        line = f"ours   {each['level']:<8} {each['rule']}: {each['message']}"
        by_tool.setdefault(each["tool"], []).append(line)
    for each in step.theirs:
        where = f" `{each['argument']}`" if each["argument"] else ""
        line = f"theirs {each['severity']:<8} {each['kind']}{where}: {each['detail']}"
        by_tool.setdefault(each["tool"], []).append(line)
    lines = [f"# {step.name}"]
    for tool, found in sorted(by_tool.items()):
        lines += [f"\n## {tool}", *found]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the table, and write the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--listings", type=Path, required=True)
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    parser.add_argument("--sample", type=int, default=50, metavar="N")
    options = parser.parse_args()
    steps = grade([*read_results(options.results, "api").values()], options.listings)
    print(make_table(steps))
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        sample = random.Random(0).sample(steps, min(options.sample, len(steps)))
        for number, step in enumerate(sample, 1):
            path = options.write / f"{number:02}.md"
            path.write_text(format_step(step), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
