"""Tests of lowering parameters, bodies and responses of OpenAPI 3."""

from __future__ import annotations

from typing import Any

import pytest


def parameter(make: Any, **declared: Any) -> Any:
    declared = {"name": "p", "in": "query", "schema": {"type": "string"}, **declared}
    found = make(make.with_parameters(declared, version="3.2.0"))
    return found.api.operations[0].parameters[0]


@pytest.mark.parametrize(
    ("location", "declared", "style", "explode"),
    [
        ("query", {}, "form", True),
        ("query", {"explode": False}, "form", False),
        ("query", {"style": "spaceDelimited"}, "spaceDelimited", False),
        ("query", {"style": "deepObject", "explode": True}, "deepObject", True),
        ("query", {"style": "simple"}, "form", True),
        ("header", {}, "simple", False),
        ("header", {"explode": True}, "simple", True),
        ("cookie", {}, "form", True),
        ("cookie", {"style": "cookie"}, "cookie", True),
    ],
)
def test_style_and_explode_have_their_defaults(
    make: Any, location: str, declared: Any, style: str, explode: bool
) -> None:
    found = parameter(make, **{"in": location, **declared})
    assert (found.style, found.explode) == (style, explode)


def test_a_path_parameter_is_always_required(make: Any) -> None:
    declared = {"name": "id", "in": "path", "style": "label", "schema": {}}
    found = make(make.with_parameters(declared, path="/pets/{id}"))
    (lowered,) = found.api.operations[0].parameters
    assert (lowered.required, lowered.style) == (True, "label")
    assert found.found("path-parameter-optional")


def test_parameter_with_content_has_no_style(make: Any) -> None:
    content = {"application/json": {"schema": {"type": "object"}, "example": {"a": 1}}}
    found = parameter(make, schema=None, content=content)
    assert (found.style, found.content_type) == ("", "application/json")
    assert found.schema == {"type": "object"}
    assert found.examples == ({"a": 1},)


def test_a_swagger_2_parameter_type_is_accepted(make: Any) -> None:
    declared = {"name": "p", "in": "query", "type": "integer", "minimum": 1}
    found = make(make.with_parameters(declared))
    assert found.api.operations[0].parameters[0].schema == {"type": "integer", "minimum": 1}
    assert found.found("parameter-type")


def test_a_duplicate_parameter_is_used_once(make: Any) -> None:
    declared = {"name": "p", "in": "query", "schema": {}}
    found = make(make.with_parameters(declared, {**declared, "required": True}))
    (lowered,) = found.api.operations[0].parameters
    assert not lowered.required
    assert found.found("duplicate-parameter")


def test_a_parameter_with_an_invalid_location_skips_its_operation(make: Any) -> None:
    found = make(make.with_parameters({"name": "p", "in": "body", "schema": {}}))
    assert [left.code for left in found.api.skipped] == ["parameter-location"]


def test_examples_are_dereferenced(make: Any) -> None:
    root = make.with_parameters(
        {
            "name": "p",
            "in": "query",
            "schema": {},
            "examples": {"b": {"$ref": "#/components/examples/two"}, "a": {"value": 1}},
        },
        components={"examples": {"two": {"value": 2}}},
    )
    assert make(root).api.operations[0].parameters[0].examples == (1, 2)


def test_responses_are_sorted_and_invalid_statuses_dropped(make: Any) -> None:
    empty = {"description": ""}
    statuses = {"default": empty, "4xx": empty, "200": empty, "OK": empty, "x-note": empty}
    found = make(make.document({"responses": statuses}))
    assert [item.status for item in found.api.operations[0].responses] == ["200", "4XX", "default"]
    assert len(found.found("status-code")) == 1


@pytest.mark.parametrize("status", ["204", "205"])
def test_content_that_a_status_cannot_have_is_dropped(make: Any, status: str) -> None:
    content = {"application/json": {"schema": {"type": "array", "items": {}}}}
    pets = {"description": "Pets.", "content": content}
    shared = {"components": {"responses": {"Pets": pets}}}
    used = {"$ref": "#/components/responses/Pets"}
    found = make(make.document({"responses": {"200": used, status: used}}, **shared))
    assert [len(item.content) for item in found.api.operations[0].responses] == [1, 0]
    [problem] = found.found("status-code")
    assert f"status {status} has no content" in problem.message


def test_encodings_are_read(make: Any) -> None:
    media_type = {
        "schema": {"type": "object"},
        "encoding": {
            "tags": {"style": "pipeDelimited", "explode": False},
            "photo": {
                "contentType": "image/png",
                "headers": {"X-Width": {"schema": {"type": "integer"}}, "Content-Type": {}},
            },
        },
    }
    root = make.document(
        {"requestBody": {"content": {"multipart/form-data": media_type}}}, method="post"
    )
    (content,) = make(root).api.operations[0].request_body.content
    assert content.encoding["tags"].style == "pipeDelimited"
    assert content.encoding["tags"].explode is False
    assert content.encoding["photo"].content_type == "image/png"
    assert [header.name for header in content.encoding["photo"].headers] == ["X-Width"]


def test_streamed_items_of_3_2_are_kept(make: Any) -> None:
    content = {"application/jsonl": {"itemSchema": {"type": "integer"}}}
    root = make.document({"requestBody": {"content": content}}, version="3.2.0", method="post")
    assert make(root).api.operations[0].request_body.content[0].item_schema == {"type": "integer"}


def test_media_types_do_not_depend_on_the_order_of_the_document(make: Any) -> None:
    content: dict[str, Any] = {"text/plain": {}, "application/json": {}}
    one = make(make.document({"requestBody": {"content": content}}, method="post"))
    turned = dict(reversed(content.items()))
    two = make(make.document({"requestBody": {"content": turned}}, method="post"))
    assert one.api == two.api


def test_an_invalid_media_type_is_dropped(make: Any) -> None:
    content: dict[str, Any] = {"text/plain; charset=utf-8": {}, "application/json'+x": {}}
    found = make(make.document({"requestBody": {"content": content}}, method="post"))
    (kept,) = found.api.operations[0].request_body.content
    assert kept.media_type == "text/plain; charset=utf-8"
    assert found.found("media-type")


def test_a_body_without_a_valid_media_type_skips_its_operation(make: Any) -> None:
    content: dict[str, Any] = {"json": {}}
    found = make(make.document({"requestBody": {"content": content}}, method="post"))
    assert [left.code for left in found.api.skipped] == ["media-type"]


def test_a_media_type_with_invalid_parameters_is_read_without_them(make: Any) -> None:
    content = {"text/plain; utf-8": {"schema": {"type": "string"}}}
    found = make(make.document({"requestBody": {"content": content}}, method="post"))
    (operation,) = found.api.operations
    assert [it.media_type for it in operation.request_body.content] == ["text/plain"]
    assert [problem.code for problem in found.problems if "read as" in problem.message] == [
        "media-type"
    ]

    content["text/plain"] = {"schema": {"type": "integer"}}
    found = make(make.document({"requestBody": {"content": content}}, method="post"))
    (only,) = found.api.operations[0].request_body.content
    assert only.schema == {"type": "integer"}


@pytest.mark.parametrize("version", ["2.0", "3.1.0"])
def test_an_optional_parameter_without_a_name_is_dropped(make: Any, version: str) -> None:
    typed = {"type": "string"} if version == "2.0" else {"schema": {"type": "string"}}
    declared = {"in": "query", "name": "", **typed}
    found = make(make.with_parameters(declared, version=version))
    assert found.api.operations[0].parameters == ()
    assert found.found("parameter-name")

    found = make(make.with_parameters({**declared, "required": True}, version=version))
    assert [left.code for left in found.api.skipped] == ["parameter-name"]
