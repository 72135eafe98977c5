"""Test cases of paginated lists: the pages that the API returns, and the expected requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from mcpgen.contract.page_names import CURSORS, LINK_MEMBERS, OFFSETS, OTHER_CURSORS, PAGES, fold
from mcpgen.ir.tool_plan import Pagination, ToolPlan
from mcpgen.jsonschema.samples import CannotSampleError, Which
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.jsonschema.values import copy_value
from mcpgen.plan.cases.calls import Call, Calls
from mcpgen.plan.schemas.tool_schema import list_response_schemas
from mcpgen.plan.tools.pagination import ARGUMENT

_TRIES = 6
_MOST_ITEMS = 10
_SCALARS = ({"string"}, {"integer"})
_NAMES_IN_LINKS = ("page", "cursor", "after", "offset", "page_token", "since")

_SOME_URL = "https://api.example/list"
_NAMES_IN_URLS = PAGES | OFFSETS | OTHER_CURSORS | CURSORS.keys()  # folded

_Step: TypeAlias = tuple[JsonObject, JsonObject]
"""Additions of a request to the smallest one (in the query or the body), and the page."""


def make_pages(tool: ToolPlan, smallest: Call, calls: Calls) -> JsonObject | None:
    """Return the `pages` of an entry: two with items, and the end of the list.

    None if the tool has no pages, or only assumed ones: the document does not describe them.

    Raises:
        CannotSampleError: no valid pages were generated.
    """
    rule = tool.pagination
    if rule is None or rule.is_assumed:
        return None
    making = _Making(tool, rule, smallest, calls)
    steps = list(making.steps())
    return {
        "argument": ARGUMENT,
        "items": rule.items,
        **({"within": list(rule.within)} if rule.within else {}),
        "replies": [reply for _, reply in steps],
        "requests": [making.describe_request(sent) if sent else {} for sent, _ in steps],
    }


class _Making:
    """Generation of the pages of one tool."""

    def __init__(self, tool: ToolPlan, rule: Pagination, smallest: Call, calls: Calls) -> None:
        self._tool = tool
        self._rule = rule
        self._calls = calls
        self._smallest = smallest.request
        self._sent: JsonObject = smallest.request["query"]
        if rule.body:
            body = smallest.request.get("body", {})
            for name in rule.body[:-1]:
                body = body.get(name) or {}
            self._sent = body
        (self._schema,), _ = list_response_schemas(tool.operation)
        size = self._sent.get(rule.size)
        enough = 2 if rule.kind == "offset" else 1  # one more would be another page
        self._count = size if isinstance(size, int) else enough
        if self._count > _MOST_ITEMS:
            raise CannotSampleError(f"a page of {self._count} items is too long for a case")
        self._place = (*rule.within, rule.items) if rule.items else ()
        expected: JsonSchema = {"type": "array", "minItems": self._count}
        for name in reversed(self._place):
            expected = {"type": "object", "properties": {name: expected}, "required": [name]}
        self._pages = self._sample_pages({"allOf": [self._schema, expected]})

    def _sample_pages(self, schema: JsonSchema) -> tuple[JsonValue, JsonValue]:
        """Return two small pages that match the schema, with different items."""

        def sample(selection: Which, variant: int) -> JsonValue:
            return self._calls.answered.sample(schema, selection, seed="page", variant=variant)

        selection: Which = "smallest"
        first = sample(selection, 0)
        if not any(_find(first, self._place)):
            selection = "example"
            first = sample(selection, 0)
        return first, sample(selection, 1)

    def describe_request(self, sent: JsonObject) -> JsonObject:
        """Return the parts of a request that differ from the smallest one."""
        if not self._rule.body:
            return {"query": sent}
        body = copy_value(self._smallest.get("body", {}))
        holder = body
        for name in self._rule.body[:-1]:
            holder = holder.setdefault(name, {})
        holder |= sent
        usual = {"content_type": self._tool.body[0].media_type}
        return {"body": body, **({} if "body" in self._smallest else usual)}

    def steps(self) -> Iterator[_Step]:
        """Yield two pages with their requests, and the empty page at the end if there is one."""
        if self._rule.kind == "link":
            yield from self._iterate_linked()
        elif self._rule.kind in ("page", "offset"):
            yield from self._iterate_counted()
        elif not self._rule.parameter:
            yield from self._iterate_by_url()
        else:
            yield from self._iterate_by_cursor()

    def _iterate_linked(self) -> Iterator[_Step]:
        moved = self._choose_link_query()
        yield {}, {"link": moved, "body": self._copy_page(0)}
        yield moved, {"body": self._copy_page(1)}

    def _iterate_by_url(self) -> Iterator[_Step]:
        moved = self._choose_link_query(lambda name: fold(name) in _NAMES_IN_URLS)
        if not moved:
            raise CannotSampleError("no parameter is known to be in the URL of the next page")
        last = self._make_last_page()
        place = {"link_at": list(self._rule.cursor), **self._describe_links()}
        yield {}, {"link": moved, **place, "body": self._copy_page(0)}
        yield moved, {"body": last}

    def _describe_links(self) -> JsonObject:
        """Return the members of a link as `link_members`, where the URL is in a list of links."""
        for relation, url in LINK_MEMBERS:
            page = self._copy_page(0)
            _put(page, self._rule.cursor, [{relation: "next", url: _SOME_URL}])
            if self._is_valid(page):
                _put(page, self._rule.cursor, _SOME_URL)
                return {} if self._is_valid(page) else {"link_members": [relation, url]}
        return {}

    def _choose_link_query(
        self, leads: Callable[[str], bool] = _NAMES_IN_LINKS.__contains__
    ) -> JsonObject:
        """Return the query parameters of the link to the next page: a known one, or none."""
        for parameter in self._tool.operation.parameters:
            is_free = parameter.location == "query" and parameter.name not in self._sent
            leads_on = leads(parameter.name)
            schema = parameter.schema
            if is_free and leads_on and set(self._calls.shapes.of(schema).types) in _SCALARS:
                value = self._choose_later_value(schema)
                return {} if value is None else {parameter.name: value}
        return {}

    def _choose_later_value(self, schema: JsonSchema) -> JsonValue:
        """Return a value for the next page (of an integer, the next one), or None."""
        value = next(self._iterate_values(schema), None)
        if isinstance(value, int) and self._calls.sent.fits(schema, value + 1):
            return value + 1
        return value

    def _iterate_values(self, schema: JsonSchema) -> Iterator[JsonValue]:
        """Yield distinct values of a parameter with this schema."""
        found: list[JsonValue] = []
        for variant in range(_TRIES):
            value = self._calls.sent.sample(schema, "example", seed="page", variant=variant)
            if value not in found and value != "":
                found.append(value)
                yield value

    def _iterate_counted(self) -> Iterator[_Step]:
        at = self._sent.get(self._rule.parameter, self._rule.first)
        schema = self._find_parameter_schema()
        for number in range(3):
            if number and not self._calls.sent.fits(schema, at):
                raise CannotSampleError(f"`{self._rule.parameter}` may not be {at}")
            addition = {self._rule.parameter: at} if number else {}
            page = self._copy_page(number) if number < 2 else self._make_empty_page()
            yield addition, {"body": page}
            # An example may have more items than a page needs.
            at += len(_find(page, self._place)) if self._rule.kind == "offset" else 1

    def _iterate_by_cursor(self) -> Iterator[_Step]:
        taken = self._sent.get(self._rule.parameter)
        values = self._iterate_values(self._find_parameter_schema())
        cursor = next((value for value in values if value != taken), None)
        if not isinstance(cursor, str | int) or isinstance(cursor, bool):
            raise CannotSampleError(f"`{self._rule.parameter}` has no second value")
        page = self._copy_page(0)
        if self._rule.kind == "last_item":
            _find(page, self._place)[-1]["id"] = cursor
        else:
            _put(page, self._rule.cursor, cursor)
        yield {}, {"body": self._mark_more(page, goes_on=True)}
        yield {self._rule.parameter: cursor}, {"body": self._make_last_page()}

    def _make_last_page(self) -> JsonValue:
        """Return the last page, marked as such if its schema allows that."""
        page = self._copy_page(1)
        if self._rule.kind != "last_item" and not self._rule.more:
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
        if self._rule.body:
            schema = self._calls.body_schema(self._tool.body[0])
            for name in self._rule.body:
                schema = self._calls.shapes.of(schema).keywords["properties"][name]
            return schema
        return next(
            parameter.schema
            for parameter in self._tool.operation.parameters
            if (parameter.location, parameter.name) == ("query", self._rule.parameter)
        )

    def _copy_page(self, number: int) -> JsonValue:
        return copy_value(self._pages[number])  # samples are shared

    def _make_empty_page(self) -> JsonValue:
        if not self._place:
            return self._check([])
        page = self._copy_page(1)
        _put(page, self._place, [])
        return self._check(page)

    def _check(self, page: JsonValue) -> JsonValue:
        """Return a page if it matches the schema of the response."""
        if not self._is_valid(page):
            raise CannotSampleError("a page that says whether more follow does not fit its schema")
        return page

    def _is_valid(self, page: JsonValue) -> bool:
        return self._calls.answered.fits(self._schema, page)


def _find(page: JsonValue, path: tuple[str, ...]) -> JsonValue:
    for name in path:
        page = page[name]
    return page


def _put(page: JsonObject, path: tuple[str, ...], value: JsonValue) -> None:
    for name in path[:-1]:
        page = page.setdefault(name, {})
    page[path[-1]] = value


def _drop(page: JsonObject, path: tuple[str, ...]) -> None:
    for name in path[:-1]:
        page = page.get(name, {})
    page.pop(path[-1], None)
