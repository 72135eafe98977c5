"""`mcpgen test --update`: what the cases of `mcpgen.tests.yaml` expect, recorded anew.

Recorded is what a call sends and gives back. What a person decides stays as it is written: whether
a call fails, which operation it calls, that nothing is sent, and what the text must say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import yaml
from msgspec import UNSET

from mcpgen.factory.test.own_cases import Observed, decode_values, request_problems
from mcpgen.ir.tests_file import CaseEntry, RequestEntry
from mcpgen.testing.suite.compare import is_same

_PLACES: Final = ("path", "query", "header", "cookie", "body")
_LONGEST_LINE: Final = 100

Place = tuple[str, ...]
"""Where a value stands below `expect`: ("request", "query")."""


def renew(observed: Observed) -> Iterator[tuple[Place, Any]]:
    """Give what a case should expect by what was observed, place by place, where that differs.

    Nothing of a call whose outcome is another one than the case has, nor of a request that the API
    would not have understood: that a server does so is no reason to expect it.
    """
    expect = observed.case.expect
    if observed.problem or observed.result.get("isError", False) is not expect.is_error:
        return
    if any(request.problems for request in observed.requests):
        return
    structured = observed.result.get("structuredContent")
    if expect.structured is not UNSET and not is_same(expect.structured, structured):
        yield ("structured",), structured
    if isinstance(expect.request, RequestEntry) and len(observed.requests) == 1:
        yield from _renew_request(expect.request, observed)


def _renew_request(expected: RequestEntry, observed: Observed) -> Iterator[tuple[Place, Any]]:
    (sent,) = observed.requests
    if expected.operation not in ("", sent.operation):
        return
    found = decode_values(sent)
    for place in _PLACES:
        alone = RequestEntry(**{place: getattr(expected, place)})
        if place in found and any(request_problems(alone, sent)):
            yield ("request", place), found[place]


def update_case(case: CaseEntry, recorded: Sequence[tuple[Place, Any]]) -> CaseEntry:
    """Give a case with other expectations at some places."""
    expect = case.expect
    for place, value in recorded:
        if place == ("structured",):
            expect = msgspec.structs.replace(expect, structured=value)
        elif isinstance(expect.request, RequestEntry):
            request = msgspec.structs.replace(expect.request, **{place[-1]: value})
            expect = msgspec.structs.replace(expect, request=request)
    return msgspec.structs.replace(case, expect=expect)


def rewrite(content: bytes, recorded: Sequence[tuple[int, Place, Any]]) -> bytes:
    """Give the file with some expectations exchanged, and all else of it as it was written.

    `recorded` has the number of each case, the place in it and the value. One that does not stand
    by itself, but is merged in or an alias, is not exchanged, or in another place than its own:
    the caller reads the file again before it is kept.
    """
    text = content.decode("utf-8-sig")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    spans = []
    for number, place, value in recorded:
        if node := _find_node(root, ("cases", number, "expect", *place)):
            start = node.start_mark.index
            end = start + len(text[start : _find_end(node)].rstrip())
            gap = " " if start == end else ""  # an empty value begins at its colon
            spans.append((start, end, gap + _spell_value(text, start, value)))
    for start, end, spelled in sorted(spans, reverse=True):
        text = text[:start] + spelled + text[end:]
    return text.encode()


def _find_node(node: yaml.Node | None, path: Sequence[str | int]) -> yaml.Node | None:
    for step in path:
        if node is None:
            return None
        entries = enumerate(node.value) if isinstance(step, int) else _list_members(node)
        node = next((value for key, value in entries if key == step), None)
    return node


def _list_members(node: yaml.Node) -> Iterator[tuple[str, yaml.Node]]:
    return ((key.value, value) for key, value in node.value)


def _find_end(node: yaml.Node) -> int:
    """The end of a value; that of a block as it is marked takes in what stands below it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        last = node.value[-1]
        return _find_end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _spell_value(text: str, start: int, value: Any) -> str:
    """Spell a value as JSON, which YAML reads: on one line, or on several where it is long."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    short = _json(value)
    if len(line) + len(short) <= _LONGEST_LINE:
        return short
    margin = len(line) - len(line.lstrip(" ")) + (2 if line.strip() else 0)
    newline = "\r\n" if "\r\n" in text else "\n"
    return _json(value, indent=2).replace("\n", newline + " " * margin)


def _json(value: Any, indent: int | None = None) -> str:
    shown = json.dumps(value, ensure_ascii=False, indent=indent)
    # What YAML wants escaped in a text, JSON does not.
    is_plain = shown.replace("\n", "").isprintable()
    return shown if is_plain else json.dumps(value, indent=indent)
