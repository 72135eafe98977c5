"""Pagination: find the next page of a list, and join several pages."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote, unquote_plus, urlsplit

from msgspec import Struct

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http.messages import HttpResponse, join_fields
from mcpgen.runtime.upstream.request.parameters import percent_encode

_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[^\s;,=]+(?:\s*=\s*(?:\"[^\"]*\"|[^\s;,\"]*))?)*)")
_NEXT = re.compile(r";\s*rel\s*=\s*+\"?(?:[^\";,]*\s)?next[\s\";,]?", re.IGNORECASE)
_MAX_LINK = 64 * 1024  # characters of all `Link` fields
_MAX_CURSOR = 8 * 1024  # characters; a longer one has no room in a URL
_MAX_SHOWN = 200
_LEGAL_IN_QUERY = "!$&'()*+,;=:@/?%"

Step: TypeAlias = "Mapping[str, Any] | tuple[str, ...]"
"""Parameters of the next request: values by wire name, or the pairs of its whole query."""

Send: TypeAlias = Callable[[Step], Awaitable[tuple[HttpResponse, Any]]]


class PaginationRule(Struct, frozen=True):
    """The `pagination` of a tool's contract.

    `kind` is "link", "cursor", "last_item" (the cursor is in the last item), "page" or "offset".
    """

    argument: str
    kind: str
    parameter: str = ""  # the wire name of the cursor, page or offset parameter
    items: str = ""  # the member with the list; "" if the response is the list
    cursor: tuple[str, ...] = ()  # path of the next cursor in the response or its last item
    first: int = 0  # the number of the first page
    size: str = ""  # the wire name of the page size
    more: str = ""  # the member that is true if another page follows

    def find_next_step(
        self, response: HttpResponse, value: Any, query: Mapping[str, Any]
    ) -> Step | None:
        """Return the step to the next page; None after the last page."""
        if self.kind == "link":
            return _follow_link(response)
        if self.more and not (isinstance(value, dict) and value.get(self.more) is True):
            return None
        if self.kind == "cursor":
            return self._follow_cursor(value, query)
        items = self.find_items(value)
        if self.kind == "last_item":
            return self._follow_cursor(items[-1] if items else None, query)
        wanted = query.get(self.size)
        if not items or (isinstance(wanted, int) and len(items) < wanted):
            return None
        current = query.get(self.parameter, self.first)
        if not isinstance(current, int):
            return None
        return {self.parameter: current + (len(items) if self.kind == "offset" else 1)}

    def _follow_cursor(self, value: Any, query: Mapping[str, Any]) -> Step | None:
        for name in self.cursor:
            value = value.get(name) if isinstance(value, dict) else None
        is_new = isinstance(value, (str, int)) and value not in {"", query.get(self.parameter)}
        if isinstance(value, str) and len(value) > _MAX_CURSOR:
            return None
        return {self.parameter: value} if is_new and not isinstance(value, bool) else None

    def find_items(self, value: Any) -> list[Any]:
        """Return the items of a page; [] if it violates its schema."""
        found = value.get(self.items) if self.items and isinstance(value, dict) else value
        return found if isinstance(found, list) else []


def _follow_link(response: HttpResponse) -> Step | None:
    """Return the query of the link to the next page (RFC 8288); its other parts are ignored."""
    for url, parameters in _LINK.findall(join_fields(response.headers, "link")[:_MAX_LINK]):
        if _NEXT.search(parameters):
            query = urlsplit(url).query
            return tuple(percent_encode(pair, _LEGAL_IN_QUERY) for pair in query.split("&") if pair)
    return None


@dataclass(slots=True)
class Paging:
    """Pagination of one call. `notes` tell the model about the remaining pages."""

    rule: PaginationRule
    _pages: int | None  # at most; None if the caller requested only one
    _credentials: Collection[str]  # in the query: links may repeat them, and each request adds them
    _max_bytes: int = DEFAULT_LIMITS.max_pages_bytes  # a model receives less than that anyway
    notes: tuple[str, ...] = ()

    async def gather(
        self, response: HttpResponse, value: Any, query: Mapping[str, Any], send: Send
    ) -> tuple[HttpResponse, Any]:
        """Fetch the pages; return the last response, and the value with the items of all pages."""
        joined, fetched, size = list(self.rule.find_items(value)), 1, len(response.body)
        while (step := self._find_next_step(response, value, query)) is not None:
            if fetched >= (self._pages or 1) or size > self._max_bytes:
                self._report_rest(step, fetched)
                break
            try:
                response, following = await send(step)
            except UpstreamError as error:
                self.notes = (f"This is {_format_count(fetched)}; the next one failed: {error}",)
                break
            items = self.rule.find_items(following)
            if not items and self.rule.kind in {"page", "offset"}:
                break
            joined += items
            value = following
            query = {**query, **step} if isinstance(step, Mapping) else query
            fetched, size = fetched + 1, size + len(response.body)
        if fetched == 1:
            return response, value
        return response, {**value, self.rule.items: joined} if self.rule.items else joined

    def _find_next_step(
        self, response: HttpResponse, value: Any, query: Mapping[str, Any]
    ) -> Step | None:
        step = self.rule.find_next_step(response, value, query)
        if isinstance(step, tuple):
            names = self._credentials
            return tuple(p for p in step if unquote_plus(p.partition("=")[0]) not in names)
        return step

    def _report_rest(self, step: Step, fetched: int) -> None:
        if self._pages is None and self.rule.kind != "link":
            return  # the content of a single page already tells how to continue
        pairs = step.items() if isinstance(step, Mapping) else (p.partition("=")[::2] for p in step)
        shown = " and ".join(
            f"`{unquote(str(name))}` = {unquote(str(item)[:_MAX_SHOWN])}" for name, item in pairs
        )
        self.notes = (f"This is {_format_count(fetched)}; more follow, from {shown}.",)


def _format_count(pages: int) -> str:
    return "1 page" if pages == 1 else f"{pages} pages"
