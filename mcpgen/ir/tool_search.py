"""Toolsets, and the search tools and index of a server whose tool list exceeds the budget."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from mcpgen.jsonschema.types import JsonObject


class Toolset(Struct, frozen=True):
    """Tools that an operator can list without the others: of a tag, or as in the manifest."""

    name: str  # "code_scanning", the value of `--toolset`
    description: str
    tools: tuple[str, ...]  # names, sorted


class IndexEntry(Struct, frozen=True):
    """The search index entry of one tool."""

    name: str
    summary: str
    operation: str  # "GET /pets/{petId}"
    tag: str
    verb: str  # stem of the verb in its title
    subject: tuple[str, ...]  # stems of its subject: the fixed parts of its path
    names: tuple[str, ...]  # stems of what its path identifies: "run" in /runs/{run_id}
    lists: tuple[str, ...]  # stems of the entities in the list that it returns, by its path
    effect: str  # "read", "change" or "remove"; "" if a call does several things
    is_own: bool  # it concerns the authenticated user
    is_deprecated: bool
    terms: Mapping[int, str]  # stems of all its texts, by weight in tenths


class ToolSearch(Struct, frozen=True):
    """The three tools that a server lists if its own tools exceed the budget."""

    search: str  # the names of the three tools
    describe: str
    call: str
    tools: tuple[JsonObject, ...]  # their entries in `tools/list`
    also_listed: tuple[str, ...]  # names of other tools that are listed, by the manifest
    token_cost: int  # of the whole list
