"""Tests of lowering Swagger 2.0 to the same form as OpenAPI 3."""

from __future__ import annotations

from typing import Any

import pytest


def swagger(operation: Any, method: str = "post", **root: Any) -> dict[str, Any]:
    described = {"responses": {"204": {"description": "done"}}, **operation}
    return {
        "swagger": "2.0",
        "info": {"title": "Demo", "version": "1"},
        "host": "api.example",
        "basePath": "/v1",
        "schemes": ["http", "https"],
        "paths": {"/pets/{id}": {method: described}},
        **root,
    }


ID = {"name": "id", "in": "path", "required": True, "type": "integer", "format": "int64"}


def only(make: Any, operation: Any, **options: Any) -> Any:
    parameters = [ID, *operation.pop("parameters", [])]
    found = make(swagger({**operation, "parameters": parameters}, **options))
    (lowered,) = found.api.operations
    return lowered


def test_servers_come_from_schemes_host_and_base_path(make: Any) -> None:
    api = make(swagger({"parameters": [ID]})).api
    assert [server.url for server in api.servers] == [
        "https://api.example/v1",
        "http://api.example/v1",
    ]


@pytest.mark.parametrize(
    ("collection", "location", "style", "explode"),
    [
        (None, "query", "form", False),
        ("csv", "query", "form", False),
        ("multi", "query", "form", True),
        ("ssv", "query", "spaceDelimited", False),
        ("tsv", "query", "tabDelimited", False),
        ("pipes", "query", "pipeDelimited", False),
        (None, "header", "simple", False),
        ("multi", "header", "simple", False),
        ("ssv", "header", "spaceDelimited", False),
        ("tsv", "header", "tabDelimited", False),
        ("pipes", "header", "pipeDelimited", False),
        ("multi", "path", "simple", False),
        ("ssv", "path", "spaceDelimited", False),
        ("tsv", "path", "tabDelimited", False),
        ("pipes", "path", "pipeDelimited", False),
    ],
)
def test_collection_formats_are_converted_to_styles(
    make: Any, collection: str | None, location: str, style: str, explode: bool
) -> None:
    name = "id" if location == "path" else "tags"
    declared = {"name": name, "in": location, "type": "array", "items": {"type": "string"}}
    if collection:
        declared["collectionFormat"] = collection
    found = make(swagger({"parameters": [declared]})).api.operations[0].parameters
    (tags,) = (parameter for parameter in found if parameter.location == location)
    assert (tags.style, tags.explode) == (style, explode)
    assert tags.schema == {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(("location", "style"), [("query", "form"), ("header", "simple")])
def test_an_unknown_collection_format_is_read_as_csv(make: Any, location: str, style: str) -> None:
    tags = {"name": "t", "in": location, "type": "array", "collectionFormat": "semicolons"}
    found = make(swagger({"parameters": [ID, tags]}))
    (operation,) = found.api.operations
    assert [(it.style, it.explode) for it in operation.parameters[1:]] == [(style, False)]
    (problem,) = (it for it in found.problems if it.code == "collection-format")
    assert problem.message == "unknown collectionFormat `semicolons`; `csv` is used"


def test_body_takes_the_media_types_of_consumes(make: Any) -> None:
    body = {"name": "pet", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}}
    operation = only(
        make,
        {"parameters": [body]},
        consumes=["application/xml", "application/json"],
        definitions={"Pet": {"type": "object"}},
    )
    body = operation.request_body
    assert body.required
    assert [item.media_type for item in body.content] == ["application/json", "application/xml"]
    assert body.content[0].schema == {"$ref": "#/$defs/Pet"}


def test_form_fields_become_one_object(make: Any) -> None:
    fields = [
        {"name": "name", "in": "formData", "type": "string", "required": True, "description": "N"},
        {
            "name": "tags",
            "in": "formData",
            "type": "array",
            "items": {"type": "string"},
            "collectionFormat": "multi",
        },
    ]
    body = only(make, {"parameters": fields}).request_body
    (content,) = body.content
    assert content.media_type == "application/x-www-form-urlencoded"
    assert content.schema == {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "description": "N"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    }
    assert (content.encoding["tags"].style, content.encoding["tags"].explode) == ("form", True)


def test_form_with_a_file_is_multipart(make: Any) -> None:
    field = {"name": "photo", "in": "formData", "type": "file"}
    (content,) = only(make, {"parameters": [field]}).request_body.content
    assert content.media_type == "multipart/form-data"
    assert content.schema["properties"]["photo"] == {"type": "string", "format": "binary"}


def test_an_operation_with_a_body_and_a_form_is_skipped(make: Any) -> None:
    parameters = [
        ID,
        {"name": "b", "in": "body", "schema": {}},
        {"name": "f", "in": "formData", "type": "string"},
    ]
    found = make(swagger({"parameters": parameters}))
    assert [left.code for left in found.api.skipped] == ["body-and-form"]


def test_responses_take_the_media_types_of_produces(make: Any) -> None:
    responses = {
        "200": {
            "description": "ok",
            "schema": {"type": "object"},
            "examples": {"application/json": {"id": 1}},
        }
    }
    (response,) = only(make, {"responses": responses, "produces": ["application/json"]}).responses
    (content,) = response.content
    assert (content.media_type, content.examples) == ("application/json", ({"id": 1},))


def test_security_definitions_are_converted_to_openapi_3(make: Any) -> None:
    definitions = {
        "login": {"type": "basic"},
        "machine": {
            "type": "oauth2",
            "flow": "application",
            "tokenUrl": "https://id.example/token",
            "scopes": {"read": "Read"},
        },
    }
    api = make(swagger({"parameters": [ID]}, securityDefinitions=definitions)).api
    login, machine = api.security_schemes
    assert (login.type, login.http_scheme) == ("http", "basic")
    assert machine.flows == {
        "clientCredentials": {"scopes": {"read": "Read"}, "tokenUrl": "https://id.example/token"}
    }


def test_a_schema_at_status_204_is_no_content(make: Any) -> None:
    responses = {"200": {"schema": {"type": "array"}}, "204": {"schema": {"type": "array"}}}
    lowered = only(make, {"responses": responses})
    assert [(it.status, len(it.content)) for it in lowered.responses] == [("200", 1), ("204", 0)]
