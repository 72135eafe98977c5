"""Test cases of a server's tools, and the cache of those that its last run made.

Making the cases of a tool takes longer than planning it, and most runs change few tools.
"""

from __future__ import annotations

import functools
import importlib.metadata
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from mcpgen.diagnostics import Problems
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan
from mcpgen.pipeline.folder_cache import FolderCache
from mcpgen.pipeline.user_cache import code_digest
from mcpgen.plan.cases import CaseContext, CaseKeys, CaseMaking, note_missing_samples, prepare_tool
from mcpgen.render import json_text

_LIBRARIES = ("jsonschema-rs", "msgspec")  # whose versions may decide samples or their encoding
_Blocks = dict[str, bytes]


class MadeCases(Struct):
    """The entries of `cases.json` for some tools."""

    blocks: list[bytes]  # one entry each, as JSON, in the order of the tools
    keys: list[str]  # of the cache; "" for one that depends on other tools
    problems: Problems  # that name tools without a sample


class CaseCache:
    """The entries that the last run in a project's folder made.

    The keys contain the version of the code, so entries of another version are not found.
    """

    def __init__(self, cache: Path, folder: Path) -> None:
        """Initialize with the folder of the cache and that of the project."""
        self._file = FolderCache(cache, "cases", folder)

    def read(self) -> Mapping[str, bytes]:
        """Return the entries by their keys."""
        return self._file.read(_Blocks) or {}

    def write(self, made: Sequence[MadeCases]) -> None:
        """Store the entries for the next run, if the cache can be written."""
        entries = {
            key: block
            for each in made
            for key, block in zip(each.keys, each.blocks, strict=True)
            if key
        }
        self._file.write(entries)


class ToolCases:
    """Creates the test cases of the tools of one server, except those in the cache.

    The cache affects nothing but the time: a tool whose entry depends on the tools before it, since
    they share bounds on the time of a search, is created again in each run.
    """

    def __init__(self, plan: ServerPlan, cache: CaseCache) -> None:
        """Read the cache, and prepare what all tools share."""
        self._context, self._schemas = CaseContext.of(plan), plan.api.schemas
        self._keys = CaseKeys(self._context, self._schemas, _describe_code())
        self._known = cache.read()

    def make(self, tools: Sequence[ToolPlan]) -> MadeCases:
        """Return the cases of some tools, which share bounds with no others."""
        making = CaseMaking(self._context, self._schemas)
        made = MadeCases([], [], Problems())
        for tool in map(prepare_tool, tools):
            key = self._keys.of(tool)
            block = self._known.get(key)
            if block is None:
                entry, is_reproducible = making.make_entry_to_cache(tool)
                block = json_text.block(entry)
                key = key if is_reproducible else ""
            made.blocks.append(block)
            made.keys.append(key)
            if b'"untested"' in block:
                note_missing_samples(tool, msgspec.json.decode(block), made.problems)
        return made


@functools.cache
def _describe_code() -> str:
    """Return the versions of mcpgen, Python and the libraries, on which test cases depend."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in _LIBRARIES]
    return "\n".join([code_digest(), sys.version, *versions])
