"""Test cases of paginated lists: the pages that the API returns, and the expected requests."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from msgspec import Struct

from mcpgen.ir.tool_plan import Pagination, ToolPlan
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.samples import CannotSampleError, Samples, Which
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.cases.calls import Call, Calls
from mcpgen.plan.schemas.tool_schema import list_response_schemas
from mcpgen.plan.tools.pagination import ARGUMENT

_TRIES = 6
_MOST_ITEMS = 10
_SCALARS = ({"string"}, {"integer"})
_NAMES_IN_LINKS = ("page", "cursor", "after", "offset", "page_token", "since")


class _Step(Struct, frozen=True):
    """A page of a response, and the query parameters that its request adds to the smallest one."""

    query: JsonObject
    answer: JsonObject  # a reply of `mcpgen.testing.suite.cases`


class Pages:
    """Generation of pages for the tools of one API."""

    def __init__(self, shapes: Shapes, calls: Calls, answered: Samples) -> None:
        self._sent = calls.sent
        self._answered = answered
        self._shapes = shapes

    def of(self, tool: ToolPlan, smallest: Call) -> JsonObject | None:
        """Return the `pages` of an entry: two with items, and the end of the list.

        None if the tool has no pages.

        Raises:
            CannotSampleError: no valid pages were generated.
        """
        if tool.pagination is None:
            return None
        making = _Making(tool, tool.pagination, smallest, self)
        steps = list(making.steps())
        return {
            "argument": ARGUMENT,
            "items": tool.pagination.items,
            "replies": [step.answer for step in steps],
            "requests": [{"query": step.query} if step.query else {} for step in steps],
        }

    def make_answers(self, schema: JsonSchema, items: str) -> tuple[JsonValue, JsonValue]:
        """Return two small responses that match the schema, with different items."""

        def answer(wish: Which, variant: int) -> JsonValue:
            return self._answered.sample(schema, wish, seed="page", variant=variant)

        wish: Which = "smallest"
        first = answer(wish, 0)
        if not any(first[items] if items else first):
            wish = "example"
            first = answer(wish, 0)
        return first, answer(wish, 1)

    def check(self, schema: JsonSchema, value: JsonValue) -> JsonValue:
        """Return `value` if it matches the schema.

        Raises:
            CannotSampleError: it does not match.
        """
        if not self._answered.checker(schema)(value):
            raise CannotSampleError("a page that says whether more follow does not fit its schema")
        return value

    def iterate_values(self, schema: JsonSchema) -> Iterator[JsonValue]:
        """Yield distinct values of a parameter with this schema."""
        found: list[JsonValue] = []
        for variant in range(_TRIES):
            value = self._sent.sample(schema, "example", seed="page", variant=variant)
            if value not in found and value != "":
                found.append(value)
                yield value

    def choose_later_value(self, schema: JsonSchema) -> JsonValue:
        """Return a value for the next page (of an integer, the next one), or None."""
        value = next(self.iterate_values(schema), None)
        return value + 1 if isinstance(value, int) and self.may_be(schema, value + 1) else value

    def may_be(self, schema: JsonSchema, value: JsonValue) -> bool:
        """Whether a value of a parameter is valid."""
        return self._sent.checker(schema)(value)

    def is_scalar(self, schema: JsonSchema) -> bool:
        """Whether the values of a parameter are strings or integers."""
        return set(self._shapes.of(schema).types) in _SCALARS


class _Making:
    """Generation of the pages of one tool."""

    def __init__(self, tool: ToolPlan, rule: Pagination, smallest: Call, pages: Pages) -> None:
        self._tool = tool
        self._rule = rule
        self._pages = pages
        self._query: JsonObject = smallest.request["query"]
        (self._schema,), _ = list_response_schemas(tool.operation)
        size = self._query.get(rule.size)
        enough = 2 if rule.kind == "offset" else 1  # one more would be another page
        self._count = size if isinstance(size, int) else enough
        if self._count > _MOST_ITEMS:
            raise CannotSampleError(f"a page of {self._count} items is too long for a case")
        wanted: JsonSchema = {"type": "array", "minItems": self._count}
        if rule.items:
            wanted = {
                "type": "object",
                "properties": {rule.items: wanted},
                "required": [rule.items],
            }
        self._answers = pages.make_answers({"allOf": [self._schema, wanted]}, rule.items)

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
        yield _Step({}, {"link": moved, "body": self._copy_page(0)})
        yield _Step(moved, {"body": self._copy_page(1)})

    def _choose_link_query(self) -> JsonObject:
        """Return the query parameters of the link to the next page: a known one, or none."""
        for parameter in self._tool.operation.parameters:
            is_free = parameter.location == "query" and parameter.name not in self._query
            leads_on = parameter.name in _NAMES_IN_LINKS
            if is_free and leads_on and self._pages.is_scalar(parameter.schema):
                value = self._pages.choose_later_value(parameter.schema)
                return {} if value is None else {parameter.name: value}
        return {}

    def _iterate_counted(self) -> Iterator[_Step]:
        step = self._count if self._rule.kind == "offset" else 1
        first = self._query.get(self._rule.parameter, self._rule.first)
        schema = self._find_parameter_schema()
        for number in range(3):
            at = first + number * step
            if number and not self._pages.may_be(schema, at):
                raise CannotSampleError(f"`{self._rule.parameter}` may not be {at}")
            asked = {self._rule.parameter: at} if number else {}
            page = self._copy_page(number) if number < 2 else self._make_empty_page()
            yield _Step(asked, {"body": page})

    def _iterate_by_cursor(self) -> Iterator[_Step]:
        taken = self._query.get(self._rule.parameter)
        values = self._pages.iterate_values(self._find_parameter_schema())
        cursor = next((value for value in values if value != taken), None)
        if not isinstance(cursor, str | int) or isinstance(cursor, bool):
            raise CannotSampleError(f"`{self._rule.parameter}` has no second value")
        page = self._copy_page(0)
        if self._rule.kind == "cursor":
            _put(page, self._rule.cursor, cursor)
        else:
            page[self._rule.items][-1]["id"] = cursor
        yield _Step({}, {"body": self._mark_more(page, goes_on=True)})
        yield _Step({self._rule.parameter: cursor}, {"body": self._make_last_page()})

    def _make_last_page(self) -> JsonValue:
        """Return the last page, marked as such if its schema allows that."""
        page = self._copy_page(1)
        if self._rule.kind == "cursor" and not self._rule.more:
            for end in (None, ""):
                _put(page, self._rule.cursor, end)
                try:
                    return self._pages.check(self._schema, page)
                except CannotSampleError:
                    continue
            _drop(page, self._rule.cursor)
        return self._mark_more(page, goes_on=False)

    def _mark_more(self, page: JsonValue, *, goes_on: bool) -> JsonValue:
        if self._rule.more:
            page[self._rule.more] = goes_on
        return self._pages.check(self._schema, page)

    def _find_parameter_schema(self) -> JsonSchema:
        return next(
            parameter.schema
            for parameter in self._tool.operation.parameters
            if (parameter.location, parameter.name) == ("query", self._rule.parameter)
        )

    def _copy_page(self, number: int) -> JsonValue:
        return deepcopy(self._answers[number])  # samples are shared

    def _make_empty_page(self) -> JsonValue:
        page: JsonValue = []
        if self._rule.items:
            page = {**self._copy_page(1), self._rule.items: []}
        return self._pages.check(self._schema, page)


def _put(page: JsonObject, path: tuple[str, ...], value: JsonValue) -> None:
    for name in path[:-1]:
        page = page.setdefault(name, {})
    page[path[-1]] = value


def _drop(page: JsonObject, path: tuple[str, ...]) -> None:
    for name in path[:-1]:
        page = page.get(name, {})
    page.pop(path[-1], None)
