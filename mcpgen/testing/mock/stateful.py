"""Mock API with state: created items can be fetched, and deleted ones are gone.

Its responses are those of the stateless mock with the stored items inserted, and stay valid against
their schemas. Lists are filtered, sorted and cut into pages by the query of the request,
or by the body of a search (`list_queries`). No I/O, clock or randomness.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count, islice
from urllib.parse import quote, unquote

from msgspec.structs import replace

from mcpgen.jsonschema.samples import (
    CannotSampleError,
    fit_members,
    sample,
    sample_required_members,
)
from mcpgen.jsonschema.schemas import Schemas
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.http.messages import HttpResponse
from mcpgen.testing.mock.decode import DecodedRequest
from mcpgen.testing.mock.description import Description, Operation, Parameter
from mcpgen.testing.mock.item_collections import (
    ItemCollection,
    Shape,
    find_collections,
    find_item,
    find_list,
    fold_name,
    parameters_of,
    shape_of,
)
from mcpgen.testing.mock.list_queries import (
    ListPage,
    ListQuery,
    UnknownCursorError,
    describe_page,
)
from mcpgen.testing.mock.replies import (
    build_problem,
    build_response,
    build_usual_response,
    find_success,
)
from mcpgen.testing.mock.routes import match_path
from mcpgen.text.media_types import is_json

_NUMBER = re.compile(r"\d{1,18}")
_ENDING = re.compile(r"[0-9A-Za-z]{1,5}\Z")
_MOST_TRIES = 200  # to find an unused id
_SEARCHES = frozenset({"filter", "find", "list", "query", "search"})
_ABOUT_ITEMS = frozenset({"DELETE", "GET", "PATCH", "POST", "PUT"})


@dataclass(slots=True)
class _Items:
    """The items of one collection, by their ids as in paths."""

    by_id: dict[str, JsonObject]
    used: set[str]  # all ids so far, also of deleted items
    created: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _ItemRequest:
    """A valid request."""

    operation: Operation
    values: tuple[str, ...]  # of the path's parameters, in its order
    query: JsonObject
    body: JsonValue
    url: str
    accept: str


class StatefulApi:
    """The collections of an API; their initial items are the examples of the document."""

    def __init__(self, api: Description) -> None:
        self._by_shape, self.skipped = find_collections(api)
        self.collections = tuple(self._by_shape.values())
        self._api = api
        self._schemas = api.responses.schemas
        self._items: dict[tuple[Shape, tuple[str, ...]], _Items] = {}

    def forget(self) -> None:
        """Restore the initial items."""
        self._items.clear()

    def list_stored(self, path: str, source: str = "") -> list[JsonObject] | None:
        """Return the items of the collection at a concrete path, or None if it is not stored.

        "/shops/7/books" has the books of shop 7; a collection in a deleted item is empty.
        """
        for collection in self.collections:
            values = match_path(collection.path, path)
            if collection.shape[0] != source or values is None:
                continue
            within = tuple(unquote(values[name][0]) for name in parameters_of(collection.path))
            for enclosing in self._find_enclosing(*collection.shape):
                at = within[: enclosing.depth + 1]
                if at[-1] not in self._items_of(enclosing, at[:-1]).by_id:
                    return []
            return list(self._items_of(collection, within).by_id.values())
        return None

    def answer(
        self, operation: Operation, decoded: DecodedRequest, url: str, accept: str
    ) -> HttpResponse | None:
        """Execute a valid request; return None if it concerns no collection."""
        named = decoded.values("path")
        values = tuple(str(named.get(name, "")) for name in parameters_of(operation.path))
        body = decoded.body.value if decoded.body else None
        request = _ItemRequest(operation, values, decoded.values("query"), body, url, accept)
        source, shape = shape_of(operation)
        for collection in self._find_enclosing(source, shape):
            at = values[: collection.depth + 1]
            if at[-1] not in self._items_of(collection, at[:-1]).by_id:
                return build_response(operation, self._api, accept, 404)
            if operation.key in collection.operations and operation.method in _ABOUT_ITEMS:
                return self._handle_item(request, collection)
        if (target := self._find_search_target(operation, shape)) is not None:
            return self._list_items(request, target)
        own = self._by_shape.get((source, shape))
        if own is None or operation.method not in {"GET", "POST"}:
            return None
        return (
            self._list_items(request, own)
            if operation.method == "GET"
            else self._create_item(request, own)
        )

    def _find_search_target(self, operation: Operation, shape: str) -> ItemCollection | None:
        """Return the collection that a search with a body lists: POST /pets/search, QUERY /pets."""
        if operation.method == "QUERY":
            return self._by_shape.get((operation.source, shape))
        path, _, last = shape.rpartition("/")
        is_search = operation.method == "POST" and fold_name(last) in _SEARCHES
        return self._by_shape.get((operation.source, path)) if is_search else None

    def _find_enclosing(self, source: str, shape: str) -> Iterator[ItemCollection]:
        """Yield the collections whose items a path contains, outermost first."""
        for end in range(len(shape) + 1):
            if shape.endswith("/{}", 0, end) and shape[end : end + 1] in {"", "/"}:
                collection = self._by_shape.get((source, shape[:end].removesuffix("/{}")))
                if collection is not None:
                    yield collection

    def _items_of(self, collection: ItemCollection, within: tuple[str, ...]) -> _Items:
        key = collection.shape, within
        if key not in self._items:
            is_new = self._is_created(collection, within)
            by_id = {} if is_new else dict(self._read_seeds(collection))
            self._items[key] = _Items(by_id, set(by_id))
        return self._items[key]

    def _is_created(self, collection: ItemCollection, within: tuple[str, ...]) -> bool:
        """Return whether a collection belongs to a created item, so that it is initially empty."""
        return any(
            within[enclosing.depth] in self._items_of(enclosing, within[: enclosing.depth]).created
            for enclosing in self._find_enclosing(*collection.shape)
        )

    def _read_seeds(self, collection: ItemCollection) -> Iterator[tuple[str, JsonObject]]:
        """Yield the items in the examples of the document, by their ids."""
        shown = collection.item
        examples = [shown.example]
        for key in collection.operations:
            operation = self._api.operations[key]
            is_list = operation.method == "GET" and shape_of(operation) == collection.shape
            if is_list and (listed := find_list(operation, self._api)):
                examples = [*listed.example, shown.example]
        for item in examples:
            name = item.get(shown.id_property) if isinstance(item, dict) else None
            if isinstance(name, str | int) and self._schemas.fits(shown.schema, item):
                yield str(name), item

    # One item

    def _handle_item(self, request: _ItemRequest, collection: ItemCollection) -> HttpResponse:
        items, name = self._items_of(collection, request.values[:-1]), request.values[-1]
        item = items.by_id[name]
        if request.operation.method == "DELETE":
            del items.by_id[name]
        elif request.operation.method != "GET":
            item = items.by_id[name] = self._merge_body(request, collection, item)
        return self._build_item_response(request, collection, item)

    def _merge_body(
        self, request: _ItemRequest, collection: ItemCollection, item: JsonObject
    ) -> JsonObject:
        """Return the item after PUT, which replaces all declared members, or PATCH."""
        shown = collection.item
        sent = _extract_item(request.body, shown.member)
        if sent is None:
            return item
        declared: set[str] = set()
        if request.operation.method == "PUT":
            schemas = self._api.requests.schemas
            for media_type in request.operation.body:
                declared |= schemas.property_names(media_type.schema)
        kept = {name: value for name, value in item.items() if name not in declared}
        members = {**kept, **sent, shown.id_property: item[shown.id_property]}
        return fit_members(members, shown.schema, item, self._schemas)

    # The collection

    def _create_item(self, request: _ItemRequest, collection: ItemCollection) -> HttpResponse:
        items = self._items_of(collection, request.values)
        shown = collection.item
        sent = _extract_item(request.body, shown.member) or {}
        names = self._generate_ids(collection, items)
        requested_id = sent.get(shown.id_property)
        if isinstance(requested_id, str | int) and not isinstance(requested_id, bool):
            if str(requested_id) in items.by_id:
                return build_problem(409, f"`{requested_id}` exists already")
            names = chain([requested_id], names)
        for name in islice(names, _MOST_TRIES):
            members = {**sent, shown.id_property: name}
            item = fit_members(members, shown.schema, shown.example, self._schemas)
            if item.get(shown.id_property) == name:
                items.by_id[str(name)] = item
                items.used.add(str(name))
                items.created.add(str(name))
                answer = self._build_item_response(request, collection, item)
                return _add_location(answer, request.operation, request.url, str(name))
        return build_problem(409, "the schema allows no further id")

    def _generate_ids(self, collection: ItemCollection, items: _Items) -> Iterator[str | int]:
        """Yield unused ids that are valid in a path: the next number, else samples."""
        item, parameter = collection.item, collection.parameter
        schema = self._schemas.property_schema(item.schema, item.id_property)
        kinds = self._schemas.likely_types(schema)
        numbers = [int(name) for name in items.used if _NUMBER.fullmatch(name)]
        following = count(max(numbers, default=0) + 1)
        tried: Iterator[str | int] = iter(())
        if kinds & {"integer", "number"}:
            tried = islice(following, _MOST_TRIES)
        elif numbers and len(numbers) == len(items.used):
            tried = islice(map(str, following), _MOST_TRIES)
        of_item = _generate_samples(schema, parameter.name, self._schemas)
        of_path = _generate_samples(parameter.schema, parameter.name, self._api.requests.schemas)
        counted = _number_ids(items.used, schema, self._schemas)
        for name in chain(tried, of_item, of_path, counted):
            if str(name) not in items.used and self._can_name(parameter, name):
                yield name

    def _can_name(self, parameter: Parameter, name: str | int) -> bool:
        # A path may declare a number of an item as a number or as a text.
        spellings = [name, str(name), *([int(name)] if _NUMBER.fullmatch(str(name)) else [])]
        return any(self._api.requests.schemas.fits(parameter.schema, it) for it in spellings)

    def _list_items(self, request: _ItemRequest, collection: ItemCollection) -> HttpResponse | None:
        shown = find_list(request.operation, self._api)
        if shown is None:
            return None
        items = [*self._items_of(collection, request.values).by_id.values()]
        query = self._read_query(request)
        try:
            page = query.select(items, collection.item.id_property)
        except UnknownCursorError as error:
            return build_problem(400, str(error))
        example = next(iter(shown.example), None)
        listed: JsonValue = [
            fit_members(item, shown.schema, example, self._schemas) for item in page.items
        ]
        url = self._remove_credentials(request.url)
        if shown.member:
            # Optional members beside the list describe pages: most lists have only one.
            members = sample_required_members(shown.whole_schema, shown.whole, self._schemas)
            whole = {**members, shown.member: listed}
            listed = describe_page(whole, shown.whole_schema, page, url, self._schemas)
        usual = build_usual_response(request.operation, self._api, request.accept)
        return _link_page(_replace_json(usual, listed), request.operation, page, url)

    def _read_query(self, request: _ItemRequest) -> ListQuery:
        schemas, body = self._api.requests.schemas, request.body
        if request.operation.method == "GET" or not isinstance(body, dict):
            return ListQuery.of_query(request.operation, request.query, schemas)
        return ListQuery.of_body(request.operation.body[0].schema, body, schemas)

    def _remove_credentials(self, url: str) -> str:
        """Return a URL without the credentials in its query, for links to other pages."""
        schemes = self._api.security_schemes.values()
        names = {scheme.name for scheme in schemes if scheme.location == "query"}
        path, _, query = url.partition("?")
        pairs = [pair for pair in query.split("&") if unquote(pair.partition("=")[0]) not in names]
        return f"{path}?{'&'.join(pairs)}" if query else url

    def _build_item_response(
        self, request: _ItemRequest, collection: ItemCollection, item: JsonObject
    ) -> HttpResponse:
        """Return the usual response with this item in the place of its item."""
        usual = build_usual_response(request.operation, self._api, request.accept)
        shown = find_item(request.operation, collection.item.id_property, self._api)
        if shown is None:
            return usual
        value = fit_members(item, shown.schema, shown.example, self._schemas)
        return _replace_json(usual, {**shown.whole, shown.member: value} if shown.member else value)


def _generate_samples(schema: JsonSchema, seed: str, schemas: Schemas) -> Iterator[str | int]:
    for variant in range(1, _MOST_TRIES):
        try:
            name = sample(schema, schemas=schemas, seed=seed, variant=variant)
        except CannotSampleError:
            return
        if isinstance(name, str | int):
            yield name


def _number_ids(used: Iterable[str], schema: JsonSchema, schemas: Schemas) -> Iterator[str]:
    """Yield texts like a used id, with a number in the place of its end: "bot_00001"."""
    for name in sorted(used)[:1]:
        ending = _ENDING.search(name)
        start = ending.start() if ending else len(name)
        for number in range(1, _MOST_TRIES):
            counted = f"{name[:start]}{number:0{len(name) - start}}"
            if len(counted) == len(name) and schemas.fits(schema, counted):
                yield counted


def _extract_item(body: JsonValue, member: str) -> JsonObject | None:
    """Return the item of a body, which may be in the same member as in responses."""
    if isinstance(body, dict) and isinstance(body.get(member), dict):
        body = body[member]
    return body if isinstance(body, dict) else None


def _replace_json(usual: HttpResponse, value: JsonValue) -> HttpResponse:
    if not is_json(usual.header("Content-Type")):
        return usual
    return replace(usual, body=json.dumps(value, ensure_ascii=False).encode())


def _link_page(
    response: HttpResponse, operation: Operation, page: ListPage, url: str
) -> HttpResponse:
    """Add the link to the next page (RFC 8288) if the operation declares the header `Link`."""
    if page.is_in_body:
        return response
    following = page.find_next_url(url)
    link = f'<{following}>; rel="next"' if following else f'<{url}>; rel="last"'
    return _set_declared_header(response, operation, "Link", link)


def _add_location(
    response: HttpResponse, operation: Operation, url: str, name: str
) -> HttpResponse:
    """Add the `Location` of a created item if the operation declares the header."""
    place = f"{url.partition('?')[0].rstrip('/')}/{quote(name, safe='')}"
    return _set_declared_header(response, operation, "Location", place)


def _set_declared_header(
    response: HttpResponse, operation: Operation, name: str, value: str
) -> HttpResponse:
    """Return a response with another value of a header, if the operation declares the header."""
    described = find_success(operation)
    if described is None or not any(it.name.lower() == name.lower() for it in described.headers):
        return response
    others = tuple(it for it in response.headers if it[0].lower() != name.lower())
    return replace(response, headers=(*others, (name, value)))
