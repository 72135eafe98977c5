"""Test cases of paginated lists: the pages that the API returns, and the expected requests."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import TypeAlias

from mcpgen.ir.tool_plan import Pagination, ToolPlan
from mcpgen.jsonschema.samples import CannotSampleError, Which
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.cases.calls import Call, Calls
from mcpgen.plan.schemas.tool_schema import list_response_schemas
from mcpgen.plan.tools.pagination import ARGUMENT

_TRIES = 6
_MOST_ITEMS = 10
_SCALARS = ({"string"}, {"integer"})
_NAMES_IN_LINKS = ("page", "cursor", "after", "offset", "page_token", "since")

_Step: TypeAlias = tuple[JsonObject, JsonObject]
"""The query parameters that a request adds to the smallest one, and the reply: a page."""


def make_pages(tool: ToolPlan, smallest: Call, calls: Calls) -> JsonObject | None:
    """Return the `pages` of an entry: two with items, and the end of the list.

    None if the tool has no pages.

    Raises:
        CannotSampleError: no valid pages were generated.
    """
    if tool.pagination is None:
        return None
    steps = list(_Making(tool, tool.pagination, smallest, calls).steps())
    return {
        "argument": ARGUMENT,
        "items": tool.pagination.items,
        "replies": [reply for _, reply in steps],
        "requests": [{"query": query} if query else {} for query, _ in steps],
    }


class _Making:
    """Generation of the pages of one tool."""

    def __init__(self, tool: ToolPlan, rule: Pagination, smallest: Call, calls: Calls) -> None:
        self._tool = tool
        self._rule = rule
        self._calls = calls
        self._query: JsonObject = smallest.request["query"]
        (self._schema,), _ = list_response_schemas(tool.operation)
        size = self._query.get(rule.size)
        enough = 2 if rule.kind == "offset" else 1  # one more would be another page
        self._count = size if isinstance(size, int) else enough
        if self._count > _MOST_ITEMS:
            raise CannotSampleError(f"a page of {self._count} items is too long for a case")
        wanted: JsonSchema = {"type": "array", "minItems": self._count}
        if rule.items:
            properties = {rule.items: wanted}
            wanted = {"type": "object", "properties": properties, "required": [rule.items]}
        self._pages = self._sample_pages({"allOf": [self._schema, wanted]})

    def _sample_pages(self, schema: JsonSchema) -> tuple[JsonValue, JsonValue]:
        """Return two small pages that match the schema, with different items."""

        def sample(wish: Which, variant: int) -> JsonValue:
            return self._calls.answered.sample(schema, wish, seed="page", variant=variant)

        wish: Which = "smallest"
        first = sample(wish, 0)
        if not any(first[self._rule.items] if self._rule.items else first):
            wish = "example"
            first = sample(wish, 0)
        return first, sample(wish, 1)

    def steps(self) -> Iterator[_Step]:
        """Yield two pages with their requests, and the empty page at the end if there is one."""
        if self._rule.kind == "link":
            yield from self._iterate_linked()
        elif self._rule.kind in ("page", "offset"):
            yield from self._iterate_counted()
        else:
            yield from self._iterate_by_cursor()

    def _iterate_linked(self) -> Iterator[_Step]:
        moved = self._choose_link_query()
        yield {}, {"link": moved, "body": self._copy_page(0)}
        yield moved, {"body": self._copy_page(1)}

    def _choose_link_query(self) -> JsonObject:
        """Return the query parameters of the link to the next page: a known one, or none."""
        for parameter in self._tool.operation.parameters:
            is_free = parameter.location == "query" and parameter.name not in self._query
            leads_on = parameter.name in _NAMES_IN_LINKS
            schema = parameter.schema
            if is_free and leads_on and set(self._calls.shapes.of(schema).types) in _SCALARS:
                value = self._choose_later_value(schema)
                return {} if value is None else {parameter.name: value}
        return {}

    def _choose_later_value(self, schema: JsonSchema) -> JsonValue:
        """Return a value for the next page (of an integer, the next one), or None."""
        value = next(self._iterate_values(schema), None)
        is_allowed = self._calls.sent.checker(schema)
        return value + 1 if isinstance(value, int) and is_allowed(value + 1) else value

    def _iterate_values(self, schema: JsonSchema) -> Iterator[JsonValue]:
        """Yield distinct values of a parameter with this schema."""
        found: list[JsonValue] = []
        for variant in range(_TRIES):
            value = self._calls.sent.sample(schema, "example", seed="page", variant=variant)
            if value not in found and value != "":
                found.append(value)
                yield value

    def _iterate_counted(self) -> Iterator[_Step]:
        step = self._count if self._rule.kind == "offset" else 1
        first = self._query.get(self._rule.parameter, self._rule.first)
        schema = self._find_parameter_schema()
        for number in range(3):
            at = first + number * step
            if number and not self._calls.sent.checker(schema)(at):
                raise CannotSampleError(f"`{self._rule.parameter}` may not be {at}")
            asked = {self._rule.parameter: at} if number else {}
            page = self._copy_page(number) if number < 2 else self._make_empty_page()
            yield asked, {"body": page}

    def _iterate_by_cursor(self) -> Iterator[_Step]:
        taken = self._query.get(self._rule.parameter)
        values = self._iterate_values(self._find_parameter_schema())
        cursor = next((value for value in values if value != taken), None)
        if not isinstance(cursor, str | int) or isinstance(cursor, bool):
            raise CannotSampleError(f"`{self._rule.parameter}` has no second value")
        page = self._copy_page(0)
        if self._rule.kind == "cursor":
            _put(page, self._rule.cursor, cursor)
        else:
            page[self._rule.items][-1]["id"] = cursor
        yield {}, {"body": self._mark_more(page, goes_on=True)}
        yield {self._rule.parameter: cursor}, {"body": self._make_last_page()}

    def _make_last_page(self) -> JsonValue:
        """Return the last page, marked as such if its schema allows that."""
        page = self._copy_page(1)
        if self._rule.kind == "cursor" and not self._rule.more:
            for end in (None, ""):
                _put(page, self._rule.cursor, end)
                if self._is_valid(page):
                    return page
            _drop(page, self._rule.cursor)
        return self._mark_more(page, goes_on=False)

    def _mark_more(self, page: JsonValue, *, goes_on: bool) -> JsonValue:
        if self._rule.more:
            page[self._rule.more] = goes_on
        return self._check(page)

    def _find_parameter_schema(self) -> JsonSchema:
        return next(
            parameter.schema
            for parameter in self._tool.operation.parameters
            if (parameter.location, parameter.name) == ("query", self._rule.parameter)
        )

    def _copy_page(self, number: int) -> JsonValue:
        return deepcopy(self._pages[number])  # samples are shared

    def _make_empty_page(self) -> JsonValue:
        page: JsonValue = []
        if self._rule.items:
            page = {**self._copy_page(1), self._rule.items: []}
        return self._check(page)

    def _check(self, page: JsonValue) -> JsonValue:
        """Return a page if it matches the schema of the response."""
        if not self._is_valid(page):
            raise CannotSampleError("a page that says whether more follow does not fit its schema")
        return page

    def _is_valid(self, page: JsonValue) -> bool:
        return self._calls.answered.checker(self._schema)(page)


def _put(page: JsonObject, path: tuple[str, ...], value: JsonValue) -> None:
    for name in path[:-1]:
        page = page.setdefault(name, {})
    page[path[-1]] = value


def _drop(page: JsonObject, path: tuple[str, ...]) -> None:
    for name in path[:-1]:
        page = page.get(name, {})
    page.pop(path[-1], None)
