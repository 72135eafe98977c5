"""Tests of bodies by media type, and of Python types of arguments and results."""

from __future__ import annotations

import re
from typing import Any

import pytest

THING = {"type": "object", "properties": {"a": {"type": "string"}}}
OTHER = {"type": "object", "properties": {"b": {"type": "string"}}}
TEXT = {"type": "string"}
FILE = {"type": "object", "properties": {"a": {"type": "string", "format": "binary"}}}
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


def tool_with(make: Any, *media_types: str, schema: Any = None) -> Any:
    shape = THING if schema is None else schema
    return tool_of(make, dict.fromkeys(media_types, shape))


def tool_of(make: Any, schemas: dict[str, Any]) -> Any:
    """Return a tool whose body has these media types, each with its schema."""
    content = {
        name: {} if schema is None else {"schema": schema} for name, schema in schemas.items()
    }
    body = {"required": True, "content": content}
    return make(make.document({"requestBody": body}, method="post")).tool()


@pytest.mark.parametrize(
    ("media_types", "chosen"),
    [
        (["application/xml", "application/json"], "application/json"),
        (["application/merge-patch+json", "application/json"], "application/json"),
        (["*/*"], "application/json"),
        (["text/plain", "application/x-www-form-urlencoded"], "application/x-www-form-urlencoded"),
        (["application/octet-stream", "text/csv"], "text/csv"),
        (["image/png"], "image/png"),
    ],
)
def test_json_is_preferred_over_forms_and_forms_over_text(
    make: Any, media_types: list[str], chosen: str
) -> None:
    assert tool_with(make, *media_types).body[0].media_type == chosen


def test_different_media_types_can_be_selected_by_an_argument(make: Any) -> None:
    tool = tool_of(make, {JSON: THING, FORM: OTHER})
    assert [argument.name for argument in tool.arguments] == ["body", "content_type"]
    listed = tool.input_schema["properties"]["content_type"]
    assert listed["enum"] == ["application/json", "application/x-www-form-urlencoded"]
    assert tool.input_schema["required"] == ["body"]


@pytest.mark.parametrize(
    ("schemas", "chosen"),
    [
        ({JSON: THING, FORM: THING}, [JSON]),
        ({"multipart/form-data": THING, FORM: THING}, [FORM]),
        ({"application/xml": THING, "text/plain": THING, JSON: THING}, [JSON]),
        (
            {"application/vnd.a+json": THING, "application/merge-patch+json": THING, JSON: THING},
            [JSON],
        ),
        ({"application/*": THING, JSON: THING}, [JSON]),
        ({"application/octet-stream": THING, FORM: THING}, [FORM]),
        ({JSON: TEXT, "text/plain": TEXT}, [JSON]),
        ({JSON: FILE, FORM: FILE, "multipart/form-data": FILE}, ["multipart/form-data"]),
        ({JSON: THING, FORM: OTHER, "multipart/form-data": OTHER}, [JSON, FORM]),
        ({JSON: {"type": "array", "items": THING}, "application/x-ndjson": THING}, [JSON]),
        ({JSON: THING, "application/x-ndjson": THING}, [JSON, "application/x-ndjson"]),
        ({JSON: THING, "text/plain": TEXT}, [JSON, "text/plain"]),
        ({JSON: TEXT, "text/csv": TEXT}, [JSON, "text/csv"]),
        ({JSON: None, "text/plain": None}, [JSON, "text/plain"]),
        ({"text/csv": TEXT, "text/plain": TEXT}, ["text/csv", "text/plain"]),
        ({"image/png": None, "image/jpeg": None}, ["image/jpeg", "image/png"]),
        (
            {"application/json-patch+json": {}, "application/merge-patch+json": {}},
            ["application/json-patch+json", "application/merge-patch+json"],
        ),
    ],
)
def test_content_type_is_an_argument_only_if_the_schemas_differ(
    make: Any, schemas: dict[str, Any], chosen: list[str]
) -> None:
    tool = tool_of(make, schemas)
    assert [item.media_type for item in tool.body] == chosen
    named = [argument.name for argument in tool.arguments]
    assert named == (["body", "content_type"] if len(chosen) > 1 else ["body"])


def test_a_file_declared_only_by_its_encoding_differs_from_json_text(make: Any) -> None:
    schema = {"type": "object", "properties": {"logo": {"type": "string"}}}
    encoding = {"logo": {"contentType": "image/png, image/jpeg"}}
    content = {
        JSON: {"schema": schema},
        "multipart/form-data": {"schema": schema, "encoding": encoding},
    }
    body = {"required": True, "content": content}
    tool = make(make.document({"requestBody": body}, method="post")).tool()
    assert [item.media_type for item in tool.body] == [JSON, "multipart/form-data"]
    assert [argument.name for argument in tool.arguments] == ["body", "content_type"]


def test_one_media_type_adds_no_content_type_argument(make: Any) -> None:
    assert [argument.name for argument in tool_with(make, "application/json").arguments] == ["body"]


def test_a_text_alternative_is_validated_but_not_listed_as_a_choice(make: Any) -> None:
    tool = tool_of(make, {JSON: THING, "application/xml": TEXT})
    assert tool.input_schema["properties"]["body"]["type"] == "object"
    assert "one string" in tool.input_schema["properties"]["content_type"]["description"]
    assert len(tool.full_input_schema["properties"]["body"]["anyOf"]) == 2


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", "application/pdf"])
def test_text_and_files_are_strings(make: Any, media_type: str) -> None:
    tool = tool_with(make, media_type)
    assert tool.input_schema["properties"]["body"]["type"] == "string"
    assert tool.arguments[0].annotation.source == "str"


def test_a_described_file_body_still_tells_how_bytes_are_passed(make: Any) -> None:
    body = {"description": "The drawing", "content": {"application/octet-stream": {}}}
    tool = make(make.document({"requestBody": body}, method="post")).tool()
    listed = tool.input_schema["properties"]["body"]["description"]
    assert listed.startswith("The drawing. The content of a file: base64")


def test_a_text_body_keeps_only_string_constraints(make: Any) -> None:
    ruled = {"type": "string", "minLength": 55, "pattern": "^k"}
    text = tool_with(make, "text/plain", schema=ruled).arguments[0].schema
    inside = {"type": "object", "properties": {"a": {}}, "minLength": 3}
    object_ = tool_with(make, "text/plain", schema=inside).arguments[0].schema

    assert (text["minLength"], text["pattern"]) == (55, "^k")
    assert object_.keys() == {"type", "description"}


def test_json_lines_are_an_array(make: Any) -> None:
    body = tool_with(make, "application/x-ndjson").input_schema["properties"]["body"]
    assert (body["type"], body["items"]["type"]) == ("array", "object")


def test_a_form_with_files_is_sent_as_multipart(make: Any) -> None:
    schema = {"type": "object", "properties": {"f": {"type": "string", "format": "binary"}}}
    tool = tool_with(
        make, "application/x-www-form-urlencoded", "multipart/form-data", schema=schema
    )
    assert tool.body[0].media_type == "multipart/form-data"


def test_an_unsupported_body_media_type_skips_its_operation(make: Any) -> None:
    lowered = make(make.with_body({}, "multipart/mixed"))
    plan = lowered.plan()
    assert plan.tools == ()
    assert [left.code for left in plan.skipped] == ["body-media-type"]
    assert lowered.found("body-media-type")[0].at is not None


@pytest.mark.parametrize(
    ("media_type", "schema", "why"),
    [
        ("multipart/mixed", {}, "no schema says what its parts are"),
        ("multipart/related", {"type": "object"}, "known by their order"),
        ("multipart/form-data", {"type": "array"}, "a form is made of an object's members"),
        ("multipart/*", {"type": "object"}, "no media type that a request can have"),
    ],
)
def test_an_unsupported_body_is_reported_with_its_reason(
    make: Any, media_type: str, schema: Any, why: str
) -> None:
    lowered = make(make.with_body(schema, media_type))
    lowered.plan()
    assert why in lowered.found("body-media-type")[0].message


FILE = {"type": "string", "format": "binary"}
ROOT = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    ("properties", "required"),
    [
        ({"root": ROOT, "file": FILE}, []),  # so that a file might come first
        ({"root": ROOT, "file": FILE, "other": FILE}, ["root"]),  # in which order is not said
        ({"root": ROOT, "other": ROOT, "file": FILE}, ["root", "other"]),
        ({"root": {"type": "string"}, "file": FILE}, ["root"]),
        ({"root": ROOT}, ["root"]),
    ],
)
def test_unnamed_parts_with_an_unknown_order_skip_the_operation(
    make: Any, properties: Any, required: list[str]
) -> None:
    schema = {"type": "object", "properties": properties, "required": required}
    lowered = make(make.with_body(schema, "multipart/related"))
    assert lowered.plan().tools == ()
    assert "known by their order" in lowered.found("body-media-type")[0].message


def with_ids(make: Any, **headers: Any) -> Any:
    """Return an operation with a `multipart/related` body whose parts have these headers."""
    properties = {name: FILE for name in headers if name != "root"} | {"root": ROOT}
    schema = {"type": "object", "properties": properties, "required": ["root"]}
    encoding = {
        name: {"headers": {"Content-ID": {"schema": header}}} for name, header in headers.items()
    }
    content = {"multipart/related": {"schema": schema, "encoding": encoding}}
    return make(make.document({"requestBody": {"content": content}}, method="post"))


def test_files_with_distinct_content_ids_are_parts_of_one_body(make: Any) -> None:
    lowered = with_ids(make, one={"const": "<1@a>"}, two={"default": "<2@a>"})
    [tool] = lowered.plan().tools
    assert tool.body[0].root_part == "root"


@pytest.mark.parametrize(
    "headers",
    [
        {"one": {"const": "<1@a>"}, "two": {"type": "string"}},
        {"one": {"const": "<1@a>"}, "two": {"const": "<1@a>"}},
        {"one": {"const": "<1@a>"}, "two": {"const": "<2@a>"}, "root": {"const": "<2@a>"}},
    ],
)
def test_files_without_their_own_content_id_skip_the_operation(make: Any, headers: Any) -> None:
    lowered = with_ids(make, **headers)
    assert lowered.plan().tools == ()
    assert "`Content-ID` each" in lowered.found("body-media-type")[0].help


@pytest.mark.parametrize(
    ("media_types", "good", "bad"),
    [
        (["image/*"], ["image/png", "image/svg+xml"], ["image/*", "text/plain", "image/png; a=b"]),
        (["*/*"], ["a/b"], ["a", "a/b/c"]),
        (
            ["application/*+xml", "text/x"],
            ["application/a+xml"],
            ["application/+xml", "text/a+xml"],
        ),
        (["text/*", "application/a+b"], ["text/x", "application/a+b"], ["application/aab"]),
    ],
)
def test_a_media_type_range_adds_a_content_type_argument(
    make: Any, media_types: list[str], good: list[str], bad: list[str]
) -> None:
    tool = tool_with(make, *media_types, schema={"type": "string"})
    pattern = re.compile(tool.input_schema["properties"]["content_type"]["pattern"])
    assert all(map(pattern.search, good))
    assert not any(map(pattern.search, bad))


def test_a_range_with_an_object_schema_is_sent_as_json(make: Any) -> None:
    tool = tool_with(make, "*/*", schema={"type": "object"})
    assert [item.media_type for item in tool.body] == ["application/json"]
    assert "content_type" not in tool.input_schema["properties"]


def test_required_arguments_come_first(make: Any) -> None:
    parameters = [
        {"name": "a", "in": "query", "schema": {}},
        {"name": "b", "in": "query", "required": True, "schema": {}},
    ]
    tool = make(make.with_parameters(*parameters)).tool()
    assert [argument.name for argument in tool.arguments] == ["b", "a"]


# Types


SCHEMAS = {
    "Pet": {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "id": {"type": "integer", "readOnly": True},
            "owner": {"type": "object", "properties": {"email": {"type": "string"}}},
            "parent": {"$ref": "#/components/schemas/Pet"},
        },
    },
    "Kind": {"type": "string", "enum": ["cat", "dog"]},
    "Free": {"type": "object", "additionalProperties": {"type": "integer"}},
}


@pytest.mark.parametrize(
    ("schema", "source"),
    [
        ({"type": "integer"}, "int"),
        ({"type": "number"}, "float"),
        ({"type": "string", "nullable": True}, "str | None"),
        ({"type": "array", "items": {"type": "boolean"}}, "list[bool]"),
        ({"$ref": "#/components/schemas/Kind"}, 'Literal["cat", "dog"]'),
        ({"type": "string", "enum": ["a'b"]}, "str"),
        ({"type": "string", "enum": [str(n) for n in range(50)]}, "str"),
        ({"type": "integer", "enum": [1, 2]}, "Literal[1, 2]"),
        ({"$ref": "#/components/schemas/Free"}, "dict[str, int]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({}, "object"),
        ({"$ref": "#/components/schemas/Pet"}, "PetInput"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Pet"}}, "list[PetInput]"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "str | int"),
    ],
)
def test_schemas_are_converted_to_annotations(make: Any, schema: Any, source: str) -> None:
    tool = make(make.with_body(schema, schemas=SCHEMAS)).tool()
    assert tool.arguments[0].annotation.source == source


def models(make: Any, root: Any) -> dict[str, Any]:
    return {name: model.schema for name, model in make(root).plan().models.items()}


def test_inline_objects_are_named_after_parent_and_property(make: Any) -> None:
    found = models(make, make.with_response({"$ref": "#/components/schemas/Pet"}, schemas=SCHEMAS))
    assert sorted(found) == ["Pet", "PetOwner"]
    assert found["Pet"]["properties"] == {
        "name": {"type": "string"},
        "id": {"type": "integer"},
        "owner": {"$ref": "#/$defs/PetOwner"},
        "parent": {"$ref": "#/$defs/Pet"},
    }
    assert found["Pet"]["required"] == ["name"]


def test_a_property_is_described_by_a_whole_sentence_or_clause(make: Any) -> None:
    descriptions = {
        "short": "The [name](#x), e.g. Rex. Never empty.",
        "marked": "Is it tame?",
        "clause": f"The day of birth, which {'was ' * 30}long ago.",
        "long": "word " * 30,
    }
    properties = {
        key: {"type": "string", "description": text} for key, text in descriptions.items()
    }
    pet = {"type": "object", "properties": properties}
    root = make.with_response({"$ref": "#/components/schemas/P"}, schemas={"P": pet})
    (model,) = make(root).plan().models.values()
    assert model.descriptions == {
        "short": "The name, e.g. Rex.",
        "marked": "Is it tame?",
        "clause": "The day of birth.",
    }


def test_every_reference_of_a_model_is_to_a_model(make: Any) -> None:
    found = models(make, make.with_body({"$ref": "#/components/schemas/Pet"}, schemas=SCHEMAS))
    names = {f"#/$defs/{name}" for name in found}
    text = str(found)
    assert all(part.split("'")[0] in names for part in text.split("'$ref': '")[1:])


def test_without_models_objects_are_dictionaries(make: Any) -> None:
    root = make.with_response({"$ref": "#/components/schemas/Pet"}, schemas=SCHEMAS)
    plan = make(root).plan(models=False)
    assert plan.models == {}
    assert plan.tools[0].returns.source == "dict[str, Any]"


@pytest.mark.parametrize(
    ("schema", "source"),
    [
        ({"$ref": "#/components/schemas/Pet"}, "Pet"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Pet"}}, "list[Pet]"),
        ({"type": "object", "nullable": True, "properties": {"a": {}}}, "object"),
        ({"$ref": "#/components/schemas/Kind"}, "object"),
    ],
)
def test_results_are_annotated_with_their_model_or_object(
    make: Any, schema: Any, source: str
) -> None:
    tool = make(make.with_response(schema, schemas=SCHEMAS)).tool()
    assert tool.returns.source == source


def test_accept_prefers_json(make: Any) -> None:
    content: dict[str, Any] = {"text/csv": {}, "application/json": {}, "application/hal+json": {}}
    root = make.document({"responses": {"200": {"description": "", "content": content}}})
    assert make(root).tool().accept == ("application/json", "application/hal+json")
    root["paths"]["/pets"]["get"]["responses"]["200"]["content"] = {"image/png": {}}
    assert make(root).tool().accept == ("image/png",)


def test_accept_has_the_type_of_the_first_success_beside_json_of_a_later_one(make: Any) -> None:
    responses = {
        "200": {"description": "the file", "content": {"application/pdf": {}}},
        "202": {"description": "not ready", "content": {"application/json": {}}},
    }
    root = make.document({"responses": responses})
    assert make(root).tool().accept == ("application/json", "application/pdf")


def test_an_inherited_inline_object_keeps_the_class_of_its_base(make: Any) -> None:
    reference = {"$ref": "#/components/schemas/Pet"}
    child = {"allOf": [reference, {"properties": {"wings": {"type": "integer"}}}]}
    schemas = {**SCHEMAS, "Bird": child}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/Bird"}}}
    found = models(make, make.with_response(schema, schemas=schemas))
    assert sorted(found) == ["Bird", "ListPetsResult", "Pet", "PetOwner"]
    assert found["Bird"]["properties"]["owner"] == {"$ref": "#/$defs/PetOwner"}


def test_a_transliterated_name_is_described_with_the_original_name(make: Any) -> None:
    schema = {
        "type": "object",
        "properties": {
            "名前": {"type": "string"},
            "цена": {"type": "integer", "description": "Whole."},
        },
    }
    parameters = [
        {"name": "番号", "in": "query", "schema": {"type": "integer"}, "description": "A number."},
        {"name": "größe", "in": "query", "schema": {"type": "integer"}},
    ]
    operation = {
        "operationId": "作成",
        "parameters": parameters,
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
    }

    tool = make(make.document(operation, method="post")).tool()

    assert (tool.name, tool.title) == ("zuo_cheng", "作成")
    properties = tool.input_schema["properties"]
    assert properties["fan_hao"]["description"] == "`番号`: A number."
    assert properties["grosse"] == {"type": "integer"}
    body = properties["body"]["properties"]
    assert body["MingQian"] == {"type": "string", "description": "`名前`"}
    assert body["tsena"] == {"type": "integer", "description": "`цена`: Whole."}
    assert tool.wire_names == {"MingQian": "名前", "tsena": "цена"}


def test_the_example_of_a_parameter_is_listed(make: Any) -> None:
    schema = {"type": "string", "example": "dog"}
    own = {"name": "a", "in": "query", "schema": schema, "example": "cat"}
    inherited = {"name": "b", "in": "query", "schema": schema}
    listed = make(make.with_parameters(own, inherited)).tool().input_schema["properties"]
    assert listed["a"] == {"type": "string", "description": "Example: `cat`."}
    assert listed["b"] == {"type": "string", "description": "Example: `dog`."}
