"""Tests of `$ref` where OpenAPI defines none: `resolve` replaces it by its target everywhere."""

from __future__ import annotations

import copy
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from mcpgen.diagnostics import Diagnostic, Problems, RejectedError, Severity
from mcpgen.ir.document import Document
from mcpgen.openapi.lower.lower import lower
from mcpgen.openapi.resolve.resolve import resolve
from mcpgen.openapi.source.load import load
from mcpgen.openapi.source.source_text import DEFAULT_LIMITS, Limits

OK = {"responses": {"200": {"description": "ok"}}}
TEXT = {"type": "string"}
OPENAPI_3: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "T", "version": "1"},
    "servers": [{"url": "https://api.example"}],
    "tags": [{"name": "t", "description": "Things."}],
    "security": [{"key": []}],
    "paths": {
        "/a": {
            "parameters": [{"name": "p", "in": "query", "schema": TEXT}],
            "servers": [{"url": "https://path.example"}],
            "post": {
                "operationId": "a",
                "tags": ["t"],
                "parameters": [{"name": "q", "in": "query", "schema": TEXT}],
                "requestBody": {
                    "content": {
                        "application/x-www-form-urlencoded": {
                            "schema": {"properties": {"f": {"type": "array", "items": TEXT}}},
                            "encoding": {"f": {"explode": False}},
                        }
                    }
                },
                "responses": {"200": {"description": "ok", "headers": {"H": {"schema": TEXT}}}},
                "security": [{"key": []}],
            },
        }
    },
    "components": {
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        "schemas": {"S": {"type": "object"}},
    },
}
SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "T", "version": "1"},
    "host": "api.example",
    "paths": {
        "/a": {
            "parameters": [{"name": "p", "in": "query", "type": "string"}],
            "get": {
                "operationId": "a",
                "parameters": [{"name": "q", "in": "query", "type": "array", "items": TEXT}],
                "responses": {"200": {"description": "ok", "headers": {"H": TEXT}}},
                "security": [{"key": []}],
            },
        }
    },
    "securityDefinitions": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
}
OPERATION = "paths", "/a", "post"
FORM = *OPERATION, "requestBody", "content", "application/x-www-form-urlencoded"
IN_PLACE: list[tuple[dict[str, Any], tuple[Any, ...], str]] = [
    (OPENAPI_3, ("info",), "an info object"),
    (OPENAPI_3, ("servers",), "an array"),
    (OPENAPI_3, ("servers", 0), "a server"),
    (OPENAPI_3, ("tags",), "an array"),
    (OPENAPI_3, ("tags", 0), "a tag"),
    (OPENAPI_3, ("security",), "an array"),
    (OPENAPI_3, ("security", 0), "a security requirement"),
    (OPENAPI_3, ("paths",), "a whole map"),
    (OPENAPI_3, ("paths", "/a", "parameters"), "an array"),
    (OPENAPI_3, ("paths", "/a", "servers"), "an array"),
    (OPENAPI_3, OPERATION, "an operation"),
    (OPENAPI_3, (*OPERATION, "parameters"), "an array"),
    (OPENAPI_3, (*OPERATION, "security"), "an array"),
    (OPENAPI_3, (*OPERATION, "responses"), "a whole map"),
    (OPENAPI_3, (*OPERATION, "responses", "200", "headers"), "a whole map"),
    (OPENAPI_3, FORM[:-1], "a whole map"),
    (OPENAPI_3, (*FORM, "schema", "properties"), "a whole map"),
    (OPENAPI_3, (*FORM, "encoding"), "a whole map"),
    (OPENAPI_3, (*FORM, "encoding", "f"), "an encoding"),
    (OPENAPI_3, ("components",), "a components object"),
    (OPENAPI_3, ("components", "securitySchemes"), "a whole map"),
    (SWAGGER, ("info",), "an info object"),
    (SWAGGER, ("paths",), "a whole map"),
    (SWAGGER, ("paths", "/a", "get"), "an operation"),
    (SWAGGER, ("paths", "/a", "get", "parameters"), "an array"),
    (SWAGGER, ("paths", "/a", "get", "parameters", 0, "items"), "an items object"),
    (SWAGGER, ("paths", "/a", "get", "responses", "200", "headers", "H"), "a header"),
    (SWAGGER, ("securityDefinitions",), "a whole map"),
    (SWAGGER, ("securityDefinitions", "key"), "a security scheme"),
]


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("connected"))


def resolving(
    root: dict[str, Any], *, limits: Limits = DEFAULT_LIMITS, **files: Any
) -> tuple[Document, list[Diagnostic]]:
    for name, value in {"api": root, **files}.items():
        Path(f"{name}.json").write_text(json.dumps(value, indent=1))
    problems = Problems()
    return resolve(load("api.json", problems), problems, limits=limits), list(problems)


def with_ref(
    root: dict[str, Any], place: tuple[Any, ...], reference: str
) -> tuple[dict[str, Any], Any]:
    """Return a copy of `root` with a `$ref` in a place, and the replaced value."""
    changed = copy.deepcopy(root)
    holder = changed
    for token in place[:-1]:
        holder = holder[token]
    moved = holder[place[-1]]
    holder[place[-1]] = {"$ref": reference}
    return changed, moved


def paths(**operations: Any) -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {"title": "T", "version": "1"},
        "paths": {f"/{name}": {"get": it} for name, it in operations.items()},
    }


def names(document: Document) -> list[str]:
    return [operation.key for operation in lower(document, Problems()).operations]


@pytest.mark.parametrize("file", ["", "other.json"], ids=["same file", "other file"])
@pytest.mark.parametrize(
    ("root", "place", "name"),
    IN_PLACE,
    ids=[f"{next(iter(root))} {'/'.join(map(str, place))}" for root, place, _ in IN_PLACE],
)
def test_a_misplaced_ref_is_replaced_by_its_target(
    root: dict[str, Any], place: tuple[Any, ...], name: str, file: str
) -> None:
    written, _ = resolving(root)
    changed, moved = with_ref(root, place, f"{file}#/x-moved")
    others = {"other": {"x-moved": moved}} if file else {}
    if not file:
        changed["x-moved"] = moved
    document, (problem,) = resolving(changed, **others)
    extra = ("x-moved", "x-mcpgen-files")
    assert {key: it for key, it in document.root.items() if key not in extra} == written.root
    assert problem.severity is Severity.WARNING
    assert problem.message == f"invalid `$ref` in place of {name}; its target is used"
    code = "ref-in-place-of-map" if name == "a whole map" else "misplaced-ref"
    assert problem.code == code
    assert problem.at is not None
    assert problem.at.pointer.endswith("/$ref")


def test_hundreds_of_misplaced_refs_are_one_problem() -> None:
    refs = {f"a{number}": {"$ref": f"#/x-ops/{number}"} for number in range(659)}
    ops = {str(number): {"operationId": f"op{number}", **OK} for number in range(659)}
    document, (problem,) = resolving({**paths(**refs), "x-ops": ops})
    assert (
        problem.message == "invalid `$ref` in place of an operation, 659 times; its target is used"
    )
    assert len(problem.message) <= 80
    assert problem.at is not None
    assert problem.at.pointer == "/paths/~1a0/get/$ref"
    assert len(names(document)) == 659
    assert document.skipped == ()


def test_refs_of_a_target_in_another_file_are_relative_to_that_file() -> None:
    list_pets = {"responses": {"200": {"$ref": "shared.json#/Ok"}}}
    document, _ = resolving(
        paths(pets={"$ref": "pets.json#/list"}),
        pets={"list": list_pets},
        shared={"Ok": OK["responses"]["200"]},
    )
    (operation,) = lower(document, Problems()).operations
    assert operation.responses[0].description == "ok"


def test_a_problem_in_the_target_is_located_in_the_file_of_the_target() -> None:
    target = {**OK, "parameters": [{"name": "q", "in": "nowhere"}]}
    document, _ = resolving(paths(pets={"$ref": "pets.json#/list"}), pets={"list": target})
    problems = Problems()
    lower(document, problems)
    (problem,) = problems
    assert problem.at is not None
    assert (problem.at.file, problem.at.pointer) == ("pets.json", "/list/parameters/0/in")


def test_chains_are_followed_from_file_to_file() -> None:
    document, problems = resolving(
        paths(a={"$ref": "one.json"}),
        one={"$ref": "two.json#/b"},
        two={"b": {"$ref": "#/c"}, "c": OK},
    )
    assert [problem.code for problem in problems] == ["misplaced-ref"]
    assert names(document) == ["GET /a"]


def test_siblings_of_a_ref_override_its_target() -> None:
    beside = {"$ref": "#/x-op", "summary": "Mine", "x-b": 1}
    target = {"summary": "Its", "operationId": "its", **OK}
    document, _ = resolving({**paths(a=beside), "x-op": target})
    assert document.root["paths"]["/a"]["get"] == {**target, "summary": "Mine", "x-b": 1}


def test_in_a_chain_of_refs_the_first_siblings_take_precedence() -> None:
    chain = {
        "a": {"$ref": "#/x-ops/b", "summary": "first"},
        "b": {"$ref": "#/x-ops/c", "summary": "second", "x-b": 2},
        "c": OK,
    }
    document, _ = resolving({**paths(a={"$ref": "#/x-ops/a"}), "x-ops": chain})
    assert document.root["paths"]["/a"]["get"] == {**OK, "summary": "first", "x-b": 2}


def test_entries_beside_the_ref_of_a_map_are_kept() -> None:
    root = paths(a=OK)
    root["paths"]["$ref"] = "more.json"
    document, (problem,) = resolving(root, more={"/b": {"get": OK}, "/a": {"get": {}, "put": OK}})
    assert problem.code == "ref-in-place-of-map"
    assert names(document) == ["GET /a", "GET /b"]


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("#/x-nothing", "unresolved-ref"),
        ("absent.json", "unresolved-ref"),
        ("#/components/schemas/S", "wrong-kind-of-ref"),
        ("#/x-text", "wrong-kind-of-ref"),
        ("#/paths/~1a/get", "ref-cycle"),
        ("#/paths/~1a", "wrong-kind-of-ref"),
        ("#/paths/~1c/get", "ref-cycle"),
    ],
)
def test_a_broken_ref_skips_only_its_operation(reference: str, code: str) -> None:
    root = paths(a={"$ref": reference}, b=OK, c={"$ref": "#/paths/~1a/get"})
    if code != "ref-cycle":
        del root["paths"]["/c"]
    root["components"] = {"schemas": {"S": {}}}
    root["x-text"] = "text"
    document, problems = resolving(root)
    assert {problem.code for problem in problems} == {code}
    assert {problem.severity for problem in problems} == {Severity.WARNING}
    assert "GET /a" in [out.operation for out in document.skipped]
    assert names(document) == ["GET /b"]


@pytest.mark.parametrize("reference", ["https://api.example/op.json", "../op.json", "/etc/passwd"])
def test_a_ref_out_of_the_folder_is_an_error_and_not_followed(reference: str) -> None:
    _, problems = resolving(paths(a={"$ref": reference}, b=OK))
    assert [problem.severity for problem in problems] == [Severity.ERROR]
    assert problems[0].code in {"remote-ref", "outside-ref"}


def test_a_chain_of_refs_above_the_limit_is_reported() -> None:
    chain = {str(number): {"$ref": f"#/x-ops/{number + 1}"} for number in range(200)}
    document, (problem,) = resolving(
        {**paths(a={"$ref": "#/x-ops/0"}, b=OK), "x-ops": chain | {"200": OK}}
    )
    assert problem.code == "ref-chain"
    assert names(document) == ["GET /b"]


def test_an_unresolved_ref_in_the_document_root_skips_no_operation() -> None:
    document, (problem,) = resolving({**paths(a=OK), "tags": {"$ref": "#/x-nothing"}})
    assert (problem.code, problem.severity) == ("unresolved-ref", Severity.WARNING)
    assert names(document) == ["GET /a"]


def nested(levels: int, width: int) -> dict[str, Any]:
    """Return nested maps, each of which uses the next one `width` times."""
    maps = {
        f"m{level}": {
            f"k{use}": {"properties": {"$ref": f"#/x-maps/m{level + 1}"}} for use in range(width)
        }
        for level in range(levels)
    }
    root = paths(a=OK)
    root["components"] = {"schemas": {"S": {"properties": {"$ref": "#/x-maps/m0"}}}}
    return {**root, "x-maps": {**maps, f"m{levels}": {"end": TEXT}}}


@pytest.mark.parametrize(
    ("root", "says"), [(nested(40, 10), "nodes"), (nested(200, 1), "levels deep")]
)
def test_refs_that_expand_exponentially_are_rejected(root: dict[str, Any], says: str) -> None:
    Path("api.json").write_text(json.dumps(root))
    problems = Problems()
    with pytest.raises(RejectedError):
        resolve(load("api.json", problems), problems)
    (problem,) = (it for it in problems if it.severity is Severity.ERROR)
    assert problem.code == "too-large"
    assert says in problem.message
