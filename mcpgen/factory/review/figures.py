"""The figures of a server, from its files and its evidence, now or at a revision."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.factory.review.model import Figures
from mcpgen.factory.status.records import (
    DamagedEvidenceError,
    R,
    TestsRecord,
    ValidateRecord,
    find_evidence_path,
    parse_record,
)
from mcpgen.jsonschema.types import JsonObject
from mcpgen.pipeline.project.evidence import TESTS, VALIDATE
from mcpgen.pipeline.project.history import EarlierProject


def collect_figures(tests: TestsRecord | None, validate: ValidateRecord | None) -> Figures:
    """Return the figures of evidence; the listing is not part of it."""
    return Figures(
        scores=validate.scores if validate else {},
        tests=tests.result if tests else "",
        kill_rate=tests.mutation.score if tests and tests.mutation else None,
    )


def collect_earlier_figures(earlier: EarlierProject) -> Figures:
    """Return the figures of a project at a revision, as its evidence was committed."""
    found = collect_figures(
        _read(earlier, TESTS, TestsRecord), _read(earlier, VALIDATE, ValidateRecord)
    )
    listing = earlier.read_listing()
    if listing is None:
        return found
    try:
        tools = msgspec.json.decode(listing, type=list[JsonObject])
    except msgspec.DecodeError:
        return found
    return replace(found, tools=len(tools), tokens=sum(map(estimate_tokens, tools)))


def _read(earlier: EarlierProject, check: str, type_: type[R]) -> R | None:
    try:
        return parse_record(earlier.files[find_evidence_path(check)], type_)
    except (KeyError, DamagedEvidenceError):
        return None
