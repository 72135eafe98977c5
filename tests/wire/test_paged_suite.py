"""Tests that generated tests of paged lists detect each possible fault of a server."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.upstream.response.next_page import get_member
from mcpgen.runtime.upstream.response.pagination import Paging
from mcpgen.testing import Suite
from tests.wire.cases import FOLDER
from tests.wire.served import serve

NUMBERS = itertools.count(1)
ALL, ONE = "all pages, joined", "one page, though more follow"
TOOLS = ("bundle", "charges", "cursors", "deep", "files", "linked", "nexts", "offsets", "pages")


def failed(folder: Path, tool: str = "", fault: dict[str, Any] | None = None) -> set[str]:
    """Return the ids of failing page cases after a fault is put into a server's contract."""
    made = serve(FOLDER / "pagination" / "openapi.yaml", f"paged-{next(NUMBERS)}", folder)
    for path in (made.folder / "src").rglob("_generated/tools/*.json"):
        contract = json.loads(path.read_bytes())
        if tool in contract["tools"]:
            contract["tools"][tool]["pagination"] |= fault or {}
            path.write_text(json.dumps(contract), encoding="utf-8")
    suite = Suite(str(made.plan.package), made.folder / "tests" / "generated")
    paged = [case for case in suite.cases if case.replies]
    assert {case.tool for case in paged} == set(TOOLS)
    return {result.case.id for result in suite.results(cases=paged) if not result.has_passed}


@pytest.mark.parametrize(
    ("tool", "fault"),
    [
        ("bundle", {"cursor": ["links"]}),
        ("bundle", {"kind": "page", "parameter": "_count"}),
        ("charges", {"parameter": "limit"}),
        ("charges", {"cursor": ["n"]}),
        ("cursors", {"cursor": ["meta", "other"]}),
        ("cursors", {"items": "meta"}),
        ("deep", {"within": ["other"]}),
        ("deep", {"within": []}),
        ("files", {"more": "has_less"}),
        ("linked", {"kind": "page", "parameter": "q"}),
        ("nexts", {"cursor": ["paging", "other"]}),
        ("nexts", {"kind": "page", "parameter": "q"}),
        ("offsets", {"kind": "page"}),
        ("offsets", {"items": "other"}),
        ("pages", {"first": 2}),
        ("pages", {"kind": "offset", "first": 5}),
    ],
)
def test_a_tool_that_requests_a_wrong_page_fails_its_case(
    tmp_path: Path, tool: str, fault: dict[str, Any]
) -> None:
    assert failed(tmp_path, tool, fault) >= {f"{tool}: {ALL}"}


def test_a_tool_that_fetches_too_many_pages_fails_its_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gather = Paging.gather

    async def without_cap(self: Paging, response: Any, value: Any, query: Any, send: Any) -> Any:
        self.requested = 20
        return await gather(self, response, value, query, send)

    monkeypatch.setattr(Paging, "gather", without_cap)
    assert failed(tmp_path) == {f"{tool}: {ONE}" for tool in TOOLS}


def test_a_tool_that_loses_the_items_of_a_page_fails_its_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gather = Paging.gather

    async def last_alone(self: Paging, response: Any, value: Any, query: Any, send: Any) -> Any:
        response, joined = await gather(self, response, value, query, send)
        del get_member(joined, self.place)[:-1]
        return response, joined

    monkeypatch.setattr(Paging, "gather", last_alone)
    assert failed(tmp_path) >= {f"{tool}: {ALL}" for tool in TOOLS}
