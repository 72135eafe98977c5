"""Documents for property tests: one with a slot for every kind of text, and random ones."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from mcpgen.diagnostics import Problems
from mcpgen.emit.lockfile import LockedDocument
from mcpgen.emit.skeleton import prepare_skeleton
from mcpgen.ir.file_set import FileSet
from mcpgen.pipeline.build import plan_server
from mcpgen.pipeline.inputs import InputFiles, Inputs, PlannedProject
from mcpgen.pipeline.options import BuildOptions
from mcpgen.pipeline.parse import parse_source
from mcpgen.pipeline.render import render_project
from tests.support.policies import first_policy

# Characters and words that have escaped into code, configuration or a terminal somewhere before.
_HOSTILE_PARTS = [
    '"""', "'''", '"', "'", "\\", "\\N{BULLET}", "\n", "\r", "\r\n", "\x00", "\x1b[31m", "\x85",
    "\u2028", "\u2029", "\u202e", "\u200b", "\U000e0041", "\U0001f600", "ﬁ", "é", "`", "```", "|",
    "{{ 7 * 7 }}", "{% raw %}", "{# #}", "${HOME}", "$(id)", "%s", "{0.__class__}", "#", "//", "/*",
    "*/", "-->", "<!-- /mcpgen:tools -->", "<script>", "]]>", "[[table]]", "key = 1", "- item",
    ": ", "&a", "*a", "!!python/object", "...", "---", "__import__('os').system('id')",
    "def f(): pass", "import os", "RUN id", "\tindented", "../../etc/passwd", "word", "A sentence.",
    " ", "class", "None", "True", "0x1", "1e999",
]  # fmt: skip
hostile_text = st.lists(
    st.sampled_from(_HOSTILE_PARTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    max_size=8,
).map("".join)

SLOTS = 16


def document_with(texts: list[str]) -> dict[str, Any]:
    """Return a document with the `SLOTS` texts in all places that allow prose or a value."""
    t = iter(texts)
    pet = {
        "type": "object",
        "title": next(t),
        "description": next(t),
        "required": ["id"],
        "properties": {
            "id": {"type": "integer", "description": next(t)},
            "name": {"type": "string", "default": next(t), "example": next(t)},
            "kind": {"enum": ["cat", "dog"], "x-enum-descriptions": [next(t)]},
        },
        "x-python-type": next(t),
    }
    found = {"description": next(t), "content": {"application/json": {"schema": pet}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Pets {next(t)}", "version": next(t), "description": next(t)},
        "servers": [{"url": "https://pets.example", "description": next(t)}],
        "tags": [{"name": "pets", "description": next(t)}],
        "paths": {
            "/pets": {
                "post": {
                    "operationId": "addPet",
                    "tags": ["pets"],
                    "summary": next(t),
                    "description": next(t),
                    "parameters": [
                        {
                            "name": "q",
                            "in": "query",
                            "description": next(t),
                            "schema": {"type": "string"},
                        }
                    ],
                    "requestBody": {"content": {"application/json": {"schema": pet}}},
                    "responses": {"200": found},
                }
            }
        },
    }


names = st.sampled_from(
    ["id", "pet-id", "petId", "pet_id", "class", "list", "self", "ctx", "body", "X-Trace", "a.b"]
) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
_types = st.sampled_from(["string", "integer", "number", "boolean"])


def _schemas(components: list[str]) -> st.SearchStrategy[Any]:
    leaves = st.fixed_dictionaries({"type": _types}) | st.lists(
        hostile_text, min_size=1, max_size=3, unique=True
    ).map(lambda values: {"enum": values})
    if components:
        leaves |= st.sampled_from(components).map(_reference)
    return st.recursive(
        leaves,
        lambda inner: (
            st.fixed_dictionaries({"type": st.just("array"), "items": inner})
            | st.fixed_dictionaries(
                {
                    "type": st.just("object"),
                    "properties": st.dictionaries(names, inner, max_size=4),
                    "required": st.lists(names, max_size=2, unique=True),
                }
            )
            | st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"anyOf": parts})
            | st.lists(inner, min_size=1, max_size=2).map(lambda parts: {"allOf": parts})
            | inner.map(lambda schema: {"type": "object", "additionalProperties": schema})
        ),
        max_leaves=6,
    )


def _reference(component: str) -> dict[str, str]:
    escaped = component.replace("~", "~0").replace("/", "~1")
    return {"$ref": f"#/components/schemas/{escaped}"}


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a small document of odd names and nested schemas."""
    components = draw(st.lists(_COMPONENT_NAMES, max_size=3, unique=True))
    schemas = _schemas(components)
    paths: dict[str, Any] = {}
    for number in range(draw(st.integers(1, 3))):
        paths[f"/p{number}/{{key}}"] = {
            method: _operation(draw, schemas)
            for method in draw(st.sets(st.sampled_from(["get", "put", "delete"]), min_size=1))
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Odd", "version": "1"},
        "servers": [{"url": "https://odd.example"}],
        "paths": paths,
        "components": {"schemas": {name: draw(schemas) for name in components}},
    }


_COMPONENT_NAMES = st.sampled_from(
    ["Pet", "pet", "PET", "Pet2", "Any", "list", "Model", "None", "a.b", "ab", "x-y", "日本"]
)


def _operation(draw: st.DrawFn, schemas: st.SearchStrategy[Any]) -> dict[str, Any]:
    key = {"name": "key", "in": "path", "required": True, "schema": {"type": "string"}}
    more = [
        {"name": name, "in": place, "required": required, "schema": draw(schemas)}
        for name, place, required in draw(
            st.lists(
                st.tuples(names, st.sampled_from(["query", "header", "cookie"]), st.booleans()),
                max_size=3,
                unique_by=lambda parameter: parameter[:2],
            )
        )
    ]
    content = {"application/json": {"schema": draw(schemas)}}
    operation: dict[str, Any] = {
        "tags": [draw(names)],
        "summary": draw(hostile_text),
        "parameters": [key, *more],
        "responses": {"200": {"description": "Fine", "content": content}},
    }
    if draw(st.booleans()):
        operation["operationId"] = draw(names)
    if draw(st.booleans()):
        operation["requestBody"] = {
            "content": {"application/json": {"schema": draw(schemas)}},
            "required": draw(st.booleans()),
        }
    return operation


def shuffled(node: Any, order: random.Random) -> Any:
    """Return the same JSON with the keys of every object in random order."""
    if isinstance(node, dict):
        keys = list(node)
        order.shuffle(keys)
        return {key: shuffled(node[key], order) for key in keys}
    return [shuffled(item, order) for item in node] if isinstance(node, list) else node


def project_files(document: dict[str, Any], folder: Path, cache: Path) -> FileSet:
    """Return the files of a project of a document, without the document itself.

    Raises:
        RejectedError: no project can be made of it.
    """
    source = folder / "document.json"
    source.write_text(json.dumps(document), encoding="utf-8")
    problems = Problems()
    options = BuildOptions(external_validator=False, cache=cache)
    api = parse_source(str(source), options, problems, lambda _: None).api
    policy = first_policy("odd")
    plan = plan_server(api, policy, problems, lambda _: None, strict=False)
    files = InputFiles((({"openapi.json": b"{}"}, LockedDocument("", {}, "openapi.json")),))
    inputs = Inputs(folder, policy.intent, options)
    with prepare_skeleton() as child:
        project = render_project(
            PlannedProject(plan, files), inputs, problems, lambda _: None, child
        )
    return project.files
