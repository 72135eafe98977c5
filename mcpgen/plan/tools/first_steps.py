"""The example entries in the comments of a new manifest, for operations of its document."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from msgspec import UNSET, Struct

from mcpgen.ir.first_steps import FirstSteps
from mcpgen.ir.manifest_entries import is_bulk_key
from mcpgen.ir.tool_plan import Argument, ServerPlan, ToolPlan
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.samples import CannotSampleError, Samples
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.plan.tools.entries import names_of
from mcpgen.plan.tools.pagination import find_size_parameter
from mcpgen.text.prose import plain_line, shorten_at_sentence
from mcpgen.text.secret_names import is_secret_name

_MAX_TITLE = 80
_MAX_VALUE = 40
_GLOB = re.compile(r"[*?\[]")
_OF_PAGES = re.compile(
    r"(?i)^(after|before|offset|skip|start)|cursor|page_?(no|num|token)?$|token$"
)
_PLACES = frozenset({"cookie", "header", "query"})


def first_steps(plan: ServerPlan, taken: Collection[str] = ()) -> FirstSteps:
    """Choose the examples: an operation to rename, parameters to fix or default, one to confirm.

    `taken` are the keys and operationIds with entries in the manifest. A step without a suitable
    operation is skipped.
    """
    free = [
        tool
        for tool in plan.tools
        if tool.operation.declared is None and not {*names_of(tool.operation)} & {*taken}
    ]
    return _Choosing(plan, free).steps()


class _Candidate(Struct, frozen=True):
    """A parameter that may have a fixed value or a default."""

    tool: ToolPlan
    argument: Argument
    rank: tuple[bool, ...]  # the lowest is the best
    is_size: bool  # it is the number of items of a page


class _Choosing:
    """Choice of the entries for one server."""

    def __init__(self, plan: ServerPlan, free: Sequence[ToolPlan]) -> None:
        self._free = free
        self._shapes = Shapes(plan.api.schemas, "request")
        self._samples = Samples(plan.api.schemas, "request")

    def steps(self) -> FirstSteps:
        dangerous = (tool for tool in self._free if tool.effect == "destructive")
        confirmed = min(dangerous, key=_rank_danger, default=None)
        entries: dict[str, JsonObject] = {}
        candidates = [each for tool in self._free for each in self._iterate_candidates(tool)]
        fixed = self._choose_first(
            (each for each in candidates if not each.is_size), lambda each: each.rank
        )
        other = None if fixed is None else fixed[0]
        default = self._choose_first(
            (each for each in candidates if each is not other),
            lambda it: (not it.is_size, other is None or it.tool is not other.tool, *it.rank),
        )
        named = next((it[0].tool for it in (fixed, default) if it is not None), None)
        named = named or next((tool for tool in self._free if tool is not confirmed), None)
        if named is not None:
            entries.setdefault(_choose_reference(named), {})["name"] = named.name
        for setting, choice in (("fixed", fixed), ("default", default)):
            if choice is not None:
                chosen, value = choice
                entry = entries.setdefault(_choose_reference(chosen.tool), {})
                entry.setdefault("parameters", {})[chosen.argument.name] = {setting: value}
        if confirmed is not None:
            title = shorten_at_sentence(plain_line(confirmed.title).rstrip(".?!"), _MAX_TITLE)
            question = f"{title}? This cannot be undone."
            entries.setdefault(_choose_reference(confirmed), {})["confirm"] = question
        return FirstSteps(self._choose_excluded(entries), entries)

    def _choose_excluded(self, entries: Collection[str]) -> str:
        """Return an operation without an entry to exclude, preferably a deprecated one."""
        left = [
            tool
            for tool in self._free
            if _choose_reference(tool) not in entries and not _GLOB.search(tool.operation.key)
        ]
        ranked = sorted(left, key=lambda tool: (not tool.operation.deprecated, *_rank_danger(tool)))
        return ranked[0].operation.key if ranked else ""

    def _iterate_candidates(self, tool: ToolPlan) -> Iterator[_Candidate]:
        paged = "" if tool.pagination is None else tool.pagination.parameter
        size = find_size_parameter(tool.operation)
        for argument in tool.arguments:
            name = argument.wire_name
            is_usable = argument.location in _PLACES and argument.default is UNSET
            if is_usable and not (name == paged or _OF_PAGES.search(name) or is_secret_name(name)):
                yield _Candidate(tool, argument, self._rank(tool, argument), name == size)

    def _choose_first(
        self, candidates: Iterable[_Candidate], order: Callable[[_Candidate], tuple[bool, ...]]
    ) -> tuple[_Candidate, JsonValue] | None:
        """Return the best candidate with a sample value, and the value."""
        for candidate in sorted(candidates, key=order):
            schema = candidate.argument.schema
            with suppress(CannotSampleError):
                value = self._samples.sample(schema, seed=candidate.argument.name)
                if _is_plain(value) and not self._samples.problem(schema, value):
                    return candidate, value
        return None

    def _rank(self, tool: ToolPlan, argument: Argument) -> tuple[bool, ...]:
        """Return the sort key: enums, optional parameters and read-only tools first."""
        shape = self._shapes.of(argument.schema)
        has_few = "enum" in shape.keywords or shape.types == ("boolean",)
        is_read = tool.annotations.get("readOnlyHint", False)
        return (not has_few, "default" not in shape.keywords, argument.required, not is_read)


def _choose_reference(tool: ToolPlan) -> str:
    """Return the operationId, or the key if the operationId looks like a bulk key."""
    name, *_ = names_of(tool.operation)
    return tool.operation.key if is_bulk_key(name) else name


def _rank_danger(tool: ToolPlan) -> tuple[bool, str]:
    return (tool.operation.method != "DELETE", tool.name)


def _is_plain(value: JsonValue) -> bool:
    """Whether a value is a readable scalar."""
    if isinstance(value, str):
        return bool(value.strip()) and value.isprintable() and len(value) <= _MAX_VALUE
    return isinstance(value, int | float)
