"""The server whose status is computed: its files, its input hashes and its commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.factory.waivers import read_waivers
from mcpgen.ir.waivers import Waiver
from mcpgen.pipeline.project.evidence import list_inputs
from mcpgen.pipeline.project.input_hashes import ProjectFiles, hash_inputs


class Subject:
    """A server that is examined. Nothing is read twice, and hashes are computed on demand."""

    def __init__(self, target: Path, path: str, now: datetime) -> None:
        self.files = ProjectFiles(target)
        self.path = path
        self.now = now
        self._hashes: dict[str, str] = {}

    def command(self, words: str, *more: str) -> str:
        """Return a command for this server: `mcpgen test servers/petstore`."""
        place = [] if self.path == "." and not more else [shlex.quote(self.path)]
        return " ".join(["mcpgen", words, *place, *more])

    def list_changed(self, check: str, recorded: Mapping[str, str]) -> tuple[str, ...]:
        """Return the inputs of a check that are not as they were recorded."""
        names = list_inputs(check)
        for name in names:
            if name not in self._hashes:
                self._hashes |= hash_inputs(self.files, (name,))
        return tuple(name for name in names if recorded.get(name) != self._hashes[name])

    @cached_property
    def waivers(self) -> Sequence[Waiver]:
        """The waivers; none if their file is invalid."""
        try:
            return read_waivers(self.files.target, Problems())
        except RejectedError:
            self.has_invalid_waivers = True
            return ()

    has_invalid_waivers = False
