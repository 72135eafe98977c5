"""Lists that come in pages: the next page of one, and several of them joined."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote, unquote_plus, urlsplit

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http import HttpResponse
from mcpgen.runtime.upstream.parameters import percent_encode

MAX_BYTES = 1024 * 1024  # of all pages; a model gets less than that anyway

_LINK = re.compile(r"<([^<>]*)>((?:\s*;\s*[^\s;,=]+(?:\s*=\s*(?:\"[^\"]*\"|[^\s;,\"]*))?)*)")
_NEXT = re.compile(r";\s*rel\s*=\s*\"?(?:[^\";,]*\s)?next[\s\";,]?", re.IGNORECASE)
_LEGAL_IN_QUERY = "!$&'()*+,;=:@/?%"

Step: TypeAlias = "Mapping[str, Any] | tuple[str, ...]"
"""What the next request has: values by wire name, or the pairs of its whole query."""

Send: TypeAlias = Callable[[Step], Awaitable[tuple[HttpResponse, Any]]]


@dataclass(frozen=True, slots=True)
class PaginationRule:
    """The `pagination` of a tool's contract.

    `kind` is "link", "cursor", "last_item" (whose cursor is in there), "page" or "offset".
    """

    argument: str
    kind: str
    parameter: str = ""  # the wire name of what moves on
    items: str = ""  # the member that holds the list; "" where the response is the list
    cursor: tuple[str, ...] = ()  # where the response, or its last item, has the next cursor
    first: int = 0  # the number of the first page
    size: str = ""  # the wire name of how many items a page has
    more: str = ""  # the member that is true where another page follows

    @classmethod
    def from_json(cls, entry: JsonObject) -> PaginationRule:
        """Read `pagination` as it stands in `tools/<tag>.json`."""
        return cls(**{**entry, "cursor": tuple(entry.get("cursor", ()))})

    def next_step(
        self, response: HttpResponse, value: Any, query: Mapping[str, Any]
    ) -> Step | None:
        """What leads from a page to the next one; None after the last."""
        if self.kind == "link":
            return _linked(response)
        if self.more and not (isinstance(value, dict) and value.get(self.more) is True):
            return None
        if self.kind == "cursor":
            return self._by_cursor(value, query)
        items = self.items_of(value)
        if self.kind == "last_item":
            return self._by_cursor(items[-1] if items else None, query)
        wanted = query.get(self.size)
        if not items or (isinstance(wanted, int) and len(items) < wanted):
            return None
        current = query.get(self.parameter, self.first)
        if not isinstance(current, int):
            return None
        return {self.parameter: current + (len(items) if self.kind == "offset" else 1)}

    def _by_cursor(self, value: Any, query: Mapping[str, Any]) -> Step | None:
        for name in self.cursor:
            value = value.get(name) if isinstance(value, dict) else None
        is_new = isinstance(value, (str, int)) and value not in {"", query.get(self.parameter)}
        return {self.parameter: value} if is_new and not isinstance(value, bool) else None

    def items_of(self, value: Any) -> list[Any]:
        """The items of a page; none where it departs from its description."""
        found = value.get(self.items) if self.items and isinstance(value, dict) else value
        return found if isinstance(found, list) else []


def _linked(response: HttpResponse) -> Step | None:
    """The query of the link to the next page (RFC 8288); the rest of it is not followed."""
    fields = ", ".join(value for name, value in response.headers if name.lower() == "link")
    for url, parameters in _LINK.findall(fields):
        if _NEXT.search(parameters):
            query = urlsplit(url).query
            return tuple(percent_encode(pair, _LEGAL_IN_QUERY) for pair in query.split("&") if pair)
    return None


class Paging:
    """One call's way through the pages. `notes` say what is left, for the model."""

    def __init__(
        self, rule: PaginationRule, pages: int | None, credentials: Collection[str] = ()
    ) -> None:
        """`pages` are at most fetched; None for a caller who did not ask for more than one.

        `credentials` are the names of query parameters that an API repeats in its links, and that
        each request gets anew.
        """
        self.rule = rule
        self._pages = pages
        self._credentials = credentials
        self.notes: tuple[str, ...] = ()

    async def gather(
        self, response: HttpResponse, value: Any, query: Mapping[str, Any], send: Send
    ) -> tuple[HttpResponse, Any]:
        """The last response, and the value with the items of all pages."""
        joined, fetched, size = list(self.rule.items_of(value)), 1, len(response.body)
        while (step := self._next_step(response, value, query)) is not None:
            if fetched >= (self._pages or 1) or size > MAX_BYTES:
                self._tell_of_rest(step, fetched)
                break
            try:
                response, following = await send(step)
            except UpstreamError as error:
                self.notes = (f"This is {_count(fetched)}, since the next one failed: {error}",)
                break
            items = self.rule.items_of(following)
            if not items and self.rule.kind in {"page", "offset"}:
                break
            joined += items
            value = following
            query = {**query, **step} if isinstance(step, Mapping) else query
            fetched, size = fetched + 1, size + len(response.body)
        if fetched == 1:
            return response, value
        return response, {**value, self.rule.items: joined} if self.rule.items else joined

    def _next_step(
        self, response: HttpResponse, value: Any, query: Mapping[str, Any]
    ) -> Step | None:
        step = self.rule.next_step(response, value, query)
        if isinstance(step, tuple):
            names = self._credentials
            return tuple(p for p in step if unquote_plus(p.partition("=")[0]) not in names)
        return step

    def _tell_of_rest(self, step: Step, fetched: int) -> None:
        if self._pages is None and self.rule.kind != "link":
            return  # the caller wanted one page, and its content tells how to go on
        pairs = step.items() if isinstance(step, Mapping) else (p.partition("=")[::2] for p in step)
        shown = " and ".join(
            f"`{unquote(str(name))}` = {unquote(str(item))}" for name, item in pairs
        )
        self.notes = (f"This is {_count(fetched)}; more follow, from {shown}.",)


def _count(pages: int) -> str:
    return "1 page" if pages == 1 else f"{pages} pages"
