"""Hand-written handlers: hooks and tools found in `handlers/`, and the records of overrides."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from mcpgen.diagnostics import Location
from mcpgen.ir.surface import SurfaceTool


class Hook(Struct, frozen=True):
    """A function that overrides an operation, or runs before or after it."""

    kind: str  # "override", "before" or "after"
    operation: str  # as in the decorator: "GET /pets/{petId}"
    function: str  # "handlers/pets.py:get_pet"
    at: Location


class ExtraTool(Struct, frozen=True):
    """A hand-written tool."""

    name: str
    at: Location


class HandWritten(Struct, frozen=True):
    """The contents of `handlers/`, sorted by file and line."""

    hooks: tuple[Hook, ...] = ()
    tools: tuple[ExtraTool, ...] = ()
    unreadable: tuple[str, ...] = ()  # modules with syntax errors: "handlers/pets.py"
    asking: tuple[Location, ...] = ()  # calls that ask the client for input: `ctx.elicit`

    @property
    def overrides(self) -> Mapping[str, Hook]:
        """The first override of each operation."""
        found: dict[str, Hook] = {}
        for hook in self.hooks:
            if hook.kind == "override":
                found.setdefault(hook.operation, hook)
        return found

    @property
    def main_hooks(self) -> Mapping[str, Hook]:
        """The hook that is recorded for each operation: its override, else its first hook."""
        found: dict[str, Hook] = {}
        for hook in self.hooks:
            found.setdefault(hook.operation, hook)
        return found | dict(self.overrides)

    def kinds(self, operation: str) -> frozenset[str]:
        """Return the kinds of the hooks of an operation."""
        return frozenset(hook.kind for hook in self.hooks if hook.operation == operation)


class OverrideRecord(Struct, frozen=True, omit_defaults=True):
    """State of an operation when its hook was written or last acknowledged.

    `tool` is its tool at that time; None if the operation has never existed. `body` is the body of
    the generated handler that an ejected override replaces (`mcpgen eject`).
    """

    override: str  # the hook's function: "handlers/pets.py:get_pet"
    tool: SurfaceTool | None = None
    operation_id: str = ""
    moved_to: str = ""  # if the operation is gone: the operation that has its operationId now
    body: str = ""


class HandlerSource(Struct, frozen=True):
    """The parts of a generated handler in `_generated/tools/`, as text."""

    function: str
    parameters: str  # after the context: "*, pet_id: int"; "" without parameters
    keywords: tuple[str, ...]
    returns: str
    docstring: str  # including its quotes
    body: str  # the statements after the docstring, dedented
    imports: Mapping[str, str]  # imports that the function uses: name -> module
