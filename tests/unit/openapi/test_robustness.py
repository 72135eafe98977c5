"""Tests that any value anywhere in a document leads to a diagnostic and not to a crash."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.document import Document, SourceFile
from mcpgen.openapi.resolve.resolve import resolve
from mcpgen.openapi.validate.validate import validate

RICH: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "T", "version": "1"},
    "servers": [{"url": "https://{h}/", "variables": {"h": {"default": "a"}}}],
    "security": [{"key": []}],
    "paths": {
        "/a/{id}": {
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "get": {
                "operationId": "a",
                "tags": ["t"],
                "x-mcp": {"annotations": {"readOnlyHint": True}},
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/a"}}}},
                "responses": {
                    "200": {
                        "description": "d",
                        "headers": {"X": {"schema": {"type": "string"}}},
                        "links": {"l": {"$ref": "#/components/links/L"}},
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/A"}}
                        },
                    }
                },
                "callbacks": {"c": {"{$request.body#/u}": {"post": {"responses": {}}}}},
            },
        },
        "/b": {"$ref": "#/components/pathItems/B"},
    },
    "components": {
        "parameters": {"Id": {"name": "id", "in": "path", "required": True, "schema": {}}},
        "pathItems": {"B": {"post": {"responses": {}}}},
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "K"}},
        "schemas": {
            "A": {
                "properties": {"p": {"items": {"$ref": "#/components/schemas/A"}}},
                "discriminator": {"propertyName": "p", "mapping": {"x": "#/components/schemas/A"}},
                "allOf": [{"$ref": "#/components/schemas/C"}],
            },
            "C": {"$ref": "#/components/schemas/A"},
        },
    },
}
VERSIONS = ("2.0", "3.0", "3.1", "3.2")


def places(node: object) -> Iterator[tuple[Any, Any]]:
    """Yield every container of a document with each of its keys."""
    if isinstance(node, dict | list):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            yield node, key
            yield from places(node[key])


REFERENCES = (
    *("", "#", "#/", "#/paths", "#/components/schemas/A", "#/components/schemas/C", "#x"),
    *("x.yaml", "../x", "http://127.0.0.1:1", "#/paths/~1b/post", "%", "#/%zz", "?", ":"),
    None,
)
KEYS = ("a", "$ref", "get", "x-a", "in", "name")
scalars = st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["", "a", "\u200b"])
references = st.sampled_from(REFERENCES).map(lambda reference: {"$ref": reference})
values = st.recursive(
    scalars | references,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=2)
    ),
    max_leaves=4,
)


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, 10_000), values), min_size=1, max_size=3),
    st.sampled_from(VERSIONS),
)
def test_any_value_at_any_location_is_accepted_or_reported(
    changes: list[tuple[int, object]], version: str
) -> None:
    root = copy.deepcopy(RICH)
    for number, value in changes:
        known = list(places(root))
        if not known:
            break
        container, key = known[number % len(known)]
        container[key] = value
    problems = Problems()
    document = Document(
        root=root,
        version=version,
        shown_as="api.yaml",
        path=None,
        url=None,
        files=(SourceFile("api.yaml", b""),),
        locate=lambda pointer: Location("api.yaml", 1, 1, pointer),
    )
    try:
        validate(resolve(document, problems), problems, external_validator=False)
    except RejectedError:
        assert problems.has_errors
