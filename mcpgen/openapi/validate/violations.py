"""Validation against OpenAPI's own JSON Schemas, with readable messages, places and remedies."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Kind
from msgspec import Struct

from mcpgen.diagnostics import did_you_mean
from mcpgen.jsonschema.dialects import JSON_SCHEMA_2020_12
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.openapi.source.source_text import describe_type


class Violation(Struct, frozen=True):
    """One violation of a schema: its place, and what was expected there."""

    tokens: tuple[str, ...]
    message: str
    help: str = ""


def describe_violations(
    errors: Iterable[jsonschema_rs.ValidationError],
    standard: str,
    schema: JsonObject | None = None,
) -> Iterator[Violation]:
    """Yield the violations in a document of `standard`, in the validator's order.

    With the `schema`, the help for an unknown key names the known ones.
    """
    for error in errors:
        for leaf in _leaves(error):
            yield from _violation(leaf, standard, schema or {})


def _leaves(error: jsonschema_rs.ValidationError) -> Iterator[jsonschema_rs.ValidationError]:
    """Yield the errors in the alternative that the author most likely meant."""
    kind = error.kind
    nested = kind.context if isinstance(kind, Kind.AnyOf | Kind.OneOfNotValid) else ()
    branches = [branch for branch in nested if branch and not _is_reference(branch)]
    if not branches:
        yield error
        return
    depth = len(error.instance_path)
    for inner in min(branches, key=lambda branch: _distance(branch, depth)):
        yield from _leaves(inner)


def _is_reference(branch: list[jsonschema_rs.ValidationError]) -> bool:
    """Return whether this alternative requires a Reference Object, which the value is not."""
    return any(
        isinstance(error.kind, Kind.Required) and error.kind.property == "$ref" for error in branch
    )


def _distance(branch: list[jsonschema_rs.ValidationError], depth: int) -> tuple[bool, int, int]:
    """Return a sort key: alternatives with deeper errors are closer to the value."""
    is_other = any(
        isinstance(error.kind, Kind.Enum | Kind.Constant)
        or (isinstance(error.kind, Kind.Type) and len(error.instance_path) == depth)
        for error in branch
    )
    return is_other, -max(len(error.instance_path) for error in branch), len(branch)


def _violation(
    error: jsonschema_rs.ValidationError, standard: str, schema: JsonObject
) -> Iterator[Violation]:
    tokens = tuple(str(token) for token in error.instance_path)
    match error.kind:
        case Kind.AdditionalProperties(names) | Kind.UnevaluatedProperties(names):
            for name in names:
                keys = _suggest_keys(name, error, schema)
                yield Violation((*tokens, name), f"unknown key `{name}`", keys)
        case Kind.Required(name):
            yield Violation(tokens, f"missing key `{name}`", f"add `{name}`")
        case Kind.Type(types):
            expected = _one_of(f"{_ARTICLES.get(name, 'a')} {name}" for name in types)
            found = describe_type(error.instance)
            yield Violation(tokens, f"expected {expected}, found {found}")
        case Kind.Enum(options):
            expected = _one_of(f"`{json.dumps(option)}`" for option in options)
            yield Violation(tokens, f"expected {expected}, found {_excerpt(error.instance)}")
        case Kind.Constant(value):
            found = _excerpt(error.instance)
            yield Violation(tokens, f"expected `{json.dumps(value)}`, found {found}")
        case Kind.UniqueItems() if tokens[-1:] == ("required",):
            return  # lowering repairs and reports it
        case Kind.UniqueItems():
            yield Violation(tokens, "duplicate item in this list", "remove one of them")
        case Kind.OneOfMultipleValid() if "parameters" in tokens:
            yield Violation(
                tokens, "expected one of `schema` and `content`, found both", "remove one of them"
            )
        case Kind.ExclusiveMinimum(limit):
            yield Violation(tokens, f"expected more than {limit}, found {_excerpt(error.instance)}")
        case Kind.Minimum(limit):
            yield Violation(tokens, f"expected at least {limit}, found {_excerpt(error.instance)}")
        case Kind.Maximum(limit):
            yield Violation(tokens, f"expected at most {limit}, found {_excerpt(error.instance)}")
        case Kind.MinItems(count) | Kind.MinProperties(count):
            yield Violation(tokens, f"expected at least {count} entry here, found none")
        case Kind.Pattern(pattern):
            shown = _excerpt(error.instance)
            message = f"invalid value {shown}" if "`" in shown else f"invalid value ({shown})"
            yield Violation(tokens, message, f"it must match `{pattern}`" if schema else "")
        case Kind.PropertyNames(inner):
            for violation in _violation(inner, standard, schema):
                yield Violation((*tokens, str(inner.instance)), violation.message, violation.help)
        case kind:
            rule = getattr(kind, "name", "")
            yield Violation(tokens, f"violation of the rule `{rule}` of {standard}'s schema")


_ARTICLES = {"object": "an", "array": "an", "integer": "an"}


def _one_of(options: Iterable[str]) -> str:
    listed = list(options)
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}"


def _excerpt(value: JsonValue) -> str:
    """Return a short scalar as JSON, else the type, since long values may contain secrets."""
    if isinstance(value, str | int | float | bool) and len(str(value)) <= 30:
        return f"`{json.dumps(value, ensure_ascii=False)}`"
    return describe_type(value)


def _suggest_keys(name: str, error: jsonschema_rs.ValidationError, schema: JsonObject) -> str:
    """Return a help with the most similar known key, or with all of them."""
    parent: JsonValue = schema
    for token in error.schema_path[:-1]:
        parent = parent.get(token) if isinstance(parent, dict) else None
    known = parent.get("properties") if isinstance(parent, dict) else None
    if not isinstance(known, dict) or not known:
        return "correct its spelling, remove it, or prefix it with `x-`"
    keys = ", ".join(f"`{key}`" for key in sorted(known))
    return did_you_mean(name, known, f"known keys are {keys}")


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
    for entry in folder.rglob("*"):
        if entry.is_file() and (entry.name == "base" or entry.name.endswith(".json")):
            yield json.loads(entry.read_text("utf-8"))
