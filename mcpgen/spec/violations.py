"""What a JSON Schema says against a document, told by place and by what was expected."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Kind
from msgspec import Struct

from mcpgen.diagnostics import did_you_mean
from mcpgen.ir.json_types import JsonObject, JsonValue
from mcpgen.spec.references import describe


class Violation(Struct, frozen=True):
    """One departure from the letter of a schema: where, and a sentence on what was expected."""

    tokens: tuple[str, ...]
    message: str
    help: str = ""


def violations_of(
    errors: Iterable[jsonschema_rs.ValidationError],
    standard: str,
    schema: JsonObject | None = None,
) -> Iterator[Violation]:
    """Give what a validator found against a document of `standard`, in the validator's order.

    Where the `schema` is given, a help names the keys that it knows at an unknown one's place.
    """
    for error in errors:
        for leaf in _leaves(error):
            yield from _violation(leaf, standard, schema or {})


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
    depth = len(error.instance_path)
    for inner in min(branches, key=lambda branch: _distance(branch, depth)):
        yield from _leaves(inner)


def _is_reference(branch: list[jsonschema_rs.ValidationError]) -> bool:
    """Whether this alternative is only a Reference Object, which was not written."""
    return any(
        isinstance(error.kind, Kind.Required) and error.kind.property == "$ref" for error in branch
    )


def _distance(branch: list[jsonschema_rs.ValidationError], depth: int) -> tuple[bool, int, int]:
    """How far an alternative is from what was written; the deeper its faults, the nearer it is."""
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
                yield Violation(
                    (*tokens, name),
                    f"`{name}` is no key that {standard} has here",
                    _known_keys(name, error, schema),
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
        case Kind.Pattern(pattern):
            message = f"{_shown(error.instance)} is not spelled as {standard} wants it"
            yield Violation(tokens, message, f"it must match `{pattern}`" if schema else "")
        case Kind.PropertyNames(inner):
            for spelled in _violation(inner, standard, schema):
                yield Violation((*tokens, str(inner.instance)), spelled.message, spelled.help)
        case kind:
            rule = getattr(kind, "name", "")
            yield Violation(tokens, f"this breaks the rule `{rule}` of {standard}'s schema")


_ARTICLES = {"object": "an", "array": "an", "integer": "an"}


def _one_of(options: Iterable[str]) -> str:
    shown = list(options)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _shown(value: JsonValue) -> str:
    """A short scalar as it is, else its type; long values may hold what must not be shown."""
    if isinstance(value, str | int | float | bool) and len(str(value)) <= 30:
        return f"`{json.dumps(value, ensure_ascii=False)}`"
    return describe(value)


def _known_keys(name: str, error: jsonschema_rs.ValidationError, schema: JsonObject) -> str:
    """The key that was meant, or all that could be, as far as the schema says."""
    parent: JsonValue = schema
    for token in error.schema_path[:-1]:
        parent = parent.get(token) if isinstance(parent, dict) else None
    known = parent.get("properties") if isinstance(parent, dict) else None
    if not isinstance(known, dict) or not known:
        return "correct its spelling, remove it, or begin it with `x-`"
    keys = ", ".join(f"`{key}`" for key in sorted(known))
    return did_you_mean(name, known, f"its keys are {keys}")
