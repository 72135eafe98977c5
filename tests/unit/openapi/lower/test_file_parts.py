"""Tests of files that a multipart body declares by their media type alone."""

from __future__ import annotations

from typing import Any

import pytest

TEXT = {"type": "string"}
FILE = {"type": "string", "format": "binary"}


def lower_part(make: Any, schema: Any, content_type: str = "", **schemas: Any) -> Any:
    """Return the lowered schema of the body whose member `it` is the part."""
    encoding = {"it": {"contentType": content_type}} if content_type else {}
    return lower_body(make, schema, encoding, schemas)


def lower_body(make: Any, schema: Any, encoding: Any, schemas: Any) -> Any:
    body = {"type": "object", "properties": {"it": schema, "other": TEXT}}
    content = {"multipart/form-data": {"schema": body, "encoding": encoding}}
    operation = {"requestBody": {"content": content}}
    found = make(make.document(operation, method="post", version="3.1.0", schemas=schemas))
    return found.api.operations[0].request_body.content[0].schema


@pytest.mark.parametrize(
    ("schema", "content_type"),
    [
        (TEXT, "image/png"),
        (TEXT, "image/png, application/pdf"),
        ({**TEXT, "contentMediaType": "application/octet-stream"}, ""),
        ({**TEXT, "maxLength": 9, "default": "a.png"}, "audio/*"),
        ({}, "image/png, image/jpeg"),
        ({}, "application/vnd.ms-excel"),
        ({"type": ["string", "null"]}, "video/mp4"),
    ],
)
def test_a_binary_media_type_makes_a_part_a_file(make: Any, schema: Any, content_type: str) -> None:
    found = lower_part(make, schema, content_type)["properties"]
    declared = {key: it for key, it in schema.items() if key in ("type", "contentMediaType")}
    assert found == {"it": {**FILE, **declared}, "other": TEXT}


@pytest.mark.parametrize(
    ("schema", "content_type"),
    [
        (TEXT, ""),
        (TEXT, "application/sdp"),  # text, in spite of its name
        (TEXT, "text/csv, image/png"),
        ({}, "application/json"),
        ({}, "*/*"),
        ({**TEXT, "contentEncoding": "base64", "contentMediaType": "image/png"}, ""),
        ({**TEXT, "enum": ["a"]}, "image/png"),
        ({"type": "object"}, "image/png"),
        ({"type": "integer"}, "application/octet-stream"),
        (FILE, "image/png"),
        (False, "image/png"),
    ],
)
def test_other_parts_stay_as_they_are(make: Any, schema: Any, content_type: str) -> None:
    assert lower_part(make, schema, content_type)["properties"]["it"] == schema


@pytest.mark.parametrize("style", [{"style": "form"}, {"explode": True}, {"allowReserved": True}])
def test_a_part_that_is_styled_as_in_a_query_is_no_file(make: Any, style: Any) -> None:
    encoding = {"it": {"contentType": "image/png", **style}}
    assert lower_body(make, TEXT, encoding, {})["properties"]["it"] == TEXT


def test_each_item_of_a_list_is_a_file(make: Any) -> None:
    schema = {"type": "array", "items": TEXT, "maxItems": 3}
    found = lower_part(make, schema, "image/png")["properties"]["it"]
    assert found == {**schema, "items": FILE}


def test_a_named_part_stays_a_reference(make: Any) -> None:
    found = lower_part(make, {"$ref": "#/components/schemas/Text"}, "image/png", Text=TEXT)
    assert found["properties"]["it"] == {"allOf": [{"$ref": "#/$defs/Text"}], "format": "binary"}


def test_a_named_body_stays_a_reference(make: Any) -> None:
    body = {"type": "object", "properties": {"it": TEXT}}
    media_type = {
        "schema": {"$ref": "#/components/schemas/Body"},
        "encoding": {"it": {"contentType": "image/png"}},
    }
    operation = {"requestBody": {"content": {"multipart/form-data": media_type}}}
    found = make(make.document(operation, method="post", version="3.1.0", schemas={"Body": body}))
    schema = found.api.operations[0].request_body.content[0].schema
    assert schema == {"allOf": [{"$ref": "#/$defs/Body"}], "properties": {"it": FILE}}
    assert found.api.schemas["Body"] == body


def test_a_file_in_json_is_described_by_its_schema_alone(make: Any) -> None:
    body = {"type": "object", "properties": {"it": {**TEXT, "contentMediaType": "image/png"}}}
    found = make(make.with_body(body, version="3.1.0"))
    assert found.api.operations[0].request_body.content[0].schema == body


def test_the_model_is_told_to_send_the_content_of_the_file(make: Any) -> None:
    media_type = {
        "schema": {"type": "object", "properties": {"it": {}}},
        "encoding": {"it": {"contentType": "image/png"}},
    }
    operation = {"requestBody": {"content": {"multipart/form-data": media_type}}}
    tool = make(make.document(operation, method="post", version="3.1.0")).tool()
    assert "base64" in str(tool.input_schema)
