"""Tests of tool schemas: dialects, allowed references, and bounds on validation."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from mcpgen.diagnostics import Problems
from mcpgen.jsonschema.validation import SchemaValidator
from mcpgen.pipeline.build import plan_server
from mcpgen.pipeline.options import BuildOptions
from mcpgen.pipeline.parse import parse_source
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.handlers.context import Context
from mcpgen.runtime.handlers.features import Features
from tests.support.paths import EXAMPLES
from tests.support.policies import first_policy

EXAMPLES = EXAMPLES
DRAFT_07 = "http://json-schema.org/draft-07/schema#"


def pair(**dialect: str) -> dict[str, Any]:
    """Return a tuple schema in draft-07 keywords, which have another meaning in 2020-12."""
    return {**dialect, "type": "object", "properties": {"pair": {"items": [{"type": "integer"}]}}}


@pytest.mark.requirement("L012", "N025")
def test_a_schema_without_a_dialect_is_2020_12() -> None:
    validator = SchemaValidator(
        {
            "type": "object",
            "properties": {"pair": {"prefixItems": [{"type": "integer"}]}},
            "dependentRequired": {"card": ["address"]},
            "unevaluatedProperties": False,
        }
    )
    assert validator.is_valid({"pair": [1]})
    assert not validator.is_valid({"pair": ["one"]})
    assert not validator.is_valid({"card": 1})


@pytest.mark.requirement("L013", "N025")
def test_a_schema_is_validated_in_the_dialect_that_it_declares() -> None:
    validator = SchemaValidator(pair(**{"$schema": DRAFT_07}))
    assert validator.is_valid({"pair": [1, "rest"]})
    assert not validator.is_valid({"pair": ["one"]})


@pytest.mark.requirement("L013", "N025")
@pytest.mark.parametrize("key", ["input_schema", "output_schema"])
def test_an_unknown_dialect_is_rejected_with_a_list_of_known_dialects(
    key: str,
) -> None:
    features = Features()
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"}

    def tool(ctx: Context) -> str:
        """Do something."""
        return ""

    with pytest.raises(ConfigurationError, match=r"`tool`.*draft-04.*2020-12.*draft-07"):
        features.tool(**{key: schema})(tool)  # type: ignore[arg-type]  # one of two keywords


def listed_schemas() -> list[Any]:
    """Return every schema that the example servers list."""
    found = []
    for path in sorted(EXAMPLES.glob("*/src/*/_generated/listing.json")):
        for tool in json.loads(path.read_bytes()):
            found += [
                pytest.param(tool[key], id=f"{path.parts[-5]} {tool['name']} {key}")
                for key in ("inputSchema", "outputSchema")
                if key in tool
            ]
    return found


@pytest.mark.requirement("L014", "L082", "N025", "N091")
@pytest.mark.parametrize("schema", listed_schemas())
def test_a_listed_schema_is_valid_in_its_dialect(schema: dict[str, Any]) -> None:
    assert schema["type"] == "object"
    assert jsonschema_rs.meta.is_valid(schema)


@pytest.mark.requirement("L015", "N026")
def test_the_dialects_are_documented() -> None:
    readme = (EXAMPLES / "everything-mcp" / "README.md").read_text("utf-8")
    for text in (readme, Features.tool.__doc__ or ""):
        assert "2020-12" in text
        assert "draft-07" in text


@pytest.mark.requirement("N027")
def test_a_reference_to_a_url_is_rejected_without_network_access() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        host, port = server.getsockname()
        with pytest.raises(ValueError, match="schema"):
            SchemaValidator({"$ref": f"http://{host}:{port}/schema.json"})
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.requirement("N029")
@pytest.mark.parametrize(
    ("schema", "instance"),
    [
        ({"pattern": "^(a+)+$"}, "a" * 40 + "!"),
        ({"pattern": "^(?=(a+)+$)"}, "a" * 40 + "!"),
        ({"items": {"anyOf": [{"type": "integer"}] * 50}}, ["x"] * 100_000),
        ({"$ref": "#", "properties": {"a": {"$ref": "#"}}}, {"a": {"a": {"a": 1}}}),
        (
            {"anyOf": [{"properties": {"a": {"$ref": "#"}}}] * 2, "type": "object"},
            json.loads('{"a":' * 60 + "1" + "}" * 60),
        ),
    ],
    ids=["nested repetition", "look-ahead", "many branches", "itself", "recursive branches"],
)
def test_validation_time_is_bounded(schema: dict[str, Any], instance: Any) -> None:
    started = time.process_time()
    SchemaValidator(schema).problems(instance)
    assert time.process_time() - started < 5


@pytest.mark.requirement("N094")
def test_a_document_cannot_declare_an_argument_header(tmp_path: Path) -> None:
    document = tmp_path / "openapi.json"
    secret = {"type": "string", "x-mcp-header": "Password"}
    parameter = {"name": "password", "in": "query", "schema": secret}
    operation = {"parameters": [parameter], "responses": {"200": {"description": "Fine."}}}
    document.write_text(
        json.dumps(
            {
                "openapi": "3.1.0",
                "info": {"title": "Secrets", "version": "1"},
                "paths": {"/secrets": {"get": operation}},
            }
        )
    )
    problems = Problems()
    options = BuildOptions(external_validator=False)
    api = parse_source(str(document), options, problems, lambda _: None).api
    plan = plan_server(api, first_policy("secrets"), problems, lambda _: None, strict=False)
    (tool,) = plan.tools
    assert "password" in tool.input_schema["properties"]
    assert "x-mcp-header" not in json.dumps([tool.input_schema, tool.full_input_schema])


@pytest.mark.requirement("N094")
def test_the_examples_send_no_argument_in_a_header() -> None:
    in_headers = [
        path
        for path in EXAMPLES.glob("*/src/*/_generated/listing.json")
        if "x-mcp-header" in path.read_text("utf-8")
    ]
    assert in_headers == []
