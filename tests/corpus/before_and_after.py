"""Compare the servers of two source trees over the corpus: `make corpus-compare BASE=FOLDER`.

`python -m tests.corpus.before_and_after --base FOLDER [PART_OF_A_NAME ...] [--write FOLDER]` plans
every document with the mcpgen of each tree, and compares, by operation: whether it is served, its
request, and its tool's name. `--write` writes `operations.tsv`, `requests.tsv`, `names.tsv`,
`arguments.tsv` and `summary.md`; they hold names from the documents and are not to be committed.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.corpus import CORPUS, CorpusDocument, is_present, select_documents
from tests.support.paths import REPOSITORY

_SCRIPT = Path(__file__).with_name("planned_tools.py")
_HASH = re.compile(r"_(?=[a-f]*[0-9])[0-9a-f]{6}\Z")
_NUMBERED = re.compile(r"_alt_?[0-9]+\Z")
_SECRET = re.compile(
    r"token|secret|api.?key|password|passwd|auth|credential|signature", re.IGNORECASE
)
_SEPARATED = frozenset({"pipeDelimited", "spaceDelimited", "tabDelimited"})
_SHOWN = 12

EXPECTED = {
    "attempts: one": "a GET or PUT whose verb changes something is not repeated",
    "newly served": "the operation was skipped before",
    "body: fewer media types, the same by default": "the others describe the same data",
    "body: multipart in place of JSON": "the body has a file, which JSON cannot carry",
    "parameter: required, now optional with a default": "the document's default is sent",
    "parameter: secret, no argument any more": "a setting of the server supplies it",
    "parameter: style of OpenAPI 2.0": "`collectionFormat` is followed in paths and headers",
    "security: added where none was": "a credential that the document hides",
}
"""Kinds of changes that are intended, with the reason. All others are unexpected."""

Tool = dict[str, Any]
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A document with its plans before and after."""

    document: CorpusDocument
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def served_by_both(self) -> Iterator[tuple[str, Tool, Tool]]:
        """The operations that both trees serve, each with its tool before and after."""
        for key, tool in sorted(self.before["tools"].items()):
            if key in self.after["tools"]:
                yield key, tool, self.after["tools"][key]

    def operations(self) -> Iterator[Row]:
        """Yield what only one tree serves: change, document, operation, reason."""
        name = self.document.name
        if self.before["error"] != self.after["error"]:
            kind = "document lost" if self.after["error"] else "document newly served"
            yield (kind, name, "", self.after["error"] or self.before["error"])
        for key in sorted(self.before["tools"].keys() - self.after["tools"].keys()):
            yield ("lost", name, key, self.after["skipped"].get(key, self.after["error"]))
        for key in sorted(self.after["tools"].keys() - self.before["tools"].keys()):
            yield ("newly served", name, key, self.before["skipped"].get(key, ""))

    def requests(self) -> Iterator[Row]:
        """Yield each changed part of a request: kind, document, operation, before, after."""
        for key, one, other in self.served_by_both:
            for kind, was, now in request_changes(
                one["request"], other["request"], self.document.version
            ):
                yield (kind, self.document.name, key, was, now)

    def names(self) -> Iterator[Row]:
        """Yield each changed tool name: document, operation, operationId, before, after."""
        for key, one, other in self.served_by_both:
            if one["name"] != other["name"]:
                yield (self.document.name, key, one["operation_id"], one["name"], other["name"])

    def arguments(self) -> Iterator[Row]:
        """Yield each changed argument name: document, operation, parameter, before, after."""
        for key, one, other in self.served_by_both:
            for place, was in sorted(one["arguments"].items()):
                now = other["arguments"].get(place, was)
                if was != now:
                    yield (self.document.name, key, place, was, now)


def request_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], version: str
) -> Iterator[tuple[str, str, str]]:
    """Yield the differences of two requests of one operation: the kind of change, both as text."""
    own = {(each["in"], each["name"]): each for each in before["parameters"]}
    new = {(each["in"], each["name"]): each for each in after["parameters"]}
    for place in sorted(own.keys() | new.keys()):
        was, now = own.get(place), new.get(place)
        if was != now:
            yield (_kind_of_parameter(place, was, now, version), _text(was), _text(now))
    if [*own] != [*new] and own.keys() == new.keys():
        yield ("parameter: order", _text([*own]), _text([*new]))
    for part in sorted((before.keys() | after.keys()) - {"parameters"}):
        was, now = before.get(part), after.get(part)
        if was != now:
            yield (_kind_of_part(part, was, now), _text(was), _text(now))


def _kind_of_part(part: str, was: Any, now: Any) -> str:
    if part == "attempts" and not was and now == 1:
        return "attempts: one"
    if part == "security" and not was:
        return "security: added where none was"
    if part == "body" and was and now:
        first, *others = was["media_types"]
        kept = [each for each in others if each in now["media_types"]]
        if now["media_types"] == [first, *kept] and now["required"] == was["required"]:
            return "body: fewer media types, the same by default"
        only = now["media_types"][0]
        if (
            only in others
            and only["media_type"] == "multipart/form-data"
            and '"binary"' in json.dumps(only.get("schema"))
        ):
            return "body: multipart in place of JSON"
    return f"{part}: changed"


def _kind_of_parameter(
    place: tuple[str, str], was: Tool | None, now: Tool | None, version: str
) -> str:
    location, name = place
    is_secret = _SECRET.search(name) is not None
    if now is None or (was is not None and now.get("fixed") and not was.get("fixed")):
        return f"parameter: {'secret, ' if is_secret else ''}no argument any more"
    if was is None:
        assert now is not None
        if version == "2.0" and now["style"] in _SEPARATED:
            return "parameter: style of OpenAPI 2.0"
        return f"parameter: new in {location}"
    changed = sorted(key for key in was.keys() | now.keys() if was.get(key) != now.get(key))
    if changed == ["required"] and was["required"] and now["default"] is not None:
        return "parameter: required, now optional with a default"
    if set(changed) <= {"style", "explode"} and version == "2.0":
        return "parameter: style of OpenAPI 2.0"
    return f"parameter: {', '.join(changed)} in {location}"


def _text(value: object) -> str:
    return "" if value is None else json.dumps(value, sort_keys=True, ensure_ascii=False)[:300]


def planned_by(tree: Path, documents: Sequence[CorpusDocument]) -> list[dict[str, Any]]:
    """Plan the documents with the mcpgen of a source tree, in a separate process.

    Raises:
        SystemExit: the process used another mcpgen, or ended before the last document.
    """
    python = tree / ".venv" / "bin" / "python"
    done = subprocess.run(
        [python if python.exists() else sys.executable, "-P", _SCRIPT],
        input="".join(f"{document.path}\n" for document in documents),
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tree)},
        check=False,
    )
    used, *lines = done.stdout.splitlines() or [""]
    if Path(used) != tree.resolve():
        raise SystemExit(f"expected the mcpgen of {tree}, but {used or 'none'} was used")
    if len(lines) < len(documents):
        raise SystemExit(f"{tree}: ended at {documents[len(lines)].name}")
    return [json.loads(line) for line in lines]


def compare(base: Path, documents: Sequence[CorpusDocument]) -> list[Comparison]:
    """Plan documents with another source tree and with this one, at the same time."""
    with ThreadPoolExecutor() as pool:
        before, after = pool.map(lambda tree: planned_by(tree, documents), (base, REPOSITORY))
    return [Comparison(*each) for each in zip(documents, before, after, strict=True)]


def summary(compared: Sequence[Comparison]) -> str:
    """Yield the tables of counts in Markdown, unexpected changes of requests first."""
    kinds = Counter(row[0] for each in compared for row in (*each.operations(), *each.requests()))
    lines = ["| operations and requests | count | |", "|---|---:|---|"]
    for kind, count in sorted(kinds.items(), key=lambda item: (item[0] in EXPECTED, -item[1])):
        lines.append(f"| {kind} | {count} | {EXPECTED.get(kind, '**unexpected**')} |")
    if not kinds:
        lines.append("| no change | 0 | |")
    lines += ["", "| names of tools | before | after |", "|---|---:|---:|"]
    tools = [pair for each in compared for pair in each.served_by_both]
    before = [one["name"] for _, one, _ in tools]
    after = [other["name"] for _, _, other in tools]
    for title, count in _MEASURES.items():
        lines.append(f"| {title} | {count(before):,} | {count(after):,} |")
    changed = sum(1 for each in compared for _ in each.names())
    arguments = sum(1 for each in compared for _ in each.arguments())
    lines += ["", f"{changed:,} tools and {arguments:,} arguments have another name."]
    return "\n".join(lines)


def _letters(names: Iterable[str]) -> int:
    return sum(any(len(word) == 1 and word.isalpha() for word in name.split("_")) for name in names)


_MEASURES = {
    "tools": len,
    "with a hash": lambda names: sum(_HASH.search(name) is not None for name in names),
    "with `alt` and a number": lambda names: sum(bool(_NUMBERED.search(name)) for name in names),
    "that begin with `op_`": lambda names: sum(name.startswith("op_") for name in names),
    "that begin with `post_`, `put_` or `patch_`": lambda names: sum(
        name.startswith(("post_", "put_", "patch_")) for name in names
    ),
    "with a word of one letter": _letters,
    "with a word twice in a row": lambda names: sum(
        any(one == other for one, other in itertools.pairwise(words))
        for words in (name.split("_") for name in names)
    ),
    "of more than 40 characters": lambda names: sum(len(name) > 40 for name in names),
}


def write_tables(compared: Sequence[Comparison], folder: Path) -> None:
    """Write every difference on its own line, and the summary."""
    tables: dict[str, tuple[Row, list[Row]]] = {
        "operations": (
            ("change", "document", "operation", "reason"),
            [row for each in compared for row in each.operations()],
        ),
        "requests": (
            ("change", "document", "operation", "before", "after"),
            sorted(row for each in compared for row in each.requests()),
        ),
        "names": (
            ("document", "operation", "operationId", "before", "after"),
            [row for each in compared for row in each.names()],
        ),
        "arguments": (
            ("document", "operation", "parameter", "before", "after"),
            [row for each in compared for row in each.arguments()],
        ),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, (head, rows) in tables.items():
        with (folder / f"{name}.tsv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, dialect="excel-tab")
            writer.writerows([head, *rows])
    (folder / "summary.md").write_text(summary(compared) + "\n", encoding="utf-8")


def unexpected(compared: Sequence[Comparison]) -> list[Row]:
    """Return the unintended changes."""
    rows = [row for each in compared for row in (*each.operations(), *each.requests())]
    return [row for row in rows if row[0] not in EXPECTED and row[0] != "document newly served"]


def main() -> int:
    """Compare the selected documents; return 1 if a change is unexpected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART_OF_A_NAME")
    parser.add_argument("--base", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if not is_present():
        print(f"SKIPPED: there is no index.csv in {CORPUS}")
        return 0
    documents = select_documents(options.parts)
    compared = compare(options.base.resolve(), documents)
    if options.write:
        write_tables(compared, options.write)
    print(summary(compared))
    found = unexpected(compared)
    shown: Counter[str] = Counter()
    for row in found:
        shown[row[0]] += 1
        if shown[row[0]] <= _SHOWN:
            print(" | ".join(row))
    print(f"\n{len(found)} unexpected changes")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
