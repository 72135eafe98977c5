"""The requirement table: what a server must or should do, since when, and why (`tables/*.toml`)."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Literal

import msgspec

from mcpgen.factory.wire.session import REVISIONS

Level = Literal["must", "should"]
Transport = Literal["any", "stdio", "http", "sse"]


class Requirement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One duty of a server in our own words.

    `rows` are the rows of `requirements.tsv` that it covers. `applies_if` names a capability of the
    server ("tools", "resources.subscribe"); "" means every server. `transport` "http" is
    Streamable HTTP; "sse" is the transport of 2024-11-05.
    """

    id: str
    level: Level
    rows: tuple[str, ...]
    requirement: str
    why: str
    help: str
    section: str
    since: str = REVISIONS[0]
    until: str = REVISIONS[-1]
    transport: Transport = "any"
    applies_if: str = ""

    @property
    def weight(self) -> int:
        """The weight in the score."""
        return 10 if self.level == "must" else 3

    def covers(self, revision: str, transport: str) -> bool:
        """Whether it is a requirement of this revision and transport."""
        return self.since <= revision <= self.until and self.transport in {"any", transport}


class RequirementTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All requirements, and the rows that cannot be observed from outside, with the reason."""

    requirement: tuple[Requirement, ...] = ()
    unobservable: dict[str, str] = {}

    def find(self, requirement_id: str) -> Requirement | None:
        """Return the requirement with this id."""
        return next((it for it in self.requirement if it.id == requirement_id), None)


@functools.cache
def read_requirements() -> RequirementTable:
    """Read the tables that mcpgen contains, in the order of their names."""
    folder = resources.files("mcpgen.factory.validate").joinpath("tables")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=str)
    tables = [
        msgspec.convert(tomllib.loads(file.read_text("utf-8")), RequirementTable) for file in files
    ]
    return RequirementTable(
        requirement=tuple(row for table in tables for row in table.requirement),
        unobservable={row: why for table in tables for row, why in table.unobservable.items()},
    )
