"""Tests of the plan of a whole server."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mcpgen.jsonschema.direction import Shapes
from mcpgen.plan.arguments.media_types import Kind, classify_media_type
from mcpgen.plan.naming.names import rename_to_safe
from mcpgen.plan.schemas.tool_schema import ValidationSchemas
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.request.bodies import BodyKind, classify_body

RESPONSES = {"204": {"description": "done"}}


def test_package_names_are_derived_from_the_server_name(make: Any) -> None:
    plan = make(make.document()).plan(name="pet-store")
    assert plan.distribution == "pet-store-mcp"
    assert plan.package == "pet_store_mcp"
    assert plan.env_prefix == "PET_STORE_"


def test_tools_are_grouped_by_their_first_tag(make: Any) -> None:
    root = make.document(
        {"tags": ["Pets & Co", "b"]}, tags=[{"name": "Pets & Co", "description": "All."}]
    )
    (group,) = make(root).plan().groups
    assert (group.tag, group.module, group.description) == ("Pets & Co", "pets_co", "All.")


@pytest.mark.parametrize(
    ("method", "hints"),
    [
        ("get", {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}),
        ("head", {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}),
        ("put", {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True}),
        ("delete", {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True}),
        ("post", {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False}),
        ("patch", {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False}),
    ],
)
def test_annotations_are_derived_from_the_method(make: Any, method: str, hints: Any) -> None:
    operation = {"summary": "List pets.", "x-mcp-annotations": {"readOnlyHint": True}}
    tool = make(make.document(operation, method=method)).tool()
    assert tool.annotations == {"title": "List pets", "openWorldHint": True, **hints}


def test_cost_is_a_quarter_of_the_listed_bytes(make: Any) -> None:
    tool = make(make.document()).tool()
    listed = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": tool.annotations,
    }
    assert abs(tool.token_cost - len(json.dumps(listed, separators=(",", ":"))) / 4) < 1


def test_unselected_operations_and_unused_schemas_are_removed(make: Any) -> None:
    root = make.with_body({"$ref": "#/components/schemas/A"}, schemas={"A": {}, "B": {}})
    root["paths"]["/b"] = {
        "post": make.with_body({"$ref": "#/components/schemas/B"})["paths"]["/pets"]["post"]
    }
    plan = make(root).plan(exclude=("/b",))
    assert [operation.path for operation in plan.api.operations] == ["/pets"]
    assert sorted(plan.api.schemas) == ["A"]
    (left_out,) = plan.unselected
    assert (left_out.operation, left_out.reason) == ("POST /b", "excluded by `select`")


# Selection


@pytest.fixture
def shop(make: Any) -> Any:
    root = make.document()
    root["paths"] = {
        "/pets": {
            "get": {"operationId": "listPets", "tags": ["pets"], "responses": RESPONSES},
            "post": {"operationId": "addPet", "tags": ["pets"], "responses": RESPONSES},
        },
        "/orders/{id}": {"get": {"tags": ["shop"], "responses": RESPONSES}},
    }
    return make(root)


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        ({}, ["add_pet", "get_order", "list_pets"]),
        ({"include": ("pets",)}, ["add_pet", "list_pets"]),
        ({"include": ("/orders/*",)}, ["get_order"]),
        ({"include": ("GET *",)}, ["get_order", "list_pets"]),
        ({"include": ("list*", "shop")}, ["get_order", "list_pets"]),
        ({"exclude": ("POST *",)}, ["get_order", "list_pets"]),
        ({"include": ("pets",), "exclude": ("addPet",)}, ["list_pets"]),
    ],
)
def test_globs_select_by_tag_path_key_and_id(shop: Any, policy: Any, names: list[str]) -> None:
    assert [tool.name for tool in shop.plan(**policy).tools] == names


def test_glob_that_matches_nothing_is_an_error_with_a_suggestion(shop: Any) -> None:
    shop.plan(include=("listPet",))
    (problem,) = shop.found("selector-without-match")
    assert problem.severity == "error"
    assert "`listPets`" in problem.help


# Environment


SCHEMES = {
    "api-key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "login": {"type": "http", "scheme": "basic"},
    "id": {"type": "oauth2", "flows": {}},
    "cert": {"type": "mutualTLS"},
    "unused": {"type": "http", "scheme": "bearer"},
}


def environment(make: Any, **root: Any) -> dict[str, Any]:
    root.setdefault("components", {"securitySchemes": SCHEMES})
    plan = make(make.document(**root)).plan()
    return {variable.name: variable for variable in plan.environment}


def test_credentials_are_those_of_the_used_schemes(make: Any) -> None:
    used = [{name: []} for name in ("api-key", "login", "id", "cert")]
    found = environment(make, security=used)
    assert list(found) == [
        "DEMO_BASE_URL",
        "DEMO_API_KEY",
        "DEMO_CERT_CERTIFICATE_FILE",
        "DEMO_CERT_KEY_FILE",
        "DEMO_ID_CLIENT_ID",
        "DEMO_ID_CLIENT_SECRET",
        "DEMO_ID_REFRESH_TOKEN",
        "DEMO_ID_ACCESS_TOKEN",
        "DEMO_LOGIN_USERNAME",
        "DEMO_LOGIN_PASSWORD",
        "DEMO_ALLOW_PRIVATE",
        "DEMO_CA_FILE",
    ]
    assert not any(variable.required for variable in found.values())
    assert found["DEMO_LOGIN_PASSWORD"].secret
    assert (found["DEMO_API_KEY"].scheme, found["DEMO_API_KEY"].part) == ("api-key", "value")


def test_a_credential_needed_by_every_call_is_required(make: Any) -> None:
    found = environment(make, security=[{"api-key": [], "login": []}])
    assert found["DEMO_API_KEY"].required
    assert found["DEMO_LOGIN_USERNAME"].required


def test_schemes_with_colliding_names_have_different_variables(make: Any) -> None:
    schemes = {name: {"type": "http", "scheme": "bearer"} for name in ("a-b", "a_b", "base_url")}
    found = environment(
        make,
        components={"securitySchemes": schemes},
        security=[{name: []} for name in schemes],
    )
    assert len([name for name in found if found[name].scheme]) == 3
    assert {variable.scheme for variable in found.values()} == {"", *schemes}


@pytest.mark.parametrize("name", ["allow_private", "ca_file", "pre_stop_delay_seconds"])
def test_a_credential_does_not_get_the_name_of_a_common_setting(make: Any, name: str) -> None:
    schemes = {name: {"type": "http", "scheme": "bearer"}}
    found = environment(make, components={"securitySchemes": schemes}, security=[{name: []}])
    (credential,) = [variable for variable in found.values() if variable.secret]
    assert credential.name.startswith(f"DEMO_{name.upper()}_")


def test_the_base_url_is_required_if_the_document_has_no_server(make: Any) -> None:
    assert environment(make, servers=[])["DEMO_BASE_URL"].required
    assert not environment(make)["DEMO_BASE_URL"].required


def test_server_variables_are_settings(make: Any) -> None:
    server = {
        "url": "https://{region}.example",
        "variables": {"region": {"default": "eu", "enum": ["eu", "us"]}},
    }
    variable = environment(make, servers=[server])["DEMO_SERVER_REGION"]
    assert (variable.example, variable.required) == ("eu", False)
    assert "One of eu, us." in variable.description


# Agreement with the runtime


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json", "text/json", "application/vnd.api+json; charset=utf-8",
        "application/x-www-form-urlencoded", "multipart/form-data", "multipart/mixed", "text/csv",
        "application/xml", "application/atom+xml", "application/yaml", "image/svg+xml",
        "application/x-ndjson", "application/octet-stream", "image/png", "image/*", "oops",
        "application/json-seq", "text/event-stream", "message/rfc822",
    ],
)  # fmt: skip
def test_the_planned_body_kinds_match_those_of_the_runtime(media_type: str) -> None:
    written = {
        Kind.JSON: BodyKind.JSON,
        Kind.OTHER_JSON: BodyKind.JSON,
        Kind.FORM: BodyKind.URLENCODED,
        Kind.MULTIPART: BodyKind.MULTIPART,
        Kind.LINES: BodyKind.JSON_LINES,
        Kind.TEXT: BodyKind.TEXT,
        Kind.BINARY: BodyKind.BYTES,
    }
    try:
        kind = classify_body(media_type)
    except ConfigurationError:
        assert classify_media_type(media_type) is Kind.UNSENDABLE
    else:
        assert written[classify_media_type(media_type)] is kind


# Properties


def shuffled(value: Any, draw: Any) -> Any:
    """Return `value` with the members of its objects in another order."""
    if isinstance(value, dict):
        keys = draw(st.permutations(list(value)))
        return {key: shuffled(value[key], draw) for key in keys}
    return [shuffled(item, draw) for item in value] if isinstance(value, list) else value


RICH: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "servers": [
        {
            "url": "https://{a}.{b}.example",
            "variables": {"a": {"default": "x"}, "b": {"default": "y"}},
        }
    ],
    "security": [{"one": [], "two": []}],
    "paths": {
        "/a/{id}": {
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
            ],
            "get": {
                "operationId": "getIt",
                "parameters": [
                    {"name": "id", "in": "query", "schema": {"$ref": "#/components/schemas/kind"}}
                ],
                "responses": {
                    "200": {
                        "description": "",
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Node"}}
                        },
                    },
                    "202": {
                        "description": "",
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Kind"}}
                        },
                    },
                    "default": {"description": ""},
                },
            },
            "put": {
                "operationId": "get-it",
                "requestBody": {
                    "content": {
                        "text/plain": {},
                        "application/json": {
                            "schema": {
                                "properties": {
                                    "x": {"$ref": "#/components/schemas/Node/properties/next"},
                                    "y": {"type": "object", "properties": {"z": {}}},
                                }
                            }
                        },
                        "multipart/form-data": {"schema": {"$ref": "#/components/schemas/Node"}},
                    }
                },
                "responses": {"204": {"description": ""}},
            },
        },
    },
    "components": {
        "securitySchemes": {
            "one": {"type": "apiKey", "in": "query", "name": "k"},
            "two": {"type": "http", "scheme": "bearer"},
        },
        "schemas": {
            "Node": {
                "type": "object",
                "properties": {
                    "next": {"oneOf": [{"$ref": "#/components/schemas/Node"}, {"type": "null"}]},
                    "kind": {"$ref": "#/components/schemas/Kind"},
                    "id": {"type": "integer", "readOnly": True},
                },
            },
            "Kind": {"enum": ["a", "b"]},
            "kind": {"type": "object", "properties": {"q": {"type": "string"}}},
        },
    },
}


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_the_order_of_keys_does_not_change_the_plan(make: Any, data: st.DataObject) -> None:
    one, two = make(RICH).plan(), make(shuffled(copy.deepcopy(RICH), data.draw)).plan()
    assert one == two
    assert [tool.name for tool in one.tools] == [tool.name for tool in two.tools]
    assert [list(tool.input_schema["properties"]) for tool in one.tools] == [
        list(tool.input_schema["properties"]) for tool in two.tools
    ]


def json_schemas() -> st.SearchStrategy[Any]:
    """Draw a schema as it occurs in documents, valid or not."""
    leaves = st.one_of(
        st.sampled_from(
            [
                {},
                {"type": "string", "nullable": True},
                {"type": ["integer", "null"]},
                {"type": "string", "pattern": "^(?=a)\\w+$", "maxLength": 3},
                {"enum": [1, "a", None]},
                {"const": "x"},
                {"type": "number", "minimum": 1, "exclusiveMinimum": True},
                {"$ref": "#/components/schemas/Tree"},
                {"$ref": "#/components/schemas/Loop"},
                True,
                False,
                None,
                {"type": "file"},
                {"type": "oops", "required": 7, "enum": [], "minLength": "a"},
            ]
        ),
        st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "array", "object"])}),
    )

    def wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        names = st.sampled_from(["id", "a b", "class", "$ref", "x[]", "é", ""])
        return st.one_of(
            st.fixed_dictionaries(
                {
                    "type": st.just("object"),
                    "properties": st.dictionaries(names, inner, max_size=3),
                },
                optional={
                    "required": st.lists(names, max_size=2),
                    "additionalProperties": inner | st.booleans(),
                    "readOnly": st.booleans(),
                },
            ),
            st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
            st.builds(
                lambda keyword, members, more: {**more, keyword: members},
                st.sampled_from(["allOf", "anyOf", "oneOf"]),
                st.lists(inner, max_size=3),
                st.sampled_from([{}, {"type": "object"}, {"nullable": True}]),
            ),
            st.fixed_dictionaries({"not": inner}),
        )

    return st.recursive(leaves, wider, max_leaves=8)


COMPONENTS = {
    "Tree": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Tree"}}},
    "Loop": {"oneOf": [{"allOf": [{"$ref": "#/components/schemas/Loop"}]}, {"type": "string"}]},
}


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(json_schemas(), st.sampled_from(["3.0.3", "3.1.0"]))
def test_listed_schemas_are_valid_and_self_contained(make: Any, schema: Any, version: str) -> None:
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    answer = {"description": "", "content": {"application/json": {"schema": schema}}}
    root = make.document(
        {"requestBody": body, "responses": {"200": answer}},
        method="post",
        version=version,
        schemas=COMPONENTS,
    )
    plan = make(root).plan()
    assert len(plan.tools) + len(plan.skipped) == 1
    for tool in plan.tools:
        for listed in (tool.input_schema, tool.full_input_schema, tool.output_schema):
            if listed is not None:
                jsonschema_rs.meta.validate(listed)
                jsonschema_rs.Draft202012Validator(listed)  # raises for a dangling $ref
                assert listed["type"] == "object"
                assert not {"anyOf", "oneOf", "allOf"} & listed.keys()


VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1, 2.5, "", "a", "abcd", "x"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["id", "next", "a b", "class", "q"]), inner, max_size=3),
    ),
    max_leaves=5,
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(json_schemas(), st.lists(VALUES, min_size=1, max_size=8))
@example({"not": {"type": "object", "required": ["a b"]}}, [{"a b": None}])
@example({"type": "array", "enum": [[1]]}, [[1], [2]])
@example({"type": "object", "const": {"id": 1}}, [{"id": 1}, {"id": 2}])
@example({"properties": {"id": False, "q": True}}, [{"id": 1}, {"q": 1}])
@example({"properties": {"id": False}, "additionalProperties": False}, [{"id": 1}, {}])
def test_validation_of_arguments_agrees_with_the_document_schema(
    make: Any, schema: Any, values: list[Any]
) -> None:
    lowered = make(make.with_body(schema, version="3.1.0", schemas=COMPONENTS))
    (tool,) = lowered.plan().tools
    requests = Shapes(lowered.api.schemas, "request")
    (exact,), definitions = ValidationSchemas(requests.direction, {}).bundle(
        [tool.arguments[0].schema]
    )
    judge = jsonschema_rs.validator_for({"allOf": [exact], "$defs": definitions})
    checked = jsonschema_rs.validator_for(tool.full_input_schema or tool.input_schema)
    offered = {wire_name: name for name, wire_name in tool.wire_names.items()}
    for value in values:
        said = rename_to_safe(value, [tool.arguments[0].schema], requests, offered)
        assert checked.is_valid({"body": said}) == judge.is_valid(value)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(json_schemas(), st.lists(VALUES, min_size=1, max_size=8))
@example({"anyOf": [{"properties": {"id": {"type": "string"}}}, {"type": "object"}]}, [{"id": 1}])
def test_every_valid_response_satisfies_the_output_schema(
    make: Any, schema: Any, values: list[Any]
) -> None:
    lowered = make(make.with_response(schema, version="3.1.0", schemas=COMPONENTS))
    (tool,) = lowered.plan().tools
    declared = lowered.api.operations[0].responses[0].content[0].schema
    judge = jsonschema_rs.validator_for({"allOf": [declared], "$defs": lowered.api.schemas})
    shown = jsonschema_rs.validator_for(tool.output_schema)
    for value in values:
        if not judge.is_valid(value) or (not tool.result_key and value is None):
            continue
        assert shown.is_valid({tool.result_key: value} if tool.result_key else value)
