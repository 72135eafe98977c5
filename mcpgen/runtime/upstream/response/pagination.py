"""Pagination: join several pages of a list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, TypeAlias
from urllib.parse import unquote_plus

from msgspec import Struct

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http.messages import HttpResponse
from mcpgen.runtime.upstream.response.next_page import (
    PaginationRule,
    Step,
    follow_url,
    get_member,
    put_member,
    read_number,
)

Send: TypeAlias = Callable[[Step], Awaitable[tuple[HttpResponse, Any]]]


class Page(Struct, frozen=True):
    """A page of a list: the index of its first item, and the step that requests it.

    Indexes count from the page that the arguments request, whose step is None. So is that of a page
    whose number is not known yet.
    """

    first: int
    step: Step | None = None


class Paging(Struct):
    """Pagination of one call, and what it gathered."""

    rule: PaginationRule
    requested: int | None  # pages at most; None if the caller requested only one
    _credentials: Collection[str]  # in the query: links may repeat them, and each request adds them
    _max_bytes: int = DEFAULT_LIMITS.max_pages_bytes  # a model receives less than that anyway
    _max_requests: int = DEFAULT_LIMITS.max_pages
    wanted: tuple[str, ...] = ()  # where the result begins; pages before that are dropped
    place: tuple[str, ...] = ()  # of the list in a response
    notes: tuple[str, ...] = ()  # for the model
    failure: str = ""  # why the next page could not be fetched
    sent: tuple[str, ...] = ()  # the query of the first request, "name=value"
    pages: list[Page] = []  # of the gathered items; none without a list
    following: Page | None = None  # the next page, which was not fetched

    async def gather(
        self, response: HttpResponse, value: Any, query: Mapping[str, Any], send: Send
    ) -> tuple[HttpResponse, Any]:
        """Fetch the pages; return the last response, and the value with the items of all pages."""
        self.notes, self.failure, self.following, self.pages = (), "", None, []
        place = self._find_place(value)
        if place is None:
            self._note("The response has no list.")
            return response, value
        self.place, self.pages = place, [Page(0)]
        last = self._find_items(value)
        joined, size, requests = list(last), len(response.body), 1
        skip = self._count_skipped_items()
        visited: list[Step] = []
        while (step := self._find_next_step(response, value, last, query)) is not None:
            is_probe = self.rule.is_first_unknown and step == {self.rule.parameter: 1}
            end = self.pages[0].first + len(joined)
            are_skipped = joined and end <= skip
            self.following = Page(end, None if is_probe else step)
            is_enough = len(self.pages) >= (self.requested or 1) or size > self._max_bytes
            if self._must_end(step, visited, requests if are_skipped else 0):
                break
            if is_enough and not are_skipped:
                break
            try:
                answer, following = await send(step)
            except UpstreamError as error:
                if are_skipped:
                    raise
                self.failure = str(error)
                break
            visited.append(step)
            self.following = None
            items = self._find_items(following)
            requests, size = requests + 1, size + len(answer.body)
            query = {**query, **step} if isinstance(step, Mapping) else query
            if self.rule.is_assumed and _is_repeated(items, last):
                if is_probe:  # it is the first page again: pages count from 1
                    continue
                self._stop_at_repetition(step)
                break
            response = answer
            if not items and self.rule.kind in {"page", "offset"}:
                break
            value = following
            if are_skipped:
                joined, self.pages, size = [], [], len(answer.body)
            joined += items
            self.pages.append(Page(end, step))
            last = items
        return response, self._join(value, joined)

    def _must_end(self, step: Step, visited: list[Step], skipping: int) -> bool:
        """Whether a step leads nowhere new, or follows `skipping` requests for unwanted pages."""
        if step in visited or (self.rule.kind == "next" and step == self.sent):
            self._stop_at_repetition(step)
        elif skipping >= self._max_requests:
            self.notes = (f"The list goes on after {skipping} pages, the most of one call.",)
            self.following = None
        return self.following is None

    def describe(self) -> str:
        """Describe the gathered pages: "This is 2 pages; more follow"."""
        count = len(self.pages)
        shown = "This is 1 page" if count == 1 else f"This is {count} pages"
        if self.failure:
            return f"{shown}; the next one failed: {self.failure.removesuffix('.')}"
        return f"{shown}; more follow"

    def _find_place(self, value: Any) -> tuple[str, ...] | None:
        """Return the path of the list in a response; None if an assumed list has none."""
        place = self.rule.place
        if not self.rule.is_assumed or isinstance(get_member(value, place), list):
            return place
        from mcpgen.runtime.upstream.response.assumed_pages import find_list

        return find_list(value)

    def _find_next_step(
        self, response: HttpResponse, value: Any, items: list[Any], query: Mapping[str, Any]
    ) -> Step | None:
        if self.rule.is_assumed:
            from mcpgen.runtime.upstream.response.assumed_pages import find_step

            step, is_end = find_step(self.rule, response, value, items, query)
            if step is None and not is_end:
                self._note("The response does not say whether and where more items follow.")
        else:
            step = self.rule.find_next_step(response, value, items, query)
        return None if step is None else self._leave_out_credentials(step)

    def _note(self, text: str) -> None:
        """Add a note on pages that end early, if the caller requested more than the first one."""
        if (self.requested or 1) > 1 or self._count_skipped_items():
            why = " Paging is assumed from parameter names." if self.rule.is_assumed else ""
            self.notes = (*self.notes, text + why)

    def _stop_at_repetition(self, step: Step) -> None:
        self.following = None
        shown = "&".join(step if isinstance(step, tuple) else (f"{k}={v}" for k, v in step.items()))
        self._note(f"`{shown}` leads to items that were returned before; reading ended there.")

    def _find_items(self, value: Any) -> list[Any]:
        """Return the items of a page; [] if it violates its schema."""
        found = get_member(value, self.place)
        return found if isinstance(found, list) else []

    def _count_skipped_items(self) -> int:
        """Return the number of items before those that the caller requests."""
        inside = self.wanted[len(self.place) :]
        if not inside or self.wanted[: len(self.place)] != self.place:
            return 0
        return read_number(inside[0]) or 0

    def _join(self, value: Any, items: list[Any]) -> Any:
        """Return the value of the last page with the items of all pages."""
        if self.rule.kind == "next" and self._credentials:
            value = self._hide_credentials(value)
        return value if len(self.pages) == 1 else put_member(value, self.place, items)

    def _hide_credentials(self, value: Any) -> Any:
        """Return a value without the credentials that the URL of the next page repeats."""
        url = get_member(value, self.rule.cursor)
        step = follow_url(url) if isinstance(url, str) else None
        kept = None if step is None else self._leave_out_credentials(step)
        if kept is None or kept == step:
            return value
        return put_member(value, self.rule.cursor, f"{url.partition('?')[0]}?{'&'.join(kept)}")

    def _leave_out_credentials(self, step: Step) -> Step:
        if isinstance(step, Mapping):
            return step
        names = self._credentials
        return tuple(pair for pair in step if unquote_plus(pair.partition("=")[0]) not in names)


def _is_repeated(items: list[Any], before: list[Any]) -> bool:
    """Whether a page repeats the one before: an API ignores what it does not know."""
    if not items or not before:
        return False
    if isinstance(items[0], (dict, list)):
        return items[0] in before or items[-1] in before
    return items == before
