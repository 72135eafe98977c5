"""`mcpgen test --update`: rewrites the expectations in `mcpgen.tests.yaml` with observed values.

Requests and structured results are rewritten. Decisions of the user are not: whether a call fails,
which operation it calls, that no request is sent, and what the text contains.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import yaml
from msgspec import UNSET

from mcpgen.factory.test.own_cases import Observed, compare_expected_request, decode_values
from mcpgen.ir.tests_file import CaseEntry, RequestEntry
from mcpgen.testing.suite.compare import is_same

_PLACES: Final = ("path", "query", "header", "cookie", "body")
_LONGEST_LINE: Final = 100

Place = tuple[str, ...]
"""The path of a value below `expect`: ("request", "query")."""


def renew(observed: Observed) -> Iterator[tuple[Place, Any]]:
    """Yield the observed values that differ from the expectations of a case.

    Nothing is yielded if the call had the wrong outcome, or if a request was invalid.
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
        if place in found and any(compare_expected_request(alone, sent)):
            yield ("request", place), found[place]


def update_case(case: CaseEntry, recorded: Sequence[tuple[Place, Any]]) -> CaseEntry:
    """Return a case with replaced expectations."""
    expect = case.expect
    for place, value in recorded:
        if place == ("structured",):
            expect = msgspec.structs.replace(expect, structured=value)
        elif isinstance(expect.request, RequestEntry):
            request = msgspec.structs.replace(expect.request, **{place[-1]: value})
            expect = msgspec.structs.replace(expect, request=request)
    return msgspec.structs.replace(case, expect=expect)


def rewrite(content: bytes, recorded: Sequence[tuple[int, Place, Any]]) -> bytes:
    """Return the file with replaced expectations; the rest of the text stays as it is.

    `recorded` contains the number of a case, the path in it, and the value. Aliases and merge keys
    are replaced in the wrong place or not at all: the caller must parse the result to check it.
    """
    text = content.decode("utf-8-sig")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    spans = []
    for number, place, value in recorded:
        if node := _find_node(root, ("cases", number, "expect", *place)):
            start = node.start_mark.index
            end = start + len(text[start : _find_end(node)].rstrip())
            gap = " " if start == end else ""  # an empty value starts at its colon
            spans.append((start, end, gap + _format_value(text, start, value)))
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
    """Return the end of a value; the mark of a block includes the whitespace after it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        last = node.value[-1]
        return _find_end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _format_value(text: str, start: int, value: Any) -> str:
    """Format a value as JSON, which is YAML too, on several lines if it is long."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    short = _json(value)
    if len(line) + len(short) <= _LONGEST_LINE:
        return short
    margin = len(line) - len(line.lstrip(" ")) + (2 if line.strip() else 0)
    newline = "\r\n" if "\r\n" in text else "\n"
    return _json(value, indent=2).replace("\n", newline + " " * margin)


def _json(value: Any, indent: int | None = None) -> str:
    shown = json.dumps(value, ensure_ascii=False, indent=indent)
    # YAML requires escapes that JSON does not.
    is_plain = shown.replace("\n", "").isprintable()
    return shown if is_plain else json.dumps(value, indent=indent)
