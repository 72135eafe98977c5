"""The next page of a list, found in a response by the contract of a tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from mcpgen.contract.page_names import LINK_MEMBERS
from mcpgen.runtime.upstream.http.messages import HttpResponse, join_fields
from mcpgen.runtime.upstream.request.parameters import percent_encode

_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[^\s;,=]+(?:\s*=\s*(?:\"[^\"]*\"|[^\s;,\"]*))?)*)")
_NEXT = re.compile(r";\s*rel\s*=\s*+\"?(?:[^\";,]*\s)?next[\s\";,]?", re.IGNORECASE)
_MAX_LINK = 64 * 1024  # characters of all `Link` fields
_MAX_CURSOR = 8 * 1024  # characters; a longer one has no room in a URL
_MAX_DIGITS = 12  # of the number of a page or an item
_LEGAL_IN_QUERY = "!$&'()*+,;=:@/?%"

Path: TypeAlias = tuple[str, ...]
"""Names of members, from the outermost object."""
Step: TypeAlias = "Mapping[str, Any] | tuple[str, ...]"
"""Parameters of the next request: values by wire name, or the pairs of its whole query."""


class PaginationRule(Struct, frozen=True):
    """The `pagination` of a tool's contract.

    `kind` is "link", "next" (the response has the URL of the next page, or its cursor), "cursor",
    "last_item" (the cursor is in the last item), "page" or "offset".
    """

    argument: str
    kind: str
    parameter: str = ""  # the wire name of the cursor, page or offset parameter
    body: tuple[str, ...] = ()  # path of `parameter` in the request body; () if it is in the query
    items: str = ""  # the member with the list; "" if the response is the list
    within: tuple[str, ...] = ()  # path of the object with that member
    cursor: tuple[str, ...] = ()  # path of the next cursor in the response or its last item
    first: int = 0  # the number of the first page or item
    size: str = ""  # the wire name of the page size, beside `parameter`
    more: str = ""  # the member that is true if another page follows
    is_assumed: bool = False  # the document describes a part only
    is_first_unknown: bool = False  # whether pages count from 0 or from 1

    @property
    def place(self) -> tuple[str, ...]:
        """The path of the list in a response."""
        return (*self.within, self.items) if self.items else ()

    def find_siblings(self, query: Mapping[str, Any], body: Any) -> Mapping[str, Any]:
        """Return the values that a request sends besides `parameter`, by wire name."""
        if not self.body:
            return query
        holder = get_member(body, self.body[:-1])
        return holder if isinstance(holder, dict) else {}

    def move(
        self, query: Mapping[str, Any], body: Any, step: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], Any]:
        """Return the query and the body of the request for a step; only `parameter` differs."""
        if self.body:
            return query, put_member(body, self.body, step[self.parameter])
        return {**query, **step}, body

    def find_next_step(
        self, response: HttpResponse, value: Any, items: list[Any], query: Mapping[str, Any]
    ) -> Step | None:
        """Return the step to the next page; None after the last page.

        `query` is what the request sent beside `parameter`, by wire name (`find_siblings`).
        """
        if self.kind == "link":
            return follow_link(response)
        if self.more and not (isinstance(value, dict) and value.get(self.more) is True):
            return None
        if self.kind in {"cursor", "next"}:
            found = get_member(value, self.cursor)
            step = follow_url(found) if self.kind == "next" else None
            if step is not None and self.body:  # a URL is not for a request with a body
                return None
            return step or self.follow_cursor(found, query)
        if self.kind == "last_item":
            last = items[-1] if items else None
            return self.follow_cursor(get_member(last, self.cursor), query)
        page_size = query.get(self.size)
        if not items or (isinstance(page_size, int) and len(items) < page_size):
            return None
        return self.count_on(items, query.get(self.parameter, self.first))

    def count_on(self, items: list[Any], current: Any) -> Step | None:
        """Return the step to the page after the one with the number, or the offset, `current`."""
        number = read_number(current)
        if number is None:
            return None
        return {self.parameter: number + (len(items) if self.kind == "offset" else 1)}

    def follow_cursor(self, value: Any, query: Mapping[str, Any]) -> Step | None:
        """Return the step to a cursor; None if there is none, or it is that of this page."""
        is_new = isinstance(value, (str, int)) and value not in ("", query.get(self.parameter))
        if not self.parameter or (isinstance(value, str) and len(value) > _MAX_CURSOR):
            return None
        if isinstance(value, int) and value < 0:  # -1 ends some lists
            return None
        return {self.parameter: value} if is_new and not isinstance(value, bool) else None


def get_member(value: Any, path: Path) -> Any:
    """Return the member at a path; None if there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def put_member(value: Any, path: Path, member: Any) -> Any:
    """Return a copy of a value with a new member at a path; add missing objects on the way."""
    if not path:
        return member
    whole = value if isinstance(value, dict) else {}
    return {**whole, path[0]: put_member(whole.get(path[0]), path[1:], member)}


def read_number(value: Any) -> int | None:
    """Return the number of a page or an item, which some APIs take as text."""
    if isinstance(value, str):
        is_index = value.isascii() and value.isdecimal() and len(value) <= _MAX_DIGITS
        return int(value) if is_index else None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if is_number and value == value // 1 else None


def follow_link(response: HttpResponse) -> Step | None:
    """Return the query of the link to the next page (RFC 8288); its other parts are ignored."""
    for url, parameters in _LINK.findall(join_fields(response.headers, "link")[:_MAX_LINK]):
        if _NEXT.search(parameters):
            return _split_query(url)
    return None


def follow_url(value: Any) -> Step | None:
    """Return the query of the URL of the next page; None if a value is no URL with a query.

    Its other parts are ignored: the request goes where the first one went, so that no credential
    goes anywhere else. `value` may be a list of objects with the members of `LINK_MEMBERS`.
    """
    if isinstance(value, list):
        value = next(_iterate_next_links(value), None)
    is_url = isinstance(value, str) and ("://" in value or value.startswith(("/", "?")))
    return (_split_query(value[:_MAX_LINK]) or None) if is_url else None


def _iterate_next_links(links: list[Any]) -> Iterator[Any]:
    for link in links:
        for relation, url in LINK_MEMBERS:
            if isinstance(link, dict) and link.get(relation) == "next":
                yield link.get(url)


def _split_query(url: str) -> tuple[str, ...]:
    try:
        query = urlsplit(url).query
    except ValueError:  # of an invalid host
        return ()
    return tuple(percent_encode(pair, _LEGAL_IN_QUERY) for pair in query.split("&") if pair)
