"""Pages of lists that the document describes only in part, detected from their responses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcpgen.contract.page_names import (
    HOLDERS,
    NEXT_URLS,
    NO_LISTS,
    choose_list,
    fold,
    rank_cursor,
)
from mcpgen.runtime.upstream.http.messages import HttpResponse, join_fields
from mcpgen.runtime.upstream.response.next_page import (
    PaginationRule,
    Step,
    follow_link,
    follow_url,
    get_member,
    read_number,
)

_DEPTH: Final = 2  # of objects around a list, or around the members that state how it continues
_LAST_RANK: Final = 5  # of a URL, after all members for the cursor itself
_MORE: Final = frozenset({"hasmore", "hasnext", "hasnextpage", "more", "moreavailable"})
_LAST_ITEMS: Final = frozenset({"after", "startingafter"})  # these often take the last `id`
_OTHER_PAGES: Final = re.compile(r";\s*rel\s*=\s*\"?(?:first|last|prev|self)", re.IGNORECASE)


def find_list(value: Any, depth: int = 0) -> tuple[str, ...] | None:
    """Return the path of the list in a response; None if there is none, or it is unclear which."""
    if isinstance(value, list):
        return ()
    if not isinstance(value, dict):
        return None
    lists = [
        name for name, it in value.items() if isinstance(it, list) and fold(name) not in NO_LISTS
    ]
    if lists or depth == _DEPTH:
        name = choose_list(lists)
        return (name,) if name else None
    found = [
        (name, *path)
        for name, it in value.items()
        if isinstance(it, dict)
        and fold(name) not in HOLDERS
        and (path := find_list(it, depth + 1)) is not None
    ]
    return found[0] if len(found) == 1 else None


def find_step(
    rule: PaginationRule,
    response: HttpResponse,
    value: Any,
    items: list[Any],
    query: Mapping[str, Any],
) -> tuple[Step | None, bool]:
    """Return the step to the next page, and whether the response shows that there is none.

    The response decides. Otherwise, pages and items are counted up to an empty page.
    """
    if not rule.body:  # a URL is not for a request with a body
        if step := follow_link(response):
            return step, False
        if _OTHER_PAGES.search(join_fields(response.headers, "link")):
            return None, True
    name, is_end, goes_on = fold(rule.parameter), False, False
    ranked: list[tuple[int, Step]] = []
    for path, member in _iterate_members(value):
        names = [*map(fold, path)]
        if names[-1] in _MORE and isinstance(member, bool):
            if not member:
                return None, True
            goes_on = True
        rank = rank_cursor(name, names)
        step = follow_url(member) if names[-1] in NEXT_URLS or _is_link(names) else None
        if step is not None and rule.body:
            goes_on = True
            continue
        if step is None and rank:
            step = rule.follow_cursor(member, query)
        if step is not None:
            ranked.append((rank or _LAST_RANK, step))
        is_end |= bool(rank or names[-1] in NEXT_URLS) and not isinstance(member, dict)
    if ranked:
        return min(ranked, key=lambda found: found[0])[1], False
    if rule.kind == "cursor" and goes_on and name in _LAST_ITEMS and items:
        return rule.follow_cursor(get_member(items[-1], ("id",)), query), False
    if is_end or rule.kind == "cursor":
        return None, is_end and not goes_on
    return _advance_number(rule, value, items, query), not items


def _advance_number(
    rule: PaginationRule, value: Any, items: list[Any], query: Mapping[str, Any]
) -> Step | None:
    """Return the step by number; to page 1 if it is unknown whether that is the first one."""
    if not items:
        return None
    current = query.get(rule.parameter)
    if current is None and rule.is_first_unknown:
        stated = (
            read_number(member)
            for path, member in _iterate_members(value)
            if fold(path[-1]) == fold(rule.parameter)
        )
        current = next((number for number in stated if number is not None), None)
        if current is None:
            return {rule.parameter: 1}
    return rule.count_on(items, rule.first if current is None else current)


def _iterate_members(
    value: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the members of a response and of the objects that state how lists continue."""
    if not isinstance(value, dict):
        return
    for name, member in value.items():
        yield (*path, name), member
        is_holder = fold(name) in HOLDERS or len(path) == 0
        if isinstance(member, dict) and is_holder and len(path) <= _DEPTH:
            yield from _iterate_members(member, (*path, name))


def _is_link(names: list[str]) -> bool:
    return names[-1] in {"href", "uri", "url"} and len(names) > 1 and names[-2] in NEXT_URLS
