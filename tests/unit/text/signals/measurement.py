"""Measure precision and recall of detecting hidden and steering text: `make text-signals`.

`tuning.jsonl` is the set that rules are adapted to. `held_out.jsonl` was written before the first
rule, `blind.jsonl` after the last one; both are only counted. A rule that is changed because of a
text in `blind.jsonl` moves the text to `tuning.jsonl`. All were written for mcpgen.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from mcpgen.text.signals import TextSignal, find_text_signals
from tests.support.corpus import CORPUS, corpus_documents, is_present

SETS = ("blind", "held_out", "tuning")
FIELDS = {"example", "default", "pattern", "title", "description"}
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text with the kind of signal that it must produce, or "" for none."""

    field: str
    kind: str
    text: str

    @property
    def is_hostile(self) -> bool:
        return self.kind != ""

    @property
    def signals(self) -> Sequence[TextSignal]:
        return find_text_signals(self.text, self.field)


@dataclass(frozen=True, slots=True)
class Measurement:
    """Counts of the texts of one set."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int
    by_kind: dict[str, Counter[str]]  # of hostile texts, what was found: kind, or "missed"

    @property
    def precision(self) -> float:
        return self.true_positives / (self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        return self.true_positives / (self.true_positives + self.false_negatives)


def labelled_texts(name: str) -> list[LabelledText]:
    """Read one of the sets."""
    lines = Path(__file__).with_name(f"{name}.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert all((row["label"] == "hostile") == ("kind" in row) for row in rows)
    return [LabelledText(row["field"], row.get("kind", ""), row["text"]) for row in rows]


def measure(texts: Sequence[LabelledText]) -> Measurement:
    """Search all texts, and compare the results with the labels."""
    counts: Counter[tuple[bool, bool]] = Counter()
    by_kind: dict[str, Counter[str]] = {}
    for text in texts:
        kinds = [signal.kind for signal in text.signals]
        counts[text.is_hostile, bool(kinds)] += 1
        if text.is_hostile:
            found = text.kind if text.kind in kinds else (kinds or ["missed"])[0]
            by_kind.setdefault(text.kind, Counter())[found] += 1
    return Measurement(
        counts[True, True], counts[False, True], counts[True, False], counts[False, False], by_kind
    )


def published_texts(*, with_archives: bool) -> Iterator[tuple[str, str]]:
    """Yield the distinct texts of available real documents, each with its field."""
    seen: set[tuple[str, str]] = set()
    for document in corpus_documents():
        if not with_archives and document.path.parent != CORPUS / "docs":
            continue
        try:
            root = yaml.load(document.path.read_text("utf-8"), _Loader)
        except (yaml.YAMLError, UnicodeDecodeError, ValueError):  # tricky cases of other tools
            continue
        for found in _texts_of(root):
            if found not in seen:
                seen.add(found)
                yield found


def _texts_of(node: object) -> Iterator[tuple[str, str]]:
    for key, value in node.items() if isinstance(node, dict) else ():
        if isinstance(value, str) and key in FIELDS | {"summary"}:
            yield ("title" if key == "summary" else key), value
        elif key == "enum" and isinstance(value, list):
            yield from (("enum", item) for item in value if isinstance(item, str))
        elif key == "properties" and isinstance(value, dict):
            yield from (("property", str(name)) for name in value)
        yield from _texts_of(value)
    for value in node if isinstance(node, list) else ():
        yield from _texts_of(value)


def print_measurement(name: str, measured: Measurement) -> None:
    """Print the figures of a set as Markdown."""
    print(f"## {name}\n")
    print(f"{measured.true_positives + measured.false_negatives} hostile texts,", end=" ")
    print(f"{measured.false_positives + measured.true_negatives} benign ones:", end=" ")
    print(f"precision {measured.precision:.3f}, recall {measured.recall:.3f}\n")
    print("| kind | texts | found with this kind | found with another kind | missed |")
    print("|---|---|---|---|---|")
    for kind, found in sorted(measured.by_kind.items()):
        others = {name: n for name, n in found.items() if name not in {kind, "missed"}}
        named = ", ".join(f"{other} {n}" for other, n in sorted(others.items())) or "0"
        print(f"| {kind} | {found.total()} | {found[kind]} | {named} | {found['missed']} |")
    print()


def main() -> None:
    """Print the figures of all sets, and what is found in real documents."""
    for name in SETS:
        print_measurement(name, measure(labelled_texts(name)))
    if not is_present():
        print(f"SKIPPED: there is no index.csv in {CORPUS}")
        return
    searched: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for field, text in published_texts(with_archives=True):
        searched[field] += 1
        for signal in find_text_signals(text, field)[:1]:
            found[field] += 1
            print(f"{field}: {signal.kind}: {signal.reason}: {ascii(text[signal.start :])[:100]}")
    print(
        "\n## Real documents\n\n| field | texts | with a finding | per 1,000 |\n|---|---|---|---|"
    )
    for field, number in [*sorted(searched.items()), ("all", searched.total())]:
        hits = found.total() if field == "all" else found[field]
        print(f"| {field} | {number} | {hits} | {1000 * hits / number:.2f} |")


if __name__ == "__main__":
    main()
