"""Checks every reference of a document and makes the document self-contained.

The document is walked in units: each operation, what its path item says for all of them, and each
target of a reference. A unit needs the units that it refers to, so that a fault, wherever it lies,
is charged to exactly the operations that reach it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems
from mcpgen.ir.api import LeftOut
from mcpgen.ir.document import Document
from mcpgen.ir.json_pointer import Path, path_tokens, pointer_tokens
from mcpgen.ir.json_types import JsonObject, JsonValue
from mcpgen.spec.bundle import Rewrites, bundled, local_reference, needs_rewriting
from mcpgen.spec.document_files import BrokenReferenceError, DocumentFiles, OpenFile
from mcpgen.spec.grammar import METHODS, Kind, grammar_of
from mcpgen.spec.limits import DEFAULT_LIMITS, Limits
from mcpgen.spec.references import References, Target, describe
from mcpgen.spec.secrets import find_secrets

_MAX_OPERATIONS_NAMED = 3


class _Fault(Struct, frozen=True):
    code: str
    message: str
    at: Location
    why: str = ""
    help: str = ""
    is_fatal: bool = False


class _Unit(Struct, eq=False):
    kind: Kind
    node: JsonValue
    file: OpenFile
    tokens: tuple[str, ...]
    operations: dict[str, _Unit] = field(default_factory=dict)  # of a path item, by method
    needs: list[_Unit] = field(default_factory=list)
    stands_for: _Unit | None = None  # where the unit itself is a reference
    faults: list[_Fault] = field(default_factory=list)

    def tokens_of(self, path: Path) -> tuple[str, ...]:
        """The reference tokens, in the unit's file, of a place in it."""
        return (*self.tokens, *path_tokens(path))

    def location(self, path: Path = None) -> Location:
        return self.file.locate(self.tokens_of(path))


def resolve(document: Document, problems: Problems, *, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Give the same document with every `$ref` local and checked, and files beside it bundled in.

    A reference to nothing, or to something of another kind, or in a circle of pure references,
    costs the operations that need it: they stand in `left_out`, with a warning. It is an error
    when no operation is left, and when a reference leads out of the document's folder, which is
    not opened.
    """
    files = DocumentFiles(document, problems, limits)
    walk = _Walk(files, document.version, limits)
    walk.run()
    left_out = _report(walk, problems)
    if not files.others and not walk.rewrites:
        return replace(document, left_out=left_out)
    root, locate = bundled(document, files, walk.rewrites)
    return replace(
        document,
        root=root,
        locate=locate,
        files=files.sources,
        left_out=left_out,
        secrets=find_secrets(root),
    )


class _Walk:
    """Finds all units, what they need, and what is wrong in them."""

    def __init__(self, files: DocumentFiles, version: str, limits: Limits) -> None:
        grammar = grammar_of(version)
        self._root = files.root
        self._grammar = grammar
        self._demands_responses = version in {"2.0", "3.0"}
        self._limits = limits
        self.path_item = grammar.path_item
        self._references = References(files, grammar)
        self._by_node: dict[tuple[int, Kind], _Unit] = {}
        self._pending: list[_Unit] = []
        self.units: list[_Unit] = []
        self.operations: dict[str, list[_Unit]] = {}  # by key, with their path items
        self.rewrites = Rewrites()
        self.repairs: list[Location] = []  # of `$ref`s in place of a map

    def run(self) -> None:
        """Walk everything that is served, then what stands beside it."""
        for tokens, kind, node in self._entries(("paths",)):
            self._path(tokens, self._unit(Target(self._root, tokens, node), kind))
        for pointer in (*self._grammar.component_maps.values(), "/webhooks"):
            for tokens, kind, node in self._entries(pointer_tokens(pointer)):
                self._unit(Target(self._root, tokens, node), kind)
        self._finish()
        for unit in self.units:
            self._check_circle(unit)

    def _entries(self, tokens: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Kind, Any]]:
        """The entries of a map near the document's root, whatever the shape of what is there."""
        kind, node = self._grammar.document, self._root.value
        for depth, token in enumerate(tokens, start=1):
            kind = kind.fields.get(token, _NOTHING)
            node = node.get(token)
            if node is None or kind is _NOTHING:
                return
            if not isinstance(node, dict):
                unit = self._unit(Target(self._root, tokens[:depth], None), kind)
                unit.faults.append(_wrong_shape(unit, None, kind, node, is_fatal=True))
                return
        for key, value in node.items():
            child = kind.child(key)
            if child is not None and value is not None:
                yield (*tokens, key), child, value

    def _path(self, tokens: tuple[str, ...], unit: _Unit) -> None:
        """Note the operations of a path item, also where it is a reference to another."""
        self._finish()
        shared = [unit]
        while (target := shared[-1].stands_for) is not None and target not in shared:
            shared.append(target)
        for owner in shared:
            for method, operation in owner.operations.items():
                self.operations.setdefault(f"{method} {tokens[-1]}", [operation, *shared])

    def _unit(self, target: Target, kind: Kind) -> _Unit:
        key = (id(target.node), kind)
        if key not in self._by_node or target.node is None:
            unit = _Unit(kind, target.node, target.file, target.tokens)
            self._by_node[key] = unit
            self.units.append(unit)
            self._pending.append(unit)
        return self._by_node[key]

    def _finish(self) -> None:
        while self._pending:
            self._walk(self._pending.pop())

    def _walk(self, unit: _Unit) -> None:
        if (
            self._demands_responses
            and unit.kind is self._grammar.operation
            and isinstance(unit.node, dict)
            and unit.node.get("responses") is None
        ):
            unit.faults.append(_no_responses(unit))
        pending: list[tuple[JsonValue, Kind, Path]] = [(unit.node, unit.kind, None)]
        while pending:
            node, kind, path = pending.pop()
            if kind.single is not None and not isinstance(node, list):
                kind = kind.single
            if isinstance(node, dict) and kind.items is None:
                pending.extend(self._object(unit, node, kind, path))
            elif isinstance(node, list) and kind.items is not None:
                for index, item in enumerate(node):
                    pending.append((item, kind.items, (path, index)))
            elif node is not None and not (kind.may_be_boolean and isinstance(node, bool)):
                unit.faults.append(_wrong_shape(unit, path, kind, node))

    def _object(
        self, unit: _Unit, node: JsonObject, kind: Kind, path: Path
    ) -> Iterator[tuple[JsonValue, Kind, Path]]:
        """The children of an object that belong to the same unit."""
        if kind.takes_ref and "$ref" in node:
            self._reference(unit, node, kind, path)
            if kind not in (self._grammar.schema, self.path_item):
                return
        if kind is self._grammar.schema and "discriminator" in node:
            self._mapping(unit, node["discriminator"], (path, "discriminator"))
        if kind.is_map and isinstance(node.get("$ref"), str):
            self._map_elsewhere(unit, node, kind, path)
            return
        fields, others = kind.fields, kind.others
        for key, value in node.items():
            child = fields.get(key)
            if child is None:
                if others is None or (kind.skips_extensions and key.startswith("x-")):
                    continue
                child = others
            if value is None:
                continue
            place: Path = (path, key)
            if child.is_detached:
                self._unit(Target(unit.file, unit.tokens_of(place), value), child)
            elif child is self._grammar.operation and unit.kind is self.path_item:
                operation = self._unit(Target(unit.file, unit.tokens_of(place), value), child)
                unit.operations[key.upper() if key in METHODS else key] = operation
            else:
                yield value, child, place

    def _reference(self, unit: _Unit, node: JsonObject, kind: Kind, path: Path) -> None:
        reference = node["$ref"]
        try:
            target = self._references.follow(reference, unit.file, kind)
        except BrokenReferenceError as error:
            unit.faults.append(_broken(unit, (path, "$ref"), error))
            return
        if needs_rewriting(reference, unit.file, target):
            self.rewrites.references[id(node), "$ref"] = local_reference(target)
        needed = self._unit(target, kind)
        unit.needs.append(needed)
        if path is None:
            unit.stands_for = needed

    def _map_elsewhere(self, unit: _Unit, node: JsonObject, kind: Kind, path: Path) -> None:
        """Put the map that a `$ref` names in its place; OpenAPI has no references to maps."""
        try:
            target = self._references.follow(node["$ref"], unit.file, kind)
        except BrokenReferenceError as error:
            unit.faults.append(_broken(unit, (path, "$ref"), error))
            return
        is_around = target.tokens == unit.tokens_of(path)[: len(target.tokens)]
        if (target.file is unit.file and is_around) or "$ref" in target.node:
            unit.faults.append(_wrong_shape(unit, path, kind, node))
            return
        self.rewrites.maps[id(node)] = target.node
        self.repairs.append(unit.location((path, "$ref")))
        unit.needs.append(self._unit(target, kind))

    def _mapping(self, unit: _Unit, discriminator: JsonValue, path: Path) -> None:
        """Check what a discriminator's mapping names by reference; bare names are left alone."""
        mapping = discriminator.get("mapping") if isinstance(discriminator, dict) else None
        for value, reference in mapping.items() if isinstance(mapping, dict) else ():
            if not isinstance(reference, str) or not _looks_like_reference(reference):
                continue
            try:
                target = self._references.follow(reference, unit.file, self._grammar.schema)
            except BrokenReferenceError as error:
                if error.is_unsafe:
                    unit.faults.append(_broken(unit, ((path, "mapping"), value), error))
                continue  # a variant that does not exist cannot be chosen
            if needs_rewriting(reference, unit.file, target):
                self.rewrites.references[id(mapping), value] = local_reference(target)
            self._unit(target, self._grammar.schema)

    def _check_circle(self, unit: _Unit) -> None:
        seen = {unit}
        following = unit.stands_for
        while following is not None and following not in seen:
            if len(seen) > self._limits.max_ref_chain:
                break
            seen.add(following)
            following = following.stands_for
        if following is None or (following is not unit and following in seen):
            return
        is_circle = following is unit
        if is_circle and any(fault.code == "ref-cycle" for one in seen for fault in one.faults):
            return  # the circle is told once, at the first place from which it was reached
        unit.faults.append(
            _Fault(
                "ref-cycle" if is_circle else "ref-chain",
                "this `$ref` leads back to itself, and to nothing else"
                if is_circle
                else f"more than {self._limits.max_ref_chain} `$ref`s lead from one to the next",
                unit.location((None, "$ref")),
                help="let one of them hold the definition itself",
            )
        )


_NOTHING = Kind("nothing")


def _looks_like_reference(name: str) -> bool:
    return "#" in name or name.endswith((".json", ".yaml", ".yml"))


def _wrong_shape(
    unit: _Unit, path: Path, kind: Kind, node: JsonValue, *, is_fatal: bool = False
) -> _Fault:
    return _Fault(
        "wrong-shape",
        f"expected {kind.name}, found {describe(node)}",
        unit.location(path),
        help=f"write {kind.name} here, or remove the key",
        is_fatal=is_fatal,
    )


def _no_responses(unit: _Unit) -> _Fault:
    return _Fault(
        "no-responses",
        "the operation says nothing of its responses",
        unit.location(),
        help="add `responses`, if only `default` with a description",
    )


def _broken(unit: _Unit, path: Path, error: BrokenReferenceError) -> _Fault:
    at = unit.location(path)
    return _Fault(error.code, error.message, at, error.why, error.help, error.is_unsafe)


def _report(walk: _Walk, problems: Problems) -> tuple[LeftOut, ...]:
    """Report all faults, and give the operations that they cost."""
    users = _operations_by_unit(walk)
    costs = {unit: users.get(unit, ()) for unit in walk.units if unit.faults}
    lost = {key for keys in costs.values() for key in keys}
    is_nothing_left = bool(costs) and lost >= walk.operations.keys()
    for at in walk.repairs:
        problems.warning(
            "ref-in-place-of-map",
            "a `$ref` stands in place of a whole map; what it leads to was put here",
            at=at,
            why="OpenAPI has references to the entries of a map, and none to a map",
            help="write the map here, with a `$ref` under each of its keys",
        )
    left_out: dict[str, LeftOut] = {}
    for unit, keys in costs.items():
        for fault in unit.faults:
            why = fault.why or _cost(keys)
            if fault.is_fatal or is_nothing_left:
                report = problems.error
            elif keys or unit.kind is walk.path_item:
                report = problems.warning
            else:
                report = problems.note
            report(fault.code, fault.message, at=fault.at, why=why, help=fault.help)
            for key in keys:
                left_out.setdefault(key, LeftOut(key, fault.code, fault.message))
    return tuple(left_out[key] for key in sorted(left_out))


def _operations_by_unit(walk: _Walk) -> dict[_Unit, tuple[str, ...]]:
    """Faulty unit -> the keys of the operations that reach it, in the document's order."""
    found: dict[_Unit, list[str]] = {unit: [] for unit in walk.units if unit.faults}
    if not found:
        return {}
    for key, roots in walk.operations.items():
        seen: set[_Unit] = set(roots)
        pending = list(roots)
        while pending:
            unit = pending.pop()
            if unit.faults:
                found[unit].append(key)
            new = [needed for needed in unit.needs if needed not in seen]
            seen.update(new)
            pending.extend(new)
    return {unit: tuple(keys) for unit, keys in found.items()}


def _cost(operations: tuple[str, ...]) -> str:
    if not operations:
        return "no operation needs it"
    named = ", ".join(f"`{key}`" for key in operations[:_MAX_OPERATIONS_NAMED])
    more = len(operations) - _MAX_OPERATIONS_NAMED
    return f"without it there is no tool for {named}" + (f" and {more} more" if more > 0 else "")
