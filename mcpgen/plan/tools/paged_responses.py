"""Detection of a paged list in the schema of a response: its items, and its next page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from mcpgen.contract.page_names import (
    HOLDERS,
    HREFS,
    LINK_MEMBERS,
    LINKS,
    LISTS,
    MORE,
    NEXT_URLS,
    NO_LISTS,
    WRAPPERS,
    choose_list,
    fold,
    rank_cursor,
)
from mcpgen.jsonschema.direction import Shape, Shapes
from mcpgen.jsonschema.references import find_reference
from mcpgen.jsonschema.types import JsonSchema

Path: TypeAlias = tuple[str, ...]
"""Names of members, from the root of a response."""

_DEPTH = 2  # of the objects around a list
_SCALARS = frozenset({"integer", "null", "number", "string"})
_PLAIN = _SCALARS | {"boolean"}
_COMPOSING = frozenset(
    {"$ref", "additionalProperties", "allOf", "anyOf", "items", "oneOf", "properties"}
)
_NAME = re.compile(r"\w+")
_CURSOR_NAME = re.compile(r"(?:last|next)\w*(?:cursor|id|key|marker|offset|token)")
_URL = re.compile(r"\b(?:href|links?|ur[il]s?)\b|://", re.IGNORECASE)


class PagedResponse(Struct, frozen=True):
    """A response with a list: where the list is, and the members that can lead to the next page."""

    items: Path
    item: JsonSchema
    members: Mapping[Path, JsonSchema]
    """The members outside the list that have a scalar value: a cursor, a URL, a total."""


def read_response(schema: JsonSchema, responses: Shapes, path: str) -> PagedResponse | None:
    """Return the description of a response's list; None if it has none, or it is unclear which.

    The last segment of the operation's `path` can name the list.
    """
    found = _ListSearch(responses, fold(path.rstrip("/").rpartition("/")[2])).find(schema, 0)
    if found is None:
        return None
    place, item = found
    members = dict(_iterate_members(schema, responses, place, ()))
    return PagedResponse(place, item, members)


def is_open(schema: JsonSchema, responses: Shapes) -> bool:
    """Return whether a schema does not describe the members of a response."""
    shape = _unwrap(schema, responses)
    if shape.types not in ((), ("object",)):
        return False
    return not {"properties", "enum", "anyOf", "oneOf", "not"} & shape.keywords.keys()


def may_have_list(schema: JsonSchema, responses: Shapes) -> bool:
    """Return whether a response is an object of scalars only, but may have more members."""
    shape = _unwrap(schema, responses)
    if shape.types != ("object",) or shape.keywords.get("additionalProperties") is False:
        return False
    members = _properties(shape, responses).values()
    return all(set(_unwrap(it, responses).types) - {"array", "object"} for it in members)


def find_more(response: PagedResponse, responses: Shapes) -> str:
    """Return the boolean member that states whether another page follows, or ""."""
    return next(
        (
            path[0]
            for path, schema in response.members.items()
            if len(path) == 1
            and fold(path[0]) == MORE
            and "boolean" in _unwrap(schema, responses).types
        ),
        "",
    )


def has_ids(response: PagedResponse, responses: Shapes) -> bool:
    """Return whether each item of the list has an `id`."""
    return "id" in _properties(_unwrap(response.item, responses), responses)


def find_cursor(parameter: str, response: PagedResponse, responses: Shapes) -> Path:
    """Return the place of the next value for a parameter with this name; () if there is none."""
    found = [
        (rank, len(path), path)
        for path, schema in response.members.items()
        if (rank := rank_cursor(fold(parameter), [*map(fold, path)]))
        and _is_scalar(schema, responses)
        and not (fold(path[-1]) in NEXT_URLS and is_url(schema, responses))
    ]
    return min(found, default=(0, 0, ()))[2]


def find_named_cursor(description: str, response: PagedResponse, responses: Shapes) -> Path:
    """Return the place of a cursor that the description of a parameter names: "the lastKey"."""
    words = {*_NAME.findall(description)}
    return next(
        (
            path
            for path, schema in response.members.items()
            if path[-1] in words
            and _CURSOR_NAME.fullmatch(fold(path[-1]))
            and _is_scalar(schema, responses)
            and not is_url(schema, responses)
        ),
        (),
    )


def find_next_url(response: PagedResponse, responses: Shapes) -> Path:
    """Return the place of the URL of the next page; () if there is none."""
    for path, schema in response.members.items():
        names = [*map(fold, path)]
        shape = _unwrap(schema, responses)
        if names[-1] in NEXT_URLS:
            is_next = "string" in shape.types
        elif names[-1] in LINKS and "array" in shape.types:
            item = _unwrap(shape.keywords.get("items", False), responses)
            known = _properties(item, responses).keys()
            is_next = any({relation, url} <= known for relation, url in LINK_MEMBERS)
        else:
            before = names[-2] if len(names) > 1 else ""
            is_next = names[-1] in HREFS and before in NEXT_URLS
        if is_next:
            return path
    return ()


def is_url(schema: JsonSchema, responses: Shapes) -> bool:
    """Return whether the annotations of a member state that it is a URL."""
    keywords = _unwrap(schema, responses).keywords
    texts = [keywords.get(name) for name in ("format", "description", "title")]
    texts += keywords.get("examples", ())
    return any(
        isinstance(text, str) and (_URL.search(text) or text.startswith("/")) for text in texts
    )


class _ListSearch:
    """Finds the list in a response. `named` is the folded name of the list in the path.

    The targets of references are searched once per depth, since there are too many paths through
    them.
    """

    def __init__(self, responses: Shapes, named: str) -> None:
        self._responses = responses
        self._named = named
        self._usual = {*LISTS, *WRAPPERS, *filter(None, (named, named.removesuffix("s")))}
        self._found: dict[tuple[str, int], tuple[Path, JsonSchema] | None] = {}

    def find(self, schema: JsonSchema, depth: int) -> tuple[Path, JsonSchema] | None:
        """Return the place and the schema of the items of the list in a response."""
        name = find_reference(schema) if isinstance(schema, dict) and len(schema) == 1 else ""
        if not name:
            return self._find(schema, depth)
        if (name, depth) not in self._found:
            self._found[name, depth] = self._find(schema, depth)
        return self._found[name, depth]

    def _find(self, schema: JsonSchema, depth: int) -> tuple[Path, JsonSchema] | None:
        responses, named = self._responses, self._named
        shape = _unwrap(schema, responses)
        choices = shape.keywords.get("anyOf") or shape.keywords.get("oneOf") or ()
        variants = [responses.of(choice) for choice in choices]
        if variants and all(it.types == ("array",) for it in variants):
            shape = variants[0]
        if "array" in shape.types:
            return (), shape.keywords.get("items", True)
        if not shape.can_nest:
            return None
        members = {
            name: member
            for name, member in _properties(shape, responses).items()
            if not _is_plain(member) and (fold(name) not in NO_LISTS or fold(name) == named)
        }
        shapes = {name: _unwrap(member, responses) for name, member in members.items()}
        lists = [name for name, inner in shapes.items() if "array" in inner.types]
        if name := choose_list(lists, named):
            if not self._is_usual(name) and self._has_usual_holder(members, depth):
                return None
            return (name,), shapes[name].keywords.get("items", True)
        if lists or depth == _DEPTH:
            return None
        deeper = [
            ((name, *found[0]), found[1])
            for name, member in members.items()
            if shapes[name].can_nest
            and fold(name) not in HOLDERS
            and (found := self.find(member, depth + 1)) is not None
        ]
        # An only list may be a part of the one thing that is the response: "virusScan.viruses".
        is_list = depth > 0 or any(self._is_usual(it) for path, _ in deeper for it in path)
        return deeper[0] if len(deeper) == 1 and is_list else None

    def _has_usual_holder(self, members: Mapping[str, JsonSchema], depth: int) -> bool:
        """Whether a list is in an object that usually has it: `results.items`."""
        return depth < _DEPTH and any(
            self._is_usual(name) and self.find(member, depth + 1) is not None
            for name, member in members.items()
        )

    def _is_usual(self, name: str) -> bool:
        """Whether a member usually has the list, or an object around it."""
        folded = fold(name)
        return folded in self._usual or folded[:-1] in self._usual


def _iterate_members(
    schema: JsonSchema, responses: Shapes, towards: Path, path: Path
) -> Iterator[tuple[Path, JsonSchema]]:
    """Yield the members around a list, and those of objects that state how lists continue."""
    members = _properties(_unwrap(schema, responses), responses)
    for name, member in members.items():
        yield (*path, name), member
    for name, member in members.items():
        is_on_path = towards[:1] == (name,) and len(towards) > 1
        if (is_on_path or fold(name) in HOLDERS) and len(path) <= _DEPTH:
            yield from _iterate_members(
                member, responses, towards[1:] if is_on_path else (), (*path, name)
            )


def _unwrap(schema: JsonSchema, responses: Shapes) -> Shape:
    """Return the shape of a schema; of a choice between null and another one, of the other."""
    shape = responses.of(schema)
    choices = shape.keywords.get("anyOf") or shape.keywords.get("oneOf")
    if not choices:
        return shape
    others = [it for it in map(responses.of, choices) if it.types != ("null",)]
    return others[0] if len(others) == 1 and not shape.types else shape


def _properties(shape: Shape, responses: Shapes) -> dict[str, JsonSchema]:
    """Return the properties of an object, with those of its variants."""
    found: dict[str, JsonSchema] = dict(shape.keywords.get("properties", {}))
    for choice in (*shape.keywords.get("anyOf", ()), *shape.keywords.get("oneOf", ())):
        for name, member in responses.of(choice).keywords.get("properties", {}).items():
            found.setdefault(name, member)
    return found


def _is_plain(schema: JsonSchema) -> bool:
    """Return whether a schema alone states that a value is a string, a number, a boolean or null.

    Most members are plain, and their shapes need not be built.
    """
    if not isinstance(schema, dict) or not _COMPOSING.isdisjoint(schema):
        return False
    types = schema.get("type", ())
    return types in _PLAIN if isinstance(types, str) else bool(types) and _PLAIN.issuperset(types)


def _is_scalar(schema: JsonSchema, responses: Shapes) -> bool:
    shape = _unwrap(schema, responses)
    choices = shape.keywords.get("anyOf") or shape.keywords.get("oneOf") or ()
    types = {name for choice in choices for name in responses.of(choice).types}
    return (types or {*shape.types}) <= _SCALARS
