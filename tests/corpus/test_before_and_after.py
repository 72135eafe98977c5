"""Tests that the comparison of source trees separates intended changes of requests from others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.corpus.before_and_after import (
    EXPECTED,
    Comparison,
    Tool,
    request_changes,
    summary,
    unexpected,
)
from tests.support.corpus import CorpusDocument
from tests.support.paths import REPOSITORY


def parameter(name: str = "limit", **changes: Any) -> Tool:
    return {
        "in": "query", "name": name, "style": "form", "required": True, "default": None, **changes
    }  # fmt: skip


def request(*parameters: Tool, **changes: Any) -> Tool:
    return {"method": "GET", "path": "/pets", "parameters": list(parameters), **changes}


def body(*media_types: str, **schema: str) -> Tool:
    return {
        "required": True,
        "media_types": [{"media_type": each, "schema": schema} for each in media_types],
    }


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        (request(parameter()), request(parameter()), []),
        (
            request(parameter(default=20)),
            request(parameter(default=20, required=False)),
            ["parameter: required, now optional with a default"],
        ),
        (
            request(parameter()),
            request(parameter(required=False)),
            ["parameter: required in query"],
        ),
        (
            request(parameter("api_key")),
            request(parameter("api_key", fixed=True)),
            ["parameter: secret, no argument any more"],
        ),
        (
            request(body=body("application/json", "text/json")),
            request(body=body("application/json")),
            ["body: fewer media types, the same by default"],
        ),
        (
            request(body=body("application/json", "text/json")),
            request(body=body("text/json")),
            ["body: changed"],
        ),
        (
            request(body=body("application/json", "multipart/form-data", format="binary")),
            request(body=body("multipart/form-data", format="binary")),
            ["body: multipart in place of JSON"],
        ),
        (
            request(body=body("application/json", "multipart/form-data")),
            request(body=body("multipart/form-data")),
            ["body: changed"],
        ),
        (request(parameter()), request(), ["parameter: no argument any more"]),
        (request(), request(parameter()), ["parameter: new in query"]),
        (
            request(parameter(style="pipeDelimited")),
            request(parameter(style="form")),
            ["parameter: style of OpenAPI 2.0"],
        ),
        (
            request(parameter(), parameter("page")),
            request(parameter("page"), parameter()),
            ["parameter: order"],
        ),
        (
            request(),
            request(security=[{"key": []}]),
            ["security: added where none was"],
        ),
        (
            request(security=[{"key": []}]),
            request(),
            ["security: changed"],
        ),
        (request(), request(path="/pet"), ["path: changed"]),
        (request(), request(attempts=1), ["attempts: one"]),
        (request(attempts=1), request(), ["attempts: changed"]),
    ],
)
def test_request_changes_are_classified_by_kind(
    before: Tool, after: Tool, kinds: list[str]
) -> None:
    assert [kind for kind, *_ in request_changes(before, after, "2.0")] == kinds


def test_style_changes_are_expected_only_in_openapi_2() -> None:
    before, after = request(parameter(style="pipeDelimited")), request(parameter(style="form"))
    assert [kind for kind, *_ in request_changes(before, after, "3.0")] == [
        "parameter: style in query"
    ]


def plan(**tools: Tool) -> dict[str, Any]:
    return {"tools": tools, "skipped": {}, "error": ""}


def test_lost_operations_are_unexpected_and_new_ones_are_not() -> None:
    path = REPOSITORY / "README.md"
    document = CorpusDocument("pets.json", path, "api", "3.0", True, "generate", 2, ())
    tool: Tool = {"name": "get_1a2b3c", "operation_id": "", "arguments": {}, "request": request()}
    compared = Comparison(document, plan(a=tool, b=tool), plan(b={**tool, "name": "get"}, c=tool))
    assert [row[:3] for row in compared.operations()] == [
        ("lost", "pets.json", "a"),
        ("newly served", "pets.json", "c"),
    ]
    assert list(compared.names()) == [("pets.json", "b", "", "get_1a2b3c", "get")]
    assert [row[0] for row in unexpected([compared])] == ["lost"]
    assert "| with a hash | 1 | 0 |" in summary([compared])
    assert "lost | 1 | **unexpected**" in summary([compared])
    assert "newly served" in EXPECTED
