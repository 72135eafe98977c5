"""Recognition of paginated lists: declared by the document, or assumed from usual names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.contract.page_names import (
    CURSORS,
    HOLDERS,
    INDEXES,
    LIMITS,
    LINKS,
    LISTS,
    OFFSETS,
    OTHER_CURSORS,
    PAGES,
    SIZES,
    USUAL_CURSORS,
    find_described_first,
    fold,
    is_list_name,
)
from mcpgen.diagnostics import Place
from mcpgen.ir.api import Operation, Parameter
from mcpgen.ir.tool_plan import Pagination
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.types import JsonSchema
from mcpgen.plan.arguments.media_types import is_json, rank_media_types
from mcpgen.plan.schemas.tool_schema import list_response_schemas
from mcpgen.plan.tools.paged_responses import (
    PagedResponse,
    Path,
    find_cursor,
    find_more,
    find_named_cursor,
    find_next_url,
    has_ids,
    is_open,
    is_url,
    may_have_list,
    read_response,
)

ARGUMENT = "max_pages"

_WITH_BODY: Final = frozenset({"POST", "QUERY"})
_VERBS: Final = frozenset({"all", "find", "get", "list", "lookup", "query", "search"})
_BODY_HOLDERS: Final = frozenset({"options", "pageoptions", "pagerequest", "pagingoptions"})
"""Members of bodies whose objects select the page, in addition to those of responses."""

_LAST_IDS: Final = {"after": "lastid"}  # cursors only if there is a `has_more`
_LAST_ITEMS: Final = frozenset({"startingafter"})  # parameters that take the `id` of the last item
_POSITIONS: Final = frozenset(
    {*CURSORS, *_LAST_IDS, *_LAST_ITEMS, "offset", "page", "pagenumber", "skip"}
)
_TIME: Final = re.compile(r"\b(?:date|time|timestamp)\b", re.IGNORECASE)
_INDEX: Final = re.compile(
    r"\b(?:offset|index|position|pagina\w+|first (?:item|record|result|row))\b", re.IGNORECASE
)
_NO_ITEMS: Final = re.compile(
    r"\bpage (?:index|no|num|number)\b|\b(?:number|index) of (?:the )?(?:\w+ )?page\b"
    r"|\btime ?stamp\b",
    re.IGNORECASE,
)
"""Units of an offset other than items."""
_TOKEN: Final = re.compile(r"\b(?:cursor|token)\b", re.IGNORECASE)
_PAGED: Final = re.compile(r"\b(?:cursor|next|pag(?:e|es|ing|inat\w+))\b", re.IGNORECASE)
_BARE_CURSORS: Final = frozenset({*CURSORS, "nextpagetoken", "pageafter", "pagecursor"})
"""Cursors whose names leave no doubt, even if nothing describes the response."""


def recognize_pagination(
    operation: Operation, requests: Shapes, responses: Shapes
) -> Pagination | None:
    """Return how an operation paginates its list, or None if it does not, or it is unclear how.

    It is assumed, and marked so, where the document lacks a part of what a caller must know: the
    response, its member for the next cursor, or the number of the first page. Pages are requested
    in the query, or in the body of a POST or QUERY. Whether a POST may be sent again is not
    decided here.
    """
    if operation.method not in {"GET", *_WITH_BODY}:
        return None
    query = [it for it in operation.parameters if it.location == "query"]
    if any(parameter.name == ARGUMENT for parameter in operation.parameters):
        return None
    in_query = _Recognition(operation, query, requests, responses).decide()
    if operation.method not in _WITH_BODY or operation.declared is not None:
        return in_query
    in_body = [
        replace(
            found,
            body=(*path, found.parameter),
            evidence=f"{found.evidence}; `{'.'.join((*path, found.parameter))}` is in the body",
        )
        for path, fields in _iterate_body_fields(operation, requests)
        if (found := _Recognition(operation, fields, requests, responses).decide())
    ]
    if len(in_body) != 1:
        return in_query
    # Some documents repeat a member of the body as a parameter of the query.
    is_clear = in_query is None or in_query.parameter == in_body[0].parameter
    return in_body[0] if is_clear else in_query


def _find_listed_path(operation: Operation) -> str:
    """Return the path that names the listed items: "/transactions" of a POST /transactions/get."""
    path, _, last = operation.path.rstrip("/").rpartition("/")
    return path if operation.method in _WITH_BODY and fold(last) in _VERBS else operation.path


def _iterate_body_fields(
    operation: Operation, requests: Shapes
) -> Iterator[tuple[Path, list[Parameter]]]:
    """Yield the members of a body, and those of the objects in it that select the page."""
    content = rank_media_types(operation.body_content)
    if not content or content[0].schema is None or not is_json(content[0].media_type):
        return
    fields = _list_fields(content[0].schema, content[0].at, requests)
    if any(it.name == ARGUMENT for it in fields):
        return
    yield (), fields
    for field in fields:
        if fold(field.name) in HOLDERS or fold(field.name) in _BODY_HOLDERS:
            yield (field.name,), _list_fields(field.schema, field.at, requests)


def _list_fields(schema: JsonSchema, at: Place, requests: Shapes) -> list[Parameter]:
    """Return the members of an object as if they were parameters."""
    shape = requests.of(schema)
    if {*shape.types} - {"null"} != {"object"}:
        return []
    needed = shape.keywords.get("required", ())
    return [
        Parameter(
            name=name,
            location="body",
            required=name in needed,
            schema=member,
            style="",
            explode=False,
            at=at,
            description=str(requests.of(member).keywords.get("description", "")),
        )
        for name, member in shape.keywords.get("properties", {}).items()
    ]


def is_page_position(name: str) -> bool:
    """Return whether a parameter of this name is the start position of a page."""
    return fold(name) in _POSITIONS


def find_size_parameter(operation: Operation) -> str:
    """Return the query parameter for the number of items of a page, or ""."""
    return _find_size(item for item in operation.parameters if item.location == "query")


def _find_size(fields: Iterable[Parameter]) -> str:
    return next((item.name for item in fields if fold(item.name) in SIZES), "")


class _Counter(Struct, frozen=True):
    """A parameter that counts pages or items; `first` is None if its first value is unclear."""

    kind: str  # "page" or "offset"
    name: str
    first: int | None
    is_number: bool  # by its type or its default
    evidence: str


class _Recognition:
    """Recognition of the pagination of one operation by some of the fields of its requests."""

    def __init__(
        self,
        operation: Operation,
        fields: Sequence[Parameter],
        requests: Shapes,
        responses: Shapes,
    ) -> None:
        self._operation = operation
        self._responses = responses
        self._requests = requests
        # A list of cursors continues several things at once.
        self._fields = [it for it in fields if not self._takes_parts(it)]
        self._names = {fold(it.name) for it in fields}
        self._counters = list(self._iterate_counters())
        self._size = _find_size(fields)

    def decide(self) -> Pagination | None:
        """Return the pagination that the document describes, or else indicates."""
        operation, responses = self._operation, self._responses
        if not self._fields and operation.method != "GET":
            return None  # only a GET can follow a link or a URL instead
        schemas, _ = list_response_schemas(operation)
        for schema in schemas:
            response = read_response(schema, responses, _find_listed_path(operation))
            if response is not None:
                return self._recognize(response)
        has_content = any(it.content for it in operation.responses if it.status.startswith("2"))
        if not schemas and has_content:
            return None  # it is no JSON
        if all(is_open(schema, responses) for schema in schemas):
            return self._assume()
        is_partial = all(may_have_list(schema, responses) for schema in schemas)
        is_listing = is_list_name(operation.path, operation.operation_id) and self._has_limit
        return self._assume() if is_partial and is_listing else None

    @property
    def _has_limit(self) -> bool:
        """Whether a parameter limits the items of a response."""
        return bool(self._names & LIMITS)

    def _recognize(self, response: PagedResponse) -> Pagination | None:
        """Return the pagination of a list that the document describes."""
        place = response.items
        listed = f"the list is `{'.'.join(place)}`" if place else "the response is the list"

        def describe(
            kind: str, parameter: str, evidence: str, cursor: Path = (), more: str = ""
        ) -> Pagination:
            return Pagination(
                kind,
                parameter,
                items=place[-1] if place else "",
                within=place[:-1],
                cursor=cursor,
                more=more,
                evidence=f"{evidence}; {listed}",
            )

        can_follow_urls = self._operation.method == "GET"  # others have a body, or are no GET
        if can_follow_urls and _has_link(self._operation):
            return describe("link", "", "the response has a header `Link`")
        more = find_more(response, self._responses)
        for parameter in self._fields if not self._has_switch() else ():
            name = fold(parameter.name)
            if cursor := self._find_cursor(parameter, response, more):
                shown = f"`{parameter.name}` continues at `{'.'.join(cursor)}`"
                is_either = fold(cursor[-1]) in {"next", "nextpage"} and name not in PAGES
                kind = "next" if is_either else "cursor"
                return describe(kind, parameter.name, shown, cursor, more)
            if more and self._takes_id(parameter) and has_ids(response, self._responses):
                shown = f"`{parameter.name}` takes the `id` of the last item, while `{more}`"
                return describe("last_item", parameter.name, shown, ("id",), more)
        url = find_next_url(response, self._responses)
        has_url = can_follow_urls and bool(url) and self._is_next_page(url, response)
        if counter := None if has_url and self._has_token() else self._find_sure_counter():
            counted = describe(counter.kind, counter.name, counter.evidence)
            size = self._size if counter.kind == "page" or counter.first == 0 else ""
            return replace(counted, first=counter.first or 0, size=size)
        if has_url:
            return describe("next", "", f"`{'.'.join(url)}` has the URL of the next page", url)
        found = self._assume()
        if found is None:
            return None
        return replace(found, items=place[-1] if place else "", within=place[:-1])

    def _find_sure_counter(self) -> _Counter | None:
        """Return the first parameter that counts from a known number."""
        is_list = is_list_name(self._operation.path, self._operation.operation_id)
        for counter in self._counters:
            is_paged = counter.kind == "page" or self._has_limit or is_list
            if counter.first is not None and counter.is_number and is_paged:
                return counter
        return None

    def _assume(self) -> Pagination | None:
        """Return the pagination that the names of parameters indicate."""
        has_limit = self._has_limit
        is_list = is_list_name(self._operation.path, self._operation.operation_id)
        for parameter in self._fields:
            name = fold(parameter.name)
            is_sure = (name in _BARE_CURSORS and has_limit) or self._is_token(parameter)
            is_sure |= name in _BARE_CURSORS and is_list
            is_usual = name in USUAL_CURSORS and has_limit
            if (is_sure or is_usual) and self._takes_cursors(parameter, is_sure=is_sure):
                shown = f"`{parameter.name}` is a cursor by its name"
                evidence = f"{shown}; the document does not describe the next one"
                return Pagination("cursor", parameter.name, is_assumed=True, evidence=evidence)
        for counter in self._counters:
            counts_pages = counter.kind == "page"
            if not has_limit and not (counts_pages and is_list):
                continue
            is_known = counter.first is not None
            lacking = "; the document describes a part only" if is_known else ""
            return Pagination(
                counter.kind,
                counter.name,
                first=int(counts_pages) if counter.first is None else counter.first,
                is_assumed=True,
                is_first_unknown=counts_pages and not is_known,
                evidence=counter.evidence + lacking,
            )
        return None

    def _find_cursor(self, parameter: Parameter, response: PagedResponse, more: str) -> Path:
        name, described = fold(parameter.name), self._describe(parameter)
        if more and name in _LAST_IDS:
            for path in response.members:
                if fold(path[-1]) == _LAST_IDS[name]:
                    return path
        if name == "token" and parameter.location == "body" and not _PAGED.search(described):
            return ()  # a body may have a credential
        takes_cursor = name in CURSORS or name in OTHER_CURSORS or name in PAGES | OFFSETS
        if not takes_cursor:
            return ()
        found = find_cursor(parameter.name, response, self._responses)
        return found or find_named_cursor(described, response, self._responses)

    def _takes_id(self, parameter: Parameter) -> bool:
        name = fold(parameter.name)
        is_id = " id" in f" {parameter.description.lower()}"
        return name in _LAST_ITEMS or (name == "after" and is_id)

    def _has_switch(self) -> bool:
        """Whether cursors are returned only on request: `usemarker`."""
        return any(name.startswith("use") and name[3:] in CURSORS for name in self._names)

    def _has_token(self) -> bool:
        """Whether a parameter takes a token, so that counting is not the way to the next page."""
        return any(name in CURSORS or name in OTHER_CURSORS for name in self._names)

    def _is_next_page(self, path: Path, response: PagedResponse) -> bool:
        """Whether a member is about the pages of the list: a thing with parts can have one too."""
        name = fold(path[-1])
        is_paged = self._has_limit or bool(self._names & (PAGES | OFFSETS)) or self._has_token()
        if is_paged:
            return True
        last = response.items[-1] if response.items else "items"
        is_list = is_list_name(self._operation.path, self._operation.operation_id)
        is_item = name in {"next", "href"} and self._operation.path.endswith("}") and not is_list
        if name in LINKS or is_item or not (is_list or fold(last) in LISTS):
            return False
        if name != "next" or len(path) > 1:
            return True
        beside = {fold(it[-1]) for it in response.members if len(it) == 1}
        has_signs = bool(beside & {"prev", "previous", "count", "total"})
        return has_signs or is_url(response.members[path], self._responses)

    def _takes_parts(self, parameter: Parameter) -> bool:
        """Whether a parameter takes only lists or objects."""
        types = {*self._requests.of(parameter.schema).types} - {"null"}
        return bool(types) and types <= {"array", "object"}

    def _is_token(self, parameter: Parameter) -> bool:
        """Whether a parameter named as if it counted takes a token, by its description."""
        is_text = self._requests.of(parameter.schema).types == ("string",)
        is_named = fold(parameter.name) in PAGES | OFFSETS
        return is_text and is_named and bool(_TOKEN.search(parameter.description))

    def _takes_cursors(self, parameter: Parameter, *, is_sure: bool) -> bool:
        """Whether an optional parameter is a text, or a sure name a number, and no time."""
        shape = self._requests.of(parameter.schema)
        types = {"string", "integer", "number"} if is_sure else {"string"}
        is_text = not shape.types or bool(types & {*shape.types})
        is_time = shape.keywords.get("format") in ("date", "date-time")
        is_time |= bool(_TIME.search(parameter.description))
        return is_text and not is_time and not parameter.required

    def _iterate_counters(self) -> Iterator[_Counter]:
        """Yield the parameters that count pages, then those that count items."""
        for kind, names in (("page", PAGES), ("offset", OFFSETS | INDEXES)):
            for parameter in self._fields:
                name = fold(parameter.name)
                name = name.removeprefix("page") if name not in names else name
                if name in names and (counter := self._read_counter(kind, name, parameter)):
                    yield counter

    def _describe(self, parameter: Parameter) -> str:
        keywords = self._requests.of(parameter.schema).keywords
        return parameter.description or str(keywords.get("description", ""))

    def _read_counter(self, kind: str, name: str, parameter: Parameter) -> _Counter | None:
        shape = self._requests.of(parameter.schema)
        types, default = {*shape.types} - {"null"}, shape.keywords.get("default")
        is_number = bool(types & {"integer", "number"})
        if isinstance(default, str) and default.isdecimal():
            default, is_number = int(default), True
        if types and not is_number and types != {"string"}:
            return None
        described = self._describe(parameter)
        if kind == "offset" and _NO_ITEMS.search(described):
            return None
        first, source = default, "its default"
        if first is None:
            first, source = find_described_first(described), "its description"
        if first is None:
            first, source = shape.keywords.get("minimum"), "its minimum"
        if isinstance(first, bool) or first not in (0, 1, None):
            return None
        unit = "pages" if kind == "page" else "items"
        if first is None and name in OFFSETS:
            first, source = 0, "as is usual"
        if first is None:
            is_clear = is_number and _INDEX.search(parameter.description)
            if name in INDEXES and not is_clear:
                return None
            evidence = (
                f"`{parameter.name}` counts {unit}; the document does not state the first number"
            )
            return _Counter(kind, parameter.name, None, is_number, evidence)
        evidence = f"`{parameter.name}` counts {unit} from {int(first)}, {source}"
        return _Counter(kind, parameter.name, int(first), is_number, evidence)


def _has_link(operation: Operation) -> bool:
    """Whether a successful response has a `Link` header (RFC 8288)."""
    return any(
        header.name.lower() == "link"
        for response in operation.responses
        if response.status.startswith("2")
        for header in response.headers
    )
