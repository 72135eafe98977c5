"""Filters, order and pages that the query or the body of a list operation requests from the mock.

Parameters are recognized by the names that are common in APIs, independently of the generator. A
value that means nothing, such as a negative size, is ignored; an unknown cursor is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, urlencode

from mcpgen.absent import ABSENT
from mcpgen.jsonschema.schemas import Schemas
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.jsonschema.values import find_json_type, without_absent
from mcpgen.runtime.content import JsonObject
from mcpgen.testing.mock.description import Operation
from mcpgen.testing.mock.item_collections import fold_name

_SIZES: Final = frozenset(
    """
    limit perpage pagesize maxpagesize pagelimit max maxcount maxresults maxitems maxkeys num
    numresults itemsperpage resultsperpage results rows rpp size count top take first
    """.split()
)
_PAGES: Final = frozenset(
    {"currentpage", "page", "pageindex", "pageno", "pagenr", "pagenum", "pagenumber"}
)
_OFFSETS: Final = frozenset(
    """
    from offset itemoffset pageoffset recordoffset resultoffset skip start startat startindex
    startoffset startrow
    """.split()
)
_CURSORS: Final = frozenset(
    """
    aftercursor bookmark continuation continuationtoken cursor cursormark endcursor marker
    nextcontinuationtoken nextcursor nextmarker nextpagetoken nexttoken pageafter pagecursor
    pagetoken paginationtoken scrollid startcursor startkey
    """.split()
)
_LAST_ITEMS: Final = frozenset({"after", "afterid", "lastid", "startafter", "startingafter"})
_SORTS: Final = frozenset({"sort", "sortby", "order", "orderby", "ordering"})
_DIRECTIONS: Final = frozenset({"direction", "order", "sortdirection", "sortorder", "sortdir"})
_FILTERS: Final = frozenset({"filter", "filters"})
_DESCENDING: Final = frozenset({"desc", "descending"})
_POSITIONS: Final = _PAGES | _OFFSETS | _CURSORS | _LAST_ITEMS
_POSITION: Final = re.compile("[0-9]{1,15}")
_SORT_KEY: Final = re.compile(r"([+-]?)([\w.-]+)(?:[\s:]+(\w+))?")

# Members of a response that describe its page.
_NEXT_CURSORS: Final = (_CURSORS - {"startcursor"}) | {
    *("cursornext", "lastid", "nextkey", "nextpagecursor")
}
_NEXT_URLS: Final = frozenset(
    """
    linknext next nexthref nextlink nextpage nextpagelink nextpageuri nextpageurl nexturi nexturl
    odatanextlink
    """.split()
)
_MORE: Final = frozenset({"hasmore", "hasnext", "hasnextpage", "more"})
_ABOUT_NEXT: Final = _NEXT_CURSORS | _NEXT_URLS | _MORE | {"after"}
_TOTALS: Final = frozenset({"total", "totalcount", "totalitems", "totalresults", "count"})
_PAGE_COUNTS: Final = frozenset({"totalpages", "pagecount", "pages"})
_AT_END: Final[tuple[JsonValue, ...]] = (None, "", False, 0)
_DEPTH: Final = 2  # of the objects with such members


class UnknownCursorError(ValueError):
    """Raised for a cursor that matches no page of the list."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of a list. `following` is the query of the next page, as changed parameters."""

    items: Sequence[JsonObject]
    total: int  # after the filters, in all pages
    start: int = 0
    size: int = 1  # items of a full page
    number: int = 0  # as the API counts pages
    following: Mapping[str, str] = field(default_factory=dict)
    is_in_body: bool = False  # `following` is of the body

    def find_next_url(self, url: str) -> str:
        """Return the URL of the next page, given that of this one; "" if it has none."""
        if not self.following or self.is_in_body:
            return ""
        path, _, query = url.partition("?")
        pairs = [
            pair
            for pair in parse_qsl(query, keep_blank_values=True)
            if pair[0] not in self.following
        ]
        return f"{path}?{urlencode([*pairs, *self.following.items()])}"

    def describe(self, url: str) -> dict[str, tuple[JsonValue, ...]]:
        """Return possible values of members that describe the page, by folded name.

        The first one that is valid counts. A member such as `next` may be a cursor or a URL.
        """
        parameter, cursor = next(iter(self.following.items()), ("", ""))
        urls = (self.find_next_url(url),) if cursor and not self.is_in_body else ()
        following = (*urls, *_spell(cursor)) if cursor else _AT_END
        about: dict[str, tuple[JsonValue, ...]] = dict.fromkeys(_NEXT_URLS, following)
        if cursor and fold_name(parameter) in _CURSORS | _LAST_ITEMS:
            about |= dict.fromkeys(_NEXT_URLS, (*_spell(cursor), *urls))
        about |= dict.fromkeys(_NEXT_CURSORS, _spell(cursor) if cursor else _AT_END)
        about |= dict.fromkeys(_MORE, (bool(cursor),))
        about |= dict.fromkeys(_TOTALS, (self.total,))
        about |= dict.fromkeys(_PAGE_COUNTS, (-(-self.total // self.size),))
        about |= dict.fromkeys(("limit", "perpage", "pagesize"), (self.size,))
        about |= {"offset": (self.start,), "page": (self.number,)}
        if fold_name(parameter) in _CURSORS | _LAST_ITEMS:
            about[fold_name(parameter)] = _spell(cursor)
        return about


class ListQuery:
    """The query of one request to a list operation, or its body."""

    def __init__(
        self,
        parameters: Mapping[str, JsonSchema],
        values: JsonObject,
        schemas: Schemas,
        *,
        is_body: bool = False,
    ) -> None:
        """Read the `values` of some `parameters`, by name; `schemas` are those of requests."""
        self._schemas = schemas
        self._values = {name: value for name, value in values.items() if value is not None}
        self._parameters = parameters
        self._is_body = is_body
        self._of_items: frozenset[str] = frozenset()  # folded names of the members of items

    @classmethod
    def of_query(cls, operation: Operation, values: JsonObject, schemas: Schemas) -> ListQuery:
        """Return the query of a request, given its decoded values."""
        parameters = {it.name: it.schema for it in operation.parameters_in("query")}
        return cls(parameters, values, schemas)

    @classmethod
    def of_body(cls, schema: JsonSchema, body: JsonObject, schemas: Schemas) -> ListQuery:
        """Return what the members of a body request, and those of the objects in it."""
        parameters: dict[str, JsonSchema] = {}
        values: JsonObject = {}
        for name in sorted(schemas.property_names(schema)):
            inner = schemas.property_schema(schema, name)
            parameters[name] = inner
            for deeper in sorted(schemas.property_names(inner)):
                parameters.setdefault(deeper, schemas.property_schema(inner, deeper))
        for name, value in body.items():
            values |= value if isinstance(value, dict) else {}
            values[name] = value
        return cls(parameters, values, schemas, is_body=True)

    def select(self, items: Sequence[JsonObject], id_property: str) -> ListPage:
        """Filter and sort the items, and return the requested page of them.

        A parameter with the name of a member of the items is a filter, such as `size`.

        Raises:
            UnknownCursorError: no page has this cursor.
        """
        self._of_items = frozenset(fold_name(name) for item in items for name in item)
        found = self._sort([item for item in items if self._matches(item, items)])
        return self._cut(found, id_property)

    # Filters

    def _matches(self, item: JsonObject, items: Sequence[JsonObject]) -> bool:
        return all(
            _is_match(item.get(member), expected)
            for name, value in self._list_filters()
            for member, expected in _find_members(name, value, items)
        )

    def _list_filters(self) -> list[tuple[str, JsonValue]]:
        """Return the names and values of possible filters."""
        found: list[tuple[str, JsonValue]] = []
        for name, value in self._values.items():
            folded = fold_name(name)
            if folded in _FILTERS and isinstance(value, dict):
                found += value.items()
            elif folded not in _SORTS | _DIRECTIONS:
                found.append((name, value))
        return found

    # Order

    def _sort(self, items: list[JsonObject]) -> list[JsonObject]:
        """Sort by the members that the query names: "name", "-name", "name:desc", "name desc"."""
        directions = [self._values.get(name) for name in self._find(_DIRECTIONS)]
        is_descending = any(str(it).lower() in _DESCENDING for it in directions)
        keys = [
            match
            for name in self._find(_SORTS)
            for text in _split_texts(self._values.get(name))
            if (match := _SORT_KEY.fullmatch(text.strip()))
        ]
        names = {fold_name(name): name for item in items for name in item}
        for sign, name, direction in (match.groups() for match in reversed(keys)):
            if fold_name(name) in names:
                member = names[fold_name(name)]
                own = sign == "-" or (direction or "").lower() in _DESCENDING
                items = sorted(
                    items, key=lambda item: _rank(item.get(member)), reverse=own or is_descending
                )
        return items

    # Pages

    def _cut(self, items: Sequence[JsonObject], id_property: str) -> ListPage:
        size = self._read_size() or len(items) or 1
        parameter = next(iter(self._find(_POSITIONS)), "")
        kind = fold_name(parameter)
        first = self._find_first_page(parameter) if kind in _PAGES else 0
        start = self._find_start(parameter, items, id_property, size, first)
        end = start + size
        shown, following = items[start:end], ""
        if parameter and shown and end < len(items):
            if kind in _LAST_ITEMS:
                following = str(shown[-1].get(id_property, ""))
            else:
                following = str(end // size + first if kind in _PAGES else end)
        return ListPage(
            shown,
            len(items),
            start,
            size,
            start // size + first,
            {parameter: following} if following else {},
            self._is_body,
        )

    def _find_start(
        self, parameter: str, items: Sequence[JsonObject], id_property: str, size: int, first: int
    ) -> int:
        """Return the index of the first item of the page.

        Raises:
            UnknownCursorError: there is no such cursor.
        """
        kind, value = fold_name(parameter), self._values.get(parameter)
        if value in (None, ""):
            return 0
        if kind in _LAST_ITEMS:
            return _find_after(items, id_property, value)
        is_position = _POSITION.fullmatch(str(value)) is not None
        if not is_position and kind in _CURSORS:
            raise UnknownCursorError(f"unknown cursor `{value}`")
        position = max(int(value) - first, 0) if is_position else 0
        return position * size if kind in _PAGES else position

    def _read_size(self) -> int:
        """Return the number of items of a page; 0 if there is no limit."""
        for name in self._find(_SIZES):
            schema = self._parameters[name]
            default = schema.get("default") if isinstance(schema, dict) else None
            value = self._values.get(name, default)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
        return 0

    def _find_first_page(self, name: str) -> int:
        schema = self._parameters[name]
        keywords = schema if isinstance(schema, dict) else {}
        return 0 if 0 in (keywords.get("default"), keywords.get("minimum")) else 1

    def _find(self, names: frozenset[str]) -> list[str]:
        """Return the declared parameters with one of these names, those that were sent first."""
        found = [name for name in self._parameters if fold_name(name) in names]
        if names in (_POSITIONS, _SIZES):
            found = [name for name in found if fold_name(name) not in self._of_items]
        if names is _POSITIONS:
            found = [name for name in found if self._is_position(name)]
        return sorted(found, key=lambda name: name not in self._values)

    def _is_position(self, name: str) -> bool:
        """Return whether a page or an offset is a number, and a cursor is no time."""
        schema = self._parameters[name]
        if fold_name(name) == "from" and not self._find(_SIZES):
            return False
        if fold_name(name) in _PAGES | _OFFSETS:
            return bool(self._schemas.likely_types(schema) & {"integer", "number"})
        return not (isinstance(schema, dict) and schema.get("format") in {"date", "date-time"})


def describe_page(
    whole: JsonObject, schema: JsonSchema, page: ListPage, url: str, schemas: Schemas
) -> JsonObject:
    """Return the body of a list with its members about the page filled in, if they stay valid.

    `whole` is the body without optional members. Members may be deeper, as `meta.next_cursor`.
    Those about a next page are added if there is one.
    """
    filling = _Filling(page.describe(url), schemas, has_next=bool(page.following))
    filled = filling.fill(whole, schema, _DEPTH)
    return filled if schemas.fits(schema, filled) else whole


@dataclass(frozen=True, slots=True)
class _Filling:
    """Filling of the members about a page, by folded name."""

    values: Mapping[str, tuple[JsonValue, ...]]
    schemas: Schemas
    has_next: bool

    def fill(self, members: JsonObject, schema: JsonSchema, depth: int) -> JsonObject:
        """Return an object with its declared members filled; optional ones if there is a next."""
        filled = dict(members)
        for name in sorted(self.schemas.property_names(schema)):
            inner = self.schemas.property_schema(schema, name)
            before = members.get(name, {})
            if isinstance(before, dict) and self.schemas.likely_types(inner) == {"object"}:
                expanded = self.fill(before, inner, depth - 1) if depth else before
                if expanded != before and self.schemas.fits(inner, expanded):
                    filled[name] = expanded
            elif name in members or (self.has_next and fold_name(name) in _ABOUT_NEXT):
                possible = () if isinstance(before, list) else self.values.get(fold_name(name), ())
                fitting = (it for it in possible if self.schemas.fits(inner, it))
                filled[name] = next(fitting, members.get(name, ABSENT))
        return without_absent(filled) if ABSENT in filled.values() else filled


def _spell(cursor: str) -> tuple[JsonValue, ...]:
    """Return the forms of a cursor: a text, and also a number if it is one."""
    return (cursor, int(cursor)) if _POSITION.fullmatch(cursor) else (cursor,)


def _find_members(
    name: str, value: JsonValue, items: Sequence[JsonObject]
) -> list[tuple[str, JsonValue]]:
    """Return the member that a filter is about, and its value; [] if no item has one.

    A list of values may be in the plural: `ids` for `id`.
    """
    folded = {fold_name(name)}
    if isinstance(value, list):
        folded.add(fold_name(name).removesuffix("s"))
    members = {member for item in items for member in item if fold_name(member) in folded}
    return [(member, value) for member in sorted(members)[:1]]


def _is_match(found: JsonValue, expected: JsonValue) -> bool:
    if isinstance(found, list):
        return any(_is_match(each, expected) for each in found)
    if isinstance(expected, list):
        return any(_is_match(found, each) for each in expected)
    if isinstance(found, bool) or isinstance(expected, bool):
        return found is expected or str(found).lower() == str(expected).lower()
    return found == expected or (found is not None and str(found) == str(expected))


def _rank(value: JsonValue) -> tuple[str, float, str]:
    """Return a sort key of any value: numbers by size, other values of one type by their text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number", value, ""
    return find_json_type(value), 0, str(value)


def _split_texts(value: JsonValue) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [part for it in values if isinstance(it, str) for part in it.split(",")]


def _find_after(items: Sequence[JsonObject], id_property: str, value: JsonValue) -> int:
    """Return the index after the item with this id.

    Raises:
        UnknownCursorError: there is none.
    """
    for index, item in enumerate(items):
        if str(item.get(id_property)) == str(value):
            return index + 1
    raise UnknownCursorError(f"no item has the id `{value}`")
