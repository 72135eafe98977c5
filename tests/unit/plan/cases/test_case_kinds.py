"""Tests of kinds of cases by document: rejected values, variations, and missing samples."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from mcpgen.diagnostics import Problems
from mcpgen.testing import Case
from tests.unit.plan.cases.test_cases import cases, query


def refused(found: dict[str, Case], rule: str) -> list[Any]:
    """Return the invalid values of an argument `q` that violate one rule."""
    ending = f"breaks `{rule}`"
    return [case.arguments["q"] for name, case in found.items() if name.endswith(ending)]


@pytest.mark.parametrize(
    ("schema", "rule", "value"),
    [
        ({"type": "integer", "minimum": 3}, "minimum", 2),
        ({"type": "integer", "maximum": 3}, "maximum", 4),
        ({"type": "integer", "exclusiveMinimum": 3}, "exclusiveMinimum", 3),
        ({"type": "string", "minLength": 3}, "minLength", "qa"),
        ({"type": "string", "maxLength": 3}, "maxLength", "qaaa"),
        ({"type": "string", "enum": ["a", "b"]}, "enum", "no such value"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "pattern", ""),
        ({"type": "string", "format": "uuid"}, "format", ""),
        ({"type": "boolean"}, "type", {"no": "such"}),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 2}, "maxItems", 3),
    ],
)
def test_each_keyword_is_violated_by_one_case(
    tmp_path: Path, schema: dict[str, Any], rule: str, value: Any
) -> None:
    (spoilt,) = refused(cases(tmp_path, {"parameters": [query("q", schema)]}), rule)

    if isinstance(spoilt, str) and isinstance(value, str) and rule.endswith("Length"):
        assert len(spoilt) == len(value)
    else:
        assert (len(spoilt) if isinstance(spoilt, list) else spoilt) == value


def test_keywords_inside_a_recursive_body_are_violated_by_one_case(tmp_path: Path) -> None:
    node = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 2},
            "child": {"$ref": "#/components/schemas/Node"},
        },
    }
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}}
    found = cases(
        tmp_path,
        {"requestBody": {"required": True, **body}},
        components={"schemas": {"Node": node}},
    )

    places = [name for name in found if name.endswith("breaks `minLength`")]
    assert places == ["call: `/body/name` breaks `minLength`"]
    assert "call: `/body/name` breaks `required`" in found
    assert found["call: `body` is missing"].arguments == {}


def test_each_choice_of_a_body_is_violated(tmp_path: Path) -> None:
    def choice(kind: str, **members: Any) -> dict[str, Any]:
        properties = {"kind": {"const": kind}, **members}
        return {"type": "object", "required": [*properties], "properties": properties}

    frames, until = {"type": "integer", "minimum": 1}, {"type": "number", "maximum": 90}
    shape = {"oneOf": [choice("render", frames=frames), choice("cut", until=until)]}
    content = {"application/json": {"schema": {"type": "object", "properties": {"task": shape}}}}
    found = cases(tmp_path, {"requestBody": {"required": True, "content": content}})

    def sent(name: str) -> dict[str, Any]:
        return dict(found[f"call: `/body/task{name}"].arguments["body"]["task"])

    assert sent("/until` breaks `maximum`")["until"] == 91
    assert sent("/kind` breaks `enum`")["kind"] == "no such value"
    assert "until" not in sent("/until` breaks `required`")
    assert sent("/frames` breaks `minimum` of choice 1") == {"kind": "render", "frames": 0}
    assert sent("/kind` breaks `enum` of choice 1")["kind"] == "no such value"


def test_too_many_members_are_valid_ones(tmp_path: Path) -> None:
    labels = {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "string"}}
    content = {"application/json": {"schema": labels}}
    found = cases(tmp_path, {"requestBody": {"required": True, "content": content}})

    spoilt = found["call: `/body` breaks `maxProperties`"].arguments["body"]
    assert len(spoilt) == 3
    assert {type(value) for value in spoilt.values()} == {str}


def test_what_another_alternative_allows_is_not_refused(tmp_path: Path) -> None:
    short, long = ({"type": "string", "maxLength": length} for length in (3, 9))
    found = cases(tmp_path, {"parameters": [query("q", {"anyOf": [short, long]})]})

    (case,) = [case for name, case in found.items() if "`maxLength`" in name]
    assert len(case.arguments["q"]) == 10
    assert "call: rules" not in found


def test_one_member_too_many_is_one_that_the_schema_has(tmp_path: Path) -> None:
    one_of_two = {
        "type": "object",
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": {"agent": {"type": "integer"}, "team": {"type": "integer"}},
    }
    content = {"application/json": {"schema": one_of_two}}
    found = cases(tmp_path, {"requestBody": {"required": True, "content": content}})

    many = found["call: `/body` breaks `maxProperties`"].arguments["body"]
    assert many.keys() == {"agent", "team"}
    unknown = found["call: `/body` breaks `additionalProperties`"].arguments["body"]
    assert unknown == {"no_such_member": 1}


def test_members_by_pattern_and_all_others_have_their_keywords_violated(tmp_path: Path) -> None:
    texts = {
        "type": "object",
        "minProperties": 1,
        "patternProperties": {"^[a-z]{2}$": {"type": "string", "maxLength": 5}},
        "additionalProperties": False,
    }
    most = {"type": "integer", "maximum": 7}
    counts = {"type": "object", "minProperties": 1, "additionalProperties": most}
    body = {"type": "object", "required": ["t", "c"], "properties": {"t": texts, "c": counts}}
    found = cases(
        tmp_path,
        {"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}},
    )

    (long,) = [case for name, case in found.items() if name.endswith("breaks `maxLength`")]
    assert [len(text) for text in long.arguments["body"]["t"].values()] == [6]
    (high,) = [case for name, case in found.items() if name.endswith("breaks `maximum`")]
    assert 8 in high.arguments["body"]["c"].values()


def test_one_item_too_many_is_not_a_repeated_one(tmp_path: Path) -> None:
    emails = {"type": "array", "uniqueItems": True, "maxItems": 3}
    emails["items"] = {"type": "string", "format": "email"}
    (many,) = refused(cases(tmp_path, {"parameters": [query("q", emails)]}), "maxItems")

    assert len(set(many)) == 4


def test_of_too_many_rules_the_outer_ones_and_each_definition_are_tested(tmp_path: Path) -> None:
    words = {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Word"}}
    word = {"type": "string", "minLength": 2, "maxLength": 9, "pattern": "^[a-z]+$"}
    reference = {"$ref": "#/components/schemas/Words"}
    properties = {f"words{number:02}": reference for number in range(30)}
    last = {"type": "object", "properties": {"deep": {"type": "integer", "maximum": 4}}}
    body = {"type": "object", "properties": {**properties, "zz": last}}
    found = cases(
        tmp_path,
        {"requestBody": {"content": {"application/json": {"schema": body}}}},
        components={"schemas": {"Word": word, "Words": words}},
    )

    assert "call: `/body/zz/deep` breaks `maximum`" in found
    assert "call: `/body/words00/0` breaks `maxLength`" in found
    assert "call: `/body/words29` breaks `minItems`" not in found
    assert found["call: more rules"].untested.startswith("only 60 rules")


def test_a_keyword_that_cannot_be_violated_is_reported(tmp_path: Path) -> None:
    problems = Problems()
    long = query("q", {"type": "string", "maxLength": 100_000})
    found = cases(tmp_path, {"parameters": [long, query("r", {"pattern": "^"})]}, problems)

    assert refused(found, "maxLength") == []
    assert found["call: rules"].untested == "no value was found that breaks `pattern` of `/r`"
    (note,) = problems
    assert (note.code, note.why) == ("untested", found["call: rules"].untested)
    assert "tests/" in note.help


def test_an_unsatisfiable_body_does_not_prevent_other_cases(tmp_path: Path) -> None:
    impossible = {"type": "string", "pattern": "^(?=x)(?!x)$"}
    body = {"content": {"application/json": {"schema": impossible}}}
    found = cases(tmp_path, {"parameters": [query("q", {"type": "string"})], "requestBody": body})

    assert "texts cannot be generated" in found["call: largest arguments"].untested
    assert found["call: smallest arguments"].expect["request"]["query"] == {}
    assert len([case for case in found.values() if case.group == "failures"]) > 8


def test_contradictory_example_is_not_used(tmp_path: Path) -> None:
    number = query("q", {"type": "integer", "maximum": 5, "example": 80}, required=True)
    found = cases(tmp_path, {"parameters": [number]})

    assert all(
        case.arguments["q"] <= 5 for case in found.values() if case.group in ("calls", "failures")
    )


def test_special_characters_and_falsy_values_are_sent_if_the_schema_allows_them(
    tmp_path: Path,
) -> None:
    found = cases(
        tmp_path,
        {
            "parameters": [
                query("q", {"type": "string"}),
                query("n", {"type": "integer"}),
                query("short", {"type": "string", "enum": ["one"]}),
                query("list", {"type": "array", "items": {"type": "string"}}),
            ]
        },
    )

    reserved = found["call: reserved characters"].expect["request"]["query"]
    assert reserved.keys() == {"q", "list"}
    assert set("/?#&=+% ") <= set(reserved["q"])
    assert found["call: empty and falsy values"].arguments["n"] == 0
    assert not found["call: Unicode"].arguments["q"].isascii()
    assert len(found["call: lists of one item"].arguments["list"]) == 1


def test_credentials_are_expected_if_they_are_configured(tmp_path: Path) -> None:
    key = {"type": "apiKey", "in": "header", "name": "X-Key"}
    found = cases(
        tmp_path,
        {"security": [{"one": [], "two": []}]},
        components={"securitySchemes": {"one": key, "two": {**key, "name": "X-Two"}}},
    )

    assert found["call: with no credential"].expect["text"]["contains"] == [
        "THING_ONE",
        "THING_TWO",
    ]
    assert found["call: with one"].expect["request"] is None
    assert found["call: with one"].expect["text"]["contains"] == ["THING_TWO"]


@pytest.mark.parametrize(
    ("scheme", "asked_for"),
    [
        (
            {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://a.example/t"}}},
            ["THING_ID_CLIENT_ID", "THING_ID_CLIENT_SECRET"],
        ),
        (
            {"type": "openIdConnect", "openIdConnectUrl": "https://a.example/.well-known"},
            ["THING_ID_CLIENT_ID", "THING_ID_CLIENT_SECRET"],
        ),
        (
            {"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "https://a.example/a"}}},
            ["THING_ID_ACCESS_TOKEN"],
        ),
    ],
)
def test_oauth_cases_report_the_client_settings_or_the_token_in_use(
    tmp_path: Path, scheme: dict[str, Any], asked_for: list[str]
) -> None:
    for flow in scheme.get("flows", {}).values():
        flow["scopes"] = {}
    found = cases(
        tmp_path, {"security": [{"id": []}]}, components={"securitySchemes": {"id": scheme}}
    )

    assert found["call: with no credential"].expect["text"]["contains"] == asked_for
    told = found["call: the API answers 401"].expect["text"]["contains"]
    assert told == ["401", "THING_ID_ACCESS_TOKEN"]


def test_text_of_a_content_parameter_is_limited_to_its_location(tmp_path: Path) -> None:
    content = {"text/plain": {"schema": {"type": "string"}}}
    header = {"name": "X-Text", "in": "header", "content": content, "required": True}
    as_json = {
        "name": "X-Json",
        "in": "header",
        "content": {"application/json": content["text/plain"]},
    }
    found = cases(tmp_path, {"parameters": [header, {**as_json, "required": True}]})

    sent = found["call: Unicode"].expect["request"]["header"]
    assert sent["X-Text"].isascii()
    assert not sent["X-Json"].isascii()  # it is escaped


def test_a_text_body_satisfies_its_schema(tmp_path: Path) -> None:
    schema = {"type": "string", "minLength": 20, "maxLength": 30}
    body = {"required": True, "content": {"text/plain": {"schema": schema}}}
    found = cases(tmp_path, {"requestBody": body})
    sent = [case.expect["request"]["body"] for case in found.values() if case.group == "calls"]

    assert all(20 <= len(text) <= 30 for text in sent)
    assert "call: `/body` breaks `minLength`" in found
    assert "call: `/body` breaks `maxLength`" in found


def test_empty_objects_are_omitted_from_a_deep_object_query(tmp_path: Path) -> None:
    nothing = {"type": "object", "additionalProperties": False}
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": nothing}}
    found = cases(tmp_path, {"parameters": [query("q", schema, style="deepObject")]})

    assert found["call: largest arguments"].expect["request"]["query"]["q"].keys() == {"a"}


@pytest.mark.parametrize(
    "media_type", ["application/x-www-form-urlencoded", "multipart/form-data", "application/xml"]
)
def test_empty_objects_are_omitted_from_forms_and_xml(tmp_path: Path, media_type: str) -> None:
    nothing = {"type": "object", "additionalProperties": False}
    schema = {
        "type": "object",
        "xml": {"name": "thing"},
        "properties": {"a": {"type": "integer"}, "b": nothing},
    }
    found = cases(tmp_path, {"requestBody": {"content": {media_type: {"schema": schema}}}})

    assert found["call: largest arguments"].expect["request"]["body"].keys() == {"a"}


def test_a_path_pattern_is_violated_by_a_value_that_a_path_can_contain(tmp_path: Path) -> None:
    name = query("q", {"type": "string", "pattern": "^[a-z]{3}$"}, required=True)
    responses = {"200": {"description": "Done."}}
    inside = {"parameters": [{**name, "in": "path"}], "responses": responses}
    paths = {"/things": {"get": {"responses": responses}}, "/things/{q}": {"get": inside}}
    found = cases(tmp_path, {}, paths=paths)

    (spoilt,) = refused(found, "pattern")
    assert spoilt not in ("", ".", "..")


def test_negative_numbers_are_sent_if_the_schema_allows_them(tmp_path: Path) -> None:
    found = cases(
        tmp_path,
        {
            "parameters": [
                query("n", {"type": "integer"}),
                query("positive", {"type": "integer", "minimum": 0}),
                query("flag", {"type": "boolean"}),
            ]
        },
    )

    assert found["call: negative numbers"].expect["request"]["query"] == {"n": -7}


def test_members_that_are_the_same_xml_elements_are_not_sent_together(tmp_path: Path) -> None:
    names = {"type": "array", "items": {"type": "string", "xml": {"name": "role"}}}
    schema = {
        "type": "object",
        "xml": {"name": "change"},
        "properties": {
            "removed": names,
            "added": names,
            "kept": {**names, "xml": {"wrapped": True}},
            "role": {"type": "string", "xml": {"attribute": True}},
        },
    }
    found = cases(tmp_path, {"requestBody": {"content": {"application/xml": {"schema": schema}}}})
    sent = found["call: largest arguments"].expect["request"]["body"]
    assert sent.keys() == {"added", "kept", "role"}

    required = {"required": ["removed"], **schema}
    content = {"requestBody": {"content": {"application/xml": {"schema": required}}}}
    found = cases(tmp_path, content)
    assert "different elements" in found["call: largest arguments"].untested


NAME = "path/to/video.mp4"
FILE = {"type": "string", "format": "binary"}
AN_OBJECT = {"type": "object", "required": ["file"]}


@pytest.mark.parametrize(
    "schema",
    [
        {**AN_OBJECT, "properties": {"file": {**FILE, "example": NAME}}},
        {**AN_OBJECT, "properties": {"file": FILE}, "example": {"file": NAME}},
        {
            **AN_OBJECT,
            "properties": {"file": {"type": "array", "items": FILE, "example": [NAME, NAME]}},
        },
    ],
    ids=["of the file", "of the body", "of a list"],
)
def test_examples_of_files_are_not_sent_as_their_content(tmp_path: Path, schema: Any) -> None:
    content = {"multipart/form-data": {"schema": schema}}
    found = cases(tmp_path, {"requestBody": {"required": True, "content": content}})
    assert NAME not in str([case.arguments for case in found.values()])
    requests = [case.expect["request"] for case in found.values() if case.expect["request"]]
    assert requests
    for files in (request["body"]["file"] for request in requests):
        for file in files if isinstance(files, list) else [files]:
            assert b64decode(file, validate=True)


def test_two_maps_whose_members_are_parameters_are_not_sent_together(tmp_path: Path) -> None:
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    found = cases(tmp_path, {"parameters": [query("attributes", texts), query("tags", texts)]})

    assert found["call: largest arguments"].expect["request"]["query"].keys() == {"attributes"}
