"""Validation of a document against OpenAPI's own JSON Schemas.

The schemas are resources of openapi-spec-validator and openapi-schema-validator. jsonschema-rs
takes milliseconds where the validators of these packages take seconds.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import jsonschema_rs

from mcpgen.jsonschema.dialects import JSON_SCHEMA_2020_12
from mcpgen.jsonschema.types import JsonObject
from mcpgen.openapi.validate.violations import Violation, describe_violations

# Schema Objects of OpenAPI 3.1 and later have their own dialect.
_DIALECTS: Final = {
    "3.1": "https://spec.openapis.org/oas/3.1/dialect/base",
    "3.2": "https://spec.openapis.org/oas/3.2/dialect/2025-09-17",
}


def find_violations(root: JsonObject, version: str) -> Iterator[Violation]:
    """Yield the violations in a document of this version, in the validator's order."""
    return describe_violations(_validator(version).iter_errors(root), "OpenAPI")


@functools.cache
def _validator(version: str) -> Any:
    schemas = _folder("openapi_spec_validator") / "resources" / "schemas"
    schema = json.loads((schemas / f"v{version}" / "schema.json").read_text("utf-8"))
    if version not in _DIALECTS:
        return jsonschema_rs.Draft4Validator(schema)
    published = _folder("openapi_schema_validator") / "schemas"
    resources = [(found["$id"], found) for found in _json_files(published)]
    return jsonschema_rs.Draft202012Validator(
        {
            "$schema": JSON_SCHEMA_2020_12,
            "$id": f"urn:mcpgen:openapi:{version}",
            "$ref": schema["$id"],
            "$defs": {"schema": {"$dynamicAnchor": "meta", "$ref": _DIALECTS[version]}},
        },
        registry=jsonschema_rs.Registry([*resources, (schema["$id"], schema)]),
    )


def _folder(package: str) -> Path:
    """Return the folder of a package without importing it, which is slow."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no package {package!r}", name=package)
    return Path(spec.origin).parent


def _json_files(folder: Path) -> Iterator[JsonObject]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _json_files(entry)
        elif entry.name == "base" or entry.name.endswith(".json"):
            yield json.loads(entry.read_text("utf-8"))
