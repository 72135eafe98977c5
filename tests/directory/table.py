"""Table of all documents of a directory, compared with its goals."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

Result = Mapping[str, Any]

_NOTHING_TO_SERVE = ("no-operations:", "no-tools:")
_LEAST_SERVED, _LEAST_GREEN = 0.999, 0.995
_MEDIAN_SECONDS, _MEDIAN_MEGABYTES = 2.0, 120.0
_MOST_SECONDS, _MOST_MEGABYTES = 60.0, 600.0


def make_table(results: Sequence[Result]) -> tuple[str, bool]:
    """Return the table in Markdown, with missed goals below it, and whether all are reached."""
    present = [each for each in results if each["outcome"] != "absent"]
    served = [each for each in present if each["outcome"] == "served"]
    refused = [each for each in present if each["outcome"] == "refused"]
    if not served:
        return "no document is served", False
    ended = len(served) + len(refused)
    green = [each for each in served if not each["failed"]]
    operations = sum(each["operations"] for each in present)
    tools = sum(each["served"] for each in served)
    seconds = [each["cpu"]["import"] + each["cpu"]["generate"] for each in served]
    tests = [each["cpu"]["test"] for each in served]
    megabytes = [each["megabytes"]["generate"] for each in served]
    rows = (
        ("documents absent in the copy", f"{len(results) - len(present):,}", "", True),
        ("documents", f"{len(present):,}", "", True),
        ("crashes, hangs", f"{len(present) - ended:,}", "none", ended == len(present)),
        ("documents served", f"{len(served):,}", "", True),
        ("documents refused", f"{len(refused):,}", "", True),
        ("operations in all documents", f"{operations:,}", "", True),
        _share("operations served", tools, operations, _LEAST_SERVED),
        _share("suites green", len(green), len(served), _LEAST_GREEN),
        ("generated tests passed", f"{sum(each['passed'] for each in served):,}", "", True),
        ("generated tests failed", f"{sum(each['failed'] for each in served):,}", "", True),
        ("tests without arguments", f"{sum(each['untested'] for each in served):,}", "", True),
        _bound("median CPU seconds of `new`", statistics.median(seconds), _MEDIAN_SECONDS),
        ("median CPU seconds of the tests", f"{statistics.median(tests):.1f}", "", True),
        ("most CPU seconds of the tests", f"{max(tests):.1f}", "", True),
        _bound("median megabytes of `new`", statistics.median(megabytes), _MEDIAN_MEGABYTES),
        _bound("most CPU seconds of `new`", max(seconds), _MOST_SECONDS),
        _bound("most megabytes of `new`", max(megabytes), _MOST_MEGABYTES),
    )
    lines = ["| measure | result | goal | |", "|---|---:|---:|---|"]
    for title, result, goal, is_reached in rows:
        mark = ("reached" if is_reached else "**missed**") if goal else ""
        lines.append(f"| {title} | {result} | {goal} | {mark} |")
    return "\n".join([*lines, "", *_list_skipped_rules(served), *_list_faults(present)]), all(
        is_reached for *_, is_reached in rows
    )


def _share(title: str, count: int, total: int, least: float) -> tuple[str, str, str, bool]:
    share = count / total if total else 1.0
    return (title, f"{count:,} ({share:.2%})", f"{least:.1%}", share >= least)


def _bound(title: str, value: float, most: float) -> tuple[str, str, str, bool]:
    return (title, f"{value:.1f}", f"{most:g}", value <= most)


def _list_skipped_rules(served: Sequence[Result]) -> list[str]:
    rules: Counter[str] = Counter()
    for each in served:
        rules.update(each["skipped"])
    return [f"skipped by {rule}: {count}" for rule, count in rules.most_common()]


def _list_faults(present: Sequence[Result]) -> list[str]:
    lines = []
    for each in present:
        reasons = each["faults"]
        if each["outcome"] == "refused":
            is_empty = all(text.startswith(_NOTHING_TO_SERVE) for text in each["reasons"])
            reasons = reasons if is_empty else [*reasons, *each["reasons"]]
        lines += [f"{each['path']}: {each['outcome']}: {text[:400]}" for text in reasons[:3]]
    return lines
