"""Which tools are listed: by toolsets, and by search where listing all costs too much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcpgen.ir.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class Toolset:
    """Tools that a person can have listed together: those of a tag, or as the manifest says."""

    name: str  # "code_scanning", as it is typed after `--toolset`
    description: str
    tools: tuple[str, ...]  # names, sorted


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What a search knows of one tool."""

    name: str
    summary: str
    operation: str  # "GET /pets/{petId}"
    tag: str
    subject: tuple[str, ...]  # stems of what its title is about, its verbs left out
    terms: Mapping[str, float]  # stems of all that is said of it, by how much each one tells
    lists: tuple[str, ...]  # stems of what its answer is a list of, by its path
    effect: str  # "read", "change" or "remove"; "" where one call does several things
    is_own: bool  # it is about who calls
    prior: float  # 1 for what is asked for most; less for what is special or deprecated


@dataclass(frozen=True, slots=True)
class ToolSearch:
    """What a server lists in place of tools that cost more than the budget."""

    search: str  # the names of the three tools
    describe: str
    call: str
    tools: tuple[JsonObject, ...]  # the three, as they are listed
    also_listed: tuple[str, ...]  # names of the tools that the manifest has listed beside them
    token_cost: int  # of all that is listed
    index: tuple[IndexEntry, ...]  # by name
