"""Tests of bodies of every media type, byte for byte; multipart also by the standard library."""

from __future__ import annotations

import email
import email.policy
from base64 import b64encode
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.request.bodies import BodyRule, MediaTypeRule, encode_body
from mcpgen.runtime.upstream.request.files import FileReader
from mcpgen.runtime.upstream.request.parameters import UnsendableError

FORM = "application/x-www-form-urlencoded"


def encode(media_type: str, value: Any, encoding: Any = None, schema: Any = None) -> Any:
    return encode_body(MediaTypeRule(media_type, encoding or {}, schema), value, FileReader())


@pytest.mark.parametrize(
    ("media_type", "value", "expected"),
    [
        ("application/json", {"a": None, "b": [1.5, True]}, b'{"a":null,"b":[1.5,true]}'),
        ("application/json; charset=utf-8", "caf\u00e9", b'"caf\xc3\xa9"'),
        ("application/merge-patch+json", {"a": None}, b'{"a":null}'),
        ("application/x-ndjson", [{"a": 1}, 2], b'{"a":1}\n2\n'),
        ("application/jsonl", {"a": 1}, b'{"a":1}\n'),
        ("text/plain", "a\nb", b"a\nb"),
        ("text/plain", 5, b"5"),
        ("text/plain; charset=latin-1", "caf\u00e9", b"caf\xe9"),
        ("text/plain; charset=unheard-of", "x", b"x"),
        ("application/xml", "<a/>", b"<a/>"),
        ("application/octet-stream", "AAEC", b"\x00\x01\x02"),
        ("image/png", "data:image/png;base64,iVBO", b"\x89PN"),
        ("application/pdf", "JVBE\nRi0", b"%PDF-"),
        ("application/octet-stream", "data:,a%20b", b"a b"),
        ("application/octet-stream", "", b""),
    ],
)
def test_a_body_is_encoded_for_its_media_type(media_type: str, value: Any, expected: bytes) -> None:
    body = encode(media_type, value)
    assert body.content == expected
    assert body.content_type == media_type


@pytest.mark.parametrize(
    ("encoding", "value", "expected"),
    [
        ({}, {"a": "x y", "b": 1, "c": True, "d": ""}, "a=x+y&b=1&c=true&d="),
        ({}, {"a b": "~&=+\u00e9/"}, "a+b=~%26%3D%2B%C3%A9%2F"),
        ({}, {"tags": ["a", "b,c"]}, "tags=a&tags=b%2Cc"),
        ({}, {"tags": []}, ""),
        ({}, {"o": {"a": [1]}}, "o=%7B%22a%22%3A%5B1%5D%7D"),
        ({}, {"o": [{"a": 1}, {"a": 2}]}, "o=%7B%22a%22%3A1%7D&o=%7B%22a%22%3A2%7D"),
        ({"s": {"content_type": "application/json"}}, {"s": "x"}, "s=%22x%22"),
        (
            {"o": {"style": "deepObject", "explode": True}},
            {"o": {"a": {"b": 1}, "c": ["x", "y"]}},
            "o%5Ba%5D%5Bb%5D=1&o%5Bc%5D%5B0%5D=x&o%5Bc%5D%5B1%5D=y",
        ),
        (
            {"expand": {"style": "deepObject", "explode": True}},
            {"expand": ["a", "b"]},
            "expand%5B0%5D=a&expand%5B1%5D=b",
        ),
        ({"t": {"style": "form", "explode": False}}, {"t": ["a", "b c"]}, "t=a,b+c"),
        ({"t": {"explode": False}}, {"t": ["a", "b"]}, "t=a,b"),
        ({"t": {"style": "spaceDelimited"}}, {"t": ["a", "b"]}, "t=a+b"),
        ({"t": {"style": "pipeDelimited"}}, {"t": ["a", "b"]}, "t=a%7Cb"),
        ({"o": {"style": "form"}}, {"o": {"x": 1, "y": 2}}, "x=1&y=2"),
        (
            {"t": {"explode": False, "allow_reserved": True}},
            {"t": ["a,b", "c/d"]},
            "t=a%2Cb,c/d",
        ),
        ({"u": {"allow_reserved": True}}, {"u": "a/b?c&d"}, "u=a/b?c%26d"),
    ],
)
def test_a_form_is_encoded_with_its_encoding_object(
    encoding: Any, value: Any, expected: str
) -> None:
    assert encode(FORM, value, encoding).content.decode() == expected


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_an_encoded_form_decodes_to_the_same_fields(fields: dict[str, str]) -> None:
    try:
        content = encode(FORM, fields).content.decode("ascii")
    except UnsendableError:
        assert any("\ud800" <= c <= "\udfff" for item in fields.items() for c in "".join(item))
        return
    assert parse_qsl(content, keep_blank_values=True, strict_parsing=bool(fields)) == list(
        fields.items()
    )


# multipart/form-data


def parts_of(body: Any) -> list[tuple[str, str | None, str, bytes]]:
    """Return name, file name, media type and content of each part, as another parser sees them."""
    text = f"Content-Type: {body.content_type}\r\n\r\n".encode() + body.content
    message = email.message_from_bytes(text, policy=email.policy.HTTP)
    assert not message.defects
    return [
        (
            part.get_param("name", header="content-disposition"),
            part.get_filename(),
            part.get("content-type", ""),
            part.get_payload(decode=True),
        )
        for part in message.iter_parts()
    ]


SCHEMA = {
    "type": "object",
    "properties": {
        "file": {"type": "string", "format": "binary"},
        "files": {"type": "array", "items": {"$ref": "#/$defs/File"}},
        "maybe": {"anyOf": [{"type": "string", "format": "binary"}, {"type": "null"}]},
        "picture": {"type": "string", "contentMediaType": "image/png"},
        "byte": {"type": "string", "format": "byte"},
    },
    "$defs": {"File": {"type": "string", "format": "binary"}},
}


@pytest.mark.parametrize(
    ("value", "encoding", "expected"),
    [
        (
            {"a": "x", "b": 2, "c": False},
            {},
            [("a", None, "", b"x"), ("b", None, "", b"2"), ("c", None, "", b"false")],
        ),
        ({"a": ["x", "y"]}, {}, [("a", None, "", b"x"), ("a", None, "", b"y")]),
        ({"a": {"k": [1]}}, {}, [("a", None, "application/json", b'{"k":[1]}')]),
        (
            {"a": "x"},
            {"a": {"content_type": "application/json"}},
            [("a", None, "application/json", b'"x"')],
        ),
        ({"a": "x"}, {"a": {"content_type": "text/csv"}}, [("a", None, "text/csv", b"x")]),
        ({"file": "AAE="}, {}, [("file", "file", "application/octet-stream", b"\x00\x01")]),
        ({"maybe": "AAE="}, {}, [("maybe", "maybe", "application/octet-stream", b"\x00\x01")]),
        (
            {"picture": "AAE="},
            {},
            [("picture", "picture", "application/octet-stream", b"\x00\x01")],
        ),
        ({"byte": "AAE="}, {}, [("byte", None, "", b"AAE=")]),
        (
            {"file": "data:image/png;name=my%20cat.png;base64,AAE="},
            {},
            [("file", "my cat.png", "image/png", b"\x00\x01")],
        ),
        (
            {"file": "AAE="},
            {"file": {"content_type": "image/png, image/jpeg"}},
            [("file", "file", "image/png", b"\x00\x01")],
        ),
        (
            {"file": "data:image/jpeg;base64,AAE="},
            {"file": {"content_type": "image/png, image/*"}},
            [("file", "file", "image/jpeg", b"\x00\x01")],
        ),
        (
            {"files": ["AAE=", "data:text/plain,hi"]},
            {},
            [
                ("files", "files", "application/octet-stream", b"\x00\x01"),
                ("files", "files", "text/plain", b"hi"),
            ],
        ),
        (
            {"undeclared": "AAE="},
            {"undeclared": {"content_type": "audio/ogg"}},
            [("undeclared", "undeclared", "audio/ogg", b"\x00\x01")],
        ),
        (
            {"o": {"a": 1, "b c": "\u00e9"}},
            {"o": {"style": "deepObject", "explode": True}},
            [("o[a]", None, "", b"1"), ("o[b c]", None, "", "\u00e9".encode())],
        ),
    ],
)
def test_a_multipart_body_has_the_expected_parts(value: Any, encoding: Any, expected: Any) -> None:
    body = encode("multipart/form-data", value, encoding, SCHEMA)
    assert parts_of(body) == expected


def test_multipart_bodies_are_deterministic_and_escape_names_like_browsers() -> None:
    body = encode("multipart/form-data; boundary=theirs", {'a\r\n"b': "x\r\n"})
    boundary = body.content_type.removeprefix("multipart/form-data; boundary=")
    assert (
        body.content
        == (
            f'--{boundary}\r\nContent-Disposition: form-data; name="a%0D%0A%22b"\r\n\r\n'
            f"x\r\n\r\n--{boundary}--\r\n"
        ).encode()
    )
    assert encode("multipart/form-data", {'a\r\n"b': "x\r\n"}) == body


def test_a_part_has_only_headers_with_a_fixed_value() -> None:
    headers = [
        {"name": "X-Fixed", "schema": {"const": "yes"}},
        {"name": "X-Default", "schema": {"default": 3}},
        {"name": "X-Free", "schema": {"type": "string"}},
        {"name": "Content-Disposition", "schema": {"const": "evil"}},
    ]
    body = encode("multipart/form-data", {"a": "x"}, {"a": {"headers": headers}})
    head = body.content.split(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    assert head == [
        b'Content-Disposition: form-data; name="a"',
        b"X-Fixed: yes",
        b"X-Default: 3",
    ]


@given(st.lists(st.binary(max_size=50), max_size=3))
def test_file_contents_are_encoded_byte_for_byte(contents: list[bytes]) -> None:
    value = {"files": [b64encode(content).decode() for content in contents]}
    body = encode("multipart/form-data", value, {}, SCHEMA)
    boundary = body.content_type.partition("boundary=")[2].encode()
    pieces = (b"\r\n" + body.content).split(b"\r\n--" + boundary)
    assert pieces[0] == b""
    assert pieces[-1] == b"--\r\n"
    assert [piece.partition(b"\r\n\r\n")[2] for piece in pieces[1:-1]] == contents


# What cannot be sent


@pytest.mark.parametrize(
    ("media_type", "value", "told"),
    [
        (FORM, ["a"], "must be an object"),
        (FORM, "a=b", "must be an object"),
        ("multipart/form-data", None, "must be an object"),
        ("multipart/form-data", {"file": "no base64!"}, "must be base64"),
        ("multipart/form-data", {"a": "\ud800"}, "surrogate"),
        ("multipart/form-data", {"\ud800": "a"}, "surrogate"),
        (FORM, {"\ud800": "a"}, "surrogate"),
        ("application/json", {"a": "\ud800"}, "surrogate"),
        ("text/plain", {"a": 1}, "must be a string"),
        ("text/plain; charset=ascii", "\u00e9", "cannot represent"),
        ("text/plain", "\ud800", "cannot represent"),
        ("application/octet-stream", {"a": 1}, "must be a string"),
        ("image/png", "*", "must be base64"),
        ("image/png", "data:image/png;base64", "comma"),
        ("image/png", "\u00e9", "must be base64"),
        ("application/xml", {"a": 1}, "must be a string"),
    ],
)
def test_a_value_that_cannot_be_encoded_is_rejected(media_type: str, value: Any, told: str) -> None:
    with pytest.raises(UnsendableError, match=told):
        encode(media_type, value, {}, SCHEMA)


@pytest.mark.parametrize("media_type", ["multipart/*", "nonsense"])
def test_an_unsupported_media_type_is_rejected_at_load(media_type: str) -> None:
    with pytest.raises(ConfigurationError, match=media_type.partition("/")[0]):
        convert({"argument": "body", "media_types": [{"media_type": media_type}]}, BodyRule)


@pytest.mark.parametrize(
    ("declared", "sent"),
    [
        ("*/*", "application/octet-stream"),
        ("application/*", "application/octet-stream"),
        ("text/*", "text/plain"),
    ],
)
def test_a_media_type_range_is_sent_as_a_concrete_type(declared: str, sent: str) -> None:
    rule = convert({"argument": "body", "media_types": [{"media_type": declared}]}, BodyRule)
    assert encode_body(rule.choose(""), "dGV4dA==", FileReader()).content_type == sent


def test_a_media_type_within_a_range_comes_from_the_caller_or_the_file() -> None:
    rule = convert({"argument": "body", "media_types": [{"media_type": "image/*"}]}, BodyRule)
    gif = "data:image/gif;base64,AAEC"
    assert encode_body(rule.choose("image/png"), gif, FileReader()).content_type == "image/png"
    assert encode_body(rule.choose(""), gif, FileReader()).content_type == "image/gif"
    for value in ("AAEC", "data:text/plain;base64,AAEC"):
        with pytest.raises(UnsendableError, match="expected one within `image/\\*`"):
            encode_body(rule.choose(""), value, FileReader())
    for media_type in ("text/plain", "image/png\r\nX: y"):
        with pytest.raises(UnsendableError):
            rule.choose(media_type)


def test_a_media_type_range_with_a_suffix_accepts_only_that_suffix() -> None:
    declared = [{"media_type": "application/*+xml"}]
    rule = convert({"argument": "body", "media_types": declared}, BodyRule)
    sent = encode_body(rule.choose("application/soap+xml"), "<a/>", FileReader())
    assert sent.content_type == "application/soap+xml"
    declared = [{"media_type": "application/*+json"}]
    rule = convert({"argument": "body", "media_types": declared}, BodyRule)
    sent = encode_body(rule.choose("application/hal+json"), {}, FileReader())
    assert (sent.content_type, sent.content) == ("application/hal+json", b"{}")
    for media_type in ("application/+json", "application/xml", "text/a+json"):
        with pytest.raises(UnsendableError):
            rule.choose(media_type)


def test_a_data_uri_cannot_inject_a_header() -> None:
    with pytest.raises(UnsendableError, match="media type in its `data:` URI"):
        FileReader().read("data:image/png\r\nX-Evil: 1;base64,AAEC")


# Files of this machine


def test_file_is_read_only_below_a_configured_folder(tmp_path) -> None:
    allowed, other = tmp_path / "allowed", tmp_path / "allowed-not"
    allowed.mkdir()
    other.mkdir()
    (allowed / "my cat.txt").write_bytes(b"meow")
    (other / "secret").write_bytes(b"canary")
    (allowed / "link").symlink_to(other / "secret")
    files = FileReader.from_environment("PETSTORE_", {"PETSTORE_FILE_ROOTS": str(allowed)})
    got = files.read((allowed / "my cat.txt").as_uri())
    assert (got.content, got.name) == (b"meow", "my cat.txt")
    for uri in (
        (other / "secret").as_uri(),
        (allowed / "link").as_uri(),
        f"{allowed.as_uri()}/../allowed-not/secret",
        f"{allowed.as_uri()}/%2e%2e/allowed-not/secret",
        "file:///etc/passwd",
    ):
        with pytest.raises(UnsendableError, match="below a folder of PETSTORE_FILE_ROOTS"):
            files.read(uri)
    for uri in (f"{allowed.as_uri()}/nothing", allowed.as_uri()):
        with pytest.raises(UnsendableError, match="missing or unreadable"):
            files.read(uri)
    for uri in ("file:relative", "file://elsewhere/x", f"{allowed.as_uri()}/a%00b\x00"):
        with pytest.raises(UnsendableError):
            files.read(uri)


def test_no_file_is_read_without_a_configured_folder(tmp_path) -> None:
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(UnsendableError, match="PETSTORE_FILE_ROOTS"):
        FileReader.from_environment("PETSTORE_", {}).read((tmp_path / "x").as_uri())
