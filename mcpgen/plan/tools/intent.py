"""Entries of single operations in the manifest: lookup, tool names and annotations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from mcpgen.diagnostics import Problems, did_you_mean
from mcpgen.ir.api import Operation, SkippedOperation
from mcpgen.ir.manifest import Manifest, OperationEntry, is_bulk_key
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.arguments.input_refs import build_entry
from mcpgen.plan.policy import Policy


def collect_entries(
    operations: Collection[Operation],
    skipped: Iterable[SkippedOperation],
    policy: Policy,
    problems: Problems,
) -> dict[str, OperationEntry]:
    """Return the entries under `operations:` of the manifest, by operation key.

    An entry for an unknown operation is an error; for a skipped operation, which has a diagnostic
    of its own, it is a warning.
    """
    described = [operation for operation in operations if operation.declared is None]
    keys = {name: operation.key for operation in described for name in names_of(operation)}
    missing = {item.operation for item in skipped}
    found = {
        operation.key: build_entry(policy.manifest, operation.declared)
        for operation in operations
        if operation.declared is not None
    }
    for name, entry in policy.manifest.operations.items():
        if is_bulk_key(name):
            continue
        at = policy.intent.locate(("operations", name))
        key = keys.get(name)
        if key in found:
            problems.error(
                "operation-twice",
                f"`{name}` and another entry are both for `{key}`",
                at=at,
                why="mcpgen cannot decide which entry applies",
                help="join the two entries",
            )
        elif key is not None:
            found[key] = entry
        elif name in missing:
            problems.warning(
                "operation-left-out",
                f"`{name}` is skipped, so this entry has no effect",
                at=at,
                why="another diagnostic states why the operation is skipped",
            )
        else:
            problems.error(
                "operation-unknown",
                f"`{name}` is not an operation of the document",
                at=at,
                why="the entry would silently change nothing",
                help=did_you_mean(
                    name, keys, "name an operationId, or a method and a path: `GET /pets`"
                ),
            )
    return found


def names_of(operation: Operation) -> tuple[str, ...]:
    """Return the names by which the manifest can refer to an operation.

    They are its operationId, qualified if there are several documents, and its key. For a declared
    operation, the name of its tool comes before the key.
    """
    if operation.declared is not None:
        return (operation.declared.tool, operation.key)
    if not operation.operation_id:
        return (operation.key,)
    source = operation.source
    qualified = f"{source}:{operation.operation_id}" if source else operation.operation_id
    return (qualified, operation.key)


def find_entry_key(operation: Operation, manifest: Manifest) -> str:
    """Return the key for an operation under `operations:` of the manifest, existing or new."""
    stated = [name for name in names_of(operation) if name in manifest.operations]
    return stated[0] if stated else operation.key


def choose_names(
    entries: Mapping[str, OperationEntry],
    selected: Sequence[Operation],
    policy: Policy,
    problems: Problems,
) -> dict[str, str]:
    """Return the tool names in the manifest, by operation key; each belongs to one operation.

    Names that were published for other `selected` operations are taken too.
    """
    chosen = {key: entry.name for key, entry in entries.items() if entry.name is not None}
    operations = {operation.key: operation for operation in selected}
    owners = {
        name: f"is the tool of `{key}` already"
        for key in operations
        if key not in chosen and (name := policy.issued_names.get(key))
    }
    for key, name in chosen.items():
        if name in owners:
            stated = find_entry_key(operations[key], policy.manifest) if key in operations else key
            problems.error(
                "name-collision",
                f"`{name}` {owners[name]}",
                at=policy.intent.locate(("operations", stated, "name")),
                why="a client could call only one of them, and a name that was issued never moves",
                help="give each a name of its own",
            )
        owners.setdefault(name, f"is what `{key}` is called too")
    return chosen


def apply_hints(annotations: JsonObject, entry: OperationEntry) -> JsonObject:
    """Return a tool's annotations with those of the manifest."""
    if entry.annotations is None:
        return annotations
    stated = msgspec.to_builtins(entry.annotations)
    return annotations | {name: value for name, value in stated.items() if value is not None}
