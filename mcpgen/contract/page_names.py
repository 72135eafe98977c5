"""Names of parameters and members by which APIs page their lists, folded (`fold`).

The planner recognizes lists by them, and servers read by them what the document does not describe.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

PAGES = frozenset({"currentpage", "page", "pageindex", "pageno", "pagenr", "pagenum", "pagenumber"})
OFFSETS = frozenset(
    {"firstresult", "itemoffset", "offset", "pageoffset", "recordoffset", "resultoffset", "skip"}
    | {"startat", "startoffset"}
)
"""Parameters that count items; the first one is 0 unless the document says otherwise."""
INDEXES = frozenset(
    {"from", "start", "startfrom", "startindex", "startposition", "startrecord", "startrow"}
)
"""Parameters that count items from 0 or from 1, and may mean something else."""
CURSORS: Mapping[str, str] = {
    "cursor": "nextcursor",
    "pagetoken": "nextpagetoken",
    "nexttoken": "nexttoken",
    "continuationtoken": "nextcontinuationtoken",
    "marker": "nextmarker",
}
"""Parameters that take a cursor, with the usual member for the next one."""
OTHER_CURSORS = frozenset(
    {"after", "aftercursor", "bookmark", "continuation", "continue", "cursormark", "endcursor"}
    | {"nextcursor", "nextpagetoken", "pageafter", "pagecursor", "paginationtoken", "scrollid"}
    | {"startingafter", "startkey", "token"}
)
ECHOES = frozenset(
    {"bookmark", "continuation", "continuationtoken", "continue", "cursor", "nextcursor"}
    | {"nextpagetoken", "nexttoken", "paginationtoken", "scrollid"}
)
"""Cursors that responses name as the parameter does."""
NEXT_CURSORS = frozenset(
    {"aftercursor", "cursornext", "endcursor", "next", "nextcontinuationtoken", "nextcursor"}
    | {"nextkey", "nextmarker", "nextpage", "nextpagecursor", "nextpagetoken", "nexttoken"}
)
"""Members for the next cursor, whatever its parameter is called."""
NEXT_URLS = frozenset(
    {"linknext", "next", "nexthref", "nextlink", "nextpage", "nextpagelink", "nextpagepath"}
    | {"nextpageuri", "nextpageurl", "nextpath", "nexturi", "nexturl", "odatanextlink"}
)
HREFS = frozenset({"href", "link", "uri", "url"})
LINKS = frozenset({"link", "links"})
"""Members with a list of links, each with its relation."""
LINK_MEMBERS = (("rel", "href"), ("relation", "url"))
"""Members of such a link for its relation and its URL; the second pair is that of FHIR Bundles."""
USUAL_CURSORS = frozenset(
    {"after", "aftercursor", "bookmark", "continuation", "continue", "cursormark"}
    | {"paginationtoken", "scrollid", "startingafter", "startkey"}
)
"""Cursors by their names if a parameter for the size of a page is beside them."""
HOLDERS = frozenset(
    {"cursor", "cursors", "cursorpagination", "header", "info", "link", "links", "listmetadata"}
    | {"meta", "metadata", "next", "nextlink", "nextpage", "page", "pageable", "pageinfo", "pager"}
    | {"pages", "pagination", "paginationinfo", "paginator", "paging", "responsemetadata"}
    | {"resultinfo"}
)
"""Members whose objects state how a list continues."""
MORE = "hasmore"  # a member that states whether another page follows
SIZES = frozenset({"limit", "pagesize", "perpage"})
"""Parameters for the number of items of a page; a page with fewer is the last."""
LIMITS = SIZES | frozenset(
    {"count", "first", "itemsperpage", "max", "maxcount", "maxitems", "maxkeys", "maxnum"}
    | {"maxpagesize", "maxresults", "num", "numresults", "pagelimit", "results", "resultsperpage"}
    | {"rows", "rpp", "size", "take", "top"}
)
"""Parameters that limit the items of a response."""
LISTS = frozenset(
    {"content", "data", "elements", "entities", "entries", "hits", "items", "list"}
    | {"objects", "records", "resources", "result", "results", "rows", "value", "values"}
)
"""Members with the items of a list."""
WRAPPERS = frozenset({"body", "embedded", "payload", "response"})
"""Members whose objects have all of a response, or its list."""
NO_LISTS = frozenset(
    {
        "aggregations",
        "errormessages",
        "errors",
        "facets",
        "included",
        "includes",
        "link",
        "links",
        "notices",
    }
    | {"warningmessages", "warnings"}
)
"""Members with a list that is not the one that is paged."""

_FIRST = (
    r"\b(?:{0})[- ](?:based|indexed)"
    r"|\b(?:start|begin|count)(?:s|ing)? (?:at|from|with) (?:{0})\b"
    r"|\bfirst page (?:is|has)\D{{0,20}}\b(?:{0})\b"
    r"|\bdefault(?:s|ed)?\b[^.\d]{{0,20}}\b(?:{0})\b(?!\.?\d)"
)
_LISTING = r"(?i)(?:get)?(?:list|search|find|query|browse|all)"


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """Return the letters of a name, in lower case."""
    return re.sub(r"[^a-z]", "", name.lower())


def find_described_first(description: str) -> int | None:
    """Return the number of the first page or item in a description; None if unclear."""
    patterns = ((0, _FIRST.format("0|zero")), (1, _FIRST.format("1|one")))
    found = [number for number, words in patterns if re.search(words, description, re.IGNORECASE)]
    return found[0] if len(found) == 1 else None


def is_list_name(path: str, operation_id: str) -> bool:
    """Return whether the names of an operation state that it lists something."""
    last = re.split(r"[/.]", path.partition("?")[0].removesuffix(".json").rstrip("/"))[-1]
    is_plural = last.lower().endswith("s") and not last.lower().endswith(("ss", "us"))
    is_list = is_plural or last.lower() in {"list", "query", "search"}
    return (is_list and "{" not in last) or bool(re.match(_LISTING, operation_id))


def rank_cursor(parameter: str, names: list[str]) -> int:
    """Return how well a member fits a parameter for a cursor, 1 best; 0 if it does not.

    `names` is the path of the member in a response. All names are folded.
    """
    last, parents = names[-1], names[:-1]
    if last in {f"next{parameter}", f"{parameter}next", CURSORS.get(parameter, "")}:
        return 1
    if last == parameter:
        if any(name.startswith("next") or name == "cursors" for name in parents):
            return 2
        is_after = parameter == "after" and bool(parents)
        return 3 if parameter in ECHOES or is_after else 0
    is_cursor = parameter in CURSORS or parameter in OTHER_CURSORS
    return 4 if is_cursor and last in NEXT_CURSORS else 0


def choose_list(names: Sequence[str], named: str = "") -> str:
    """Return which of these members has the items of a list; "" if it is unclear.

    `named` is the folded name of what is listed, if that is known.
    """
    if len(names) == 1:
        return names[0]
    for accepted in ({named, named.removesuffix("s")} - {""}, LISTS):
        found = [name for name in names if fold(name) in accepted or fold(name)[:-1] in accepted]
        if len(found) == 1:
            return found[0]
    return ""
