"""What a document tells other generators of MCP servers, for those who move here.

It may rename a tool, describe it or hide it, and make it look more dangerous than its method does;
making it look harmless is for the manifest alone. The manifest wins everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from mcpgen.diagnostics import Problems
from mcpgen.ir.api import Operation
from mcpgen.ir.json_types import JsonObject, JsonValue
from mcpgen.ir.manifest import AnnotationsEntry, OperationEntry

_SWITCHES = ("x-mcp", "x-enable-mcp-operation")
_OBJECTS = ("x-mcp", "x-speakeasy-mcp", "x-gram")
_ANNOTATIONS = "x-mcp-annotations"
_PROMPTS = "x-mcp-prompts"
_CAUTIOUS: Mapping[str, tuple[str, bool]] = {  # what a document may say of its operations
    "readOnlyHint": ("read_only", False),
    "destructiveHint": ("destructive", True),
    "idempotentHint": ("idempotent", False),
    "openWorldHint": ("open_world", True),
}
_MAX_NAMED = 3


@dataclass(slots=True)
class Wishes:
    """What the extensions of one operation ask for; "" and None for nothing."""

    name: str = ""
    title: str = ""
    description: str = ""
    is_hidden: bool = False
    annotations: AnnotationsEntry | None = None
    read: set[str] = field(default_factory=set)  # the extensions that asked for something
    refused: tuple[str, ...] = ()  # hints that would make it look harmless


def wishes_of(operation: Operation) -> Wishes:
    """Read the extensions of an operation."""
    found = Wishes()
    for key in _SWITCHES:
        if operation.extensions.get(key) is False:
            found.is_hidden = True
            found.read.add(key)
    for key in _OBJECTS:
        stated = operation.extensions.get(key)
        if isinstance(stated, dict):
            _read_object(key, stated, found)
    hints = operation.extensions.get(_ANNOTATIONS)
    if isinstance(hints, dict):
        _read_hints(_ANNOTATIONS, hints, found)
    return found


def _read_object(key: str, stated: JsonObject, found: Wishes) -> None:
    if (
        stated.get("disabled") is True
        or stated.get("skip") is True
        or stated.get("enabled") is False
    ):
        found.is_hidden = True
        found.read.add(key)
    for member in ("name", "title", "description"):
        text = stated.get(member)
        if isinstance(text, str) and text.strip() and not getattr(found, member):
            setattr(found, member, text.strip())
            found.read.add(key)
    _read_hints(key, stated, found)


def _read_hints(key: str, stated: JsonObject, found: Wishes) -> None:
    hints: dict[str, bool] = {}
    for name, (member, cautious) in _CAUTIOUS.items():
        value: JsonValue = stated.get(name, stated.get(f"{member}_hint"))
        if not isinstance(value, bool):
            continue
        if value is cautious:
            hints[member] = value
            found.read.add(key)
        else:
            found.refused += (f"{name}: {str(value).lower()}",)
    if hints:
        found.annotations = AnnotationsEntry(**hints)


def with_names(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Give the operations with the names that extensions want for their tools."""
    return tuple(
        replace(operation, called=wishes_of(operation).name)
        if not operation.extensions.keys().isdisjoint(_OBJECTS)
        else operation
        for operation in operations
    )


def with_wishes(
    entries: Mapping[str, OperationEntry], operations: Sequence[Operation], problems: Problems
) -> dict[str, OperationEntry]:
    """Give the manifest's entries, with what extensions ask for where they say nothing."""
    merged = dict(entries)
    read: dict[str, list[Operation]] = {}
    refused: list[tuple[Operation, tuple[str, ...]]] = []
    for operation in operations:
        if not operation.extensions:
            continue
        wishes = wishes_of(operation)
        for key in wishes.read:
            read.setdefault(key, []).append(operation)
        entry = entries.get(operation.key)
        if wishes.read:
            merged[operation.key] = _merged(entry, wishes)
        is_stated = entry is not None and entry.annotations is not None
        if wishes.refused and not is_stated:
            refused.append((operation, wishes.refused))
    misplaced = [operation for operation in operations if _PROMPTS in operation.extensions]
    _tell(read, refused, misplaced, problems)
    return merged


def _merged(entry: OperationEntry | None, wishes: Wishes) -> OperationEntry:
    if entry is None:
        return OperationEntry(
            title=wishes.title,
            description=wishes.description,
            annotations=wishes.annotations,
            expose="off" if wishes.is_hidden else "tool",
        )
    return structs.replace(
        entry,
        title=entry.title or wishes.title,
        description=entry.description or wishes.description,
        annotations=entry.annotations or wishes.annotations,
    )


def _tell(
    read: Mapping[str, list[Operation]],
    refused: list[tuple[Operation, tuple[str, ...]]],
    misplaced: list[Operation],
    problems: Problems,
) -> None:
    for key in sorted(read):
        operations = read[key]
        problems.note(
            "peer-extension",
            f"`{key}` is followed on {_named(operations)}",
            at=operations[0].at,
            why="it is meant for generators of MCP servers",
            help="an entry in `operations` of mcpgen.yaml wins over it",
        )
    if misplaced:
        problems.note(
            "peer-extension",
            f"`{_PROMPTS}` is not followed on {_named(misplaced)}",
            at=misplaced[0].at,
            why="its prompts stand at the root of a document, and belong to no operation",
            help="write it there, or `prompts` in mcpgen.yaml",
        )
    if refused:
        hints = sorted({hint for _, told in refused for hint in told})
        problems.note(
            "peer-annotations",
            f"{', '.join(hints)} is not taken from the document, on"
            f" {_named([operation for operation, _ in refused])}",
            at=refused[0][0].at,
            why="clients ask less before a tool that looks harmless, so only you can say that",
            help="state it under `operations` of mcpgen.yaml, as `annotations`",
        )


def _named(operations: list[Operation]) -> str:
    named = ", ".join(f"`{operation.key}`" for operation in operations[:_MAX_NAMED])
    more = len(operations) - _MAX_NAMED
    return named + (f" and {more} more" if more > 0 else "")
