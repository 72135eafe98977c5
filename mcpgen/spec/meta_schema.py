"""The judgement of OpenAPI's own JSON Schemas, told by place and by what was expected.

The schemas come from the packages that publish them (openapi-spec-validator and
openapi-schema-validator); jsonschema-rs takes milliseconds for what their validators take seconds.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Kind

from mcpgen.ir.json_types import JsonObject, JsonValue
from mcpgen.spec.references import describe

# JSON Schema's place in OpenAPI 3.1 and later is a dialect of its own.
_DIALECTS: Final = {
    "3.1": "https://spec.openapis.org/oas/3.1/dialect/base",
    "3.2": "https://spec.openapis.org/oas/3.2/dialect/2025-09-17",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """One departure from the letter of OpenAPI: where, and a sentence on what was expected."""

    tokens: tuple[str, ...]
    message: str
    help: str = ""


def violations(root: JsonObject, version: str) -> Iterator[Violation]:
    """Give what a document of this version violates, in the validator's order."""
    for error in _validator(version).iter_errors(root):
        for leaf in _leaves(error):
            yield from _violation(leaf)


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
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"urn:mcpgen:openapi:{version}",
            "$ref": schema["$id"],
            "$defs": {"schema": {"$dynamicAnchor": "meta", "$ref": _DIALECTS[version]}},
        },
        registry=jsonschema_rs.Registry([*resources, (schema["$id"], schema)]),
    )


def _folder(package: str) -> Path:
    """Where a package lies; it is not imported, which would load all that it validates with."""
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


def _leaves(error: jsonschema_rs.ValidationError) -> Iterator[jsonschema_rs.ValidationError]:
    """Descend into the alternative that the author most likely meant."""
    kind = error.kind
    if not isinstance(kind, Kind.AnyOf | Kind.OneOfNotValid):
        yield error
        return
    branches = [branch for branch in kind.context if branch and not _is_reference(branch)]
    if not branches:
        yield error
        return
    for inner in min(branches, key=_distance):
        yield from _leaves(inner)


def _is_reference(branch: list[jsonschema_rs.ValidationError]) -> bool:
    """Whether this alternative is only a Reference Object, which was not written."""
    return any(
        isinstance(error.kind, Kind.Required) and error.kind.property == "$ref" for error in branch
    )


def _distance(branch: list[jsonschema_rs.ValidationError]) -> tuple[bool, int, int]:
    """How far an alternative is from what was written; the deeper its faults, the nearer it is."""
    is_other = any(isinstance(error.kind, Kind.Enum | Kind.Constant) for error in branch)
    return is_other, -max(len(error.instance_path) for error in branch), len(branch)


def _violation(error: jsonschema_rs.ValidationError) -> Iterator[Violation]:
    tokens = tuple(str(token) for token in error.instance_path)
    match error.kind:
        case Kind.AdditionalProperties(names) | Kind.UnevaluatedProperties(names):
            for name in names:
                yield Violation(
                    (*tokens, name),
                    f"`{name}` is no key that OpenAPI has here",
                    "correct its spelling, remove it, or begin it with `x-`",
                )
        case Kind.Required(name):
            yield Violation(tokens, f"the key `{name}` is missing", f"add `{name}`")
        case Kind.Type(types):
            expected = _one_of(f"{_ARTICLES.get(name, 'a')} {name}" for name in types)
            found = describe(error.instance)
            yield Violation(tokens, f"expected {expected}, found {found}")
        case Kind.Enum(options):
            expected = _one_of(f"`{json.dumps(option)}`" for option in options)
            yield Violation(tokens, f"expected {expected}, found {_shown(error.instance)}")
        case Kind.Constant(value):
            found = _shown(error.instance)
            yield Violation(tokens, f"expected `{json.dumps(value)}`, found {found}")
        case Kind.UniqueItems() if tokens[-1:] == ("required",):
            return  # lowering repairs it where it matters, and says so
        case Kind.UniqueItems():
            yield Violation(tokens, "an item stands twice in this list", "keep one of them")
        case Kind.OneOfMultipleValid() if "parameters" in tokens:
            yield Violation(
                tokens, "expected one of `schema` and `content`, found both", "keep one of them"
            )
        case Kind.ExclusiveMinimum(limit):
            yield Violation(tokens, f"expected more than {limit}, found {_shown(error.instance)}")
        case Kind.Minimum(limit):
            yield Violation(tokens, f"expected at least {limit}, found {_shown(error.instance)}")
        case Kind.MinItems(count) | Kind.MinProperties(count):
            yield Violation(tokens, f"expected at least {count} entry here, found none")
        case Kind.Pattern() | Kind.PropertyNames():
            yield Violation(tokens, "this name or value is not spelled as OpenAPI wants it")
        case kind:
            rule = getattr(kind, "name", "")
            yield Violation(tokens, f"this breaks the rule `{rule}` of OpenAPI's schema")


_ARTICLES = {"object": "an", "array": "an", "integer": "an"}


def _one_of(options: Iterable[str]) -> str:
    shown = list(options)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _shown(value: JsonValue) -> str:
    """A short scalar as it is, else its type; long values may hold what must not be shown."""
    if isinstance(value, str | int | float | bool) and len(str(value)) <= 30:
        return f"`{json.dumps(value, ensure_ascii=False)}`"
    return describe(value)
