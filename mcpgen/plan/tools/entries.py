"""The manifest's settings of each operation: of its own entry, and of entries that cover many.

The closest entry wins, setting by setting: that of the operation, then of its tags in their order,
then of its effect, then `*`. The members of `parameters`, `annotations` and `result` count as
settings of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, did_you_mean
from mcpgen.ir.api import Operation, SkippedOperation
from mcpgen.ir.manifest import LocatedManifest, Manifest
from mcpgen.ir.manifest_entries import EffectiveEntry, OperationEntry, Tokens, is_bulk_key
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.arguments.input_refs import build_entry
from mcpgen.plan.arguments.overrides import find_argument_places
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.annotations import choose_effect, decide_hints


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
            otherwise = "name an operationId, or a method and a path: `GET /pets`"
            problems.error(
                "operation-unknown",
                f"`{name}` is not an operation of the document",
                at=at,
                why="the entry would silently change nothing",
                help=did_you_mean(name, keys, otherwise),
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
        name: f"is already the tool of `{key}`"
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
        owners.setdefault(name, f"is also the name of `{key}`")
    return chosen


_WITH_MEMBERS = frozenset({"annotations", "parameters", "result"})
_PLAIN = OperationEntry()


def merge_entries(
    operations: Sequence[Operation],
    entries: Mapping[str, OperationEntry],
    intent: LocatedManifest,
    shapes: Shapes,
    problems: Problems,
) -> dict[str, EffectiveEntry]:
    """Return the settings of every operation, by its key.

    `entries` are the operations' own, by key. An entry that covers no operation, or names an
    argument that none of them has, is an error.
    """
    inheriting = _Inheriting(intent, shapes, problems)
    found = {
        operation.key: inheriting.effective(operation, entries.get(operation.key, _PLAIN))
        for operation in operations
    }
    inheriting.report_unused(operations)
    return found


class _Inheriting:
    """Merging of the entries that cover an operation into its own."""

    def __init__(self, intent: LocatedManifest, shapes: Shapes, problems: Problems) -> None:
        self._intent = intent
        self._shapes = shapes
        self._problems = problems
        stated = intent.stated.get("operations") or {}
        self._wide: dict[str, JsonObject] = {
            key: stated.get(key) or {} for key in intent.manifest.operations if is_bulk_key(key)
        }
        self._has_parameters = any(entry.get("parameters") for entry in self._wide.values())
        self._covering: set[str] = set()
        self._arguments: dict[str, set[str]] = {}  # of the operations that an entry covers
        self._reported: set[Tokens] = set()

    def effective(self, operation: Operation, entry: OperationEntry) -> EffectiveEntry:
        """Return the settings of an operation from its own entry and those that cover it."""
        own = _list_own_tokens(operation, self._intent)
        keys = list(self._iterate_keys(operation, entry)) if self._wide else []
        if not keys:
            return EffectiveEntry(entry, own)
        self._covering.update(keys)
        arguments = self._list_arguments(operation, keys)
        own_stated = self._read_own_settings(own, entry)
        stated: JsonObject = {}
        origins: dict[Tokens, Tokens] = {}
        for key in keys:
            for inside, value in _iterate_settings(self._wide[key]):
                if _has_setting(own_stated, inside) or (
                    inside[0] == "parameters" and inside[1] not in arguments
                ):
                    continue
                tokens = ("operations", key, *inside)
                if inside in origins:
                    self._compare(operation, inside, origins[inside], tokens)
                    continue
                origins[inside] = tokens
                holder = stated.setdefault(inside[0], {}) if len(inside) > 1 else stated
                holder[inside[-1]] = value
        return EffectiveEntry(_merge(entry, own_stated, stated), own, origins)

    def _iterate_keys(self, operation: Operation, entry: OperationEntry) -> Iterator[str]:
        """Yield the entries that cover an operation, the closest first."""
        tags = operation.tags or (operation.tag,)
        is_trusted = self._intent.manifest.server.is_trusted
        effect = choose_effect(decide_hints(operation, is_trusted=is_trusted), entry)
        keys = (*(f"tag:{tag}" for tag in tags), f"effect:{effect}", "*")
        yield from (key for key in keys if key in self._wide)

    def _list_arguments(self, operation: Operation, keys: Sequence[str]) -> Collection[str]:
        if not self._has_parameters or operation.declared is not None:
            return ()
        found = find_argument_places(operation, self._shapes)
        for key in keys:
            self._arguments.setdefault(key, set()).update(found)
        return found

    def _read_own_settings(self, own: Tokens, entry: OperationEntry) -> JsonObject:
        """Return the settings of an operation's own entry, else those of its document."""
        stated = dict(self._intent.value_at(own) or {})
        if entry.annotations is not None:
            stated["annotations"] = msgspec.to_builtins(entry.annotations)
        if entry.expose != _PLAIN.expose:
            stated.setdefault("expose", entry.expose)
        return stated

    def _compare(self, operation: Operation, inside: Tokens, used: Tokens, other: Tokens) -> None:
        """Report two tags of an operation whose entries contradict each other."""
        are_tags = used[1].startswith("tag:") and other[1].startswith("tag:")
        if not are_tags or self._intent.value_at(used) == self._intent.value_at(other):
            return
        if (used[1], *other) in self._reported:
            return
        self._reported.add((used[1], *other))
        self._problems.warning(
            "tags-contradict",
            f"`{used[1]}` and `{other[1]}` give different `{'.'.join(inside)}`",
            at=self._intent.locate(other),
            why=f"`{operation.key}` has both tags; the value of `{used[1]}`, its first, is used",
            help="set it in the entry of the operation, or in one of the two",
        )

    def report_unused(self, operations: Sequence[Operation]) -> None:
        """Report entries without operations, and arguments that no operation of an entry has."""
        tags = {tag for operation in operations for tag in operation.tags or (operation.tag,)}
        for key, entry in self._wide.items():
            at = self._intent.locate(("operations", key))
            if key not in self._covering and key.startswith("tag:"):
                self._report_unknown(
                    "operation-unknown",
                    f"unknown tag `{key.removeprefix('tag:')}`",
                    at,
                    did_you_mean(key, [f"tag:{tag}" for tag in sorted(tags)], "use another tag"),
                )
            elif key not in self._covering:
                self._problems.warning(
                    "operation-unknown",
                    f"`{key}` covers no operation",
                    at=at,
                    why="the entry has no effect for now",
                )
            else:
                self._report_unknown_arguments(key, entry)

    def _report_unknown_arguments(self, key: str, entry: JsonObject) -> None:
        known = self._arguments.get(key, set())
        for name in entry.get("parameters") or {}:
            if name not in known:
                self._report_unknown(
                    "parameter-unknown",
                    f"no operation that `{key}` covers has an argument `{name}`",
                    self._intent.locate(("operations", key, "parameters", name)),
                    did_you_mean(name, sorted(known), "name an argument of one of the operations"),
                )

    def _report_unknown(self, code: str, message: str, at: Location, help: str) -> None:
        why = "the entry would silently change nothing"
        self._problems.error(code, message, at=at, why=why, help=help)


def _list_own_tokens(operation: Operation, intent: LocatedManifest) -> Tokens:
    if operation.declared is not None:
        return ("tools", operation.declared.tool)
    return ("operations", find_entry_key(operation, intent.manifest))


def _iterate_settings(entry: JsonObject) -> Iterator[tuple[Tokens, object]]:
    """Yield each setting that an entry states, by its place."""
    for setting, value in entry.items():
        if setting in _WITH_MEMBERS and isinstance(value, dict):
            yield from (((setting, member), inner) for member, inner in value.items())
        else:
            yield (setting,), value


def _has_setting(stated: JsonObject, inside: Tokens) -> bool:
    """Return whether an entry states a setting."""
    holder = stated.get(inside[0]) if len(inside) > 1 else stated
    return isinstance(holder, dict) and inside[-1] in holder


def _merge(entry: OperationEntry, own: JsonObject, inherited: JsonObject) -> OperationEntry:
    """Return an operation's entry merged with the inherited one, both as JSON."""
    members = {
        setting: {**inherited[setting], **(own.get(setting) or {})}
        for setting in _WITH_MEMBERS & inherited.keys()
    }
    taken = msgspec.convert({**inherited, **members}, OperationEntry)
    return replace(entry, **{setting: getattr(taken, setting) for setting in inherited})
