"""What `handlers/` holds, as it is read from its source, and what mcpgen remembers of it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from mcpgen.diagnostics import Location
from mcpgen.ir.surface import SurfaceTool

# As of mcpgen.runtime.extras, which `mcpgen check` does without; a test compares the two.
ASKING_METHODS = ("ask", "elicit", "elicit_url", "list_roots", "require_url", "sample")
"""Methods of a handler's context that make a client of MCP 2026-07-28 carry encrypted state."""


class Hook(Struct, frozen=True):
    """A function that overrides an operation, or runs before or after it."""

    kind: str  # "override", "before" or "after"
    operation: str  # as it is written: "GET /pets/{petId}"
    function: str  # where it is: "handlers/pets.py:get_pet"
    at: Location


class ExtraTool(Struct, frozen=True):
    """A tool that is written by hand."""

    name: str
    at: Location


class HandWritten(Struct, frozen=True):
    """All that was found, by file and line."""

    hooks: tuple[Hook, ...] = ()
    tools: tuple[ExtraTool, ...] = ()
    unreadable: tuple[str, ...] = ()  # modules that are no Python: "handlers/pets.py"
    asking: tuple[Location, ...] = ()  # where a handler asks the client for input: `ctx.elicit`

    @property
    def overrides(self) -> Mapping[str, Hook]:
        """The override of each operation; of several, the first."""
        found: dict[str, Hook] = {}
        for hook in self.hooks:
            if hook.kind == "override":
                found.setdefault(hook.operation, hook)
        return found

    @property
    def hooked(self) -> Mapping[str, Hook]:
        """The hook of each operation by which it is remembered: its override, or its first."""
        found: dict[str, Hook] = {}
        for hook in self.hooks:
            found.setdefault(hook.operation, hook)
        return found | dict(self.overrides)

    def kinds(self, operation: str) -> frozenset[str]:
        """The kinds of the hooks of an operation."""
        return frozenset(hook.kind for hook in self.hooks if hook.operation == operation)


class Overridden(Struct, frozen=True):
    """What is remembered of an operation since its hook was written or acknowledged.

    `tool` is what it was like then, None for an operation that never was. `body` is that of the
    generated handler at that time, where the override replaces it (`mcpgen eject`).
    """

    override: str  # where the function is, or that of another hook: "handlers/pets.py:get_pet"
    tool: SurfaceTool | None = None
    operation_id: str = ""
    moved_to: str = ""  # the operation that has this operationId now, once this one is gone
    body: str = ""


class HandlerSource(Struct, frozen=True):
    """A handler in `_generated/tools/`, taken apart as text."""

    function: str
    parameters: str  # after the context: "*, pet_id: int"; "" where there are none
    keywords: tuple[str, ...]
    returns: str
    docstring: str  # as it is written, quotes included
    body: str  # the statements after it, without their indentation
    imports: Mapping[str, str]  # what the whole of it reads: name -> module
