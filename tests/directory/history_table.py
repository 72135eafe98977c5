"""Table of API histories: the state of the owner's edits, and the grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

Result = Mapping[str, Any]


def find_faults(result: Result) -> list[str]:
    """Return the faults of an API and of its steps."""
    return [*result["faults"], *(fault for step in result["steps"] for fault in step["faults"])]


def make_table(results: Sequence[Result]) -> str:
    """Return the table in Markdown, with the faults below it."""
    present = [each for each in results if each["outcome"] not in ("absent", "empty")]
    empty = sum(each["outcome"] == "empty" for each in results)
    steps = [step for each in present for step in each["steps"]]
    edits = Counter(edit.partition(" ")[0] for each in present for edit in each["edits"])
    levels = Counter(step["level"] for step in steps if step["level"])
    decisions = Counter(
        " ".join(text.split()[:3]).partition(".")[0] for step in steps for text in step["decisions"]
    )
    faulty = [each for each in present if find_faults(each)]
    rows = {
        "APIs absent in the copy": len(results) - len(present) - empty,
        "APIs of which all versions but the last have no operations": empty,
        "APIs": len(present),
        "APIs with a fault": len(faulty),
        "steps from one version to the next": len(steps),
        "steps with a fault": sum(bool(step["faults"]) for step in steps),
        "steps whose generated tests were run": sum(bool(step["is_tested"]) for step in steps),
        "generated tests passed": sum(step["passed"] for step in steps),
        **{f"edits: {kind}": count for kind, count in sorted(edits.items())},
        **{f"steps graded {level}": count for level, count in sorted(levels.items())},
        **{f"decisions: {kind}": count for kind, count in decisions.most_common()},
    }
    lines = ["| measure | result |", "|---|---:|"]
    lines += [f"| {title} | {count:,} |" for title, count in rows.items()]
    faults = [f"{each['api']}: {fault[:400]}" for each in faulty for fault in find_faults(each)[:3]]
    return "\n".join([*lines, "", *faults])
