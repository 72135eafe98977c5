"""Tests of parameter serialization, byte for byte (OpenAPI 3.2, "Style Examples")."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpgen.runtime.upstream.request.forms import format_querystring
from mcpgen.runtime.upstream.request.parameters import (
    ParameterRule,
    PathTemplate,
    UnsendableError,
    UnsendablePathError,
    format_cookie,
    format_header,
    format_path,
    format_primitive,
    format_query,
)

ARRAY = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}


def expand_path(template: str, rules: dict[str, ParameterRule], values: dict[str, Any]) -> str:
    return PathTemplate(template).expand(rules, values)


def rule(location: str, style: str = "", explode: bool = False, **more: Any) -> ParameterRule:
    return ParameterRule(location, more.pop("name", "color"), "color", style, explode, **more)


@pytest.mark.parametrize(
    ("style", "explode", "value", "expected"),
    [
        ("simple", False, "blue", "blue"),
        ("simple", False, ARRAY, "blue,black,brown"),
        ("simple", False, OBJECT, "R,100,G,200,B,150"),
        ("simple", True, "blue", "blue"),
        ("simple", True, ARRAY, "blue,black,brown"),
        ("simple", True, OBJECT, "R=100,G=200,B=150"),
        ("label", False, "blue", ".blue"),
        ("label", False, ARRAY, ".blue,black,brown"),
        ("label", False, OBJECT, ".R,100,G,200,B,150"),
        ("label", True, ARRAY, ".blue.black.brown"),
        ("label", True, OBJECT, ".R=100.G=200.B=150"),
        ("label", True, ["v1.2", "x"], ".v1%2E2.x"),
        ("matrix", False, "", ";color"),
        ("matrix", True, "", ";color"),
        ("matrix", False, "blue", ";color=blue"),
        ("matrix", False, ARRAY, ";color=blue,black,brown"),
        ("matrix", False, OBJECT, ";color=R,100,G,200,B,150"),
        ("matrix", True, ARRAY, ";color=blue;color=black;color=brown"),
        ("matrix", True, OBJECT, ";R=100;G=200;B=150"),
        ("simple", False, "a/b?c#d;e", "a%2Fb%3Fc%23d%3Be"),
        ("simple", False, "50%", "50%25"),
        ("simple", False, "caf\u00e9 \u2603", "caf%C3%A9%20%E2%98%83"),
        ("simple", False, "A-z_0.9~", "A-z_0.9~"),
        ("simple", False, ["a,b", "c"], "a%2Cb,c"),
        ("simple", True, {"a=b": "c,d"}, "a%3Db=c%2Cd"),
        ("simple", False, 0, "0"),
        ("simple", False, False, "false"),
        ("simple", False, True, "true"),
        ("simple", False, None, "null"),
    ],
)
def test_path_parameters_are_serialised_in_each_style(
    style: str, explode: bool, value: Any, expected: str
) -> None:
    assert format_path(rule("path", style, explode), value) == expected


@pytest.mark.parametrize(
    ("style", "explode", "value", "expected"),
    [
        ("form", False, "", "color="),
        ("form", True, "", "color="),
        ("form", False, "blue", "color=blue"),
        ("form", True, "blue", "color=blue"),
        ("form", False, ARRAY, "color=blue,black,brown"),
        ("form", True, ARRAY, "color=blue&color=black&color=brown"),
        ("form", False, OBJECT, "color=R,100,G,200,B,150"),
        ("form", True, OBJECT, "R=100&G=200&B=150"),
        ("spaceDelimited", False, ARRAY, "color=blue%20black%20brown"),
        ("spaceDelimited", False, OBJECT, "color=R%20100%20G%20200%20B%20150"),
        ("spaceDelimited", True, ARRAY, "color=blue&color=black&color=brown"),
        ("pipeDelimited", False, ARRAY, "color=blue%7Cblack%7Cbrown"),
        ("pipeDelimited", False, OBJECT, "color=R%7C100%7CG%7C200%7CB%7C150"),
        ("pipeDelimited", True, ARRAY, "color=blue&color=black&color=brown"),
        (
            "deepObject",
            True,
            OBJECT,
            "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
        ),
        (
            "deepObject",
            True,
            {"a": {"b": [1, {"c": True}]}},
            "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=true",
        ),
        ("form", True, 0, "color=0"),
        ("form", True, False, "color=false"),
        ("form", True, None, "color=null"),
        ("form", True, [], ""),
        ("form", False, [], "color="),
        ("form", True, {}, ""),
        ("form", True, [""], "color="),
        ("form", True, [None, 0, False], "color=null&color=0&color=false"),
        ("form", False, ["a,b", "c"], "color=a%2Cb,c"),
        ("form", True, ["a&b=c", "d+e f"], "color=a%26b%3Dc&color=d%2Be%20f"),
        ("form", True, {"k&": {"n": [1]}}, "k%26=%7B%22n%22%3A%5B1%5D%7D"),
    ],
)
def test_query_parameters_are_serialised_in_each_style(
    style: str, explode: bool, value: Any, expected: str
) -> None:
    assert "&".join(format_query(rule("query", style, explode), value)) == expected


@pytest.mark.parametrize(
    ("value", "explode", "expected"),
    [
        ("a/b?c:d@e", True, "color=a/b?c:d@e"),
        ("a&b+c#d[e]%2F", True, "color=a%26b%2Bc%23d%5Be%5D%252F"),
        (["a/b", "c,d"], False, "color=a/b,c%2Cd"),
    ],
)
def test_allow_reserved_keeps_only_unambiguous_reserved_characters(
    value: Any, explode: bool, expected: str
) -> None:
    allowing = rule("query", "form", explode, allow_reserved=True)
    assert "&".join(format_query(allowing, value)) == expected


def test_query_names_are_encoded_except_for_odata_names() -> None:
    assert format_query(rule("query", "form", True, name="filter[a b]"), 1) == [
        "filter%5Ba%20b%5D=1"
    ]
    assert format_query(rule("query", "form", True, name="$top"), 1) == ["$top=1"]


def test_an_empty_array_is_sent_with_allow_empty_value() -> None:
    assert format_query(rule("query", "form", True, allow_empty_value=True), []) == ["color="]


@pytest.mark.parametrize(
    ("style", "item", "separator"),
    [("spaceDelimited", "a b", "a space"), ("pipeDelimited", "a|b", "|")],
)
def test_an_item_that_contains_the_separator_is_rejected(
    style: str, item: str, separator: str
) -> None:
    with pytest.raises(UnsendableError, match="it separates items") as refusal:
        format_query(rule("query", style, False), ["x", item])
    assert separator in str(refusal.value)


def test_a_content_parameter_is_compact_json_in_each_location() -> None:
    value = {"lat": 1.5, "name": "caf\u00e9; x"}
    content = {"content_type": "application/json"}
    encoded = "%7B%22lat%22%3A1.5%2C%22name%22%3A%22caf%C3%A9%3B%20x%22%7D"
    assert format_query(rule("query", **content), value) == [f"color={encoded}"]
    assert format_path(rule("path", **content), value) == encoded
    assert format_cookie(rule("cookie", **content), value) == [f"color={encoded}"]
    assert format_header(rule("header", **content), value) == '{"lat":1.5,"name":"caf\\u00e9; x"}'


def test_querystring_parameter_is_the_whole_query() -> None:
    form = rule("querystring", content_type="application/x-www-form-urlencoded")
    assert format_querystring(form, {"a": "x y", "b": [1, 2]}) == "a=x+y&b=1&b=2"
    as_json = rule("querystring", content_type="application/json")
    assert format_querystring(as_json, {"a": 1}) == "%7B%22a%22%3A1%7D"


@pytest.mark.parametrize(
    ("explode", "value", "expected"),
    [
        (False, "blue", "blue"),
        (False, ARRAY, "blue,black,brown"),
        (True, ARRAY, "blue,black,brown"),
        (False, OBJECT, "R,100,G,200,B,150"),
        (True, OBJECT, "R=100,G=200,B=150"),
        (False, "", ""),
        (False, False, "false"),
        (False, 'W/"a b"; q=1, c', 'W/"a b"; q=1, c'),
    ],
)
def test_header_parameters_are_serialised_in_simple_style(
    explode: bool, value: Any, expected: str
) -> None:
    assert format_header(rule("header", "simple", explode), value) == expected


@pytest.mark.parametrize(
    ("style", "explode", "value", "expected"),
    [
        ("form", False, "blue", ["color=blue"]),
        ("form", False, ARRAY, ["color=blue,black,brown"]),
        ("form", True, ARRAY, ["color=blue", "color=black", "color=brown"]),
        ("form", False, OBJECT, ["color=R,100,G,200,B,150"]),
        ("form", True, OBJECT, ["R=100", "G=200", "B=150"]),
        ("form", True, "a; admin=1", ["color=a%3B%20admin%3D1"]),
        ("form", True, "", ["color="]),
        ("cookie", True, "a=b", ["color=a=b"]),
        ("cookie", True, ["a", "b"], ["color=a", "color=b"]),
    ],
)
def test_cookie_parameters_are_serialised_in_each_style(
    style: str, explode: bool, value: Any, expected: list[str]
) -> None:
    assert format_cookie(rule("cookie", style, explode), value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, "1"),
        (1.5, "1.5"),
        (1e22, "10000000000000000000000"),
        (1e-7, "0.0000001"),
        (1.25e-9, "0.00000000125"),
        (-0.0, "0"),
        (10**30, "1" + "0" * 30),
        ({"a": [1]}, '{"a":[1]}'),
    ],
)
def test_numbers_have_no_exponent(value: Any, expected: str) -> None:
    assert format_primitive(value) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_formatted_numbers_parse_to_the_same_value(value: float) -> None:
    assert float(format_primitive(value)) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {"a": "\ud800"}])
def test_a_value_that_is_not_json_text_is_rejected(value: Any) -> None:
    with pytest.raises(UnsendableError):
        format_query(rule("query", "form", True), value)


# Paths cannot be left


@pytest.mark.parametrize(
    "value",
    [
        "",
        ".",
        "..",
        "%2e",
        "%2e%2E",
        "%252e%252e",
        "%25252e%25252e",
        "../admin",
        "a/../b",
        "a%2f..%2fb",
        "a%252f%252e%252e",
        "..\\x",
        "..;x=1/y",
        "a\x00b",
        "a\nb",
        "\x7f",
        [],
        [""],
        "%" + "25" * 20 + "2e",
    ],
)
def test_a_path_value_that_could_change_the_path_is_rejected(value: Any) -> None:
    rules = {"id": rule("path", "simple", name="id")}
    with pytest.raises(UnsendablePathError) as refusal:
        expand_path("/pets/{id}/photo", rules, {"id": value})
    assert refusal.value.name == "id"


def test_path_values_that_combine_to_a_dot_segment_are_rejected() -> None:
    rules = {name: rule("path", "simple", name=name) for name in "ab"}
    with pytest.raises(UnsendablePathError):
        expand_path("/x/{a}{b}", rules, {"a": "%2", "b": "e"})


@pytest.mark.parametrize("style", ["simple", "label", "matrix"])
@pytest.mark.parametrize("value", [[], {}])
def test_an_empty_list_in_a_path_is_rejected(style: str, value: Any) -> None:
    with pytest.raises(UnsendablePathError, match="must not be empty"):
        expand_path("/x/{id}", {"id": rule("path", style, name="id")}, {"id": value})


def test_a_label_value_of_a_single_dot_is_rejected() -> None:
    with pytest.raises(UnsendablePathError):
        expand_path("/x/{id}", {"id": rule("path", "label", name="id")}, {"id": "."})


def test_literal_text_and_partial_segments_of_a_path_are_kept() -> None:
    rules = {name: rule("path", "simple", name=name) for name in ("id", "format")}
    expanded = expand_path("/a b/{id}.{format}/%7Ex:y", rules, {"id": 7, "format": "js/on"})
    assert expanded == "/a%20b/7.js%2Fon/%7Ex:y"


@settings(max_examples=400)
@given(st.text() | st.text(alphabet="./%2eEfF5\\;?#&=:@ab"))
def test_a_path_value_stays_within_its_segment(text: str) -> None:
    rules = {"id": rule("path", "simple", name="id")}
    try:
        path = expand_path("/pets/{id}/photo", rules, {"id": text})
    except UnsendablePathError:
        return
    assert path.isascii()
    assert not set(path) & set("?#;\\ ")
    segments = path.split("/")
    assert len(segments) == 4
    assert [segments[1], unquote(segments[2], errors="strict"), segments[3]] == [
        "pets",
        text,
        "photo",
    ]
    assert unquote(segments[2]) not in {".", "..", ""}


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_query_value_adds_no_parameter_and_decodes_to_itself(text: str) -> None:
    for allow_reserved in (False, True):
        (pair,) = format_query(rule("query", "form", True, allow_reserved=allow_reserved), text)
        name, _, value = pair.partition("=")
        assert name == "color"
        assert not set(value) & set("&#+ ")
        assert unquote(value, errors="strict") == text


# Headers and cookies cannot be injected


@given(st.text() | st.text(alphabet='\r\n\x00 \t:;,="ab'))
def test_a_header_value_is_sent_unchanged_or_rejected(text: str) -> None:
    try:
        header = format_header(rule("header", "simple"), text)
    except UnsendableError:
        return
    assert header == text
    assert all(" " <= character <= "~" for character in header)
    assert header.strip() == header


@given(st.text() | st.text(alphabet='\r\n\x00 \t:;,="\\ab'), st.sampled_from(["form", "cookie"]))
def test_a_cookie_value_contains_no_separator(text: str, style: str) -> None:
    try:
        (pair,) = format_cookie(rule("cookie", style), text)
    except UnsendableError:
        return
    value = pair.removeprefix("color=")
    assert not set(value) & set(';," \\\r\n\t\x00')
    assert value.isascii()
    assert (unquote(value) if style == "form" else value) == text


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "\x00", "caf\u00e9", " a", "a ", "a\tb"])
def test_a_header_value_that_cannot_be_sent_is_rejected(value: str) -> None:
    with pytest.raises(UnsendableError):
        format_header(rule("header", "simple"), value)


def test_a_header_item_with_a_comma_is_rejected() -> None:
    with pytest.raises(UnsendableError, match="separates items"):
        format_header(rule("header", "simple"), ["a,b", "c"])
