"""Upper bounds of the cost of evaluating a schema, computed without evaluating it.

One step is about 70 ns. The bounds hold for jsonschema-rs 0.60: `is_valid` evaluates the target of
a recursive reference once for each object and array; collecting errors evaluates it every time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import repeat
from math import inf
from typing import Any, Final

import msgspec

from mcpgen.jsonschema.graph import SchemaGraph, Subschema, count_slow_options, has_fraction

MAX_STEPS: Final = 5_000_000
"""Steps of one evaluation: at most 0.4 s; most evaluations take a small part of them."""
MAX_ERRORS: Final = 10_000
"""Errors that one evaluation may collect: about 50 MB. 1,600 bytes count as one error."""
MAX_NODES: Final = 100_000
"""Nodes of an instance for which the cost is computed."""
_ALTERNATIVES: Final = frozenset({"anyOf", "oneOf"})
_HARMLESS_STEPS: Final = 64
_MAX_VISITS: Final = 20_000
_MAX_REPEATS: Final = 50_000
_ROUNDS: Final = 2  # after which the validator notices that a schema refers to itself
_BYTES_PER_ERROR: Final = 1_600
_BYTES_PER_NODE: Final = 80
_INT64: Final = (-(2**63), 2**64)
_EXTREME: Final = (1e-6, 1e21)  # beyond which fractions of floats have hundreds of digits


class TooCostlyError(Exception):
    """An evaluation whose cost is over the budget, or is too costly to compute."""


class SchemaCosts:
    """The costs of subschemas, shared by schemas whose references lead into one document."""

    def __init__(self, document: Any) -> None:
        self.graph = SchemaGraph(document)
        self.in_place: dict[Subschema, int] = {}
        """The most steps for a number or a string, which nothing memoises."""
        self.widths: dict[Subschema, tuple[int, int]] = {}
        """The most steps for the value itself, and for one value inside."""
        self._repeats: dict[Subschema, int] = {}
        self.has_alternatives = False
        self.has_backtracking = False

    def add(self, schema: Any) -> Subschema:
        """Add a schema, and return its subschema."""
        root, finished = self.graph.add(schema)
        own_steps = {node: node.count_steps() for node in finished}
        _add_steps_in_place(self.in_place, own_steps)
        _add_widths(self.widths, own_steps, self.in_place)
        self.has_alternatives |= any(
            not node.keywords.keys().isdisjoint(_ALTERNATIVES) for node in finished
        )
        self.has_backtracking |= any(node.backtracks for node in finished)
        return root

    def repeats(self, node: Subschema) -> int:
        """Count the subschemas that one value is checked against, up to `_MAX_REPEATS`.

        Those that refer to themselves for the same value are followed for `_ROUNDS`.
        """
        if node not in self._repeats:
            self._repeats[node] = _repeats(node)
        return self._repeats[node]


class CostModel:
    """The cost of evaluating one schema, whatever the instance."""

    def __init__(self, schema: Any, costs: SchemaCosts | None = None) -> None:
        """Compute the costs of a schema; `costs` are those of the document it refers to."""
        costs = SchemaCosts(schema) if costs is None else costs
        self._root = root = costs.add(schema)
        self._graph = graph = costs.graph
        self._in_place = costs.in_place
        memoised = graph.find_memoised(root)
        self.is_recursive = bool(memoised)
        """Whether it refers to itself; then its costs depend on what `costs` had before."""
        self._repeats: dict[Subschema, int] = {}
        self._is_endless = False
        for node in graph.endless & memoised:
            self._repeats[node] = repeats = costs.repeats(node)
            if repeats >= _MAX_REPEATS:
                self._is_endless = True
                break
        self._steps_per_value = sum(
            max(costs.widths[node]) * self._repeats.get(node, 1) for node in memoised | {root}
        )
        self.is_harmless = self._steps_per_value <= _HARMLESS_STEPS and not self._is_endless
        """Whether every instance is evaluated in time that is proportional to its size."""

        self.has_alternatives = costs.has_alternatives
        """Whether one violation may contain those of several subschemas."""
        self.has_backtracking = costs.has_backtracking
        """Whether there is a pattern that may backtrack."""

        self.visits = 0
        """Subschemas that `allows` has visited, over all instances."""

    @cached_property
    def _names(self) -> set[str]:
        return self._graph.find_names(self._root)

    def allows(self, instance: Any, *, backtracks: int, max_steps: int = MAX_STEPS) -> bool:
        """Return whether evaluating an instance stays within `max_steps`.

        `backtracks` is the number of times that a pattern may backtrack in one string.
        """
        if self.surely_allows(instance, max_steps=max_steps):
            return True
        if self._is_endless:
            return False
        steps = _Steps(backtracks, self._in_place, self._repeats)
        try:
            shape = Shape.of(instance, self._names)
            return steps.of(self._root, shape) <= max_steps
        except (TooCostlyError, RecursionError):
            return False
        finally:
            self.visits += steps.visits

    def surely_allows(self, instance: Any, *, max_steps: int = MAX_STEPS) -> bool:
        """Whether the size of an instance alone shows that it stays within `max_steps`."""
        return self.count_most_steps(instance) <= max_steps

    def count_most_steps(self, instance: Any) -> float:
        """Return the most steps for an instance of this size; infinity if there is no bound."""
        return inf if self._is_endless else self._steps_per_value * _count_bytes(instance)

    def allows_errors(self, instance: Any) -> bool:
        """Whether all errors of an instance are at most `MAX_ERRORS`."""
        if not _has_at_most(MAX_ERRORS, instance):
            return False
        try:
            shape = Shape.of(instance, self._names)
            return _Errors(has_endless=bool(self._repeats)).of(self._root, shape) <= MAX_ERRORS
        except (TooCostlyError, RecursionError):
            return False


def _repeats(start: Subschema) -> int:
    path = [(start, iter((*start.in_place, *start.memoised)))]
    on_path = Counter([start])
    visits = 1
    while path and visits < _MAX_REPEATS:
        node, rest = path[-1]
        applied = next(rest, None)
        if applied is None:
            path.pop()
            on_path[node] -= 1
            continue
        visits += 1
        if on_path[applied] < _ROUNDS:
            path.append((applied, iter((*applied.in_place, *applied.memoised))))
            on_path[applied] += 1
    return visits


def _add_steps_in_place(steps: dict[Subschema, int], own_steps: Mapping[Subschema, int]) -> None:
    pending = [*own_steps]
    opened = set()
    while pending:
        node = pending[-1]
        applied = [*node.in_place, *node.memoised]
        missing = [it for it in applied if it not in steps and it not in opened]
        if missing and node not in steps:
            opened.add(node)
            pending += missing
            continue
        pending.pop()
        steps[node] = own_steps[node] + sum(steps.get(it, 1) for it in applied)


def _add_widths(
    widths: dict[Subschema, tuple[int, int]],
    own_steps: Mapping[Subschema, int],
    in_place: Mapping[Subschema, int],
) -> None:
    for node, steps in own_steps.items():
        members = max((max(widths[it]) for it in node.properties.values()), default=0)
        members += sum(max(widths[it]) for it in (*node.patterns, *node.rest, *node.names))
        own = steps + sum(in_place[target] for target in node.memoised)
        inside = max(members, sum(max(widths[it]) for it in node.items))
        times = 2 if node.has_unevaluated else 1
        for applied in node.in_place:
            own += times * widths[applied][0]
            inside += times * widths[applied][1]
        widths[node] = own, inside


class Shape:
    """Composition of an instance; the items of each array are combined.

    Members are by name; the key None stands for names that are in no `properties`.
    """

    __slots__ = (
        "chars",
        "containers",
        "count",
        "extremes",
        "floats",
        "items",
        "longest",
        "members",
        "names",
        "own_bytes",
        "wide",
    )

    def __init__(self) -> None:
        self.count = self.names = self.containers = 0
        self.chars = self.longest = 0  # characters of strings
        self.floats = self.extremes = self.wide = 0  # wide: integers of more than 64 bits
        self.own_bytes = 0
        self.members: dict[str | None, Shape] = {}
        self.items: Shape | None = None

    @classmethod
    def of(cls, instance: Any, names: Set[str]) -> Shape:
        """Compute the shape of an instance; raise `TooCostlyError` over `MAX_NODES` values."""
        root = cls()
        pending = [(root, instance)]  # objects and arrays, apart from the instance itself
        nodes = 1
        while pending:
            shape, value = pending.pop()
            if isinstance(value, dict):
                nodes += len(value)
                parts: Iterable[tuple[Shape, Any]] = shape.add_object(value, names)
            elif isinstance(value, list):
                nodes += len(value)
                parts = shape.add_array(value)
            else:
                shape.add_scalar(value)
                continue
            if nodes > MAX_NODES:
                raise TooCostlyError
            for inner, part in parts:
                if isinstance(part, dict | list):
                    pending.append((inner, part))
                else:
                    inner.add_scalar(part)
        return root

    def add_object(self, value: Mapping[str, Any], names: Set[str]) -> Iterator[tuple[Shape, Any]]:
        """Count an object; return its members with their shapes."""
        self.count += 1
        self.containers += 1
        self.names += len(value)
        self.own_bytes += sum(map(len, value))
        for name, member in value.items():
            key = name if name in names else None
            if key not in self.members:
                self.members[key] = Shape()
            yield self.members[key], member

    def add_array(self, value: Sequence[Any]) -> Iterable[tuple[Shape, Any]]:
        """Count an array; return its items with their shape."""
        self.count += 1
        self.containers += 1
        if not value:
            return ()
        if self.items is None:
            self.items = Shape()
        return zip(repeat(self.items), value)

    def add_scalar(self, value: Any) -> None:
        """Count a string, number, boolean or null."""
        self.count += 1
        if isinstance(value, str):
            self.chars += len(value)
            self.longest = max(self.longest, len(value))
        elif isinstance(value, float):
            self.floats += 1
            self.extremes += value != 0 and not _EXTREME[0] < abs(value) < _EXTREME[1]
        elif isinstance(value, int) and not _INT64[0] <= value < _INT64[1]:
            self.wide += 1
            self.own_bytes += value.bit_length() // 3

    def of_names(self) -> Shape:
        """Return the shape of the names of the objects, which are strings."""
        shape = Shape()
        shape.count, shape.chars, shape.longest = self.names, self.own_bytes, self.own_bytes
        return shape

    def inner(self) -> list[Shape]:
        """Return the shapes of members and items."""
        return [*self.members.values(), *([] if self.items is None else [self.items])]


class _Walk:
    """Sums over all pairs of a subschema and a shape, each pair computed once."""

    def __init__(self) -> None:
        self._sums: dict[tuple[Subschema, Shape], int] = {}
        self.visits = 0

    def _visit(self, node: Subschema, shape: Shape) -> int:
        pair = (node, shape)
        if pair not in self._sums:
            self.visits += 1
            if self.visits > _MAX_VISITS:
                raise TooCostlyError
            self._sums[pair] = self._own(node, shape) + self._inner(node, shape)
        return self._sums[pair]

    def _inner(self, node: Subschema, shape: Shape) -> int:
        times = 2 if node.has_unevaluated else 1
        total = sum(times * self._visit(inner, shape) for inner in node.in_place)
        others = [*node.patterns, *node.rest]
        for name, member in shape.members.items():
            if name is not None and name in node.properties:
                total += self._visit(node.properties[name], member)
            total += sum(self._visit(inner, member) for inner in others)
        if shape.items is not None:
            total += sum(self._visit(inner, shape.items) for inner in node.items)
        if node.names and shape.names:
            names = shape.of_names()
            total += sum(self._visit(inner, names) for inner in node.names)
        return total

    def _own(self, node: Subschema, shape: Shape) -> int:
        raise NotImplementedError


class _Steps(_Walk):
    """Steps of `is_valid`."""

    def __init__(
        self,
        backtracks: int,
        in_place: Mapping[Subschema, int],
        repeats: Mapping[Subschema, int],
    ) -> None:
        super().__init__()
        self._in_place = in_place
        self._repeats = repeats
        self._backtracks = backtracks
        self._pending: list[tuple[Subschema, Shape]] = []

    def of(self, root: Subschema, shape: Shape) -> int:
        self._pending = [(root, shape)]
        seen = set()
        total = 0
        while self._pending:
            pair = self._pending.pop()
            if pair not in seen:
                seen.add(pair)
                node, shape = pair
                total += self._visit(node, shape) + shape.count * self._repeats.get(node, 0)
        return total

    def _own(self, node: Subschema, shape: Shape) -> int:
        self._pending += [(target, shape) for target in node.memoised]
        keywords = node.keywords
        steps = shape.count * (1 + len(keywords.get("required", ())) // 4)
        for target in node.memoised:
            scalars = shape.count - shape.containers
            each = self._in_place[target] * self._repeats.get(target, 1)
            steps += shape.containers + scalars * each
        steps += 3 * len(node.patterns) * shape.names
        steps += node.count_string_steps() * (shape.count + shape.chars // 10)
        if node.is_unknown:
            steps += 1000 * _iterate_values_inside(shape)
        if "multipleOf" in keywords:
            is_slow = has_fraction(keywords["multipleOf"]) and abs(keywords["multipleOf"]) < 1e-6
            steps += 30 * shape.count + 700 * (shape.count if is_slow else shape.extremes)
            steps += 20 * shape.own_bytes if shape.wide else 0  # digits
        if options := count_slow_options(keywords.get("enum", ())):
            steps += options * (shape.count // 4 + 6 * (shape.floats + shape.containers))
        if keywords.get("uniqueItems") and shape.items is not None:
            steps += 30 * _iterate_wide_values(shape.items) ** 2
        if node.backtracks:
            most = min(shape.longest**2, self._backtracks)
            steps += shape.count * most * (1 + shape.longest // 70)
        return steps


class _Errors(_Walk):
    """Errors that can be collected, 1,600 bytes of instance and schema counting as one."""

    def __init__(self, *, has_endless: bool) -> None:
        super().__init__()
        self._has_endless = has_endless
        self._open: Counter[tuple[Subschema, Shape]] = Counter()
        self._bytes: dict[Shape, int] = {}

    def of(self, root: Subschema, shape: Shape) -> int:
        return self._visit(root, shape)

    def _visit(self, node: Subschema, shape: Shape) -> int:
        if not self._has_endless:
            return super()._visit(node, shape)
        pair = (node, shape)
        if self._open[pair] == _ROUNDS:
            return shape.count
        self._open[pair] += 1
        self._sums.pop(pair, None)
        total = super()._visit(node, shape)
        self._open[pair] -= 1
        self._sums.pop(pair, None)  # it depends on what was open
        return total

    def _inner(self, node: Subschema, shape: Shape) -> int:
        again = sum(self._visit(target, shape) for target in node.memoised)
        return again + super()._inner(node, shape)

    def _own(self, node: Subschema, shape: Shape) -> int:
        keywords = node.keywords
        errors = 1 + len(keywords.get("required", ()))
        shown = {name: keywords[name] for name in ("enum", "const", "not") if name in keywords}
        size = len(msgspec.json.encode(shown)) * shape.count if shown else 0
        return errors * shape.count + (size + errors * self._size(shape)) // _BYTES_PER_ERROR

    def _size(self, shape: Shape) -> int:
        if shape not in self._bytes:
            own = shape.count * _BYTES_PER_NODE + shape.chars + shape.own_bytes
            self._bytes[shape] = own + sum(map(self._size, shape.inner()))
        return self._bytes[shape]


def _iterate_values_inside(shape: Shape) -> int:
    return shape.count + sum(map(_iterate_values_inside, shape.inner()))


def _iterate_wide_values(shape: Shape) -> int:
    return shape.wide + sum(map(_iterate_wide_values, shape.inner()))


def _has_at_most(limit: int, instance: Any) -> bool:
    """Whether an instance has at most `limit` values."""
    pending, seen = [instance], 1
    while pending and seen <= limit:
        value = pending.pop()
        if isinstance(value, dict | list):
            seen += len(value)
            pending.extend(value.values() if isinstance(value, dict) else value)
    return seen <= limit


def _count_bytes(instance: Any) -> float:
    """Return the size of an instance as JSON; infinity if it has a wide integer."""
    try:
        return len(_encode(instance))
    except (OverflowError, TypeError, UnicodeEncodeError, RecursionError):
        return inf


_encode = msgspec.json.Encoder().encode
