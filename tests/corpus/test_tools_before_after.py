"""Tests of the statements of `make tools-before-after` about tools, on made-up tools."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.corpus.tools_before_after import (
    Row,
    Tool,
    find_noise,
    judge,
    judge_hints,
    list_body_members,
    place_body,
    read_rows,
)


def test_the_table_has_ten_operations_of_each_of_six_documents() -> None:
    rows = read_rows()
    counts = Counter(row.document for row in rows)
    assert [*counts.values()] == [10] * 6
    assert len({(row.document, row.operation) for row in rows}) == 60
    assert {row.effect for row in rows} == {"read", "add", "change", "destroy"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Lists things.", set()),
        ("Lists `<b>` and `[a](b)`.", set()),
        ("Names `refs/heads/<branch name>`, or <name>.", set()),
        ("Lists <b>all</b> things.", {"markup"}),
        ("&apos;Auto&apos; completes.", {"markup"}),
        ("> [!NOTE]\n> Slow.", {"markup"}),
        ("Filter by [state](/rest/things#state).", {"links"}),
        ('See "Using pagination".', {"links"}),
        ("Refer to the guide on things.", {"links"}),
    ],
)
def test_noise_is_found_outside_of_code(text: str, found: set[str]) -> None:
    assert find_noise(iter([text])) == found


@pytest.mark.parametrize(
    ("hints", "effect", "verdict"),
    [
        (None, "read", "none"),
        ({"title": "Get"}, "read", "none"),
        ({"readOnlyHint": True}, "read", "right"),
        ({"readOnlyHint": False, "destructiveHint": False}, "add", "right"),
        ({"readOnlyHint": False}, "destroy", "right"),
        ({"readOnlyHint": False}, "add", "cautious"),
        ({"readOnlyHint": False, "destructiveHint": False}, "read", "cautious"),
        ({"readOnlyHint": True}, "change", "wrong"),
        ({"readOnlyHint": False, "destructiveHint": False}, "change", "wrong"),
    ],
)
def test_hints_are_compared_with_the_label(hints: Any, effect: str, verdict: str) -> None:
    assert judge_hints(hints, effect) == verdict


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"properties": {"userId": {}, "user_name": {}}}, "flat"),
        ({"properties": {"body": {"properties": {"user_id": {}, "userName": {}}}}}, "nested"),
        (
            {
                "properties": {"body": {"$ref": "#/$defs/User"}},
                "$defs": {"User": {"anyOf": [{"properties": {"user_id": {}, "user_name": {}}}]}},
            },
            "nested",
        ),
        ({"properties": {"user_id": {}}}, "lost"),
        ({"properties": {}}, "lost"),
    ],
)
def test_the_place_of_a_body_is_found(schema: dict[str, Any], place: str) -> None:
    assert place_body(["user_id", "user_name"], schema) == place
    assert not place_body([], schema)


def test_members_of_bodies_are_listed_in_every_version() -> None:
    user = {"allOf": [{"properties": {"name": {}}}, {"properties": {"age": {}}}]}
    root = {"components": {"schemas": {"User": user}}, "definitions": {"User": user}}
    new = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/User"}}}}
    body = {"in": "body", "name": "user", "schema": {"$ref": "#/definitions/User"}}
    form = [{"in": "formData", "name": "name"}, {"in": "query", "name": "page"}]
    assert list_body_members({"parameters": [], "requestBody": new}, root) == ["name", "age"]
    assert list_body_members({"parameters": [body]}, root) == ["name", "age"]
    assert list_body_members({"parameters": form}, root) == ["name"]
    assert list_body_members({"parameters": []}, root) == []


def test_a_tool_is_judged_as_a_whole() -> None:
    root = {"paths": {"/things": {"get": {"parameters": [{"in": "query", "name": "page"}]}}}}
    definition = {
        "name": "list_things",
        "description": "Lists things.",
        "inputSchema": {"properties": {"page": {"description": "See the guide."}}},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    }
    row = Row("shop", "GET /things", "read")
    verdict = str(judge(row, Tool(definition), root))
    assert verdict.endswith("+ 5 · hints right · pages by hand · links")
    assert "pages followed" in str(judge(row, Tool(definition, follows_pages=True), root))
