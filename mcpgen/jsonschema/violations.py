"""Violations of a JSON Schema as sentences that a model can act on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final, TypeAlias

import jsonschema_rs
import msgspec

from mcpgen.text.json_pointer import json_pointer

Violation: TypeAlias = jsonschema_rs.ValidationError
Name: TypeAlias = Callable[[Sequence[str | int]], str]
"""The type of functions that return the name of the value at a path, such as "`/limit`"."""

MAX_PROBLEMS: Final = 10

_MAX_SHOWN: Final = 60
# Comparing two names takes time that grows with both of their lengths.
_MAX_HINTS: Final = 3
_MAX_COMPARED: Final = 6_000  # characters of all names that one is compared with


def pointer_to(path: Sequence[str | int]) -> str:
    """Return a JSON Pointer (RFC 6901) in backticks, as in problems: "`/filter/0`"."""
    return f"`{json_pointer(path) or '/'}`"


def name_place(path: Sequence[str | int]) -> str:
    """Return what the place at `path` of arguments is called in problems."""
    return pointer_to(path) if path else "the arguments"


def locate(violation: Violation) -> tuple[str | int, ...]:
    """Return the JSON Pointer tokens of a violation; for a missing member, where it should be."""
    match violation.kind:
        case jsonschema_rs.ValidationErrorKind.Required(property=missing):
            return (*violation.instance_path, missing)
    return tuple(violation.instance_path)


def describe(violation: Violation, name: Name = name_place) -> str:
    """Return a violation as one sentence with the argument, the rule and the value."""
    kinds, path = jsonschema_rs.ValidationErrorKind, list(violation.instance_path)
    shown = _format_value(violation.instance)
    where = name(path)
    match violation.kind:
        case kinds.Required(property=missing):
            return f"{name([*path, missing])} is required and was not given"
        case (
            kinds.AdditionalProperties(unexpected=names)
            | kinds.UnevaluatedProperties(unexpected=names)
        ):
            return unknown_names(path, names, name=name)
        case kinds.AnyOf(context=branches) | kinds.OneOfNotValid(context=branches):
            return _describe_closest_branch(where, branches, shown, name)
        case kinds.PropertyNames(error=error):
            return f"a name in {where} is not allowed: {_format_value(error.instance)}"
        case kinds.BacktrackLimitExceeded():
            return f"{where} takes too long to match against its pattern, so it is refused"
    return f"{where} {_describe_rule(violation)}, not {shown}"


def rule_at(violation: Violation) -> str:
    """Return the rule that a violation breaks, with its location if that is inside the instance."""
    path = list(violation.instance_path)
    return (f"has {pointer_to(path)}, which " if path else "") + _describe_rule(violation)


def _describe_rule(violation: Violation) -> str:
    """Describe what a value must be, for the middle of a sentence."""
    kinds = jsonschema_rs.ValidationErrorKind
    match violation.kind:
        case kinds.Type(types=types):
            return f"must be {_format_types(types)}"
        case kinds.Enum(options=options):
            more = ["…"] if len(options) > 20 else []
            return f"must be {_format_alternatives([*map(_format_value, options[:20]), *more])}"
        case kinds.Constant(expected_value=expected):
            return f"must be {_format_value(expected)}"
        case kinds.MultipleOf(multiple_of=step):
            return f"must be a multiple of {step}"
        case kinds.UniqueItems():
            return "must not have the same item twice"
        case kinds.Pattern(pattern=pattern):
            return f"must match the pattern `{pattern}`"
        case kinds.Format(format=name):
            return f"must be a `{name}`"
        case kinds.FalseSchema():
            return "must be omitted"
        case kinds.OneOfMultipleValid():
            return "must fit exactly one of its alternatives and fits several"
    rule, limit = violation.kind.name, getattr(violation.kind, "limit", None)
    if rule in _BOUNDS:
        return f"must be {_BOUNDS[rule]} {limit}"
    if noun := _COUNTED.get(rule[3:]):
        bound = "least" if rule.startswith("min") else "most"
        return f"must have at {bound} {limit} {noun}{'' if limit == 1 else 's'}"
    return f"must fit the rule `{rule}`"


_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
}
_COUNTED = {"Length": "character", "Items": "item", "Properties": "member"}
_ARTICLES = {
    "array": "an array",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}


def _format_types(types: Sequence[str]) -> str:
    null_last = sorted(types, key=lambda name: name == "null")
    return _format_alternatives([_ARTICLES.get(name, name) for name in null_last])


def _format_alternatives(options: Sequence[str]) -> str:
    if len(options) < 2:
        return "".join(options)
    return f"{', '.join(options[:-1])} or {options[-1]}"


def _format_value(value: Any) -> str:
    """Return a value as JSON, shortened to fit a message."""
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, UnicodeEncodeError):
        return "text that is not Unicode"
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"


def _describe_closest_branch(
    where: str, branches: Sequence[Sequence[Violation]], shown: str, name: Name
) -> str:
    """Describe the closest branch: the one whose first violation is deepest, with few others."""
    candidates = [branch for branch in branches if branch]
    if not candidates:
        return f"{where} fits none of its alternatives, being {shown}"
    depth = max(max(len(error.instance_path) for error in branch) for branch in candidates)
    deepest = [
        branch
        for branch in candidates
        if max(len(error.instance_path) for error in branch) == depth
    ]
    closest = min(deepest, key=len)
    if len(deepest) > 1 and all(error.kind.name == "type" for b in deepest for error in b):
        types = [each for b in deepest for error in b for each in _list_types(error)]
        return f"{where} must be {_format_types(list(dict.fromkeys(types)))}, not {shown}"
    reasons = "; ".join(describe(error, name) for error in closest[:3])
    return f"{where} fits none of its {len(branches)} alternatives; the closest says: {reasons}"


def _list_types(violation: Violation) -> Sequence[str]:
    kind = violation.kind
    return kind.types if isinstance(kind, jsonschema_rs.ValidationErrorKind.Type) else ()


def unknown_names(
    path: Sequence[str | int],
    names: Sequence[str],
    known: Sequence[str] = (),
    name: Name = name_place,
) -> str:
    """Return a sentence for each unknown name, the first with the most similar of `known`."""
    sentences = []
    for index, each in enumerate(names[:MAX_PROBLEMS]):
        cut = each if len(each) <= _MAX_SHOWN else f"{each[: _MAX_SHOWN - 1]}…"
        likeliest = _choose_likeliest(cut, known) if index < _MAX_HINTS else ""
        hint = f"; did you mean {name([*path, likeliest])}?" if likeliest else ""
        sentences.append(f"{name([*path, cut])} is not known{hint}")
    return "; ".join(sentences)


def _choose_likeliest(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches  # only on the way to an error

    lengths = accumulate(map(len, known))
    compared = [one for one, length in zip(known, lengths, strict=True) if length <= _MAX_COMPARED]
    matches = get_close_matches(name, compared, n=1)
    return matches[0] if matches else ""
