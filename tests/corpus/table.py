"""Summary of all documents: by version, by feature, and compared with the goals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.corpus.verdict import SHOWN_FAULTS, Verdict
from tests.support.corpus import CorpusDocument

SHOWN_FEATURES = 60
LEAST_RIGHT, LEAST_SERVED = 0.99, 0.90


@dataclass(frozen=True, slots=True)
class Judged:
    """A document with its verdict."""

    document: CorpusDocument
    verdict: Verdict

    @property
    def has_nothing_to_serve(self) -> bool:
        """Whether a refusal is the only correct outcome, since no operation can be served.

        There is either no operation, or an unresolved reference is reported for each.
        """
        reasons = self.verdict.reasons
        is_empty = all(reason.startswith(("no-tools:", "no-operations:")) for reason in reasons)
        is_broken = all(reason.startswith("unresolved-ref:") for reason in reasons)
        return self.verdict.outcome == "refused" and (
            is_empty or (is_broken and len(reasons) >= self.document.operations)
        )


def is_right(judged: Judged) -> bool:
    """Return whether a document has the expected outcome and no fault."""
    verdict = judged.verdict
    if verdict.faults or verdict.outcome not in {"served", "refused"}:
        return False
    if verdict.outcome == "refused" and judged.document.expect == "generate":
        return judged.has_nothing_to_serve
    # A document that other readers reject may be served if YAML or OpenAPI defines its meaning, but
    # there must be a located warning.
    is_flawed = judged.document.expect == "clear-error"
    return not (verdict.outcome == "served" and is_flawed and not verdict.warnings)


def print_faults(judged: Sequence[Judged]) -> None:
    """Print each document with faults and the reasons, then refusals and skipped operations."""
    print("\n== not wholly right")
    for each in judged:
        if not is_right(each):
            print(f"{each.document.name} ({each.document.expect}): {each.verdict.outcome}")
            told = each.verdict.faults or each.verdict.reasons
            for fault in told[:SHOWN_FAULTS]:
                print(f"    {fault[:600]}")
            if len(told) > SHOWN_FAULTS:
                print(f"    ... and {len(told) - SHOWN_FAULTS} more")
    print("\n== refused")
    for each in judged:
        if each.verdict.outcome == "refused":
            print(f"{each.document.name} ({each.document.expect}): {each.verdict.reasons[0][:160]}")
    print("\n== why operations were left out")
    codes = Counter(reason.partition(":")[0] for each in judged for reason in each.verdict.left)
    for code, count in codes.most_common():
        print(f"{count:>6}  {code}")
    uncalled = sum(each.verdict.uncalled for each in judged)
    print(f"\n{uncalled} tools have no call, since no arguments for them could be made up")


def print_table(judged: Sequence[Judged]) -> None:
    """Print the numbers of documents, correct ones and tools, by version and by feature."""
    heads = ("", "documents", "right", "served", "refused", "tools", "left out", "calls")
    print("\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for version in sorted({each.document.version for each in judged}):
        _line(f"OpenAPI {version}" if version else "none", judged, _of_version(version))
    _line("all", judged, lambda _: True)
    features = Counter(name for each in judged for name in each.document.features)
    print("\n| feature | documents | right | served | refused | tools | left out | calls |")
    print("|" + "---|" * len(heads))
    for feature, _ in features.most_common(SHOWN_FEATURES):
        _line(feature, judged, _with_feature(feature))


def _of_version(version: str) -> Callable[[Judged], bool]:
    return lambda each: each.document.version == version


def _with_feature(feature: str) -> Callable[[Judged], bool]:
    return lambda each: feature in each.document.features


def _line(title: str, judged: Sequence[Judged], is_meant: Callable[[Judged], bool]) -> None:
    meant = [each for each in judged if is_meant(each)]
    outcomes = Counter(each.verdict.outcome for each in meant)
    figures = (
        len(meant),
        sum(map(is_right, meant)),
        outcomes["served"],
        outcomes["refused"],
        sum(each.verdict.tools for each in meant),
        sum(each.verdict.left_out for each in meant),
        sum(each.verdict.calls for each in meant),
    )
    print(f"| {title} | " + " | ".join(f"{figure:,}" for figure in figures) + " |")


def goals(judged: Sequence[Judged]) -> bool:
    """Print how far each goal is reached; return whether all are."""
    print()
    expected = {
        name: [each for each in judged if each.document.expect == name]
        for name in ("generate", "generate-or-clear-error", "clear-error")
    }
    empty = [each for each in judged if each.has_nothing_to_serve]
    to_serve = [each for each in expected["generate"] if each not in empty]
    apis = [
        each
        for each in expected["generate-or-clear-error"]
        if each.document.kind == "api" and each not in empty
    ]
    refused = [
        each
        for each in judged
        if each.document.expect != "generate" and each.verdict.outcome != "served"
    ]
    print(f"{len(empty)} documents have no operation that could be served, and are refused")
    reached = [
        _goal("`generate`, wholly right", to_serve, is_right, LEAST_RIGHT),
        _goal("flawed APIs, served", apis, _is_served, LEAST_SERVED),
        _goal("flawed APIs, served and wholly right", apis, _is_served_right, LEAST_SERVED),
        _goal("otherwise, clear errors", refused, is_right, 1.0),
        _goal("no hang and no crash", judged, _has_ended, 1.0),
    ]
    return all(reached)


def _is_served(each: Judged) -> bool:
    return each.verdict.outcome == "served"


def _is_served_right(each: Judged) -> bool:
    return _is_served(each) and is_right(each)


def _has_ended(each: Judged) -> bool:
    return each.verdict.outcome in {"served", "refused"}


def _goal(
    title: str, judged: Sequence[Judged], is_met: Callable[[Judged], bool], least: float
) -> bool:
    met = sum(map(is_met, judged))
    reached = met >= least * len(judged)
    share = f"{met / len(judged):.1%}" if judged else "-"
    print(f"{'reached' if reached else 'MISSED '}  {title}: {met} of {len(judged)} ({share})")
    return reached
