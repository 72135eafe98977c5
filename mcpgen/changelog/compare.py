"""From two tool surfaces to the list of what changed between them, graded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from mcpgen.changelog.rules import RULES, Level
from mcpgen.changelog.schema_changes import TELLING, Difference, Kind, schema_differences
from mcpgen.changelog.schema_values import Effect, shown
from mcpgen.ir.surface import Surface, SurfaceTool
from mcpgen.jsonschema.types import JsonObject


class Change(Struct, frozen=True):
    """One change, by one rule. `message` is a sentence without the tool's name.

    `tool` is the name that clients know: the old one of a tool that was renamed or removed; ""
    stands for the server. What `is_certain` is not could be harmless as well, and counts as the
    more severe of the two.
    """

    rule: str
    level: Level
    tool: str
    message: str
    path: str = ""  # the argument or output field: "body.tags[]"
    is_certain: bool = True


class Changelog(Struct, frozen=True):
    """What changed in the tools of a server, the gravest first."""

    changes: tuple[Change, ...] = ()

    @property
    def level(self) -> Level:
        """The highest level among the changes."""
        return max((change.level for change in self.changes), default=Level.NONE)

    def of_level(self, level: Level) -> tuple[Change, ...]:
        """The changes of exactly this level."""
        return tuple(change for change in self.changes if change.level is level)


def compare(old: Surface, new: Surface, levels: Mapping[str, Level] | None = None) -> Changelog:
    """Say what clients of `old` meet when they are served `new`.

    `levels` gives rules, by id, another level than their own.
    """
    graded = {**RULES, **(levels or {})}
    changes = [Change(found.rule, graded[found.rule], *found.rest) for found in _changes(old, new)]
    return Changelog(
        tuple(
            sorted(changes, key=lambda one: (-one.level, one.tool, one.path, one.rule, one.message))
        )
    )


class _Found(Struct, frozen=True):
    rule: str
    tool: str
    message: str
    path: str = ""
    is_certain: bool = True

    @property
    def rest(self) -> tuple[str, str, str, bool]:
        return self.tool, self.message, self.path, self.is_certain


def _changes(old: Surface, new: Surface) -> Iterator[_Found]:
    if old.instructions != new.instructions:
        yield _Found("instructions", "", "the server's instructions changed")
    pairs = _paired(old, new)
    for before, after in pairs.items():
        was, now = old.tools[before], new.tools[after]
        yield from _name_changes(before, was, after, now)
        yield from _tool_changes(before, was, now)
    for name in old.tools.keys() - pairs.keys():
        yield _Found("tool-removed", name, f"was removed (`{old.tools[name].operation}`)")
    for name in new.tools.keys() - set(pairs.values()):
        yield _Found("tool-added", name, f"is new (`{new.tools[name].operation}`)")


def _paired(old: Surface, new: Surface) -> dict[str, str]:
    """Pair the tools of the same operation, whatever they are called, then those of one name."""
    pairs = {
        name: name
        for name, tool in old.tools.items()
        if name in new.tools and new.tools[name].operation == tool.operation
    }
    taken = set(pairs)
    by_operation = {tool.operation: name for name, tool in new.tools.items() if name not in taken}
    for name, tool in old.tools.items():
        if name not in pairs and tool.operation in by_operation:
            pairs[name] = by_operation.pop(tool.operation)
    taken = set(pairs.values())
    pairs |= {
        name: name
        for name in old.tools
        if name not in pairs and name in new.tools and name not in taken
    }
    return pairs


def _name_changes(before: str, was: SurfaceTool, after: str, now: SurfaceTool) -> Iterator[_Found]:
    kept = {after, *now.aliases}
    if before != after and before in kept:
        message = f"is called `{after}` now, and answers to `{before}` still"
        yield _Found("tool-renamed-aliased", before, message)
    elif before != after:
        yield _Found("tool-renamed", before, f"is called `{after}` now (`{now.operation}`)")
    if was.operation != now.operation:
        message = f"calls `{now.operation}` now, not `{was.operation}`"
        yield _Found("operation-changed", before, message, is_certain=False)
    for alias in sorted({*was.aliases} - kept):
        yield _Found("alias-removed", before, f"no longer answers to `{alias}`")
    for alias in sorted({*now.aliases} - {before, *was.aliases}):
        yield _Found("alias-added", before, f"answers to `{alias}` as well")
    if now.document_name not in ("", was.document_name):
        yield _Found(
            "operation-renamed",
            before,
            f"keeps its name, though `{now.operation}` of the document would be called "
            f"`{now.document_name}` now; `{now.operation}: {{name: {now.document_name}, "
            f"aliases: [{after}]}}` under `operations` in mcpgen.yaml takes the new name, and the "
            "old one still works",
        )


def _tool_changes(name: str, was: SurfaceTool, now: SurfaceTool) -> Iterator[_Found]:
    yield from _input_changes(name, was, now)
    yield from _output_changes(name, was, now)
    yield from _annotation_changes(name, was.annotations, now.annotations)
    yield from _security_changes(name, was, now)
    for rule in ("title", "description"):
        if getattr(was, rule) != getattr(now, rule):
            yield _Found(rule, name, f"has another {rule}: {shown(getattr(now, rule))}")


def _input_changes(name: str, was: SurfaceTool, now: SurfaceTool) -> Iterator[_Found]:
    """Grade by what arguments must fit; what clients are told besides is in the listed schemas."""
    listed = schema_differences(was.input_schema, now.input_schema, severe=Effect.NARROWED)
    if was.checked_schema is None and now.checked_schema is None:
        checked: tuple[Difference, ...] = listed
    else:
        checked = schema_differences(
            was.checked_schema or was.input_schema,
            now.checked_schema or now.input_schema,
            severe=Effect.NARROWED,
        )
    differences = [one for one in checked if one.kind not in TELLING]
    changed = {one.path for one in differences}
    differences += [one for one in listed if one.kind in TELLING and one.path not in changed]
    yield from _graded(name, "input", "the arguments", differences)


def _output_changes(name: str, was: SurfaceTool, now: SurfaceTool) -> Iterator[_Found]:
    if was.output_schema is None or now.output_schema is None:
        if was.output_schema is not None:
            yield _Found("output-removed", name, "no longer says what its result looks like")
        elif now.output_schema is not None:
            yield _Found("output-added", name, "says what its result looks like")
        return
    found = schema_differences(was.output_schema, now.output_schema, severe=Effect.WIDENED)
    changed = {one.path for one in found if one.kind not in TELLING}
    told = [one for one in found if one.kind not in TELLING or one.path not in changed]
    yield from _graded(name, "output", "the result", told)


def _graded(
    name: str, side: str, whole: str, differences: Iterable[Difference]
) -> Iterator[_Found]:
    for one in differences:
        kind = one.kind
        if side == "output" and kind is Kind.ADDED_REQUIRED:
            kind = Kind.ADDED  # a result that always has more than it had
        what = f"{side} `{one.path}`" if one.path else whole
        doubt = "" if one.is_certain else ", which may break clients"
        message = f"{what} {one.detail}{doubt}"
        yield _Found(f"{side}-{kind.value}", name, message, one.path, one.is_certain)


_HINTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False,
          "openWorldHint": True}  # fmt: skip
"""What a hint means where it is absent (MCP, `ToolAnnotations`)."""


def _annotation_changes(name: str, was: JsonObject, now: JsonObject) -> Iterator[_Found]:
    for hint, default in _HINTS.items():
        before, after = was.get(hint, default), now.get(hint, default)
        if hint == "destructiveHint" and _is_read_only(was) and _is_read_only(now):
            continue  # a hint for tools that change something
        if before != after:
            rule = {"readOnlyHint": "read-only-hint", "destructiveHint": "destructive-hint"}
            message = f"`{hint}` is {shown(after)}, was {shown(before)}"
            yield _Found(rule.get(hint, "other-hint"), name, message)


def _is_read_only(annotations: JsonObject) -> bool:
    return bool(annotations.get("readOnlyHint", _HINTS["readOnlyHint"]))


def _security_changes(name: str, was: SurfaceTool, now: SurfaceTool) -> Iterator[_Found]:
    """Compare what must be held: every way in that there was must still be one, and none easier."""
    before, after = _ways_in(was), _ways_in(now)
    if not all(any(new <= old for new in after) for old in before):
        yield _Found("scope-added", name, f"now needs {_shown_ways(after)}, {_needed(before)}")
    elif not all(any(old <= new for old in before) for new in after):
        yield _Found("scope-removed", name, f"now needs {_shown_ways(after)}, {_needed(before)}")


def _ways_in(tool: SurfaceTool) -> tuple[frozenset[str], ...]:
    """What each alternative asks for: schemes, and scopes of schemes. One that asks nothing: {}."""
    ways = tuple(
        frozenset(
            part for scheme, scopes in alternative.items()
            for part in (scheme, *(f"{scheme}:{scope}" for scope in scopes))
        )
        for alternative in tool.security
    )  # fmt: skip
    return ways or (frozenset(),)


def _needed(before: tuple[frozenset[str], ...]) -> str:
    return f"needed {_shown_ways(before)}"


def _shown_ways(ways: tuple[frozenset[str], ...]) -> str:
    return " or ".join(
        " and ".join(f"`{part}`" for part in sorted(way)) or "nothing" for way in ways
    )
