"""Tests of security that the manifest adds to an API: which operations use it, and how."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.diagnostics import Location, Place
from mcpgen.ir.api import SecurityScheme
from mcpgen.manifest.source_security import add_security

AT = Place("", lambda pointer: Location("mcpgen.yaml", 1, 1, pointer=pointer))
KEY = SecurityScheme("key", "apiKey", AT, location="query", name="key")
TOKEN = SecurityScheme("token", "http", AT, http_scheme="bearer")


def parameter(name: str, location: str, *, required: bool) -> dict[str, Any]:
    return {"name": name, "in": location, "required": required, "schema": {"type": "string"}}


def secured(make: Any, root: Any, *schemes: SecurityScheme, security: Any = ()) -> Any:
    """Return the alternatives of each operation by path, with the remaining parameters."""
    api = add_security(make(root).api, schemes, security)
    return {
        operation.path: (
            [[use.scheme for use in way] for way in operation.security],
            [it.name for it in operation.parameters],
        )
        for operation in api.operations
    }


def paths(make: Any, **operations: dict[str, Any]) -> Any:
    root = make.document()
    responses = {"200": {"description": "ok"}}
    root["paths"] = {
        f"/{name}": {"get": {"responses": responses, **it}} for name, it in operations.items()
    }
    root["components"] = {"securitySchemes": {"own": {"type": "http", "scheme": "basic"}}}
    return root


def test_operations_without_security_take_that_of_the_source(make: Any) -> None:
    root = paths(make, plain={}, public={"security": []}, secured={"security": [{"own": []}]})
    assert secured(make, root, TOKEN, security=({"token": ()}, {})) == {
        "/plain": ([["token"], []], []),
        "/public": ([], []),
        "/secured": ([["own"]], []),
    }


@pytest.mark.parametrize(("required", "ways"), [(True, [["key"]]), (False, [["key"], []])])
def test_only_operations_that_declare_the_parameter_use_the_scheme(
    make: Any, required: bool, ways: Any
) -> None:
    root = paths(
        make, plain={}, keyed={"parameters": [parameter("key", "query", required=required)]}
    )
    expected = {"/plain": ([], []), "/keyed": (ways, [])}
    assert secured(make, root, KEY) == expected
    assert secured(make, root, KEY, security=({"key": ()},)) == expected


@pytest.mark.parametrize(
    ("required", "ways"), [(True, [["key", "own"]]), (False, [["own"], ["key"]])]
)
def test_a_declared_parameter_is_combined_with_an_existing_scheme(
    make: Any, required: bool, ways: Any
) -> None:
    operation = {
        "security": [{"own": []}],
        "parameters": [parameter("key", "query", required=required)],
    }
    assert secured(make, paths(make, both=operation), KEY) == {"/both": (ways, [])}


def test_a_reserved_header_counts_as_a_declared_parameter(make: Any) -> None:
    header = parameter("authorization", "header", required=True)
    root = paths(make, plain={}, headed={"parameters": [header]})
    assert secured(make, root, TOKEN) == {"/plain": ([], []), "/headed": ([["token"]], [])}


def test_a_parameter_with_the_same_name_in_another_location_is_kept(make: Any) -> None:
    header = parameter("key", "header", required=True)
    root = paths(make, headed={"parameters": [header]})
    assert secured(make, root, KEY) == {"/headed": ([], ["key"])}


def test_several_required_parameters_are_combined(make: Any) -> None:
    other = SecurityScheme("other", "apiKey", AT, location="query", name="other")
    parameters = [parameter(name, "query", required=True) for name in ("key", "other")]
    root = paths(make, both={"parameters": parameters})
    assert secured(make, root, KEY, other) == {"/both": ([["key", "other"]], [])}
