"""Check of all references of a document, and conversion to a self-contained document.

The document is divided into units: each operation, the shared part of each path item, and each
target of a reference. A unit depends on the units that it refers to. A fault in a unit therefore
affects exactly the operations that reach the unit.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.api import SkippedOperation
from mcpgen.ir.document import Document
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.openapi.resolve.bundle import (
    Replacement,
    Rewrites,
    bundle,
    local_reference,
    needs_rewriting,
    tokens_in_bundle,
)
from mcpgen.openapi.resolve.references import References, Target
from mcpgen.openapi.source.secrets import find_secrets
from mcpgen.openapi.source.source_file import BrokenReferenceError, DocumentFiles, OpenFile
from mcpgen.openapi.source.source_text import DEFAULT_LIMITS, Limits, describe_type
from mcpgen.openapi.validate.grammar import METHODS, Kind, grammar_of
from mcpgen.text.json_pointer import Path, path_tokens, pointer_tokens

_MAX_OPERATIONS_NAMED = 3
_WITHOUT_IT = "mcpgen ignores it"


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
        """Return the reference tokens, in the unit's file, of a place in the unit."""
        return (*self.tokens, *path_tokens(path))

    def location(self, path: Path = None) -> Location:
        return self.file.locate(self.tokens_of(path))


def resolve(document: Document, problems: Problems, *, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Return the document with checked, local `$ref`s and all its files bundled.

    A `$ref` where OpenAPI does not allow one, for instance in place of an operation, is replaced
    by its target, with a warning.

    Operations that depend on a broken reference (unknown target, target of another kind, circle of
    references) are added to `skipped`, with a warning. If no operation remains, or if a reference
    leads outside the document's folder, it is an error. Files outside the folder are not opened.

    Raises:
        RejectedError: with replaced `$ref`s, the document exceeds the `limits`.
    """
    files = DocumentFiles(document, problems, limits)
    walk = _Walk(files, document.version, limits)
    walk.run()
    skipped = _report(walk, problems)
    if not files.others and not walk.rewrites:
        return replace(document, skipped=skipped)
    try:
        root, locate = bundle(document, files, walk.rewrites, limits)
    except BrokenReferenceError as error:
        at = next(iter(walk.misplaced))[1]
        problems.error(error.code, error.message, at=at, why=error.why, help=error.help)
        raise RejectedError from None
    return replace(
        document,
        root=root,
        locate=locate,
        files=files.sources,
        skipped=skipped,
        secrets=find_secrets(root),
    )


_Pending = tuple[JsonValue, Kind, Path]
"""A value of a unit that has not been visited, and its place in the unit."""


class _Walk:
    """Traversal of a document that finds all units, their dependencies and their faults."""

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
        self._changed: dict[tuple[OpenFile, str], str] = {}  # references in the bundle, or ""
        self.misplaced: list[tuple[Kind, Location]] = []  # `$ref`s where OpenAPI has none

    def run(self) -> None:
        """Walk the paths, then components, webhooks and document-wide keys."""
        for path, kind, target in self._entries(("paths",)):
            self._add_path(path, self._add_unit(target, kind))
        for pointer in (*self._grammar.component_maps.values(), "/webhooks"):
            for _, kind, target in self._entries(pointer_tokens(pointer)):
                self._add_unit(target, kind)
        for key in self._grammar.document_wide:
            target = Target(self._root, (key,), self._root.value.get(key))
            self._add_unit(target, self._grammar.document.fields[key])
        self._finish()
        for unit in self.units:
            self._check_circle(unit)

    def _entries(self, tokens: tuple[str, ...]) -> Iterator[tuple[str, Kind, Target]]:
        """Yield the entries of the map at `tokens`; report a wrong shape."""
        kind, layers = self._grammar.document, [Target(self._root, (), self._root.value)]
        for token in tokens:
            kind = kind.fields.get(token, _NOTHING)
            parent = next((it for it in layers if it.node.get(token) is not None), None)
            if parent is None or kind is _NOTHING:
                return
            found = Target(parent.file, (*parent.tokens, token), parent.node[token])
            if not isinstance(found.node, dict):
                if not kind.is_optional:
                    unit = self._add_unit(Target(found.file, found.tokens, None), kind)
                    unit.faults.append(_wrong_shape(unit, None, kind, found.node, is_fatal=True))
                return
            layers = self._layers(found, kind)
        for key in dict.fromkeys(key for it in layers for key in it.node):
            holder = next(it for it in layers if key in it.node)
            child, value = kind.child(key), holder.node[key]
            if child is not None and value is not None and not _is_reference(key, value):
                yield key, child, Target(holder.file, (*holder.tokens, key), value)

    def _layers(self, found: Target, kind: Kind) -> list[Target]:
        """Return the map, and the target of its `$ref` if it has one."""
        if not isinstance(found.node.get("$ref"), str):
            return [found]
        key = (id(found.node), kind)
        if key not in self._by_node:
            unit = self._by_node[key] = _Unit(kind, found.node, found.file, found.tokens)
            self.units.append(unit)
            self._replace(unit, found.node, kind, None)
        replacement = self.rewrites.replacements.get(id(found.node))
        return [found] if replacement is None else [found, replacement.target]

    def _add_path(self, path: str, unit: _Unit) -> None:
        """Register the operations of a path item, including those of its `$ref`."""
        self._finish()
        shared = [unit]
        while (target := shared[-1].stands_for) is not None and target not in shared:
            shared.append(target)
        for owner in shared:
            for method, operation in owner.operations.items():
                self.operations.setdefault(f"{method} {path}", [operation, *shared])

    def _add_unit(self, target: Target, kind: Kind) -> _Unit:
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
        pending: list[_Pending] = [(unit.node, unit.kind, None)]
        while pending:
            node, kind, path = pending.pop()
            if kind.single is not None and not isinstance(node, list):
                kind = kind.single
            is_collection = kind.items is not None
            if isinstance(node, dict) and (not is_collection or isinstance(node.get("$ref"), str)):
                self._add_children(pending, unit, node, kind, path)
            elif isinstance(node, list) and kind.items is not None:
                for index, item in enumerate(node):
                    pending.append((item, kind.items, (path, index)))
            elif not (
                node is None or kind.is_optional or (kind.may_be_boolean and isinstance(node, bool))
            ):
                unit.faults.append(_wrong_shape(unit, path, kind, node))

    def _add_children(
        self, pending: list[_Pending], unit: _Unit, node: JsonObject, kind: Kind, path: Path
    ) -> None:
        """Add the children of an object that belong to the same unit to `pending`."""
        if kind.takes_ref and "$ref" in node:
            self._follow(unit, node, kind, path)
            if kind not in (self._grammar.schema, self.path_item):
                return
        if kind is self._grammar.schema and "discriminator" in node:
            self._check_mapping(unit, node["discriminator"], (path, "discriminator"))
        if not kind.takes_ref and isinstance(node.get("$ref"), str):
            target = self._replace(unit, node, kind, path)
            if target is not None:
                unit.needs.append(self._add_unit(target, kind))
        fields, others = kind.fields, kind.others
        for key, value in node.items():
            child = fields.get(key)
            if child is None:
                if others is None or _is_reference(key, value):
                    continue
                if kind.skips_extensions and key.startswith("x-"):
                    continue
                child = others
            if value is None:
                continue
            place: Path = (path, key)
            if child.is_detached:
                self._add_unit(Target(unit.file, unit.tokens_of(place), value), child)
            elif child is self._grammar.operation and unit.kind is self.path_item:
                operation = self._add_unit(Target(unit.file, unit.tokens_of(place), value), child)
                unit.operations[key.upper() if key in METHODS else key] = operation
            else:
                pending.append((value, child, place))

    def _rewrite(self, holder: JsonObject, key: str, file: OpenFile, target: Target) -> None:
        """Register the text in the bundle of the reference at `key`, if it differs."""
        place = (file, holder[key])
        if place not in self._changed:
            needs_it = needs_rewriting(holder[key], file, target)
            self._changed[place] = local_reference(target) if needs_it else ""
        if changed := self._changed[place]:
            self.rewrites.references[id(holder), key] = changed

    def _follow(self, unit: _Unit, node: JsonObject, kind: Kind, path: Path) -> None:
        reference = node["$ref"]
        try:
            target = self._references.follow(reference, unit.file, kind)
        except BrokenReferenceError as error:
            unit.faults.append(_make_fault(unit, (path, "$ref"), error))
            return
        self._rewrite(node, "$ref", unit.file, target)
        needed = self._add_unit(target, kind)
        unit.needs.append(needed)
        if path is None:
            unit.stands_for = needed

    def _replace(self, unit: _Unit, node: JsonObject, kind: Kind, path: Path) -> Target | None:
        """Replace a `$ref` where OpenAPI does not allow one by its target.

        Other tools accept such documents, for instance DigitalOcean's. Return the target, or None
        if the reference is broken.
        """
        place = unit.tokens_of(path)
        try:
            target, beside = self._find_definition(Target(unit.file, place, node), kind)
        except BrokenReferenceError as error:
            unit.faults.append(_make_fault(unit, (path, "$ref"), error))
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

    def _find_definition(self, found: Target, kind: Kind) -> tuple[Target, JsonObject]:
        """Follow a chain of `$ref`s to a definition.

        Return it with the keys beside the `$ref`s; keys of earlier `$ref`s take priority.

        Raises:
            BrokenReferenceError: the chain is broken, circular or too long.
        """
        start, passed = found, {id(found.node)}
        beside: JsonObject = {}
        while len(passed) <= self._limits.max_ref_chain:
            reference = found.node["$ref"]
            others = {key: value for key, value in found.node.items() if key != "$ref"}
            beside = {**others, **beside}
            target = self._references.follow(reference, found.file, kind)
            self._rewrite(found.node, "$ref", found.file, target)
            found = target
            is_ancestor = found.tokens == start.tokens[: len(found.tokens)]
            if id(found.node) in passed or (found.file is start.file and is_ancestor):
                raise _circle_error()
            passed.add(id(found.node))
            if not isinstance(found.node, dict) or not isinstance(found.node.get("$ref"), str):
                return found, beside
        raise _long_chain_error(self._limits)

    def _check_mapping(self, unit: _Unit, discriminator: JsonValue, path: Path) -> None:
        """Check the references in a discriminator's mapping; bare names are ignored."""
        mapping = discriminator.get("mapping") if isinstance(discriminator, dict) else None
        if not isinstance(mapping, dict):
            return
        for value, reference in mapping.items():
            if not isinstance(reference, str) or not _looks_like_reference(reference):
                continue
            try:
                target = self._references.follow(reference, unit.file, self._grammar.schema)
            except BrokenReferenceError as error:
                if error.is_unsafe:
                    unit.faults.append(_make_fault(unit, ((path, "mapping"), value), error))
                continue  # a missing variant cannot be selected, so it is harmless
            self._rewrite(mapping, value, unit.file, target)
            self._add_unit(target, self._grammar.schema)

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
            return  # a circle is reported once
        error = _circle_error() if is_circle else _long_chain_error(self._limits)
        unit.faults.append(_make_fault(unit, (None, "$ref"), error))


_NOTHING = Kind("nothing")


def _is_reference(key: str, value: JsonValue) -> bool:
    """Return whether this member is a reference and not a map entry called "$ref"."""
    return key == "$ref" and isinstance(value, str)


def _circle_error() -> BrokenReferenceError:
    return BrokenReferenceError(
        "ref-cycle",
        "circular `$ref` without a definition",
        help="replace one `$ref` of the circle by the definition",
    )


def _long_chain_error(limits: Limits) -> BrokenReferenceError:
    return BrokenReferenceError(
        "ref-chain",
        f"chain of more than {limits.max_ref_chain} `$ref`s",
        help="replace one `$ref` of the chain by the definition",
    )


def _looks_like_reference(name: str) -> bool:
    return "#" in name or name.endswith((".json", ".yaml", ".yml"))


def _wrong_shape(
    unit: _Unit, path: Path, kind: Kind, node: JsonValue, *, is_fatal: bool = False
) -> _Fault:
    return _Fault(
        "wrong-shape",
        f"expected {kind.name}, found {describe_type(node)}",
        unit.location(path),
        help=f"write {kind.name} here, or remove the key",
        is_fatal=is_fatal,
    )


def _no_responses(unit: _Unit) -> _Fault:
    return _Fault(
        "no-responses",
        "missing `responses` of the operation",
        unit.location(),
        help="add `responses`, at least `default` with a description",
    )


def _make_fault(unit: _Unit, path: Path, error: BrokenReferenceError) -> _Fault:
    at = unit.location(path)
    return _Fault(error.code, error.message, at, error.why, error.help, error.is_unsafe)


def _report(walk: _Walk, problems: Problems) -> tuple[SkippedOperation, ...]:
    """Report all faults; return the operations that are skipped because of them."""
    users = _find_affected_operations(walk)
    costs = {unit: users.get(unit, ()) for unit in walk.units if unit.faults}
    lost = {key for keys in costs.values() for key in keys}
    is_nothing_left = bool(costs) and lost >= walk.operations.keys()
    _report_misplaced(walk, problems)
    skipped: dict[str, SkippedOperation] = {}
    for unit, keys in costs.items():
        for fault in unit.faults:
            why = fault.why or (_WITHOUT_IT if unit.kind.is_optional else _describe_effect(keys))
            if fault.is_fatal or is_nothing_left:
                report = problems.error
            elif keys or unit.kind is walk.path_item or unit.kind.is_optional:
                report = problems.warning
            else:
                report = problems.note
            report(fault.code, fault.message, at=fault.at, why=why, help=fault.help)
            for key in keys:
                skipped.setdefault(key, SkippedOperation(key, fault.code, fault.message))
    return tuple(skipped[key] for key in sorted(skipped))


_A_MAP = "a whole map"
_INSTEAD = {
    _A_MAP: "write the map here, with a `$ref` under each of its keys",
    "an array": "write the array here, with a `$ref` for each of its items",
    "an operation": "write the operation here, or use a `$ref` for the whole path item",
}


def _report_misplaced(walk: _Walk, problems: Problems) -> None:
    """Report `$ref`s where OpenAPI does not allow them, once for each kind of object."""
    by_name: dict[str, list[Location]] = {}
    for kind, at in walk.misplaced:
        name = "an array" if kind.items else _A_MAP if kind.is_map else kind.name
        by_name.setdefault(name, []).append(at)
    for name, places in by_name.items():
        times = f", {len(places):,} times" if len(places) > 1 else ""
        problems.warning(
            "ref-in-place-of-map" if name == _A_MAP else "misplaced-ref",
            f"invalid `$ref` in place of {name}{times}; its target is used",
            at=min(places, key=lambda at: (at.file, at.line, at.column)),
            why=f"OpenAPI does not allow references to {name}; other tools may reject the document",
            help=_INSTEAD.get(name, "write the definition here"),
        )


def _find_affected_operations(walk: _Walk) -> dict[_Unit, tuple[str, ...]]:
    """Return faulty unit -> keys of the operations that reach it, in the document's order."""
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


def _describe_effect(operations: tuple[str, ...]) -> str:
    if not operations:
        return "no operation uses it"
    named = ", ".join(f"`{key}`" for key in operations[:_MAX_OPERATIONS_NAMED])
    more = len(operations) - _MAX_OPERATIONS_NAMED
    return f"no tool can be generated for {named}" + (f" and {more} more" if more > 0 else "")
