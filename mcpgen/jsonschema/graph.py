"""The subschemas of a JSON Schema as a graph: which apply to a value, and which to its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from mcpgen.absent import ABSENT
from mcpgen.jsonschema.types import JsonObject
from mcpgen.jsonschema.values import value_at

_REFERENCES: Final = ("$ref", "$dynamicRef")
_ANCHORS: Final = ("$anchor", "$dynamicAnchor")
_BY_NAME: Final = ("dependentSchemas", "dependencies", "patternProperties")
_APPLICATORS: Final = {  # the attribute of Subschema for what each keyword applies
    keyword: attribute
    for attribute, keywords in {
        "in_place": "allOf anyOf oneOf not if then else dependentSchemas dependencies",
        "patterns": "patternProperties",
        "rest": "additionalProperties unevaluatedProperties",
        "names": "propertyNames",
        "items": "prefixItems items additionalItems unevaluatedItems contains",
    }.items()
    for keyword in keywords.split()
}
# Look-around, back references and possessive quantifiers, which need the backtracking engine.
_BACKTRACKING: Final = re.compile(r"\(\?(?:[=!>]|<[=!])|\\[1-9k]|[+*?}]\+")
_IDN_FORMATS: Final = frozenset({"idn-hostname", "idn-email"})


class Subschema(Struct, eq=False):
    """A subschema, its keywords, and the subschemas that its keywords apply.

    `memoised` are those that the validator evaluates once for each object or array, however often
    they apply: targets of references from inside themselves.
    """

    keywords: JsonObject
    in_place: list[Subschema] = []
    memoised: list[Subschema] = []
    properties: dict[str, Subschema] = {}
    patterns: list[Subschema] = []
    rest: list[Subschema] = []
    names: list[Subschema] = []
    items: list[Subschema] = []
    is_unknown: bool = False

    def iterate_applied(self) -> Iterator[Subschema]:
        """Iterate over the subschemas that its keywords apply, with repetitions."""
        yield from self.in_place
        yield from self.memoised
        yield from self.properties.values()
        for others in (self.patterns, self.rest, self.names, self.items):
            yield from others

    @property
    def has_unevaluated(self) -> bool:
        """Whether its in-place subschemas are evaluated twice, to find the members they cover."""
        return "unevaluatedProperties" in self.keywords or "unevaluatedItems" in self.keywords

    @property
    def backtracks(self) -> bool:
        """Whether its pattern needs the backtracking engine."""
        pattern = self.keywords.get("pattern")
        return isinstance(pattern, str) and _BACKTRACKING.search(pattern) is not None

    def count_steps(self) -> int:
        """Return the maximum number of steps of its own keywords for one value of usual size.

        One step is about 70 ns, the time of a `type` or a `const`.
        """
        keywords = self.keywords
        return (
            1
            + len(keywords.get("required", ())) // 4
            + 3 * len(self.patterns)
            + self.count_string_steps()
            + (1000 if self.is_unknown else 0)
            + (100 if keywords.get("uniqueItems") else 0)
            + (700 if has_fraction(keywords.get("multipleOf", 1)) else 0)
            + 6 * count_slow_options(keywords.get("enum", ()))
            + (20_000 if self.backtracks else 0)
        )

    def count_string_steps(self) -> int:
        """Return what its keywords cost for each ten characters of a string."""
        name = self.keywords.get("format")
        steps = 6 if "pattern" in self.keywords else 0
        steps += 3 if self.keywords.keys() & {"minLength", "maxLength"} else 0
        return steps + ((32 if name in _IDN_FORMATS else 6) if name else 0)


def has_fraction(number: Any) -> bool:
    """Whether a number is compared as a fraction, which is slow."""
    return isinstance(number, float) and not number.is_integer()


def count_slow_options(options: Any) -> int:
    """Return the number of options of an `enum` that are compared one by one."""
    if not isinstance(options, list) or all(isinstance(it, str | bool | None) for it in options):
        return 0
    return len(options)


class SchemaGraph:
    """The subschemas of the schemas that are added; all references lead into one document.

    `endless` are the targets of references that lead back to themselves without entering a part of
    the value.
    """

    def __init__(self, document: Any) -> None:
        self._document = document
        self._subschemas: dict[int, Subschema] = {}
        self._identified: dict[str, list[Any]] | None = None
        self._resolved: dict[str, list[Subschema]] = {}  # by reference
        self._targets: set[Subschema] = set()  # of references
        self._positions: dict[Subschema, int] = {}  # on the path of the walk
        self._done: set[Subschema] = set()
        self._regions: dict[Subschema, _Region] = {}  # by their first subschema
        self.endless: set[Subschema] = set()

    def add(self, schema: Any) -> tuple[Subschema, list[Subschema]]:
        """Add a schema; return its root subschema, and all subschemas that this added.

        Each of them comes after those that it applies, except where these are memoised.
        """
        root = self._add_subschema(schema)
        return root, self._walk(root)

    def find_memoised(self, root: Subschema) -> set[Subschema]:
        """Return the memoised subschemas that can be reached from a root."""
        return set().union(*(region.memoised for region in self._iterate_regions(root)))

    def find_names(self, root: Subschema) -> set[str]:
        """Return the property names in a schema and in those that it refers to, at any depth."""
        return set().union(*(region.names for region in self._iterate_regions(root)))

    def _iterate_regions(self, root: Subschema) -> Iterator[_Region]:
        reached = {root}
        pending = [root]
        while pending:
            region = self._explore_region(pending.pop())
            yield region
            pending += region.targets - reached
            reached |= region.targets

    def _explore_region(self, start: Subschema) -> _Region:
        """Return what a subschema reaches without following references."""
        if start not in self._regions:
            self._regions[start] = region = _Region()
            pending, seen = [start], {start}
            while pending:
                node = pending.pop()
                region.memoised.update(node.memoised)
                region.names.update(node.properties)
                for applied in node.iterate_applied():
                    if applied in self._targets:
                        region.targets.add(applied)
                    elif applied not in seen:
                        seen.add(applied)
                        pending.append(applied)
        return self._regions[start]

    def _walk(self, root: Subschema) -> list[Subschema]:
        """Visit every new subschema depth first, as jsonschema-rs compiles them."""
        positions, done = self._positions, self._done
        finished: list[Subschema] = []
        if root in done:
            return finished
        positions[root] = 0
        path = [_Step(root, iter(self._list_applied(root)), 0)]
        while path:
            step = path[-1]
            for applied in step.rest:
                if applied in positions:
                    step.node.in_place.remove(applied)
                    step.node.memoised.append(applied)
                    if positions[applied] >= step.entered_value_at:
                        self.endless.add(applied)
                elif applied not in done:
                    is_in_place = applied in step.node.in_place
                    entered = step.entered_value_at if is_in_place else len(path)
                    positions[applied] = len(path)
                    path.append(_Step(applied, iter(self._list_applied(applied)), entered))
                    break
            else:
                path.pop()
                del positions[step.node]
                done.add(step.node)
                finished.append(step.node)
        return finished

    def _list_applied(self, node: Subschema) -> list[Subschema]:
        """Add what the keywords of a subschema apply to it, and return that in their order."""
        applied: list[Subschema] = []
        for keyword, value in node.keywords.items():
            if keyword in _REFERENCES:
                found = self._resolve_reference(value)
                node.in_place += found
            elif keyword == "properties" and isinstance(value, dict):
                node.properties = {name: self._add_child(it) for name, it in value.items()}
                found = [*node.properties.values()]
            elif keyword in _APPLICATORS:
                found = [self._add_child(schema) for schema in _list_schemas(keyword, value)]
                getattr(node, _APPLICATORS[keyword]).extend(found)
            else:
                continue
            applied += found
        return applied

    def _add_child(self, schema: Any) -> Subschema:
        """Return a new subschema for an object that Python code has used in several places."""
        child = self._add_subschema(schema)
        return Subschema(schema) if child in self._positions else child

    def _add_subschema(self, schema: Any) -> Subschema:
        if not isinstance(schema, dict):
            return Subschema({})
        found = self._subschemas.get(id(schema))
        if found is None:
            found = self._subschemas[id(schema)] = Subschema(schema)
        return found

    def _resolve_reference(self, reference: Any) -> list[Subschema]:
        if not isinstance(reference, str):
            return [Subschema({}, is_unknown=True)]
        if reference not in self._resolved:
            found = [self._add_subschema(target) for target in self._find_targets(reference)]
            # It may refer to something else, such as a meta-schema.
            self._resolved[reference] = found or [Subschema({}, is_unknown=True)]
            self._targets.update(found)
        return self._resolved[reference]

    def _find_targets(self, reference: str) -> list[Any]:
        """Return what a reference may refer to: too much rather than too little."""
        base, _, fragment = unquote(reference).partition("#")
        if fragment and not fragment.startswith("/"):
            return self._find_identifier(f"#{fragment}")
        resources = [] if base else [self._document]
        resources += self._find_identifier(base)
        found = (value_at(resource, fragment) for resource in resources)
        return [target for target in found if target is not ABSENT]

    def _find_identifier(self, identifier: str) -> list[Any]:
        """Return the schemas with an `$id`, or "#" and an anchor; for "" those with any `$id`."""
        if self._identified is None:
            self._identified = {}
            for schema in _iterate_objects(self._document) if _may_identify(self._document) else ():
                names = {f"#{schema[key]}" for key in _ANCHORS if key in schema}
                if isinstance(name := schema.get("$id"), str):
                    names |= {name, name.rpartition("/")[2], "#" if name.startswith("#") else ""}
                for name in names:
                    self._identified.setdefault(name, []).append(schema)
        return self._identified.get(identifier, [])


class _Region(Struct):
    """Summary of the subschemas that are reached without following references."""

    targets: set[Subschema] = set()
    memoised: set[Subschema] = set()
    names: set[str] = set()  # of properties


class _Step(Struct):
    """A subschema on the path from the root, and the position where the path entered its value."""

    node: Subschema
    rest: Iterator[Subschema]
    entered_value_at: int


def _list_schemas(keyword: str, value: Any) -> list[Any]:
    """Return the schemas in the value of a keyword."""
    if keyword in _BY_NAME:
        value = [*value.values()] if isinstance(value, dict) else []
    return value if isinstance(value, list) else [value]


def _may_identify(document: Any) -> bool:
    """Return whether a document may have identifiers, as few have."""
    try:
        text = msgspec.json.encode(document)
    except (OverflowError, TypeError, UnicodeEncodeError, RecursionError):
        return True
    return any(f'"{keyword}":'.encode() in text for keyword in ("$id", *_ANCHORS))


def _iterate_objects(value: Any) -> Iterator[JsonObject]:
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield value
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
