"""Properties of flat bodies: their members make the same request as the body, in every shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpgen.diagnostics import Problems
from mcpgen.pipeline.options import BuildOptions
from mcpgen.pipeline.parse import parse_source
from tests.support.argument_forms import Compared, compare_forms
from tests.support.random_documents import documents

MEMBERS = [
    "id", "name", "fooBar", "foo_bar", "filter[kind]", "body", "fields", "max_pages",
    "content_type", "@type", "class", "X-Trace", "日本",
]  # fmt: skip
values = st.sampled_from(
    [
        {"type": "string"},
        {"type": ["string", "null"]},
        {"type": "integer", "default": 3},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
        {"type": "object", "properties": {"filter[kind]": {"type": "boolean"}}},
        {"type": "string", "readOnly": True},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    ]
)
media_types = st.sampled_from(
    [
        "application/json",
        "application/merge-patch+json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ]
)


@st.composite
def bodies(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a document whose operation has an object body and parameters with equal names."""
    members = draw(st.dictionaries(st.sampled_from(MEMBERS), values, min_size=1, max_size=6))
    schema: dict[str, Any] = {"type": "object", "properties": members}
    schema["required"] = draw(st.lists(st.sampled_from([*members]), unique=True, max_size=3))
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(st.booleans())
    if draw(st.booleans()):
        schema["minProperties"] = 1
    named = draw(st.lists(st.sampled_from(["name", "foo_bar", "fields"]), unique=True))
    content = {draw(media_types): {"schema": schema}}
    operation = {
        "parameters": [{"name": it, "in": "query", "schema": {"type": "string"}} for it in named],
        "requestBody": {"required": draw(st.booleans()), "content": content},
        "responses": {"204": {"description": "done"}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Odd", "version": "1"},
        "servers": [{"url": "https://odd.example"}],
        "paths": {"/things": {draw(st.sampled_from(["post", "patch"])): operation}},
    }


@pytest.fixture(scope="module")
def compare(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = tmp_path_factory.mktemp("forms") / "openapi.json"

    def compare_document(document: dict[str, Any]) -> Compared:
        path.write_text(json.dumps(document), encoding="utf-8")
        options = BuildOptions(external_validator=False)
        return compare_forms(parse_source(str(path), options, Problems(), lambda _: None).api)

    return compare_document


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(bodies())
def test_members_of_an_object_make_the_same_request(compare: Any, document: Any) -> None:
    found = compare(document)

    assert not found.differences
    assert (found.bodies, found.refused) == (1, 0)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents())
def test_any_document_makes_the_same_requests(compare: Any, document: Any) -> None:
    assert not compare(document).differences
