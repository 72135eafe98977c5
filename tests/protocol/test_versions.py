"""Tests that the rows of versions.py agree with the schemas of MCP."""

from __future__ import annotations

import pytest

from mcpgen.runtime.protocol.versions import BY_NAME, REVISIONS, Revision
from tests.support import mcp_schemas
from tests.support.protocol_client import ALL

needs_schemas = pytest.mark.skipif(
    not mcp_schemas.ARE_THERE, reason="shared/mcp-schema is absent: frames are not held to schemas"
)


@needs_schemas
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("tool_keys", "Tool"),
        ("resource_keys", "Resource"),
        ("template_keys", "ResourceTemplate"),
        ("prompt_keys", "Prompt"),
        ("prompt_argument_keys", "PromptArgument"),
        ("implementation_keys", "Implementation"),
        ("server_capabilities", "ServerCapabilities"),
    ],
)
def test_the_fields_of_a_revision_match_its_schema(revision: str, column: str, kind: str) -> None:
    row = BY_NAME[revision]
    assert getattr(row, column) == mcp_schemas.definitions(revision)[kind]["properties"].keys()


@needs_schemas
@pytest.mark.parametrize("revision", ALL)
def test_the_request_methods_of_a_revision_match_its_schema(revision: str) -> None:
    types = mcp_schemas.definitions(revision)
    asked = {ref["$ref"].rpartition("/")[2] for ref in types["ClientRequest"]["anyOf"]}
    methods = {types[name]["properties"]["method"]["const"] for name in asked}
    tasks = {method for method in methods if method.startswith("tasks/")}
    assert BY_NAME[revision].request_methods == methods - tasks


@needs_schemas
@pytest.mark.parametrize("revision", ALL)
def test_the_content_types_of_a_revision_match_its_schema(revision: str) -> None:
    types = mcp_schemas.definitions(revision)
    blocks = [
        types[ref["$ref"].rpartition("/")[2]]
        for ref in types["CallToolResult"]["properties"]["content"]["items"].get("anyOf")
        or types["ContentBlock"]["anyOf"]
    ]
    kinds = {block["properties"]["type"]["const"] for block in blocks}
    assert BY_NAME[revision].content_types == kinds


@needs_schemas
@pytest.mark.parametrize("revision", ALL)
def test_structured_content_support_matches_the_schema(revision: str) -> None:
    result = mcp_schemas.definitions(revision)["CallToolResult"]["properties"]
    assert BY_NAME[revision].has_structured_content == ("structuredContent" in result)


def test_revisions_are_listed_newest_first() -> None:
    names = [revision.name for revision in REVISIONS]
    assert names == sorted(names, reverse=True)
    assert len(names) == 5


@pytest.mark.parametrize("revision", ALL)
def test_a_row_has_each_field_of_the_table_and_no_other(revision: str) -> None:
    row = BY_NAME[revision]
    assert {name for name in dir(row) if name[0] != "_"} == Revision.__annotations__.keys()
    assert all(hasattr(row, name) for name in Revision.__annotations__)
    with pytest.raises(AttributeError):
        Revision(row, unknown=True)
