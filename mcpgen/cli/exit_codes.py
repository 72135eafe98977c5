"""What the exit codes of `mcpgen` mean; scripts rely on them."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """One meaning each. What differs within one is told by `outcome` in the JSON."""

    DONE = 0
    FINDINGS = 1  # stale, unreachable, a tool call that answered `isError`
    USAGE = 2
    REJECTED = 3  # the document or the manifest
    CONFLICT = 4  # a hand-edited generated file, or an unresolved conflict
    INTERRUPTED = 5  # an earlier run was cut short, or another one holds the lock
    BUG = 70

    @property
    def outcome(self) -> str:
        """The word that the JSON has for it, where the command has no more exact one."""
        return self.name.lower()
