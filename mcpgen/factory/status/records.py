"""Evidence files as types: the members that a status is computed from."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from mcpgen.factory.status.model import Score
from mcpgen.pipeline.project.evidence import EVIDENCE_FOLDER
from mcpgen.pipeline.project.input_hashes import ProjectFiles


class Record(Struct, frozen=True, kw_only=True):
    """The members of all evidence."""

    outcome: str
    result: str
    inputs: dict[str, str]
    time: str = ""  # "" in evidence of mcpgen 0.6 and earlier


class RecordedFinding(Struct, frozen=True):
    """A finding of lint."""

    rule: str
    severity: str
    tool: str = ""


class ClientEffect(Struct, frozen=True):
    """Effect of a client's limits on the tools."""

    effect: str
    tools: int
    limits: tuple[str, ...]


class LintRecord(Record, frozen=True, kw_only=True):
    """`lint.json`."""

    # mcpgen 0.6 recorded the number of findings by severity.
    findings: tuple[RecordedFinding, ...] | dict[str, int] = ()
    more_findings: int = 0
    client_effects: dict[str, ClientEffect] = {}


class Mutation(Struct, frozen=True):
    """The result of mutation tests."""

    score: float | None


class TestsRecord(Record, frozen=True, kw_only=True):
    """`tests.json`."""

    mutation: Mutation | None = None


class RevisionRecord(Struct, frozen=True):
    """The result of `mcpgen validate` for one revision."""

    score: int
    coverage: float
    verdict: str
    reliable: bool
    findings: tuple[str, ...] = ()  # the violated requirements


class ValidateRecord(Record, frozen=True, kw_only=True):
    """`validate.json`."""

    revisions: dict[str, RevisionRecord] = {}

    @property
    def scores(self) -> dict[str, Score]:
        """The score of each revision."""
        return {
            revision: Score(it.score, it.coverage, it.verdict, it.reliable)
            for revision, it in sorted(self.revisions.items())
        }


class SourceRecord(Record, frozen=True, kw_only=True):
    """`source.json`."""

    source: str
    level: str
    written: bool


class PublishedRecord(Record, frozen=True, kw_only=True):
    """`published.json`."""

    registry: str
    version: str


class DamagedEvidenceError(Exception):
    """An evidence file is not one that mcpgen wrote; the message states why."""


R = TypeVar("R", bound=Record)
_MAX_MESSAGE: Final = 200


def find_evidence_path(check: str) -> str:
    """Return the path of the evidence of a check, relative to the server's folder."""
    return f"{EVIDENCE_FOLDER}/{check}.json"


def read_record(files: ProjectFiles, check: str, type_: type[R]) -> R | None:
    """Read the evidence of a check; None if there is none.

    Raises:
        DamagedEvidenceError: the file is not JSON, or has members of other types.
        OSError: the file cannot be read.
    """
    content = files.read(find_evidence_path(check))
    return None if content is None else parse_record(content, type_)


def parse_record(content: bytes, type_: type[R]) -> R:
    """Parse the content of an evidence file.

    Raises:
        DamagedEvidenceError: it is not JSON, or has members of other types.
    """
    try:
        return msgspec.json.decode(content, type=type_)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise DamagedEvidenceError(str(error)[:_MAX_MESSAGE]) from None
