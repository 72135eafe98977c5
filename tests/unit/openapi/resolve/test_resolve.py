"""Tests of `resolve`: followed and rejected references, and the effect of invalid ones."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from msgspec.structs import replace

from mcpgen.diagnostics import Diagnostic, Problems, Severity
from mcpgen.ir.document import Document
from mcpgen.openapi.resolve.resolve import resolve
from mcpgen.openapi.source.load import load
from mcpgen.openapi.source.source_text import DEFAULT_LIMITS, Limits
from mcpgen.text.json_pointer import pointer_tokens

Resolve = Callable[..., tuple[Document, list[Diagnostic]]]
OK = {"responses": {"200": {"description": "ok"}}}


@pytest.fixture
def resolving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Resolve:
    """Return a function that writes files (the root is api.yaml), loads and resolves them."""
    monkeypatch.chdir(tmp_path)

    def run(
        root: Mapping[str, Any] | str, *, limits: Limits = DEFAULT_LIMITS, **files: str
    ) -> tuple[Document, list[Diagnostic]]:
        Path("api.yaml").write_text(root if isinstance(root, str) else json.dumps(root))
        for name, text in files.items():
            path = Path(name.replace("__", "/") + ".yaml")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        problems = Problems()
        return resolve(load("api.yaml", problems), problems, limits=limits), list(problems)

    return run


def api(schema: object, *, version: str = "3.1.0", **components: Any) -> dict[str, Any]:
    """Return a document of two operations: `GET /bad` with a schema and a plain `GET /good`."""
    content = {"application/json": {"schema": schema}}
    bad = {"get": {"responses": {"200": {"description": "ok", "content": content}}}}
    return {
        "openapi": version,
        "info": {"title": "T", "version": "1"},
        "paths": {"/bad": bad, "/good": {"get": OK}},
        "components": components,
    }


def at(document: Document, reference: str) -> Any:
    node: Any = document.root
    for token in pointer_tokens(unquote(reference[1:])):
        node = node[int(token) if isinstance(node, list) else token]
    return node


def schema_of(document: Document) -> Any:
    return at(document, "#/paths/~1bad/get/responses/200/content/application~1json/schema")


def test_a_valid_document_is_returned_unchanged(resolving: Resolve) -> None:
    document, problems = resolving(
        api({"$ref": "#/components/schemas/A%20b"}, schemas={"A b": {"type": "string"}})
    )
    assert problems == []
    assert document.skipped == ()
    assert schema_of(document) == {"$ref": "#/components/schemas/A%20b"}


@pytest.mark.parametrize(
    ("reference", "code", "said"),
    [
        ("#/components/schemas/Pett", "unresolved-ref", "unknown reference"),
        ("#/info/title", "wrong-kind-of-ref", "expected a schema"),
        ("#/components/responses/R", "wrong-kind-of-ref", "found a response"),
        ("#absent", "unresolved-ref", "$anchor"),
        ("absent.yaml#/A", "unresolved-ref", "missing file"),
        (17, "unresolved-ref", "found `17`"),
    ],
)
def test_an_invalid_reference_skips_the_operation_that_needs_it(
    resolving: Resolve, reference: object, code: str, said: str
) -> None:
    document, (problem,) = resolving(
        api(
            {"properties": {"p": {"$ref": reference}}},
            schemas={"Pet": {}},
            responses={"R": {"description": "r"}},
        )
    )
    assert (problem.code, problem.severity) == (code, Severity.WARNING)
    assert said in problem.message
    assert "`GET /bad`" in problem.why
    assert problem.at is not None
    assert problem.at.pointer.endswith("/schema/properties/p/$ref")
    assert [(out.operation, out.code) for out in document.skipped] == [("GET /bad", code)]


def test_a_similar_name_is_suggested(resolving: Resolve) -> None:
    root = api({"$ref": "#/components/schemas/Pett"}, schemas={"Pet": {}})
    assert resolving(root)[1][0].help == "did you mean `#/components/schemas/Pet`?"
    root = api({"$ref": "#/definitions/Pet"}, schemas={"Pet": {}})
    assert resolving(root)[1][0].help == "did you mean `#/components/schemas/Pet`?"


def test_a_fault_in_a_component_skips_only_operations_that_reach_it(resolving: Resolve) -> None:
    document, problems = resolving(
        api(
            {"$ref": "#/components/schemas/A"},
            schemas={
                "A": {"items": {"$ref": "#/components/schemas/B"}},
                "B": {"items": {"$ref": "#/components/schemas/C"}},
                "Unused": {"$ref": "#/components/schemas/Nothing"},
            },
        )
    )
    assert [out.operation for out in document.skipped] == ["GET /bad"]
    assert sorted((p.code, str(p.severity)) for p in problems) == [
        ("unresolved-ref", "note"),
        ("unresolved-ref", "warning"),
    ]


def test_a_fault_in_path_level_parameters_skips_every_operation_of_the_path(
    resolving: Resolve,
) -> None:
    root = api({})
    root["paths"]["/bad"] |= {"post": OK, "parameters": [{"$ref": "#/components/parameters/P"}]}
    document, _ = resolving(root)
    assert [out.operation for out in document.skipped] == ["GET /bad", "POST /bad"]


def test_skipping_the_last_operation_is_an_error(resolving: Resolve) -> None:
    root = api({"$ref": "#/components/schemas/Nothing"})
    del root["paths"]["/good"]
    _, (problem,) = resolving(root)
    assert problem.severity is Severity.ERROR


def test_faults_in_examples_links_and_callbacks_skip_no_operation(resolving: Resolve) -> None:
    root = api({})
    operation = root["paths"]["/bad"]["get"]
    operation["callbacks"] = {"done": {"$ref": "#/components/callbacks/C"}}
    operation["responses"]["200"]["links"] = {"next": {"$ref": "#/components/links/L"}}
    content = operation["responses"]["200"]["content"]["application/json"]
    content["examples"] = {"one": {"$ref": "#/components/examples/E"}}
    document, problems = resolving(root)
    assert document.skipped == ()
    assert [(p.code, p.severity) for p in problems] == [("unresolved-ref", Severity.NOTE)] * 3


def test_ref_in_an_example_or_extension_is_data(resolving: Resolve) -> None:
    schema = {
        "example": {"$ref": "http://127.0.0.1:1/x"},
        "default": {"$ref": "/etc/passwd"},
        "x-note": {"$ref": "#/nowhere"},
        "properties": {"$ref": {"type": "string"}},
    }
    assert resolving(api(schema))[1] == []


@pytest.mark.parametrize(
    "schemas",
    [
        {"A": {"$ref": "#/components/schemas/A"}},
        {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}},
    ],
)
def test_a_cycle_of_pure_references_is_reported_once(
    resolving: Resolve, schemas: dict[str, Any]
) -> None:
    document, problems = resolving(api({"$ref": "#/components/schemas/A"}, schemas=schemas))
    assert [problem.code for problem in problems] == ["ref-cycle"]
    assert [out.operation for out in document.skipped] == ["GET /bad"]


def test_a_recursive_schema_stays_a_reference(resolving: Resolve) -> None:
    tree = {"properties": {"children": {"items": {"$ref": "#/components/schemas/Tree"}}}}
    document, problems = resolving(
        api({"$ref": "#/components/schemas/Tree"}, schemas={"Tree": tree})
    )
    assert problems == []
    assert document.root["components"]["schemas"]["Tree"] == tree


def test_a_long_chain_of_references_is_reported(resolving: Resolve) -> None:
    schemas: dict[str, Any] = {
        f"S{n}": {"$ref": f"#/components/schemas/S{n + 1}"} for n in range(12)
    }
    schemas["S12"] = {}
    root = api({"$ref": "#/components/schemas/S0"}, schemas=schemas)
    assert resolving(root)[1] == []
    found = {p.code for p in resolving(root, limits=Limits(max_ref_chain=10))[1]}
    assert found == {"ref-chain"}


UNSAFE = [
    ("http://127.0.0.1:1/a.json#/A", "remote-ref"),
    ("https://example.com/a.json", "remote-ref"),
    ("//example.com/a.json", "remote-ref"),
    ("file:///etc/passwd", "outside-ref"),
    ("FILE:/etc/passwd", "outside-ref"),
    ("/etc/passwd", "outside-ref"),
    ("../secret.yaml#/a", "outside-ref"),
    ("sub/../../secret.yaml", "outside-ref"),
    ("%2e%2e/secret.yaml", "outside-ref"),
    ("..\\secret.yaml", "outside-ref"),
    ("C:/secret.yaml", "outside-ref"),
]


@pytest.mark.parametrize(("reference", "code"), UNSAFE)
def test_a_reference_outside_of_the_folder_is_an_error_and_not_opened(
    resolving: Resolve, monkeypatch: pytest.MonkeyPatch, reference: str, code: str
) -> None:
    Path("../secret.yaml").write_text("a: {description: SECRET}\n")
    opened: list[str] = []
    original = Path.open

    def spy(path: Path, *args: Any, **kwargs: Any) -> Any:
        opened.append(path.name)
        return original(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", spy)
    document, problems = resolving(api({"$ref": reference}))
    assert [(p.code, p.severity) for p in problems] == [(code, Severity.ERROR)]
    assert set(opened) == {"api.yaml"}
    assert "SECRET" not in repr(problems) + repr(document.root)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no symbolic links here")
def test_a_symbolic_link_out_of_the_folder_is_not_followed(resolving: Resolve) -> None:
    Path("../secret.yaml").write_text("a: {description: SECRET}\n")
    Path("inside.yaml").symlink_to("../secret.yaml")
    document, (problem,) = resolving(api({"$ref": "inside.yaml#/a"}))
    assert (problem.code, problem.severity) == ("outside-ref", Severity.ERROR)
    assert "SECRET" not in repr(problem) + repr(document.root)


def test_a_referenced_folder_is_not_opened(resolving: Resolve) -> None:
    Path("pipe.yaml").mkdir()
    _, (problem,) = resolving(api({"$ref": "pipe.yaml"}))
    assert problem.code == "unresolved-ref"


FILES = {
    "schemas__pet": (
        "Pet:\n  properties:\n    owner: {$ref: 'owner.yaml'}\n    friend: {$ref: '#/Pet'}\n"
        "    home: {$ref: '../api.yaml#/components/schemas/Home'}\n"
    ),
    "schemas__owner": "type: object\ndescription: who feeds it\n",
}


def test_files_beside_the_root_are_bundled(resolving: Resolve) -> None:
    document, problems = resolving(
        api({"$ref": "./schemas/pet.yaml#/Pet"}, schemas={"Home": {"type": "string"}}), **FILES
    )
    assert problems == []
    pet = at(document, schema_of(document)["$ref"])
    assert at(document, pet["properties"]["owner"]["$ref"])["description"] == "who feeds it"
    assert at(document, pet["properties"]["friend"]["$ref"]) is pet
    assert pet["properties"]["home"]["$ref"] == "#/components/schemas/Home"
    names = [file.name for file in document.files]
    assert names == ["api.yaml", "schemas/owner.yaml", "schemas/pet.yaml"]


def test_locations_in_bundled_files_name_the_file(resolving: Resolve) -> None:
    document, _ = resolving(api({"$ref": "schemas/pet.yaml#/Pet"}, schemas={"Home": {}}), **FILES)
    place = document.locate("/x-mcpgen-files/schemas~1pet.yaml/Pet/properties/friend")
    assert (place.file, place.line, place.pointer) == (
        "schemas/pet.yaml",
        4,
        "/Pet/properties/friend",
    )
    assert document.locate("/info/title").file == "api.yaml"


def test_a_path_item_in_another_file_provides_its_operations(resolving: Resolve) -> None:
    root = api({})
    root["paths"]["/bad"] = {"$ref": "bad.yaml"}
    document, (problem,) = resolving(
        root, bad="get:\n  responses: {200: {$ref: '#/Nothing'}}\npost: {}\n"
    )
    assert problem.at is not None
    assert problem.at.file == "bad.yaml"
    assert [out.operation for out in document.skipped] == ["GET /bad"]


def test_an_unreadable_bundled_file_is_reported_with_its_fault(resolving: Resolve) -> None:
    _, problems = resolving(api({"$ref": "pet.yaml"}), pet="a: [\n")
    assert [(p.code, p.at.file) for p in problems if p.at] == [
        ("unresolved-ref", "api.yaml"),
        ("yaml-syntax", "pet.yaml"),
    ]


def test_the_size_limit_applies_to_all_files_together(resolving: Resolve) -> None:
    root = api({"$ref": "pet.yaml"})
    size = len(json.dumps(root)) + 100
    _, problems = resolving(root, limits=Limits(max_document_bytes=size), pet="a: " + "x" * 200)
    assert "too-large" in {problem.code for problem in problems}


def test_a_ref_in_place_of_a_map_is_repaired(resolving: Resolve) -> None:
    schema = {"properties": {"$ref": "#/components/schemas/Pet/properties"}}
    document, (problem,) = resolving(
        api(schema, schemas={"Pet": {"properties": {"name": {"type": "string"}}}})
    )
    assert (problem.code, problem.severity) == ("ref-in-place-of-map", Severity.WARNING)
    assert schema_of(document)["properties"] == {"name": {"type": "string"}}


@pytest.mark.parametrize("reference", ["#pet", "https://example.com/pet", "#/components/x/y"])
def test_references_by_anchor_or_id_become_pointers(resolving: Resolve, reference: str) -> None:
    schemas = {"Pet": {"$anchor": "pet"}, "Cat": {"$id": "https://example.com/pet"}}
    alias = {"y": {"$ref": "#/components/schemas/Pet"}}
    document, problems = resolving(api({"$ref": reference}, schemas=schemas, x=alias))
    assert problems == []
    assert at(document, schema_of(document)["$ref"])


def test_a_pointer_through_a_reference_is_followed(resolving: Resolve) -> None:
    schemas = {
        "Pet": {"properties": {"owner": {"$ref": "#/components/schemas/Owner"}}},
        "Owner": {"properties": {"name": {"type": "string"}}},
    }
    reference = "#/components/schemas/Pet/properties/owner/properties/name"
    document, problems = resolving(api({"$ref": reference}, schemas=schemas))
    assert problems == []
    assert schema_of(document) == {"$ref": "#/components/schemas/Owner/properties/name"}


def test_discriminator_mappings_are_resolved_relative_to_their_file(resolving: Resolve) -> None:
    schema = {"discriminator": {"propertyName": "t", "mapping": {"a": "pet.yaml#/A", "b": "B"}}}
    document, problems = resolving(api(schema), pet="A: {type: object}\n")
    assert problems == []
    mapping = schema_of(document)["discriminator"]["mapping"]
    assert mapping == {"a": "#/x-mcpgen-files/pet.yaml/A", "b": "B"}


def test_swagger_references_are_checked_for_their_kind(resolving: Resolve) -> None:
    document, (problem,) = resolving(
        "swagger: '2.0'\ninfo: {title: T, version: '1'}\n"
        "paths:\n  /a:\n    post:\n      parameters:\n"
        "      - {$ref: '#/definitions/Pet'}\n      responses: {}\n"
        "  /b:\n    get: {responses: {200: {schema: {$ref: '#/definitions/Pet'}}}}\n"
        "definitions:\n  Pet: {type: object}\n"
    )
    assert problem.code == "wrong-kind-of-ref"
    assert [out.operation for out in document.skipped] == ["POST /a"]


def test_a_value_of_the_wrong_type_skips_its_operation(resolving: Resolve) -> None:
    root = api({"properties": ["a"]})
    root["paths"]["/worse"] = {"get": 7, "post": None, "put": OK}
    document, problems = resolving(root)
    assert [problem.code for problem in problems] == ["wrong-shape"] * 2
    assert [out.operation for out in document.skipped] == ["GET /bad", "GET /worse"]


@pytest.mark.parametrize("key", ["paths", "components"])
def test_a_root_key_of_the_wrong_type_is_an_error(resolving: Resolve, key: str) -> None:
    _, problems = resolving(api({}) | {key: [1]})
    assert (problems[0].code, problems[0].severity) == ("wrong-shape", Severity.ERROR)


def test_relative_references_of_a_fetched_document_are_not_fetched(resolving: Resolve) -> None:
    Path("api.yaml").write_text(json.dumps(api({"$ref": "pet.yaml"})))
    problems = Problems()
    document = replace(load("api.yaml", problems), path=None, url="https://example.com/api.yaml")
    resolve(document, problems)
    assert [(p.code, p.severity) for p in problems] == [("remote-ref", Severity.ERROR)]


def test_a_map_that_refers_into_itself_is_a_cycle(resolving: Resolve) -> None:
    document, (problem,) = resolving(api({"properties": {"$ref": "#/paths"}}))
    assert (problem.code, problem.severity) == ("ref-cycle", Severity.WARNING)
    assert [out.operation for out in document.skipped] == ["GET /bad"]
    around = {
        "A": {"properties": {"$ref": "#/components/schemas/B/definitions"}},
        "B": {"definitions": {"x": {"properties": {"$ref": "#/components/schemas/A/properties"}}}},
    }
    document, _ = resolving(api({}, schemas=around))
    json.dumps(document.root)  # refuses what holds itself


@pytest.mark.parametrize("others", [{}, {"responses": {"x": {"$ref": "#/components/schemas/B"}}}])
def test_components_that_refer_into_themselves_are_resolved_in_bounded_time(
    tmp_path: Path, others: dict[str, Any]
) -> None:
    """Regression: each reference on the way to a place was followed at every level of recursion."""
    document = {
        "openapi": "3.1.0",
        "info": {"title": "A", "version": "1"},
        "paths": {"/a": {"get": {"parameters": [{"$ref": "#/components/parameters/Id"}]}}},
        "components": {"$ref": "#/components/schemas/A", **others},
    }
    path = tmp_path / "api.json"
    path.write_text(json.dumps(document))
    problems = Problems()
    resolve(load(str(path), problems), problems)
    assert "unresolved-ref" in {problem.code for problem in problems}
