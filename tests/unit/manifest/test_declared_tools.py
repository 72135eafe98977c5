"""Tests that a fault in a declared tool is one error, located in the manifest."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.api import Api
from mcpgen.manifest.declared_tools import derive_host_source, lower_declared
from mcpgen.manifest.manifest import read_manifest

INPUTS = {
    "properties": {"id": {"type": "integer"}, "q": {"type": "string"}},
    "required": ["id"],
}


def lowered(problems: Problems, **entry: Any) -> Api | None:
    tool = {"method": "POST", "url": "https://x.example.com/a", "description": "Do it.", **entry}
    text = yaml.safe_dump({"server": {"name": "x"}, "sources": [], "tools": {"do_it": tool}})
    return lower_declared(read_manifest(text.encode(), problems), problems)


@pytest.mark.parametrize(
    ("entry", "message", "pointer"),
    [
        (
            {"url": "https://x.example.com/a?b=1"},
            "invalid URL: it has a query or a fragment",
            "/tools/do_it/url",
        ),
        ({"url": "https:///a"}, "missing host in the URL", "/tools/do_it/url"),
        ({"url": "https://[x/a"}, "missing host in the URL", "/tools/do_it/url"),
        ({"url": "https://x:port/a"}, "missing host in the URL", "/tools/do_it/url"),
        (
            {"url": "https://u:p@x.example.com"},
            "invalid URL: it has a user name",
            "/tools/do_it/url",
        ),
        ({"method": "FETCH"}, "unsupported method `FETCH`", "/tools/do_it/method"),
        (
            {"headers": {"Authorization": "t"}},
            "the header parameter `Authorization` is ignored",
            "/tools/do_it/headers/Authorization",
        ),
        (
            {"headers": {"Content-Length": "1"}},
            "the header parameter `Content-Length` was dropped",
            "/tools/do_it/headers/Content-Length",
        ),
        (
            {"inputs": {"properties": {"q": {"type": "strng"}}}, "query": {"q": "$inputs.q"}},
            'found `"strng"`',
            "/tools/do_it/inputs/properties/q/type",
        ),
        ({"output": {"type": "obj"}}, 'found `"obj"`', "/tools/do_it/output/type"),
        (
            {
                "url": "https://x.example.com/{q}/{id}",
                "inputs": INPUTS,
            },
            "the path needs `q`, and the input is optional",
            "/tools/do_it/url",
        ),
        (
            {
                "inputs": INPUTS,
                "path": {"other": "$inputs.id"},
                "query": {"q": "$inputs.q", "i": "$inputs.id"},
            },
            "unknown path parameter `{other}`",
            "/tools/do_it/path/other",
        ),
        (
            {"inputs": INPUTS, "query": {"a": "$inputs.id", "b": "$inputs.q", "c": "$inputs.q"}},
            "the input `q` is used twice",
            "/tools/do_it/query/c",
        ),
        (
            {"inputs": INPUTS, "query": {"a": ["$inputs.id"], "b": "$inputs.q", "i": "$inputs.id"}},
            "`a` is composed of inputs, which only a body can be",
            "/tools/do_it/query/a",
        ),
        (
            {"inputs": INPUTS, "body": {"value": ["$inputs.id", "$inputs.q"]}},
            "the list needs `q`, and the input is optional",
            "/tools/do_it/body/value/1",
        ),
        (
            {"query": {"a": "$steps.x"}},
            "invalid expression `$steps.x`",
            "/tools/do_it/query/a",
        ),
        (
            {"inputs": {"anyOf": []}},
            "`anyOf` cannot be said of all inputs together",
            "/tools/do_it/inputs/anyOf",
        ),
    ],
)
def test_an_invalid_entry_is_rejected_with_its_location(
    entry: dict[str, Any], message: str, pointer: str
) -> None:
    problems = Problems()
    with pytest.raises(RejectedError):
        lowered(problems, **entry)
    (told,) = problems
    assert message in told.message
    assert told.at is not None
    assert told.at.pointer == pointer


def test_an_unresolved_reference_is_reported_at_the_manifest() -> None:
    problems = Problems()
    inputs = {"properties": {"id": {"$ref": "#/$defs/Gone"}}}
    with pytest.raises(RejectedError):
        lowered(problems, inputs=inputs, query={"id": "$inputs.id"})
    assert [told.at.file for told in problems if told.at] == ["mcpgen.yaml"]


def test_a_double_dollar_escapes_a_leading_dollar() -> None:
    api = lowered(Problems(), query={"a": "$$inputs.id", "b": ["$$", "c"]})
    assert api is not None
    declared = api.operations[0].declared
    assert declared is not None
    assert declared.fixed == {("query", "a"): "$inputs.id", ("query", "b"): ["$", "c"]}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.example.com/v1", "api_example_com"),
        ("http://127.0.0.1:8000/", "host_127_0_0_1_8000"),
    ],
)
def test_the_source_name_is_derived_from_the_host(url: str, name: str) -> None:
    assert derive_host_source(url) == name
