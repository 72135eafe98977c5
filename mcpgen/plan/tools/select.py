"""Selection of the operations to serve: the first matching rule of the manifest decides."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from mcpgen.diagnostics import Problems, did_you_mean
from mcpgen.ir.api import Operation
from mcpgen.ir.manifest import Match, SelectRule
from mcpgen.ir.manifest_entries import OperationEntry
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.entries import find_entry_key, names_of


def select(
    operations: tuple[Operation, ...],
    policy: Policy,
    entries: Mapping[str, OperationEntry],
    problems: Problems,
) -> tuple[Operation, ...]:
    """Return the selected operations in their order; an entry can turn one off.

    Declared operations are always selected. An operation that matches no rule is selected unless
    there are `include` rules. A rule that matches no operation is an error: it is a typing mistake,
    or the API changed.
    """
    rules = policy.manifest.select
    described = tuple(operation for operation in operations if operation.declared is None)
    for number, rule in enumerate(rules):
        if not any(_fits(operation, rule) for operation in described):
            pattern = rule.include if rule.include is not None else rule.exclude
            shown = f"`{pattern}`" if isinstance(pattern, str) else "this rule"
            problems.error(
                "selector-without-match",
                f"{shown} matches no operation",
                at=policy.intent.locate(("select", str(number))),
                why="it would silently change nothing",
                help=_suggest(pattern, described),
            )
    for operation in described:
        if not is_selected(operation, rules):
            _refuse_entry(operation, policy, problems)
    return tuple(
        operation
        for operation in operations
        if (operation.declared is not None or is_selected(operation, rules))
        and entries[operation.key].expose != "off"
    )


def _refuse_entry(operation: Operation, policy: Policy, problems: Problems) -> None:
    """Report an entry for an operation that the rules exclude."""
    name = find_entry_key(operation, policy.manifest)
    entry = policy.manifest.operations.get(name)
    if entry is not None and entry.expose != "off":
        problems.error(
            "rules-contradict",
            f"`select` excludes `{operation.key}`, but this entry exposes it",
            at=policy.intent.locate(("operations", name)),
            why="the entry would silently change nothing",
            help="remove the entry, or let a rule before the others include the operation",
        )


def is_selected(operation: Operation, rules: Sequence[SelectRule]) -> bool:
    """Apply the rules of `select` to an operation: the first that matches decides."""
    for rule in rules:
        if _fits(operation, rule):
            return rule.include is not None
    return all(rule.include is None for rule in rules)


def _fits(operation: Operation, rule: SelectRule) -> bool:
    pattern = rule.include if rule.include is not None else rule.exclude
    if isinstance(pattern, Match):
        return _matches(operation, pattern)
    return pattern is not None and any(
        fnmatchcase(text, pattern) for text in _list_texts(operation)
    )


def _matches(operation: Operation, match: Match) -> bool:
    tags = operation.tags or (operation.tag,)
    return (
        (not match.tag or any(fnmatchcase(tag, match.tag) for tag in tags))
        and (not match.path or fnmatchcase(operation.path, match.path))
        and (not match.method or fnmatchcase(operation.method, match.method.upper()))
        and (not match.operation_id or fnmatchcase(operation.operation_id, match.operation_id))
        and (not match.extension or _has_extension(operation, match.extension))
    )


def _has_extension(operation: Operation, condition: str) -> bool:
    """Whether an operation has an extension: `x-key` (any value but false) or `x-key=value`."""
    name, equals, text = condition.partition("=")
    if name not in operation.extensions:
        return False
    value = operation.extensions[name]
    if not equals:
        return value is not False
    return text == (value if isinstance(value, str) else json.dumps(value))


def _list_texts(operation: Operation) -> Iterable[str]:
    yield from operation.tags or (operation.tag,)
    yield operation.path
    yield from names_of(operation)
    if operation.operation_id:
        yield operation.operation_id


def _suggest(pattern: str | Match | None, operations: tuple[Operation, ...]) -> str:
    if not isinstance(pattern, str):
        return "an operation has to fit all that the rule names"
    known = sorted({text for operation in operations for text in _list_texts(operation)})
    return did_you_mean(pattern, known, "globs match tags, paths, operationIds and keys")
