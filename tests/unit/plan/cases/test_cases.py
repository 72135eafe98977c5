"""Tests of the calls that generated tests make, for documents of every kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mcpgen.diagnostics import Problems
from mcpgen.openapi.lower.lower import lower
from mcpgen.openapi.resolve.resolve import resolve
from mcpgen.openapi.source.load import load
from mcpgen.plan.cases import make_cases
from mcpgen.plan.plan import plan_tools
from mcpgen.testing import read_cases
from tests.support.paths import SPECS
from tests.support.policies import first_policy


def cases_of(source: Path, problems: Problems) -> dict[str, Any]:
    api = lower(resolve(load(str(source), problems), problems), problems)
    plan = plan_tools(api, first_policy("thing", models=False), problems)
    return {case.id: case for case in read_cases(make_cases(plan, problems))}


def cases(
    tmp_path: Path, operation: dict[str, Any], problems: Problems | None = None, **more: Any
) -> Any:
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Things", "version": "1"},
        "servers": [{"url": "https://things.example"}],
        "paths": {"/things": {"get": {"operationId": "call", **operation}}},
        **more,
    }
    document["paths"]["/things"]["get"].setdefault("responses", {"200": {"description": "Done."}})
    source = tmp_path / "openapi.json"
    source.write_text(json.dumps(document))
    return cases_of(source, Problems() if problems is None else problems)


def query(name: str, schema: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, **more}


def test_every_tool_of_our_documents_has_calls_and_negative_cases() -> None:
    for name in ("petstore.yaml", "bookshop.yaml"):
        problems = Problems()
        found = cases_of(SPECS / name, problems)
        tools = {case.tool for case in found.values()}

        assert [case for case in found.values() if case.untested] == []
        for tool in tools:
            kinds = [identity for identity in found if identity.startswith(f"{tool}: ")]
            assert f"{tool}: smallest arguments" in kinds
            assert f"{tool}: an unknown argument" in kinds
            assert any("the API answers" in kind for kind in kinds)


def test_failures_are_expected_within_the_limits_of_the_server(tmp_path: Path) -> None:
    cases(tmp_path, {})
    problems = Problems()
    api = lower(resolve(load(str(tmp_path / "openapi.json"), problems), problems), problems)
    plan = plan_tools(api, first_policy("thing", models=False), problems)
    limited = replace(plan, limits={"timeout_seconds": 20.0, "max_attempts": 2})
    found = {case.id: case for case in read_cases(make_cases(limited, problems))}

    late = found["call: the API does not answer in time"]
    assert "20 seconds" in str(late.expect)
    assert found["call: the API refuses the connection"].expect["attempts"] == 2


def test_the_smallest_call_is_minimal_and_the_largest_is_complete(tmp_path: Path) -> None:
    found = cases(
        tmp_path,
        {
            "parameters": [
                query("include[]", {"type": "array", "items": {"type": "string"}}),
                query("n", {"type": "integer", "maximum": 9}, required=True),
            ]
        },
    )

    smallest, largest = found["call: smallest arguments"], found["call: largest arguments"]
    assert smallest.expect["request"]["query"] == {"n": 0}
    assert largest.expect["request"]["query"]["n"] == 9
    assert len(largest.expect["request"]["query"]["include[]"]) == 2
    assert "include[]" not in largest.arguments
    assert len(largest.arguments) == 2


def test_one_call_has_the_examples_of_the_document(tmp_path: Path) -> None:
    found = cases(
        tmp_path,
        {
            "parameters": [
                query("word", {"type": "string"}, required=True, example="sea"),
                query("kind", {"type": "string", "enum": ["a", "b"]}, example="b"),
                query("size", {"type": "integer", "maximum": 9}, example=10),  # is invalid
                query("cursor", {"type": "string"}, example="abc"),  # not for a first call
                query("old", {"type": "string"}, example="x", deprecated=True),
                query("plain", {"type": "string"}),
            ]
        },
    )["call: example"]
    sent = found.expect["request"]["query"]
    assert sent["word"] == "sea"
    assert sent["kind"] == "b"
    assert sent.get("size", 0) <= 9
    assert not {"cursor", "old", "plain"} & sent.keys()


def test_one_call_has_the_example_of_the_body(tmp_path: Path) -> None:
    content = {
        "schema": {"type": "object", "properties": {"name": {"type": "string"}}},
        "example": {"name": "Rex"},
    }
    operation = {
        "operationId": "add",
        "requestBody": {"content": {"application/json": content}},
        "responses": {"200": {"description": "Done."}},
    }
    paths = {"/things": {"post": operation, "get": {}}}
    found = cases(tmp_path, {}, paths=paths)["add: example"]
    assert found.arguments == {"body": {"name": "Rex"}}
    assert found.expect["request"]["body"] == {"name": "Rex"}


def test_arguments_of_a_call_have_different_values(tmp_path: Path) -> None:
    schema = {"type": "integer", "minimum": 1, "maximum": 50}
    found = cases(tmp_path, {"parameters": [query(name, schema) for name in ("a", "b", "c")]})

    sent = found["call: largest arguments"].expect["request"]["query"]
    assert len(set(sent.values())) == 3


def test_values_that_would_not_be_sent_are_not_used(tmp_path: Path) -> None:
    array = {"type": "array", "items": {"type": "string"}}
    found = cases(tmp_path, {"parameters": [query("tags", array, required=True)]})

    assert found["call: smallest arguments"].arguments == {"tags": [""]}


def test_first_alternative_with_credentials_is_expected(tmp_path: Path) -> None:
    key = {"type": "apiKey", "in": "header", "name": "X-Key"}
    found = cases(
        tmp_path,
        {"security": [{}, {"one": [], "two": []}, {"one": []}]},
        components={"securitySchemes": {"one": key, "two": {**key, "name": "X-Two"}}},
    )

    assert found["call: smallest arguments"].expect["request"]["security"] == ["one", "two"]


def test_a_case_without_a_sample_is_reported_with_its_reason(tmp_path: Path) -> None:
    problems = Problems()
    impossible = {"type": "string", "pattern": "^(?=x)(?!x)$"}
    found = cases(tmp_path, {"parameters": [query("q", impossible, required=True)]}, problems)

    assert list(found) == ["call: smallest arguments"]
    reason = found["call: smallest arguments"].untested
    assert reason == (
        "query parameter `q`, at `/`: texts cannot be generated from the pattern `^(?=x)(?!x)$`"
    )
    (note,) = [problem for problem in problems if problem.code == "untested"]
    assert note.message == "no sample generated for the test case `call: smallest arguments`"
    assert note.why == reason
    assert "`example`" in note.help


@pytest.mark.parametrize(
    ("schema", "cause"),
    [
        ({"type": "string", "pattern": "^a$", "minLength": 2}, "no generated text satisfies"),
        ({"type": "string", "pattern": "a^"}, "the pattern `a^` matches no text"),
        ({"allOf": [{"const": 1}, {"const": 2}]}, "no value satisfies it"),
        (False, "its schema allows nothing"),
    ],
    ids=["pattern and length", "pattern", "constants", "false"],
)
def test_the_reason_names_the_keyword_and_the_location(
    tmp_path: Path, schema: Any, cause: str
) -> None:
    problems = Problems()
    parameter = query("q", {"type": "object", "required": ["a"], "properties": {"a": schema}})
    body = {"content": {"application/json": {"schema": parameter["schema"]}}, "required": True}
    cases(tmp_path, {"requestBody": body}, problems)

    (note,) = [problem for problem in problems if problem.code == "untested"]
    assert cause in note.why
    assert "at `/a`" in note.why


def test_a_response_without_a_sample_still_tests_the_request(tmp_path: Path) -> None:
    content = {"application/json": {"schema": {"type": "string", "pattern": "^(?=x)(?!x)$"}}}
    found = cases(tmp_path, {"responses": {"200": {"description": "", "content": content}}})

    assert found["call: result"].untested.startswith("no sample of the response: at `/`: texts ")
    assert found["call: smallest arguments"].reply == {"status": 200, "text": ""}


def test_a_valid_example_is_the_response_if_no_sample_can_be_generated(tmp_path: Path) -> None:
    schema = {"type": "string", "pattern": "^(?=q)(?=.w)qw$"}
    content = {"application/json": {"schema": schema, "example": "qw"}}
    found = cases(tmp_path, {"responses": {"200": {"description": "", "content": content}}})

    assert "call: result" not in found
    assert found["call: smallest arguments"].reply is None


def test_largest_call_selects_another_media_type(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    other = {"type": "object", "properties": {"b": {"type": "string"}}}
    body = {
        "required": True,
        "content": {
            "application/json": {"schema": schema},
            "application/x-www-form-urlencoded": {"schema": other},
        },
    }
    found = cases(tmp_path, {"requestBody": body})

    smallest, largest = found["call: smallest arguments"], found["call: largest arguments"]
    assert smallest.expect["request"]["content_type"] == "application/json"
    assert "content_type" not in smallest.arguments
    assert largest.arguments["content_type"] == "application/x-www-form-urlencoded"
    assert largest.expect["request"]["content_type"] == "application/x-www-form-urlencoded"


def paged(parameters: list[Any], schema: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}}
    return {"parameters": parameters, "responses": {"200": {"description": "", "content": content}}}


def test_pages_continue_from_the_arguments_of_the_smallest_call(tmp_path: Path) -> None:
    names = {"type": "array", "items": {"type": "string", "minLength": 1}}
    first, size = query("page", {"type": "integer", "minimum": 1}), query("limit", {"const": 2})
    operation = paged([{**first, "required": True}, {**size, "required": True}], names)

    found = cases(tmp_path, operation)["call: all pages, joined"]

    asked = [request["query"] for request in found.expect["requests"]]
    assert asked == [{"page": page, "limit": 2} for page in (1, 2, 3)]
    assert [len(reply["body"]) for reply in found.replies] == [2, 2, 0]
    assert found.arguments["max_pages"] > len(asked)


def test_pages_without_a_sample_are_untested_with_a_reason(tmp_path: Path) -> None:
    items = {"type": "array", "minItems": 1, "items": {"type": "integer"}}
    operation = paged([query("offset", {"type": "integer"})], items)

    found = cases(tmp_path, operation)

    assert "does not fit its schema" in found["call: pages"].untested
    assert "call: all pages, joined" not in found
