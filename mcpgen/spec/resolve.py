"""Checks every reference of a document and makes the document self-contained.

The document is walked in units: each operation, what its path item says for all of them, and each
target of a reference. A unit needs the units that it refers to, so that a fault, wherever it lies,
is charged to exactly the operations that reach it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.api import LeftOut
from mcpgen.ir.document import Document
from mcpgen.ir.json_pointer import Path, path_tokens, pointer_tokens
from mcpgen.ir.json_types import JsonObject, JsonValue
from mcpgen.spec.bundle import (
    Replacement,
    Rewrites,
    bundled,
    local_reference,
    needs_rewriting,
    tokens_in_bundle,
)
from mcpgen.spec.document_files import BrokenReferenceError, DocumentFiles, OpenFile
from mcpgen.spec.grammar import METHODS, Kind, grammar_of
from mcpgen.spec.limits import DEFAULT_LIMITS, Limits
from mcpgen.spec.references import References, Target, describe
from mcpgen.spec.secrets import find_secrets

_MAX_OPERATIONS_NAMED = 3
_WITHOUT_IT = "the document is read without it"


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
    """Return the same document with each `$ref` local and checked, and its other files bundled in.

    A `$ref` where OpenAPI has none, in place of an operation for instance, is replaced by its
    target, with a warning.

    A reference to nothing, or to something of another kind, or in a circle of pure references,
    costs the operations that need it: they stand in `left_out`, with a warning. It is an error
    when no operation is left, and when a reference leads out of the document's folder, which is
    not opened.

    Raises:
        RejectedError: replaced `$ref`s make the document larger than `limits` allow.
    """
    files = DocumentFiles(document, problems, limits)
    walk = _Walk(files, document.version, limits)
    walk.run()
    left_out = _report(walk, problems)
    if not files.others and not walk.rewrites:
        return replace(document, left_out=left_out)
    try:
        root, locate = bundled(document, files, walk.rewrites, limits)
    except BrokenReferenceError as error:
        at = next(iter(walk.misplaced))[1]
        problems.error(error.code, error.message, at=at, why=error.why, help=error.help)
        raise RejectedError from None
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
        self.misplaced: list[tuple[Kind, Location]] = []  # `$ref`s where OpenAPI has none

    def run(self) -> None:
        """Walk everything that is served, then what stands beside it."""
        for path, kind, target in self._entries(("paths",)):
            self._path(path, self._unit(target, kind))
        for pointer in (*self._grammar.component_maps.values(), "/webhooks"):
            for _, kind, target in self._entries(pointer_tokens(pointer)):
                self._unit(target, kind)
        for key in self._grammar.document_wide:
            target = Target(self._root, (key,), self._root.value.get(key))
            self._unit(target, self._grammar.document.fields[key])
        self._finish()
        for unit in self.units:
            self._check_circle(unit)

    def _entries(self, tokens: tuple[str, ...]) -> Iterator[tuple[str, Kind, Target]]:
        """The entries of a map near the document's root, whatever the shape of what is there."""
        kind, layers = self._grammar.document, [Target(self._root, (), self._root.value)]
        for token in tokens:
            kind = kind.fields.get(token, _NOTHING)
            around = next((it for it in layers if it.node.get(token) is not None), None)
            if around is None or kind is _NOTHING:
                return
            found = Target(around.file, (*around.tokens, token), around.node[token])
            if not isinstance(found.node, dict):
                if not kind.is_optional:
                    unit = self._unit(Target(found.file, found.tokens, None), kind)
                    unit.faults.append(_wrong_shape(unit, None, kind, found.node, is_fatal=True))
                return
            layers = self._layers(found, kind)
        for key in dict.fromkeys(key for it in layers for key in it.node):
            holder = next(it for it in layers if key in it.node)
            child, value = kind.child(key), holder.node[key]
            if child is not None and value is not None and not _is_reference(key, value):
                yield key, child, Target(holder.file, (*holder.tokens, key), value)

    def _layers(self, found: Target, kind: Kind) -> list[Target]:
        """The maps that make up one: itself and, where it has a `$ref`, what that leads to."""
        if not isinstance(found.node.get("$ref"), str):
            return [found]
        key = (id(found.node), kind)
        if key not in self._by_node:
            unit = self._by_node[key] = _Unit(kind, found.node, found.file, found.tokens)
            self.units.append(unit)
            self._replace(unit, found.node, kind, None)
        replacement = self.rewrites.replacements.get(id(found.node))
        return [found] if replacement is None else [found, replacement.target]

    def _path(self, path: str, unit: _Unit) -> None:
        """Note the operations of a path item, also where it is a reference to another."""
        self._finish()
        shared = [unit]
        while (target := shared[-1].stands_for) is not None and target not in shared:
            shared.append(target)
        for owner in shared:
            for method, operation in owner.operations.items():
                self.operations.setdefault(f"{method} {path}", [operation, *shared])

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
            and "$ref" not in unit.node
        ):
            unit.faults.append(_no_responses(unit))
        pending: list[tuple[JsonValue, Kind, Path]] = [(unit.node, unit.kind, None)]
        while pending:
            node, kind, path = pending.pop()
            if kind.single is not None and not isinstance(node, list):
                kind = kind.single
            is_collection = kind.items is not None
            if isinstance(node, dict) and (not is_collection or isinstance(node.get("$ref"), str)):
                pending.extend(self._object(unit, node, kind, path))
            elif isinstance(node, list) and kind.items is not None:
                for index, item in enumerate(node):
                    pending.append((item, kind.items, (path, index)))
            elif not (
                node is None or kind.is_optional or (kind.may_be_boolean and isinstance(node, bool))
            ):
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
        if not kind.takes_ref and isinstance(node.get("$ref"), str):
            target = self._replace(unit, node, kind, path)
            if target is not None:
                unit.needs.append(self._unit(target, kind))
        fields, others = kind.fields, kind.others
        for key, value in node.items():
            if _is_reference(key, value):
                continue
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

    def _replace(self, unit: _Unit, node: JsonObject, kind: Kind, path: Path) -> Target | None:
        """Put the target of a `$ref` in its place, where OpenAPI has no references.

        Other tools read such documents, DigitalOcean's for instance. Return the target, or None
        where there is none.
        """
        place = unit.tokens_of(path)
        try:
            target, beside = self._definition(Target(unit.file, place, node), kind)
        except BrokenReferenceError as error:
            unit.faults.append(_broken(unit, (path, "$ref"), error))
            return None
        if id(node) not in self.rewrites.replacements:
            is_object = isinstance(target.node, dict)
            self.rewrites.replacements[id(node)] = Replacement(
                tokens_in_bundle(unit.file, place),
                target,
                beside if is_object else {},
                {**target.node, **beside} if is_object and beside else target.node,
            )
            self.misplaced.append((kind, unit.location((path, "$ref"))))
        return target

    def _definition(self, found: Target, kind: Kind) -> tuple[Target, JsonObject]:
        """Follow a `$ref`, and those that its target may consist of, to a definition.

        Return it with the keys beside the `$ref`s, of which the first ones win.

        Raises:
            BrokenReferenceError: they lead nowhere, or around in a circle.
        """
        start, passed = found, {id(found.node)}
        beside: JsonObject = {}
        while len(passed) <= self._limits.max_ref_chain:
            reference = found.node["$ref"]
            others = {key: value for key, value in found.node.items() if key != "$ref"}
            beside = {**others, **beside}
            target = self._references.follow(reference, found.file, kind)
            if needs_rewriting(reference, found.file, target):
                self.rewrites.references[id(found.node), "$ref"] = local_reference(target)
            found = target
            is_around = found.tokens == start.tokens[: len(found.tokens)]
            if id(found.node) in passed or (found.file is start.file and is_around):
                raise _circle()
            passed.add(id(found.node))
            if not isinstance(found.node, dict) or not isinstance(found.node.get("$ref"), str):
                return found, beside
        raise _long_chain(self._limits)

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
        error = _circle() if is_circle else _long_chain(self._limits)
        unit.faults.append(_broken(unit, (None, "$ref"), error))


_NOTHING = Kind("nothing")


def _is_reference(key: str, value: JsonValue) -> bool:
    """Whether this is the `$ref` of an object, and no entry of a map."""
    return key == "$ref" and isinstance(value, str)


def _circle() -> BrokenReferenceError:
    return BrokenReferenceError(
        "ref-cycle",
        "this `$ref` leads back to itself, and to nothing else",
        help="let one of them hold the definition itself",
    )


def _long_chain(limits: Limits) -> BrokenReferenceError:
    return BrokenReferenceError(
        "ref-chain",
        f"more than {limits.max_ref_chain} `$ref`s lead from one to the next",
        help="let one of them hold the definition itself",
    )


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
    _report_misplaced(walk, problems)
    left_out: dict[str, LeftOut] = {}
    for unit, keys in costs.items():
        for fault in unit.faults:
            why = fault.why or (_WITHOUT_IT if unit.kind.is_optional else _cost(keys))
            if fault.is_fatal or is_nothing_left:
                report = problems.error
            elif keys or unit.kind is walk.path_item or unit.kind.is_optional:
                report = problems.warning
            else:
                report = problems.note
            report(fault.code, fault.message, at=fault.at, why=why, help=fault.help)
            for key in keys:
                left_out.setdefault(key, LeftOut(key, fault.code, fault.message))
    return tuple(left_out[key] for key in sorted(left_out))


_A_MAP = "a whole map"
_INSTEAD = {
    _A_MAP: "write the map here, with a `$ref` under each of its keys",
    "an array": "write the array here, with a `$ref` in each of its places",
    "an operation": "write the operation here, or let the whole path item be a `$ref`",
}


def _report_misplaced(walk: _Walk, problems: Problems) -> None:
    """Report `$ref`s where OpenAPI has none, once for each kind of object."""
    by_name: dict[str, list[Location]] = {}
    for kind, at in walk.misplaced:
        name = "an array" if kind.items else _A_MAP if kind.is_map else kind.name
        by_name.setdefault(name, []).append(at)
    for name, places in by_name.items():
        times = f", {len(places):,} times" if len(places) > 1 else ""
        problems.warning(
            "ref-in-place-of-map" if name == _A_MAP else "misplaced-ref",
            f"`$ref` in place of {name}{times}; its target is used",
            at=min(places, key=lambda at: (at.file, at.line, at.column)),
            why=f"OpenAPI has no references to {name}; other tools may reject the document",
            help=_INSTEAD.get(name, "write the definition here"),
        )


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
