"""Tests of stubs of tools: one function each, with types of arguments and results."""

from __future__ import annotations

import ast
from typing import Any

from mcpgen.diagnostics import Problems
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.render.stubs import render_stubs

MANIFEST = b"server: {name: shop}\nsources: [{document: openapi.yaml}]\ncode: true\n"


def render(make: Any, paths: dict[str, Any], schemas: dict[str, Any] | None = None) -> str:
    root = make.document()
    root["paths"] = paths
    root["components"] = {"schemas": schemas or {}}
    problems = Problems()
    policy = Policy(read_manifest(MANIFEST, problems))
    plan = plan_tools(make(root).api, policy, problems)
    text = render_stubs(plan, "run_code").decode()
    ast.parse(text)
    return text


def operation(name: str, **more: Any) -> dict[str, Any]:
    return {"operationId": name, "responses": {"200": {"description": "done"}}, **more}


def returning(schema: dict[str, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": schema}}
    return {"responses": {"200": {"description": "done", "content": content}}}


def query(name: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, **more}


def test_arguments_and_results_have_types(make: Any) -> None:
    pet = {"type": "object", "properties": {"id": {"type": "integer"}, "+1": {"type": "string"}}}
    parameters = [
        query("kind", {"type": "string", "enum": ["cat", "dog"]}, required=True),
        query("limit", {"type": "integer"}, description="How many."),
    ]
    text = render(
        make,
        {
            "/pets": {
                "get": operation("listPets", parameters=parameters)
                | returning({"type": "array", "items": {"$ref": "#/components/schemas/Pet"}})
            }
        },
        {"Pet": pet},
    )

    assert "def list_pets(*, kind: Literal['cat', 'dog'], limit: int = ...) -> list[Pet]:" in text
    assert "\n    limit: How many.\n" in text
    assert "Pet = TypedDict(\"Pet\", {\n    '+1': 'str',\n    'id': 'int',\n}, total=False)" in text


def test_bodies_are_classes_whose_required_members_are_checked(make: Any) -> None:
    body = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "owner": {"type": "object", "properties": {"email": {"type": "string"}}},
        },
    }
    content = {"application/json": {"schema": body}}
    text = render(make, {"/pets": {"post": operation("addPet", requestBody={"content": content})}})

    assert "    name: str\n    owner: NotRequired[" in text
    assert "    email: NotRequired[str]" in text


def test_names_that_python_reserves_get_an_underscore(make: Any) -> None:
    text = render(
        make,
        {
            "/a": {"get": operation("print", parameters=[query("from", {"type": "string"})])},
            "/b": {"get": operation("listIt", parameters=[query("list", {"type": "string"})])},
        },
    )

    assert "def print_(*, from_: str = ...)" in text
    assert "def list_it(*, list: str = ...)" in text


def test_a_member_that_would_hide_a_type_is_written_as_text(make: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"list": {"type": "array", "items": {"type": "string"}}},
    }
    text = render(make, {"/a": {"get": operation("getA") | returning(schema)}})

    assert "    'list': 'list[str]'," in text


def test_texts_of_the_document_cannot_leave_their_docstring(make: Any) -> None:
    evil = 'Ends here."""\nimport os\nos.system("id")\n"""\\'
    text = render(
        make,
        {"/a": {"get": operation("getA", summary=evil, description=evil,
                                 parameters=[query("q", {"type": "string"}, description=evil)])}},
    )  # fmt: skip

    module = ast.parse(text)
    assert [type(node).__name__ for node in module.body] == ["Expr", "ImportFrom", "FunctionDef"]
    (function,) = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    assert len(function.body) == 1


def test_classes_of_one_name_and_other_content_stay_apart(make: Any) -> None:
    def posting(name: str, member: str) -> dict[str, Any]:
        schema = {"type": "object", "properties": {member: {"type": "string"}}}
        content = {"application/json": {"schema": schema}}
        return {"post": operation(name, requestBody={"content": content})}

    text = render(make, {"/a": posting("addA", "one"), "/b": posting("addB", "two")})

    module = ast.parse(text)
    names = [node.name for node in module.body if isinstance(node, ast.ClassDef)]
    assert len(names) == len(set(names)) == 2


def test_recursive_schemas_end(make: Any) -> None:
    node = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
        },
    }
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}
    text = render(
        make,
        {
            "/a": {
                "post": operation("addNode", requestBody={"content": content})
                | returning({"$ref": "#/components/schemas/Node"})
            }
        },
        {"Node": node},
    )

    assert "children: list[Node]" in text
