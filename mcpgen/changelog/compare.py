"""Comparison of two tool surfaces: the list of changes, each graded by the rules."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from mcpgen.changelog.input_changes import compare_inputs
from mcpgen.changelog.schema_changes import INFORMATIVE_KINDS, Difference, Kind, compare_schemas
from mcpgen.changelog.schema_values import Effect, format_value
from mcpgen.ir.surface import Surface, SurfaceTool
from mcpgen.jsonschema.types import JsonObject
from mcpgen.text.uri_template import mask_variables


class Level(enum.IntEnum):
    """Severity of a change for clients; the words are those of semantic versioning."""

    NONE = 0
    PATCH = 1
    MINOR = 2
    MAJOR = 3

    @property
    def word(self) -> str:
        """The level as it is written."""
        return self.name.lower()


_WORDS = {
    Level.MAJOR: """
        tool-removed tool-renamed alias-removed operation-changed
        input-removed input-added-required input-required input-flattened input-nested
        input-type-changed input-type-narrowed input-enum-narrowed input-constraint-narrowed
        output-removed output-optional
        output-type-changed output-type-narrowed output-type-widened
        output-enum-widened output-constraint-widened
        read-only-hint destructive-hint scope-added
        """,
    Level.MINOR: """
        tool-added tool-renamed-aliased alias-added operation-moved
        input-added input-optional
        input-type-widened input-enum-widened input-constraint-widened
        output-added output-required output-enum-narrowed output-constraint-narrowed
        scope-removed
        """,
    Level.PATCH: """
        instructions title description other-hint
        input-text input-example input-default output-text output-example output-default
        """,
    Level.NONE: "operation-renamed",
}

RULES = MappingProxyType(
    {rule: level for level, words in _WORDS.items() for rule in sorted(words.split())}
)
"""The level of each rule, by its id."""


class Change(Struct, frozen=True):
    """One change, by one rule. `message` is a sentence without the tool's name.

    `tool` is the name that clients know: the old one of a tool that was renamed or removed; ""
    stands for the server. An uncertain change may be harmless, and is graded as if it were not.
    """

    rule: str
    level: Level
    tool: str
    message: str
    path: str = ""  # the argument or output field: "body.tags[]"
    is_certain: bool = True


class Changelog(Struct, frozen=True):
    """The changes in the tools of a server, the most severe first."""

    changes: tuple[Change, ...] = ()

    @property
    def level(self) -> Level:
        """The highest level among the changes."""
        return max((change.level for change in self.changes), default=Level.NONE)

    def of_level(self, level: Level) -> tuple[Change, ...]:
        """The changes of exactly this level."""
        return tuple(change for change in self.changes if change.level is level)


def compare(old: Surface, new: Surface, levels: Mapping[str, Level] | None = None) -> Changelog:
    """Return the changes that clients of `old` meet when they are served `new`.

    `levels` replaces the levels of rules, by rule id.
    """
    graded = {**RULES, **(levels or {})}
    found = _find_changes(old, new)
    changes = [Change(one.rule, graded[one.rule], *one.rest) for one in found]
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


def _find_changes(old: Surface, new: Surface) -> Iterator[_Found]:
    if old.instructions != new.instructions:
        yield _Found("instructions", "", "the server's instructions changed")
    pairs = _pair_tools(old, new)
    for before, after in pairs.items():
        was, now = old.tools[before], new.tools[after]
        yield from _compare_names(before, was, after, now)
        yield from _compare_tools(before, was, now)
        yield from _compare_members(before, old, after, new)
    merged, split = _describe_merged_operations(new), _describe_merged_operations(old)
    for name in old.tools.keys() - pairs.keys():
        operation = old.tools[name].operation
        message = f"was removed (`{operation}`{merged.get(operation, '')})"
        yield _Found("tool-removed", name, message)
    for name in new.tools.keys() - set(pairs.values()):
        operation = new.tools[name].operation
        note = split.get(operation, "").replace("is part", "was part")
        yield _Found("tool-added", name, f"is new (`{operation}`{note})")


def _describe_merged_operations(surface: Surface) -> dict[str, str]:
    """Return a clause about each operation that a merged tool serves, by operation."""
    return {
        surface.exposed[member].operation: f", which is part of `{name}`"
        for name, tool in surface.tools.items()
        for member in tool.merges.values()
    }


def _compare_members(before: str, old: Surface, after: str, new: Surface) -> Iterator[_Found]:
    """Compare what the list of a merged tool does not show of its operations."""
    was, now = old.tools[before].merges, new.tools[after].merges
    for choice in sorted(was.keys() & now.keys()):
        one, other = old.exposed[was[choice]], new.exposed[now[choice]]
        yield from _compare_operations(before, one, other, f" for `{choice}`")
        yield from _compare_security(before, one, other)
        if one.checked_schema is not None or other.checked_schema is not None:
            yield from _compare_inputs(before, one, other)


def _pair_tools(old: Surface, new: Surface) -> dict[str, str]:
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


def _compare_names(before: str, was: SurfaceTool, after: str, now: SurfaceTool) -> Iterator[_Found]:
    kept = {after, *now.aliases}
    if before != after and before in kept:
        message = f"is called `{after}` now, and answers to `{before}` still"
        yield _Found("tool-renamed-aliased", before, message)
    elif before != after:
        yield _Found("tool-renamed", before, f"is called `{after}` now (`{now.operation}`)")
    yield from _compare_operations(before, was, now)
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


_VERSION_SEGMENT = re.compile(r"/v[0-9]+(?:(?:alpha|beta|rc|p)[0-9]*)*(?=/|\Z)")


def _compare_operations(
    name: str, was: SurfaceTool, now: SurfaceTool, which: str = ""
) -> Iterator[_Found]:
    """Report another operation behind a tool; one of another version of the API is a move."""
    old, new = (mask_variables(tool.operation) for tool in (was, now))
    if old == new:
        return
    is_moved = _VERSION_SEGMENT.sub("", old) == _VERSION_SEGMENT.sub("", new)
    rule = "operation-moved" if is_moved else "operation-changed"
    message = f"calls `{now.operation}`{which} now, not `{was.operation}`"
    yield _Found(rule, name, message, is_certain=is_moved)


def _compare_tools(name: str, was: SurfaceTool, now: SurfaceTool) -> Iterator[_Found]:
    yield from _compare_inputs(name, was, now)
    yield from _compare_outputs(name, was, now)
    yield from _compare_annotations(name, was.annotations, now.annotations)
    yield from _compare_security(name, was, now)
    for rule in ("title", "description"):
        if getattr(was, rule) != getattr(now, rule):
            yield _Found(rule, name, f"has another {rule}: {format_value(getattr(now, rule))}")


def _compare_inputs(name: str, was: SurfaceTool, now: SurfaceTool) -> Iterator[_Found]:
    if was.flat_body is None and now.flat_body is not None:
        message = f"the members of `{now.flat_body.argument}` are arguments now"
        yield _Found("input-flattened", name, message)
    elif was.flat_body is not None and now.flat_body is None:
        message = f"the members of the body are inside of `{was.flat_body.argument}` now"
        yield _Found("input-nested", name, message)
    yield from _grade(name, "input", "the arguments", compare_inputs(was, now))


def _compare_outputs(name: str, was: SurfaceTool, now: SurfaceTool) -> Iterator[_Found]:
    if was.output_schema is None or now.output_schema is None:
        if was.output_schema is not None:
            yield _Found("output-removed", name, "no longer has an output schema")
        elif now.output_schema is not None:
            yield _Found("output-added", name, "has an output schema")
        return
    found = compare_schemas(
        was.output_schema,
        now.output_schema,
        severe=Effect.WIDENED,
        is_cut=(was.output_is_cut, now.output_is_cut),
    )
    changed = {one.path for one in found if one.kind not in INFORMATIVE_KINDS}
    reported = [
        one for one in found if one.kind not in INFORMATIVE_KINDS or one.path not in changed
    ]
    yield from _grade(name, "output", "the result", reported)


def _grade(name: str, side: str, whole: str, differences: Iterable[Difference]) -> Iterator[_Found]:
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
"""Meaning of absent hints (MCP, `ToolAnnotations`)."""


def _compare_annotations(name: str, was: JsonObject, now: JsonObject) -> Iterator[_Found]:
    for hint, default in _HINTS.items():
        before, after = was.get(hint, default), now.get(hint, default)
        if hint == "destructiveHint" and _is_read_only(was) and _is_read_only(now):
            continue  # a hint for tools that change something
        if before != after:
            rule = {"readOnlyHint": "read-only-hint", "destructiveHint": "destructive-hint"}
            message = f"`{hint}` is {format_value(after)}, was {format_value(before)}"
            yield _Found(rule.get(hint, "other-hint"), name, message)


def _is_read_only(annotations: JsonObject) -> bool:
    return bool(annotations.get("readOnlyHint", _HINTS["readOnlyHint"]))


def _compare_security(name: str, was: SurfaceTool, now: SurfaceTool) -> Iterator[_Found]:
    """Report an earlier alternative that no longer suffices, and a new one that is weaker."""
    before, after = _find_alternatives(was), _find_alternatives(now)
    message = f"now needs {_format_alternatives(after)}, needed {_format_alternatives(before)}"
    if not all(any(new <= old for new in after) for old in before):
        yield _Found("scope-added", name, message)
    elif not all(any(old <= new for old in before) for new in after):
        yield _Found("scope-removed", name, message)


def _find_alternatives(tool: SurfaceTool) -> tuple[frozenset[str], ...]:
    """Return the schemes and scopes that each alternative requires; {} for a public tool."""
    alternatives = tuple(
        frozenset(
            part for scheme, scopes in alternative.items()
            for part in (scheme, *(f"{scheme}:{scope}" for scope in scopes))
        )
        for alternative in tool.security
    )  # fmt: skip
    return alternatives or (frozenset(),)


def _format_alternatives(alternatives: tuple[frozenset[str], ...]) -> str:
    return " or ".join(
        " and ".join(f"`{part}`" for part in sorted(each)) or "nothing" for each in alternatives
    )


_VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:[-+.a-z].*)?\Z")


def next_version(version: str, level: Level) -> str:
    """Return the version after `version`; below 1.0 each level counts as the one below it.

    "" if `version` cannot be incremented; `version` itself if nothing changed.
    """
    found = _VERSION.match(version)
    if found is None:
        return ""
    major, minor, patch = (int(part or 0) for part in found.groups())
    if level is Level.NONE:
        return version
    if major == 0 and level is not Level.PATCH:
        level = Level(level - 1)
    match level:
        case Level.MAJOR:
            return f"{major + 1}.0.0"
        case Level.MINOR:
            return f"{major}.{minor + 1}.0"
        case _:
            return f"{major}.{minor}.{patch + 1}"
