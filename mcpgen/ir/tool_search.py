"""Which tools are listed: by toolsets, and by search where listing all costs too much."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from mcpgen.ir.json_types import JsonObject


class Toolset(Struct, frozen=True):
    """Tools that a person can have listed together: those of a tag, or as the manifest says."""

    name: str  # "code_scanning", as it is typed after `--toolset`
    description: str
    tools: tuple[str, ...]  # names, sorted


class IndexEntry(Struct, frozen=True):
    """What a search knows of one tool."""

    name: str
    summary: str
    operation: str  # "GET /pets/{petId}"
    tag: str
    verb: str  # stem of what its title says that it does
    subject: tuple[str, ...]  # stems of what it is about: the fixed parts of its path
    names: tuple[str, ...]  # stems of what its path names one of: "run" in /runs/{run_id}
    lists: tuple[str, ...]  # stems of what its answer is a list of, by its path
    effect: str  # "read", "change" or "remove"; "" where one call does several things
    is_own: bool  # it is about who calls
    is_deprecated: bool
    terms: Mapping[int, str]  # stems of all that is said of it, by how much they tell, in tenths


class ToolSearch(Struct, frozen=True):
    """What a server lists in place of tools that cost more than the budget."""

    search: str  # the names of the three tools
    describe: str
    call: str
    tools: tuple[JsonObject, ...]  # the three, as they are listed
    also_listed: tuple[str, ...]  # names of the tools that the manifest has listed beside them
    token_cost: int  # of all that is listed
