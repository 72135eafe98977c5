"""The corpus of real documents: `../shared/corpus` or CORPUS, unpacked into `.cache`."""

from __future__ import annotations

import csv
import os
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.paths import CACHE, SHARED

CORPUS = Path(os.environ.get("CORPUS", SHARED / "corpus"))
UNPACKED = CACHE / "corpus"


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """A row of the index, with the path of the document."""

    name: str
    path: Path
    kind: str  # "api" or "fixture"
    version: str  # "2.0", "3.0", "3.1", "3.2", or "" where it says none
    is_valid: bool
    expect: str  # "generate", "generate-or-clear-error" or "clear-error"
    operations: int
    features: Sequence[str]


def is_present() -> bool:
    """Return whether a corpus is available."""
    return (CORPUS / "index.csv").is_file()


@cache
def corpus_documents() -> Sequence[CorpusDocument]:
    """Return all documents of the index, in its order."""
    with (CORPUS / "index.csv").open(encoding="utf-8", newline="") as index:
        rows = list(csv.DictReader(index))
    for archive in sorted({row["file"].partition(":")[0] for row in rows if ":" in row["file"]}):
        _unpack(archive)
    return [
        CorpusDocument(
            row["name"],
            _path(row["file"]),
            row["kind"],
            ".".join(row["version"].split(".")[:2]),
            row["valid"] == "valid",
            row["expect"],
            int(row["ops"] or 0),
            row["features"].split(),
        )
        for row in rows
    ]


def select_documents(parts: Sequence[str]) -> list[CorpusDocument]:
    """Return the documents whose names contain one of the parts, or all without parts."""
    documents = corpus_documents()
    return [it for it in documents if not parts or any(part in it.name for part in parts)]


def _path(file: str) -> Path:
    archive, colon, member = file.partition(":")
    return UNPACKED / archive / member if colon else CORPUS / file


def _unpack(archive: str) -> None:
    folder = UNPACKED / archive
    if folder.is_dir():
        return
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    with tarfile.open(CORPUS / archive) as packed:
        packed.extractall(fresh, filter="data")
    fresh.rename(folder)
