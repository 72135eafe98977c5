"""Tests of the decoder with an encoder written from the style table of OpenAPI 3.2."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpgen.testing.mock.decode import DecodedRequest, RawRequest, decode_request
from mcpgen.testing.mock.description import Description, Operation
from mcpgen.testing.mock.routes import match_path


def operation(*parameters: dict[str, Any], path: str = "/things") -> tuple[Operation, Description]:
    described = Description(
        {
            "operations": [
                {
                    "method": "GET",
                    "path": path,
                    "parameters": [
                        {"required": False, "content_type": "", **parameter}
                        for parameter in parameters
                    ],
                    "responses": [],
                    "security": [],
                    "servers": [],
                }
            ]
        }
    )
    return described.operations[f"GET {path}"], described


def decoded(
    *parameters: dict[str, Any],
    path: str = "/things",
    at: str = "",
    query: str = "",
    headers: tuple[tuple[str, str], ...] = (),
) -> DecodedRequest:
    described, api = operation(*parameters, path=path)
    raw = RawRequest("GET", at or path, query, headers)
    return decode_request(described, raw, api.requests.schemas)


def parameter(location: str, style: str, explode: bool, schema: Any, **more: Any) -> dict[str, Any]:
    return {
        "name": "color",
        "location": location,
        "style": style,
        "explode": explode,
        "schema": schema,
        **more,
    }


# The independent encoder: one line for each cell of the style table.


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def escaped(value: Any) -> str:
    return quote(text_of(value), safe="")


def encoded(name: str, style: str, explode: bool, value: Any) -> str:
    """Encode a value that is not empty, by the style table of the Parameter Object."""
    if isinstance(value, list):
        items = [escaped(item) for item in value]
        return {
            ("simple", False): ",".join(items),
            ("simple", True): ",".join(items),
            ("label", False): "." + ",".join(items),
            ("label", True): "." + ".".join(item.replace(".", "%2E") for item in items),
            ("matrix", False): f";{name}=" + ",".join(items),
            ("matrix", True): "".join(f";{name}={item}" for item in items),
            ("form", False): f"{name}=" + ",".join(items),
            ("form", True): "&".join(f"{name}={item}" for item in items),
            ("spaceDelimited", False): f"{name}=" + "%20".join(items),
            ("pipeDelimited", False): f"{name}=" + "%7C".join(items),
        }[style, explode]
    if isinstance(value, dict):
        pairs = [(escaped(key), escaped(item)) for key, item in value.items()]
        flat = [text for pair in pairs for text in pair]
        joined = [f"{key}={item}" for key, item in pairs]
        return {
            ("simple", False): ",".join(flat),
            ("simple", True): ",".join(joined),
            ("label", False): "." + ",".join(flat),
            ("label", True): "." + ".".join(pair.replace(".", "%2E") for pair in joined),
            ("matrix", False): f";{name}=" + ",".join(flat),
            ("matrix", True): "".join(f";{pair}" for pair in joined),
            ("form", False): f"{name}=" + ",".join(flat),
            ("form", True): "&".join(joined),
            ("spaceDelimited", False): f"{name}=" + "%20".join(flat),
            ("pipeDelimited", False): f"{name}=" + "%7C".join(flat),
            ("deepObject", True): "&".join(f"{name}%5B{key}%5D={item}" for key, item in pairs),
        }[style, explode]
    return {
        "simple": escaped(value),
        "label": f".{escaped(value)}",
        "matrix": f";{name}={escaped(value)}",
        "form": f"{name}={escaped(value)}",
    }[style]


def unencoded(explode: bool, value: Any) -> str:
    """Encode a value with style `simple` in a header, without percent-encoding."""
    if isinstance(value, list):
        return ",".join(map(text_of, value))
    if isinstance(value, dict):
        joiner = "=" if explode else ","
        return ",".join(f"{key}{joiner}{text_of(item)}" for key, item in value.items())
    return text_of(value)


def texts(without: str) -> st.SearchStrategy[str]:
    characters = st.characters(exclude_categories=("Cs",), exclude_characters="\x00" + without)
    return st.text(characters, min_size=1, max_size=8)


HEADER_TEXTS = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters=",="), min_size=1
)
SCALARS = {
    "integer": st.integers(-(10**12), 10**12),
    "boolean": st.booleans(),
    "number": st.floats(-1e6, 1e6, allow_nan=False).map(lambda number: round(number, 3)),
}


@st.composite
def typed_values(draw: st.DrawFn, kind: str, strings: st.SearchStrategy[str]) -> tuple[Any, Any]:
    """Draw a schema, and a value that is not empty of the kind scalar, array or object."""
    scalars = {**SCALARS, "string": strings}
    name = draw(st.sampled_from(sorted(scalars)))
    item = {"type": name}
    if kind == "scalar":
        return item, draw(scalars[name])
    if kind == "array":
        items = draw(st.lists(scalars[name], min_size=1, max_size=4))
        return {"type": "array", "items": item}, items
    keys = draw(st.lists(strings, min_size=1, max_size=4, unique=True))
    value = {key: draw(scalars[name]) for key in keys}
    schema = {"type": "object", "properties": dict.fromkeys(keys, item)}
    return {**schema, "additionalProperties": False}, value


NOT_IN_ITEMS = {"spaceDelimited": " ", "pipeDelimited": "|", "deepObject": "[]"}

ROUND_TRIPS = [
    *[("path", style, explode, kind)
      for style in ("simple", "label", "matrix")
      for explode in (False, True)
      for kind in ("scalar", "array", "object")],
    *[("query", "form", explode, kind)
      for explode in (False, True)
      for kind in ("scalar", "array", "object")],
    *[("query", style, False, kind)
      for style in ("spaceDelimited", "pipeDelimited")
      for kind in ("array", "object")],
    ("query", "deepObject", True, "object"),
]  # fmt: skip


@pytest.mark.parametrize(("location", "style", "explode", "kind"), ROUND_TRIPS)
@settings(max_examples=60)
@given(data=st.data())
def test_every_style_decodes_to_the_sent_value(
    location: str, style: str, explode: bool, kind: str, data: st.DataObject
) -> None:
    schema, value = data.draw(typed_values(kind, texts(NOT_IN_ITEMS.get(style, ""))))
    one = parameter(location, style, explode, schema)
    wire = encoded("color", style, explode, value)

    if location == "path":
        said = decoded(one, path="/things/{color}", at=f"/things/{wire}")
    else:
        said = decoded(one, query=wire)

    assert said.values(location) == {"color": value}
    assert said.problems == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": ["string", "null"], "enum": ["open", None]}, None),
        ({"type": ["string", "null"]}, "null"),
    ],
    ids=["no such text", "a text"],
)
def test_null_is_decoded_if_the_schema_allows_no_such_text(schema: Any, value: Any) -> None:
    one = parameter("query", "form", True, schema)
    assert decoded(one, query="color=null").values("query") == {"color": value}


@pytest.mark.parametrize(
    ("items", "value"), [("string", ["a,b"]), ("integer", [1, 2])], ids=["item", "separator"]
)
def test_an_encoded_comma_is_part_of_a_string_item(items: str, value: Any) -> None:
    one = parameter("query", "form", False, {"type": "array", "items": {"type": items}})
    query = "color=a%2Cb" if items == "string" else "color=1%2C2"
    assert decoded(one, query=query).values("query") == {"color": value}


@pytest.mark.parametrize("explode", [False, True])
@pytest.mark.parametrize("kind", ["scalar", "array", "object"])
@settings(max_examples=60)
@given(data=st.data())
def test_a_header_decodes_to_the_sent_value(explode: bool, kind: str, data: st.DataObject) -> None:
    schema, value = data.draw(typed_values(kind, HEADER_TEXTS))
    one = parameter("header", "simple", explode, schema)

    said = decoded(one, headers=(("Color", unencoded(explode, value)),))

    assert said.values("header") == {"color": value}
    assert said.problems == []


@pytest.mark.parametrize("explode", [False, True])
@pytest.mark.parametrize("kind", ["scalar", "array", "object"])
@settings(max_examples=40)
@given(data=st.data())
def test_a_cookie_decodes_to_the_sent_value(explode: bool, kind: str, data: st.DataObject) -> None:
    schema, value = data.draw(typed_values(kind, texts("")))
    one = parameter("cookie", "form", explode, schema)
    wire = encoded("color", "form", explode, value)

    for sent in (wire, wire.replace("&", "; ")):
        said = decoded(one, headers=(("Cookie", sent),))
        assert said.values("cookie") == {"color": value}
        assert said.problems == []


# The specification's own table (OpenAPI 3.2, "Style Examples").

STRINGS = {"type": "array", "items": {"type": "string"}}
RGB = {
    "type": "object",
    "properties": {name: {"type": "integer"} for name in "RGB"},
    "additionalProperties": False,
}
BLUES, RGB_VALUE = ["blue", "black", "brown"], {"R": 100, "G": 200, "B": 150}


@pytest.mark.parametrize(
    ("style", "explode", "schema", "wire", "value"),
    [
        ("matrix", False, STRINGS, ";color=blue,black,brown", BLUES),
        ("matrix", True, STRINGS, ";color=blue;color=black;color=brown", BLUES),
        ("matrix", False, RGB, ";color=R,100,G,200,B,150", RGB_VALUE),
        ("matrix", True, RGB, ";R=100;G=200;B=150", RGB_VALUE),
        ("label", False, STRINGS, ".blue,black,brown", BLUES),
        ("label", False, STRINGS, ".blue.black.brown", BLUES),
        ("label", True, STRINGS, ".blue.black.brown", BLUES),
        ("label", False, RGB, ".R,100,G,200,B,150", RGB_VALUE),
        ("label", False, RGB, ".R.100.G.200.B.150", RGB_VALUE),
        ("label", True, RGB, ".R=100.G=200.B=150", RGB_VALUE),
        ("simple", False, STRINGS, "blue,black,brown", BLUES),
        ("simple", False, RGB, "R,100,G,200,B,150", RGB_VALUE),
        ("simple", True, RGB, "R=100,G=200,B=150", RGB_VALUE),
        ("matrix", False, {"type": "string"}, ";color", ""),
    ],
)
def test_path_examples_of_the_specification_are_decoded(
    style: str, explode: bool, schema: Any, wire: str, value: Any
) -> None:
    one = parameter("path", style, explode, schema)

    said = decoded(one, path="/things/{color}", at=f"/things/{wire}")

    assert value in said.path["color"].values
    assert said.problems == []


@pytest.mark.parametrize(
    ("style", "explode", "schema", "wire", "value"),
    [
        ("form", False, STRINGS, "color=blue,black,brown", BLUES),
        ("form", True, STRINGS, "color=blue&color=black&color=brown", BLUES),
        ("form", False, RGB, "color=R,100,G,200,B,150", RGB_VALUE),
        ("form", True, RGB, "R=100&G=200&B=150", RGB_VALUE),
        ("spaceDelimited", False, STRINGS, "color=blue%20black%20brown", BLUES),
        ("spaceDelimited", False, STRINGS, "color=blue+black+brown", BLUES),
        ("pipeDelimited", False, STRINGS, "color=blue%7Cblack%7Cbrown", BLUES),
        ("pipeDelimited", False, STRINGS, "color=blue|black|brown", BLUES),
        ("deepObject", True, RGB, "color[R]=100&color[G]=200&color[B]=150", RGB_VALUE),
        ("form", True, {"type": "string"}, "color=a+b%2Bc", "a b+c"),
        ("form", True, {"type": "string"}, "color=", ""),
    ],
)
def test_query_examples_of_the_specification_are_decoded(
    style: str, explode: bool, schema: Any, wire: str, value: Any
) -> None:
    said = decoded(parameter("query", style, explode, schema), query=wire)

    assert said.values("query") == {"color": value}
    assert said.problems == []


def test_deep_object_decodes_lists_and_nested_objects() -> None:
    schema = {
        "type": "object",
        "properties": {
            "tags": STRINGS,
            "size": {"type": "object", "properties": {"from": {"type": "integer"}}},
        },
    }
    one = parameter("query", "deepObject", True, schema)
    value = {"tags": ["a", "b"], "size": {"from": 7}}

    for tags in (
        "[tags][0]=a&color[tags][1]=b",
        "[tags][]=a&color[tags][]=b",
        "[tags]=a&color[tags]=b",
    ):
        said = decoded(one, query=f"color{tags}&color[size][from]=7")
        assert said.values("query") == {"color": value}
        assert said.problems == []


def test_list_of_one_is_a_list() -> None:
    for style, explode in (("form", True), ("form", False), ("pipeDelimited", False)):
        said = decoded(parameter("query", style, explode, STRINGS), query="color=blue")
        assert said.values("query") == {"color": ["blue"]}


def test_ambiguous_text_has_several_values() -> None:
    schema = {"anyOf": [{"type": "integer"}, {"type": "string"}, STRINGS]}

    reading = decoded(parameter("query", "form", True, schema), query="color=7").query["color"]

    assert reading.values == (7, "7", ["7"])


def test_parameter_with_content_is_json() -> None:
    one = parameter("query", "", False, RGB, content_type="application/json")

    said = decoded(one, query="color=" + quote(json.dumps(RGB_VALUE)))

    assert said.values("query") == {"color": RGB_VALUE}
    assert decoded(one, query="color=R").problems == ["query parameter `color`: `R` is not JSON"]


def test_whole_query_is_one_value() -> None:
    one = {
        "name": "q",
        "location": "querystring",
        "schema": RGB,
        "content_type": "application/x-www-form-urlencoded",
    }

    said = decoded(one, query="R=100&G=200&B=150")

    assert said.querystring is not None
    assert said.querystring.value == RGB_VALUE


def test_one_name_in_every_location_is_kept_separate() -> None:
    schema = {"type": "string"}

    said = decoded(
        parameter("path", "simple", False, schema),
        parameter("query", "form", True, schema),
        parameter("header", "simple", False, schema),
        parameter("cookie", "form", True, schema),
        path="/things/{color}",
        at="/things/a",
        query="color=b",
        headers=(("COLOR", "c"), ("Cookie", "color=d")),
    )

    places = ("path", "query", "header", "cookie")
    assert [said.values(place)["color"] for place in places] == ["a", "b", "c", "d"]
    assert said.problems == []


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("color=blue&size=7", "query parameter `size` is not described"),
        ("color=12", "query parameter `color`: 12 is greater than the maximum of 9"),
        ("color=a", 'query parameter `color`: "a" is not of type "integer"'),
        ("color=True", 'query parameter `color`: "True" is not of type "integer"'),
        ("color=1&color=2", 'query parameter `color`: [1,2] is not of type "integer"'),
        ("", "query parameter `color` is required"),
        ("color=1 ", "the query has a raw ` `"),
        ("color=é", "the query has a raw `é`"),
    ],
)
def test_an_invalid_value_is_reported(query: str, problem: str) -> None:
    schema = {"type": "integer", "maximum": 9}

    said = decoded(parameter("query", "form", True, schema, required=True), query=query)

    assert any(found.startswith(problem) for found in said.problems), said.problems


def test_undescribed_headers_and_cookies_are_reported() -> None:
    said = decoded(headers=(("Accept", "*/*"), ("X-Extra", "1"), ("Cookie", "sid=1")))

    assert said.problems == ["header `X-Extra` is not described", "cookie `sid` is not described"]


def test_an_exploded_object_does_not_consume_other_parameters() -> None:
    said = decoded(
        parameter("query", "form", True, {"type": "object"}),
        {**parameter("query", "form", True, {"type": "integer"}), "name": "limit"},
        query="R=100&limit=5",
    )

    assert said.values("query") == {"color": {"R": 100}, "limit": 5}


@pytest.mark.parametrize(
    ("template", "path", "texts"),
    [
        ("/a/{x}", "/a/b%2Fc", {"x": ["b%2Fc"]}),
        ("/a/{x}", "/a/b/c", None),
        ("/a/{x}", "/a/", None),
        ("/a/{x}.{y}", "/a/b.c", {"x": ["b"], "y": ["c"]}),
        ("/a/{x}.{y}", "/a/4.5.c", {"x": ["4.5", "4"], "y": ["c", "5.c"]}),
        ("/a/{x}:cancel", "/a/7:cancel", {"x": ["7"]}),
        ("/a/{x}:cancel", "/a/7%3Acancel", None),
        ("/a b/{x}", "/a%20b/1", {"x": ["1"]}),
        ("/a?op=x", "/a", {}),
        ("/a/{x}{y}", "/a/4b2", {"x": ["4", "4b"], "y": ["b2", "2"]}),
        ("/a/v{x}{y}z{w}", "/a/v12z3", {"x": ["1"], "y": ["2"], "w": ["3"]}),
        ("/a/{x}{y}", "/a/4", None),
    ],
)
def test_path_is_matched_by_segments(template: str, path: str, texts: Any) -> None:
    assert match_path(template, path) == texts


def test_adjacent_path_parameters_are_divided_by_their_schemas() -> None:
    said = decoded(
        {**parameter("path", "simple", False, {"type": "integer"}), "name": "id"},
        {**parameter("path", "simple", False, {"type": "string"}), "name": "suffix"},
        path="/things/{id}{suffix}",
        at="/things/15.xml",
    )
    assert said.problems == []
    assert 15 in said.path["id"].values
    assert ".xml" in said.path["suffix"].values
    assert "15.xml" not in said.path["suffix"].values
