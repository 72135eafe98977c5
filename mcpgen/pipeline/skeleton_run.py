"""The skeleton of a project: rendered by copier in a child process, or from the last run."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mcpgen.emit.skeleton import render_skeleton
from mcpgen.forked import ForkedAhead
from mcpgen.ir.file_set import FileSet
from mcpgen.ir.templates import template_root
from mcpgen.pipeline.folder_cache import FolderCache
from mcpgen.pipeline.options import BuildOptions
from mcpgen.pipeline.user_cache import code_digest, user_cache
from mcpgen.text.identifiers import Identifier
from mcpgen.text.invisible import SafeText

_TABLE = "tools_markdown"  # the only fact that most changes of a document change


class _Rendered(Struct, frozen=True):
    key: str  # of everything that the files depend on
    files: FileSet  # with the key in place of the table


class SkeletonRun:
    """A rendering of the skeleton under way, unless the last run in the folder had the same facts.

    The table of tools is inserted afterwards, so that another table needs no other rendering.
    """

    def __init__(
        self,
        package: Identifier,
        facts: Mapping[str, SafeText],
        answers: Mapping[str, str],
        cache: FolderCache,
        child: ForkedAhead[FileSet],
    ) -> None:
        """Start in `child`, a result of `prepare_skeleton`, if the cache has no result."""
        others = {name: str(text) for name, text in facts.items() if name != _TABLE}
        versions = [importlib.metadata.version(name) for name in ("copier", "jinja2")]
        inputs = [code_digest(), versions, str(package), others, answers]
        key = hashlib.sha256(msgspec.json.encode(inputs)).hexdigest()
        self._table = (key.encode(), str(facts[_TABLE]).encode())
        self._cache, self._child = cache, child
        last = cache.read(_Rendered)
        self._found = last.files if last is not None and last.key == key else None
        if self._found is None:
            shown = {**facts, _TABLE: SafeText(key)}
            child.begin(
                functools.partial(
                    render_skeleton, template_root() / "skeleton", package, shown, answers
                )
            )

    def result(self) -> FileSet:
        """Wait for the files.

        Raises:
            AnswerRefusedError: as `render_skeleton` does.
        """
        files = self._found
        if files is None:
            files = self._child.result()
            rendered = _Rendered(self._table[0].decode(), files)
            self._cache.write(rendered)
        return tuple(replace(file, content=file.content.replace(*self._table)) for file in files)


def skeleton_cache(options: BuildOptions, folder: Path) -> FolderCache:
    """Return the cache of the skeleton of the project in `folder`."""
    return FolderCache(options.cache or user_cache(), "skeleton", folder)
