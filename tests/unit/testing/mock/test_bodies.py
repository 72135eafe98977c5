from __future__ import annotations

import json
from base64 import b64encode
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert

from mcpgen.jsonschema.schemas import Schemas
from mcpgen.testing.mock.bodies import read_body, split_multipart
from mcpgen.testing.mock.description import MediaType

FORM = "application/x-www-form-urlencoded"
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "size": {"type": "object", "properties": {"w": {"type": "integer"}}},
        "file": {"type": "string", "format": "binary"},
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
    },
}


def read(content_type: str, body: bytes, schema: Any = SCHEMA, **encoding: Any) -> tuple[Any, str]:
    described = convert(
        {
            "media_type": content_type.partition(";")[0],
            "schema": schema,
            "encoding": encoding,
        },
        MediaType,
    )
    reading, problem = read_body((described,), content_type, body, Schemas({}))
    return None if reading is None else reading.value, problem


@pytest.mark.parametrize(
    ("body", "encoding", "value"),
    [
        ("name=a+b%26c&count=7", {}, {"name": "a b&c", "count": 7}),
        ("tags=a&tags=b", {}, {"tags": ["a", "b"]}),
        ("tags=a", {}, {"tags": ["a"]}),
        ('size={"w":7}', {}, {"size": {"w": 7}}),
        ("size[w]=7", {"size": {"style": "deepObject", "explode": True}}, {"size": {"w": 7}}),
        ("w=7", {"size": {"style": "form", "explode": True}}, {"size": {"w": 7}}),
        ("size=w,7", {"size": {"style": "form", "explode": False}}, {"size": {"w": 7}}),
        ("tags=a,b", {"tags": {"style": "form", "explode": False}}, {"tags": ["a", "b"]}),
        ("tags=a%7Cb", {"tags": {"style": "pipeDelimited"}}, {"tags": ["a", "b"]}),
        ("", {}, {}),
        ("other=1", {}, {"other": 1}),
    ],
)
def test_a_form_is_decoded_with_its_encoding(body: str, encoding: Any, value: Any) -> None:
    assert read(FORM, body.encode(), **encoding) == (value, "")


def test_a_form_with_another_encoding_is_rejected() -> None:
    value, problem = read(FORM, b"tags=a&tags=b", tags={"style": "form", "explode": False})

    assert value is None
    assert problem == "`tags` is not encoded in style `form` with explode False"


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(["name", "tags"]), st.text(min_size=1), max_size=2))
def test_a_urlencoded_form_decodes_to_the_same_fields(fields: dict[str, str]) -> None:
    expected = {key: [text] if key == "tags" else text for key, text in fields.items()}

    assert read(FORM, urlencode(fields).encode()) == (expected, "")


def multipart(*parts: tuple[str, bytes]) -> bytes:
    return b"".join(
        b"--B\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + content + b"\r\n"
        for head, content in parts
    ) + b"--B--\r\n"  # fmt: skip


def test_multipart_is_decoded_part_by_part() -> None:
    data = bytes(range(256)) + b"\r\n\r\n--C\r\n"
    body = multipart(
        ('name="name"', "ä".encode()),
        ('name="count"', b"7"),
        ('name="tags"', b"a"),
        ('name="tags"', b"b"),
        ('name="size"\r\nContent-Type: application/json', b'{"w":7}'),
        ('name="sdp"\r\nContent-Type: application/sdp', b"v=0"),
        ('name="file"; filename="a.bin"\r\nContent-Type: image/png', data),
        ('name="files"; filename="b.bin"', b"x"),
    )

    value, problem = read("multipart/form-data; boundary=B", body)

    assert problem == ""
    assert value == {
        "name": "ä",
        "count": 7,
        "tags": ["a", "b"],
        "size": {"w": 7},
        "sdp": "v=0",
        "file": b64encode(data).decode(),
        "files": [b64encode(b"x").decode()],
    }


def test_json_in_a_form_is_parsed_if_text_does_not_match_the_schema() -> None:
    place = {"oneOf": [{"type": "string", "maxLength": 3}, SCHEMA["properties"]["size"]]}
    schema = {"type": "object", "properties": {"place": place}}

    assert read(FORM, b'place={"w":7}', schema) == ({"place": {"w": 7}}, "")
    assert read(FORM, b"place={7}", schema) == ({"place": "{7}"}, "")


def test_one_part_of_a_nullable_list_is_a_list() -> None:
    tags = {"type": ["array", "null"], "items": {"type": "string"}}
    schema = {"type": "object", "properties": {"tags": tags}}

    body = multipart(('name="tags"', b"a"))

    found = read("multipart/form-data; boundary=B", body, schema)
    assert found == ({"tags": ["a"]}, "")


def test_multipart_with_styles_is_decoded_like_a_form() -> None:
    body = multipart(('name="w"', b"7"), ('name="name"', b"a&b"))

    value, problem = read(
        "multipart/form-data; boundary=B", body, size={"style": "form", "explode": True}
    )

    assert (value, problem) == ({"name": "a&b", "size": {"w": 7}}, "")


@pytest.mark.parametrize(
    ("style", "text"), [("form", b"a,b"), ("pipeDelimited", b"a|b"), ("spaceDelimited", b"a b")]
)
def test_items_in_one_part_are_split_by_the_separator_of_the_style(style: str, text: bytes) -> None:
    value, problem = read(
        "multipart/form-data; boundary=B",
        multipart(('name="tags"', text)),
        tags={"style": style, "explode": False},
    )

    assert (value, problem) == ({"tags": ["a", "b"]}, "")


@pytest.mark.parametrize("body", [b"", b"--B\r\n\r\nx", b"--C--\r\n"])
def test_malformed_multipart_is_rejected(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"multipart body|a part has"):
        split_multipart("multipart/form-data; boundary=B", body)


def test_a_form_part_without_a_name_is_rejected() -> None:
    _, problem = read("multipart/form-data; boundary=B", multipart(("", b"x")))

    assert problem == "a part has no name"


NOTE = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "xml": {"name": "Note"},
}


@pytest.mark.parametrize(
    ("content_type", "body", "schema", "value"),
    [
        ("application/json", b'{"count":1}', SCHEMA, {"count": 1}),
        ("application/merge-patch+json", b'{"a":null}', True, {"a": None}),
        ("application/x-ndjson", b'{"a":1}\n{"a":2}\n', {"type": "object"}, [{"a": 1}, {"a": 2}]),
        ("text/plain; charset=latin-1", b"\xe4", {"type": "string"}, "ä"),
        ("application/xml", b"<a/>", {"type": "object"}, "<a/>"),
        ("message/imdn+xml", b"<Note><a>1</a></Note>", NOTE, {"a": "1"}),
        ("image/png", b"\x89\x00", {"type": "string", "format": "binary"}, "iQA="),
    ],
)
def test_a_body_is_decoded_by_its_media_type(
    content_type: str, body: bytes, schema: Any, value: Any
) -> None:
    assert read(content_type, body, schema) == (value, "")


def test_json_that_violates_the_schema_is_reported() -> None:
    value, problem = read("application/json", json.dumps({"count": "1"}).encode())

    assert value == {"count": "1"}
    assert problem == 'at `/count`: "1" is not of type "integer"'


def test_the_most_specific_media_type_is_used() -> None:
    content = tuple(
        MediaType(name, {"type": kind})
        for name, kind in (("*/*", "array"), ("text/*", "null"), ("text/plain", "string"))
    )

    for content_type, is_fine in (("text/plain", True), ("text/html", True), ("image/png", True)):
        reading, _ = read_body(content, content_type, b"x", Schemas({}))
        assert (reading is not None) is is_fine
    assert read_body(content[2:], "image/png", b"x", Schemas({}))[0] is None


def with_content_id(content_id: str) -> Any:
    return {"headers": [{"name": "Content-ID", "schema": {"const": content_id}}]}


@pytest.mark.parametrize(
    ("content_id", "expected"),
    [
        ("<b@x>", ({"root": {}, "b": b64encode(b"one").decode()}, "")),
        ("<c@x>", (None, "no part has the Content-ID `<c@x>`")),
        ("", (None, "no part has the Content-ID ``")),
    ],
)
def test_a_file_part_is_identified_by_its_content_id(content_id: str, expected: Any) -> None:
    file = {"type": "string", "format": "binary"}
    schema = {"type": "object", "properties": {"root": {"type": "object"}, "a": file, "b": file}}
    body = (
        b"--B\r\nContent-Type: application/json\r\n\r\n{}\r\n"
        b"--B\r\nContent-Type: image/png\r\nContent-ID: %s\r\n\r\none\r\n--B--\r\n"
    ) % content_id.encode()
    encoding = {"a": with_content_id("<a@x>"), "b": with_content_id("<b@x>")}
    sent_as = 'multipart/related; boundary=B; type="application/json"'
    assert read(sent_as, body, schema, **encoding) == expected
