"""Whether arguments fit a tool's input schema, told in sentences that a model can act on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import jsonschema_rs
import msgspec

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.dialects import JSON_SCHEMA_2020_12, JSON_SCHEMA_DRAFT_07, dialect_of

Violation: TypeAlias = jsonschema_rs.ValidationError

MAX_PROBLEMS = 10

# Patterns come from documents. The engine is linear wherever it can be; look-around and back
# references make it backtrack, and this bounds how often.
_BACKTRACK_LIMIT = 20_000
# Collecting every violation of a huge instance takes long, and nobody reads them.
_SMALL_INSTANCE = 2_000
_MAX_SHOWN = 60
_VALIDATORS = {
    JSON_SCHEMA_2020_12: jsonschema_rs.Draft202012Validator,
    JSON_SCHEMA_DRAFT_07: jsonschema_rs.Draft7Validator,
}


class SchemaValidator:
    """A compiled JSON Schema. Compiling costs about a hundred checks, so keep it.

    Its dialect is the one that its `$schema` declares, and 2020-12 where it declares none.
    """

    def __init__(self, schema: JsonObject) -> None:
        """Compile the schema.

        Patterns that the engine cannot compile hold nothing back: OpenAPI's patterns are ECMA-262,
        and some use what no linear engine offers. The generator reports them.

        Raises:
            ValueError: it is no JSON Schema, refers to something outside itself, or declares a
                dialect that is not known here.
        """
        try:
            self._compiled = _compile(schema)
        except jsonschema_rs.ValidationError:
            self._compiled = _compile(_without_foreign_patterns(schema))
        self.is_valid: Callable[[Any], bool] = self._compiled.is_valid
        """Whether an instance fits; the fast way to ask."""

    def problems(self, instance: Any) -> tuple[str, ...]:
        """One sentence for each violation, at most `MAX_PROBLEMS` and a count of the rest."""
        if self.is_valid(instance):
            return ()
        found = list(dict.fromkeys(map(describe, self._violations(instance))))
        if len(found) > MAX_PROBLEMS:
            rest = len(found) - MAX_PROBLEMS
            found[MAX_PROBLEMS:] = [f"and {rest} more"]
        return tuple(found)

    def broken_rules(self, instance: Any) -> tuple[str, ...]:
        """Return what the instance must be and is not, without showing the instance."""
        if self.is_valid(instance):
            return ()
        return tuple(dict.fromkeys(map(_rule_at, self._violations(instance))))[:MAX_PROBLEMS]

    def places(self, instance: Any) -> list[list[str | int]]:
        """Where the instance breaks the schema, as steps from its root."""
        return [list(violation.instance_path) for violation in self._compiled.iter_errors(instance)]

    def _violations(self, instance: Any) -> Iterable[Violation]:
        if _has_at_most(_SMALL_INSTANCE, instance):
            return self._compiled.iter_errors(instance)
        try:
            self._compiled.validate(instance)
        except jsonschema_rs.ValidationError as first:
            return (first,)
        return ()


def _compile(schema: JsonObject) -> jsonschema_rs.Validator:
    return _VALIDATORS[dialect_of(schema)](
        schema,
        validate_formats=True,
        offline=True,
        pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACK_LIMIT),
    )


def _without_foreign_patterns(schema: Any) -> Any:
    """A copy of a schema without the patterns that do not compile."""
    if isinstance(schema, list):
        return [_without_foreign_patterns(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: _without_foreign_patterns(value) for key, value in schema.items()}
    pattern = copy.get("pattern")
    if isinstance(pattern, str) and not _compiles(pattern):
        del copy["pattern"]
    properties = copy.get("patternProperties")
    if isinstance(properties, dict):
        copy["patternProperties"] = {
            key: value for key, value in properties.items() if _compiles(key)
        }
    return copy


def _compiles(pattern: str) -> bool:
    try:
        _compile({"pattern": pattern})
    except jsonschema_rs.ValidationError:
        return False
    return True


def _has_at_most(limit: int, instance: Any) -> bool:
    pending, seen = [instance], 0
    while pending:
        value = pending.pop()
        seen += 1
        if seen > limit:
            return False
        if isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return True


def _pointer_to(path: Sequence[str | int]) -> str:
    """A JSON Pointer (RFC 6901), in backticks, as problems name places: "`/filter/0`"."""
    tokens = (str(token).replace("~", "~0").replace("/", "~1") for token in path)
    return f"`{''.join(f'/{token}' for token in tokens) or '/'}`"


def describe(violation: Violation) -> str:
    """A violation as one sentence: which argument, which rule, and what was given."""
    kind, path = violation.kind, list(violation.instance_path)
    given = _shown(violation.instance)
    where = _pointer_to(path) if path else "the arguments"
    match kind:
        case jsonschema_rs.ValidationErrorKind.Required(property=missing):
            return f"{_pointer_to([*path, missing])} is required and was not given"
        case jsonschema_rs.ValidationErrorKind.AdditionalProperties(unexpected=names):
            return unknown_names(path, names)
        case jsonschema_rs.ValidationErrorKind.UnevaluatedProperties(unexpected=names):
            return unknown_names(path, names)
        case jsonschema_rs.ValidationErrorKind.AnyOf(context=branches):
            return _no_branch_fits(where, branches, given)
        case jsonschema_rs.ValidationErrorKind.OneOfNotValid(context=branches):
            return _no_branch_fits(where, branches, given)
        case jsonschema_rs.ValidationErrorKind.PropertyNames(error=error):
            return f"a name in {where} is not allowed: {_shown(error.instance)}"
        case jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded():
            return f"{where} takes too long to match against its pattern, so it is refused"
    return f"{where} {_rule(violation)}, not {given}"


def _rule_at(violation: Violation) -> str:
    """Return the rule that a violation breaks, after the place if it lies inside the instance."""
    path = list(violation.instance_path)
    return f"has {_pointer_to(path)}, which {_rule(violation)}" if path else _rule(violation)


def _rule(violation: Violation) -> str:
    """What a value must be, to stand between its place and what it was."""
    kinds = jsonschema_rs.ValidationErrorKind
    match violation.kind:
        case kinds.Type(types=types):
            return f"must be {_type_names(types)}"
        case kinds.Enum(options=options):
            shown = [_shown(option) for option in options[:20]]
            return f"must be {_one_of([*shown, *(['…'] if len(options) > 20 else [])])}"
        case kinds.Constant(expected_value=expected):
            return f"must be {_shown(expected)}"
        case kinds.Minimum(limit=limit):
            return f"must be at least {limit}"
        case kinds.Maximum(limit=limit):
            return f"must be at most {limit}"
        case kinds.ExclusiveMinimum(limit=limit):
            return f"must be more than {limit}"
        case kinds.ExclusiveMaximum(limit=limit):
            return f"must be less than {limit}"
        case kinds.MultipleOf(multiple_of=step):
            return f"must be a multiple of {step}"
        case kinds.MinLength(limit=limit):
            return f"must have at least {_counted(limit, 'character')}"
        case kinds.MaxLength(limit=limit):
            return f"must have at most {_counted(limit, 'character')}"
        case kinds.MinItems(limit=limit):
            return f"must have at least {_counted(limit, 'item')}"
        case kinds.MaxItems(limit=limit):
            return f"must have at most {_counted(limit, 'item')}"
        case kinds.MinProperties(limit=limit):
            return f"must have at least {_counted(limit, 'member')}"
        case kinds.MaxProperties(limit=limit):
            return f"must have at most {_counted(limit, 'member')}"
        case kinds.UniqueItems():
            return "must not have the same item twice"
        case kinds.Pattern(pattern=pattern):
            return f"must match the pattern `{pattern}`"
        case kinds.Format(format=name):
            return f"must be a `{name}`"
        case kinds.FalseSchema():
            return "must be left out"
        case kinds.OneOfMultipleValid():
            return "must fit exactly one of its alternatives and fits several"
    return f"must fit the rule `{violation.kind.name}`"


_ARTICLES = {
    "array": "an array",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}


def _type_names(types: Sequence[str]) -> str:
    null_last = sorted(types, key=lambda name: name == "null")
    return _one_of([_ARTICLES.get(name, name) for name in null_last])


def _one_of(options: Sequence[str]) -> str:
    if len(options) < 2:
        return "".join(options)
    return f"{', '.join(options[:-1])} or {options[-1]}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _shown(value: Any) -> str:
    """A value as JSON, cut."""
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, UnicodeEncodeError):
        return "text that is not Unicode"
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"


def _no_branch_fits(where: str, branches: Sequence[Sequence[Violation]], given: str) -> str:
    """Tell of the branch that came closest: whose first violation lies deepest, and of few."""
    candidates = [branch for branch in branches if branch]
    if not candidates:
        return f"{where} fits none of its alternatives, being {given}"
    depth = max(max(len(error.instance_path) for error in branch) for branch in candidates)
    deepest = [
        branch
        for branch in candidates
        if max(len(error.instance_path) for error in branch) == depth
    ]
    closest = min(deepest, key=len)
    if len(deepest) > 1 and all(error.kind.name == "type" for b in deepest for error in b):
        types = [name for b in deepest for error in b for name in _types(error)]
        return f"{where} must be {_type_names(list(dict.fromkeys(types)))}, not {given}"
    reasons = "; ".join(describe(error) for error in closest[:3])
    return f"{where} fits none of its {len(branches)} alternatives; the closest says: {reasons}"


def _types(violation: Violation) -> Sequence[str]:
    kind = violation.kind
    return kind.types if isinstance(kind, jsonschema_rs.ValidationErrorKind.Type) else ()


def unknown_names(
    path: Sequence[str | int], names: Sequence[str], known: Sequence[str] = ()
) -> str:
    """Refuse names that the schema does not have; the likeliest of `known` are offered."""
    sentences = []
    for name in names[:MAX_PROBLEMS]:
        cut = name if len(name) <= _MAX_SHOWN else f"{name[: _MAX_SHOWN - 1]}…"
        likeliest = _likeliest(cut, known)
        hint = f"; did you mean {_pointer_to([*path, likeliest])}?" if likeliest else ""
        sentences.append(f"{_pointer_to([*path, cut])} is not known{hint}")
    return "; ".join(sentences)


def _likeliest(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches  # only on the way to an error

    matches = get_close_matches(name, known[:500], n=1)
    return matches[0] if matches else ""
