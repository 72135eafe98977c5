"""Differences between two JSON Schemas (2020-12), keyword by keyword, at any depth.

A difference narrows or widens the set of valid values. If neither can be shown, it counts as the
one that the caller passes as severe, and is marked as uncertain.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from mcpgen.changelog.schema_values import (
    ALL_KINDS,
    Effect,
    compare_values,
    encode_canonically,
    format_value,
    is_same_value,
    kinds,
    list_allowed,
)
from mcpgen.jsonschema.dialects import meta_schema
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.text.json_pointer import pointer_tokens

ANNOTATION_KEYWORDS = frozenset(
    {"title", "description", "examples", "example", "deprecated", "$comment"}
)
"""Keywords that do not decide whether a value fits."""
NEVER: JsonObject = {"enum": []}
"""A schema object that no value fits: the object form of `false`."""


class SchemaRoot:
    """A whole schema, whose local references can be followed."""

    def __init__(self, root: JsonSchema) -> None:
        self._root = root
        self._meanings: dict[str, str] = {}

    def identity(self, schema: JsonSchema) -> object:
        """Return a key that identifies the schema in this root; for a bare `$ref`, its value."""
        if isinstance(schema, bool):
            return schema
        is_reference = isinstance(schema.get("$ref"), str) and len(schema) == 1
        return schema["$ref"] if is_reference else id(schema)

    def resolve(self, schema: JsonSchema) -> JsonObject:
        """Merge the schema, the target of its `$ref` and its parts of `allOf` into one object.

        Parts that cannot be merged stay in `allOf`; an unresolvable reference stays as `$ref`.
        """
        whole: JsonObject = {}
        apart: list[JsonSchema] = []
        followed: set[str] = set()
        parts = deque([schema])
        while parts:
            part = parts.popleft()
            if isinstance(part, bool):
                if not part:
                    return NEVER
                continue
            own = {key: value for key, value in part.items() if key not in {"$ref", "allOf"}}
            reference = part.get("$ref")
            if isinstance(reference, str) and reference not in followed:
                followed.add(reference)
                target = self._target(reference)
                if target is None:
                    own["$ref"] = reference
                else:
                    parts.append(target)
            parts.extend(part.get("allOf", ()))
            both = _both(whole, own)
            if both is None:
                apart.append(own)
            else:
                whole = both
        return {**whole, "allOf": apart} if apart else whole

    def find_meaning(self, value: JsonValue) -> str:
        """Return a value and all targets of its references as text, which is equal if they are."""
        text = encode_canonically(value)
        if text not in self._meanings:
            targets: dict[str, JsonValue] = {}
            to_read = [value]
            while to_read:
                for reference in _references(to_read.pop()):
                    if reference not in targets:
                        targets[reference] = self._target(reference)
                        to_read.append(targets[reference])
            self._meanings[text] = text + encode_canonically(targets)
        return self._meanings[text]

    def _target(self, reference: str) -> JsonSchema | None:
        """Return the target of a local reference; None if there is none."""
        if not reference.startswith("#"):
            return None
        node: JsonValue = self._root
        try:
            for token in pointer_tokens(unquote(reference[1:])):
                node = node[int(token)] if isinstance(node, list) else node[token]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
        return node if isinstance(node, dict | bool) else None


def _references(value: JsonValue) -> Iterator[str]:
    to_read = [value]
    while to_read:
        node = to_read.pop()
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                yield node["$ref"]
            to_read.extend(node.values())
        elif isinstance(node, list):
            to_read.extend(node)


def _both(one: JsonObject, other: JsonObject) -> JsonObject | None:
    """Merge two schemas; return None if a keyword has different values in them.

    `required` and `properties` are merged by name. Of texts and defaults, those of `one` win.
    """
    both = {**other, **one}
    for key in (one.keys() & other.keys()) - ANNOTATION_KEYWORDS - {"default"}:
        mine, theirs = one[key], other[key]
        if key == "required":
            both[key] = sorted({*mine, *theirs})
        elif key == "properties":
            shared = mine.keys() & theirs.keys()
            if any(not is_same_value(mine[name], theirs[name]) for name in shared):
                return None
            both[key] = {**theirs, **mine}
        elif not is_same_value(mine, theirs):
            return None
    return both


def alternatives(schema: JsonObject) -> Sequence[JsonSchema] | None:
    """Return the value of `anyOf`, or else of `oneOf`; None if the schema has neither."""
    listed: Sequence[JsonSchema] | None = schema.get("anyOf", schema.get("oneOf"))
    return listed


def is_exclusive(schema: JsonObject) -> bool:
    """Whether a value must fit exactly one of the alternatives (`oneOf`)."""
    return "oneOf" in schema and "anyOf" not in schema


def is_apart(schemas: Iterable[JsonObject]) -> bool:
    """Whether no value fits two of these schemas."""
    return all(_is_disjoint(one, other) for one, other in combinations(schemas, 2))


def without_alternatives(schema: JsonObject) -> JsonObject:
    """Return a schema without the keyword that `alternatives` reads."""
    keyword = "anyOf" if "anyOf" in schema else "oneOf"
    return {key: value for key, value in schema.items() if key != keyword}


def split_by_type(schema: JsonObject) -> list[JsonSchema]:
    """Split a schema with several types into one for each type, without titles and descriptions."""
    bare = {key: value for key, value in schema.items() if key not in ANNOTATION_KEYWORDS}
    named = bare.get("type")
    return [bare] if not isinstance(named, list) else [{**bare, "type": name} for name in named]


def label(schema: JsonObject, written: JsonSchema) -> str:
    """Return the name of an alternative: `schema` is resolved, `written` is as listed."""
    if isinstance(written, dict) and isinstance(written.get("$ref"), str):
        return f"`{written['$ref'].rpartition('/')[2]}`"
    if isinstance(schema.get("title"), str):
        return f"`{schema['title']}`"
    for name, member in sorted(schema.get("properties", {}).items()):
        if isinstance(member, dict) and "const" in member:
            return f"what has the `{name}` {format_value(member['const'])}"
    if "const" in schema:
        return format_value(schema["const"])
    found = kinds(schema)
    return "anything" if found == ALL_KINDS else " or ".join(sorted(found)) or "nothing"


def _is_disjoint(one: JsonObject, other: JsonObject) -> bool:
    """Whether no value fits both; False if types and constants do not decide it."""
    if not kinds(one) & kinds(other):
        return True
    if kinds(one) != {"object"} or kinds(other) != {"object"}:
        return _are_apart(one, other)
    return any(
        _are_apart(one["properties"][name], other["properties"].get(name))
        for name in {*one.get("required", ())} & {*other.get("required", ())}
        if name in one.get("properties", {}) and name in other.get("properties", {})
    )


def _are_apart(one: JsonSchema, other: JsonSchema) -> bool:
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return False
    values, others = list_allowed(one), list_allowed(other)
    return values is not None and others is not None and not values.keys() & others.keys()


_MAX_PAIRS = 20_000  # pairs of schemas that are compared, for one pair of roots
_MAX_SUPPOSITIONS = 6  # nested comparisons that ask whether one schema fits into another


class Kind(enum.StrEnum):
    """Kind of a difference at one location of a schema."""

    REMOVED = "removed"
    ADDED = "added"
    ADDED_REQUIRED = "added-required"
    REQUIRED = "required"
    OPTIONAL = "optional"
    TYPE_CHANGED = "type-changed"
    TYPE_NARROWED = "type-narrowed"
    TYPE_WIDENED = "type-widened"
    ENUM_NARROWED = "enum-narrowed"
    ENUM_WIDENED = "enum-widened"
    CONSTRAINT_NARROWED = "constraint-narrowed"
    CONSTRAINT_WIDENED = "constraint-widened"
    TEXT = "text"
    EXAMPLE = "example"
    DEFAULT = "default"


INFORMATIVE_KINDS = frozenset({Kind.TEXT, Kind.EXAMPLE, Kind.DEFAULT})
"""Kinds that do not change the set of valid values."""
_HARMLESS = INFORMATIVE_KINDS | {
    Kind.OPTIONAL,
    Kind.TYPE_WIDENED,
    Kind.ENUM_WIDENED,
    Kind.CONSTRAINT_WIDENED,
}


class Difference(Struct, frozen=True):
    """One difference. `path` is "body.tags[]", "" for the root; `detail` ends its sentence."""

    path: str
    kind: Kind
    detail: str
    is_certain: bool = True


def compare_schemas(
    old: JsonSchema,
    new: JsonSchema,
    *,
    severe: Effect,
    is_cut: tuple[bool, bool] = (False, False),
) -> tuple[Difference, ...]:
    """Compare two self-contained schemas; an undecided difference counts as `severe`.

    A schema that is referenced several times is reported at one of its locations. `is_cut` states
    for each schema whether its deeper parts were omitted; their absence is then no difference.
    """
    if is_same_value(old, new):
        return ()
    is_schema = meta_schema().is_valid
    if not (is_schema(old) and is_schema(new)):  # the file was edited by hand
        narrowed = severe is Effect.NARROWED
        kind = Kind.CONSTRAINT_NARROWED if narrowed else Kind.CONSTRAINT_WIDENED
        which = "is" if is_schema(old) else "was"
        return (Difference("", kind, f"{which} described by no JSON Schema", is_certain=False),)
    budget = _Budget(_MAX_PAIRS)
    comparison = _Comparison(SchemaRoot(old), SchemaRoot(new), severe, budget, is_cut=is_cut)
    comparison.run(old, new)
    return tuple(sorted(comparison.found, key=lambda one: (one.path, one.kind, one.detail)))


class _Budget(Struct):
    left: int


_TEXTS = {
    "title": Kind.TEXT,
    "description": Kind.TEXT,
    "deprecated": Kind.TEXT,
    "examples": Kind.EXAMPLE,
    "example": Kind.EXAMPLE,
    "default": Kind.DEFAULT,
}
# Keywords that are compared here or in `schema_values`, that assert nothing, or that only contain.
_UNDERSTOOD = frozenset(
    {
        *_TEXTS,
        "$defs", "$comment", "$schema", "$id", "$anchor", "discriminator", "xml",
        "readOnly", "writeOnly", "externalDocs", "type", "enum", "const", "minimum", "maximum",
        "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
        "format", "minItems", "maxItems", "uniqueItems", "items", "minProperties", "maxProperties",
        "properties", "required", "additionalProperties", "allOf", "anyOf", "oneOf",
    }
)  # fmt: skip


class _Comparison:
    def __init__(
        self,
        old: SchemaRoot,
        new: SchemaRoot,
        severe: Effect,
        budget: _Budget,
        depth: int = 0,
        is_cut: tuple[bool, bool] = (False, False),
    ) -> None:
        self._old = old
        self._new = new
        self._severe = severe
        self._budget = budget
        self._depth = depth
        self._is_cut = is_cut
        self._seen: dict[tuple[object, object], tuple[JsonSchema, JsonSchema]] = {}
        self._pending: list[tuple[JsonSchema, JsonSchema, str]] = []
        self.found: set[Difference] = set()

    def run(self, old: JsonSchema, new: JsonSchema) -> None:
        """Compare everything below two schemas, each pair once, without recursion."""
        self._pending.append((old, new, ""))
        self.compare_pending()

    def compare_pending(self) -> None:
        """Compare the pending pairs, and the pairs that they lead to."""
        while self._pending and self._depth <= _MAX_SUPPOSITIONS:
            old, new, path = self._pending.pop()
            # The schemas are stored too, since identities are only valid while they live.
            pair = (self._old.identity(old), self._new.identity(new))
            if pair in self._seen:
                continue
            self._seen[pair] = (old, new)
            self._budget.left -= 1
            if self._budget.left < 0:
                self._report(path, "constraint", Effect.UNDECIDED, "is part of schemas too large")
                return
            self._compare(self._old.resolve(old), self._new.resolve(new), path)

    def _compare(self, old: JsonObject, new: JsonObject, path: str) -> None:
        for keyword, kind in _TEXTS.items():
            if not is_same_value(old.get(keyword), new.get(keyword)):
                self._add(path, kind, _describe_text(keyword, old.get(keyword), new.get(keyword)))
        if self._compare_cut(old, new, path):
            return
        while alternatives(old) is not None or alternatives(new) is not None:
            if not self._compare_composition(old, new, path):
                return
            old, new = without_alternatives(old), without_alternatives(new)
        if not self._compare_types(old, new, path):
            return
        for difference in compare_values(old, new):
            self._report(path, difference.aspect, difference.effect, difference.detail)
        both = kinds(old) & kinds(new)
        if "object" in both:
            self._compare_properties(old, new, path)
            self._compare_others(old, new, "additionalProperties", f"{path}.*".lstrip("."))
        if "array" in both:
            self._compare_others(old, new, "items", f"{path}[]")
        self._compare_parts(old, new, path)
        self._compare_unknown(old, new, path)

    def _compare_cut(self, old: JsonObject, new: JsonObject, path: str) -> bool:
        """Report a part that one side omits as a changed text; return whether one does."""
        was_cut, now_cut = self._is_cut
        if now_cut and _has_no_content_schema(new) and not _has_no_content_schema(old):
            self._add(path, Kind.TEXT, "no longer describes its content")
        elif was_cut and _has_no_content_schema(old) and not _has_no_content_schema(new):
            self._add(path, Kind.TEXT, "describes its content")
        else:
            return False
        return True

    def _compare_types(self, old: JsonObject, new: JsonObject, path: str) -> bool:
        """Compare types; return whether both schemas share a type, so that more can be compared."""
        before, after = kinds(old), kinds(new)
        if before == after:
            return True
        was, now = _format_types(old), _format_types(new)
        if not (before - after and after - before):
            kind = Kind.TYPE_NARROWED if before - after else Kind.TYPE_WIDENED
        else:
            kind = Kind.TYPE_CHANGED
        self._add(path, kind, f"is {now}, was {was}")
        return bool(before & after)

    def _compare_properties(self, old: JsonObject, new: JsonObject, path: str) -> None:
        before, after = old.get("properties", {}), new.get("properties", {})
        was_required, is_required = set(old.get("required", ())), set(new.get("required", ()))
        for name in before.keys() | after.keys() | was_required | is_required:
            place = f"{path}.{name}" if path else name
            if name in before and name not in after:
                self._add(place, Kind.REMOVED, "was removed")
            elif name in after and name not in before:
                kind = Kind.ADDED_REQUIRED if name in is_required else Kind.ADDED
                self._add(place, kind, "is new" + (" and required" * (name in is_required)))
            else:
                if (name in was_required) != (name in is_required):
                    kind = Kind.REQUIRED if name in is_required else Kind.OPTIONAL
                    self._add(place, kind, f"is now {kind}")
                if name in before:
                    self._pending.append((before[name], after[name], place))

    def _compare_others(self, old: JsonObject, new: JsonObject, keyword: str, path: str) -> None:
        """Compare the schemas of members or items without a schema of their own."""
        before, after = old.get(keyword, True), new.get(keyword, True)
        if isinstance(before, dict) and isinstance(after, dict):
            self._pending.append((before, after, path))
        elif bool(before) != bool(after) or isinstance(before, dict) != isinstance(after, dict):
            is_tighter = after is False or before is True or before == {}
            if {} in (before, after) and True in (before, after):
                return  # both allow anything
            effect = Effect.NARROWED if is_tighter else Effect.WIDENED
            words = "allows less than it did" if is_tighter else "allows more than it did"
            self._report(path, "constraint", effect, words)

    def _compare_composition(self, old: JsonObject, new: JsonObject, path: str) -> bool:
        """Compare `anyOf` or `oneOf`; return whether other keywords remain to be compared."""
        before, after = alternatives(old), alternatives(new)
        if before is not None and after is not None:
            self.compare_alternatives(before, after, path)
            self._compare_exclusiveness(old, new, path)
            return True
        with_it = old if after is None else new
        if without_alternatives(with_it).keys() - ANNOTATION_KEYWORDS:
            effect = Effect.NARROWED if before is None else Effect.WIDENED
            self._report(path, "type", effect, "has other alternatives")
            return True
        self.compare_alternatives(
            split_by_type(old) if before is None else before,
            split_by_type(new) if after is None else after,
            path,
        )
        self._compare_exclusiveness(old, new, path)
        return False

    def _compare_exclusiveness(self, old: JsonObject, new: JsonObject, path: str) -> None:
        """Report a changed `oneOf` as uncertain: a wider member may make a value fit two."""
        if not is_exclusive(new) or is_apart(map(self._new.resolve, alternatives(new) or ())):
            return
        supposed = self._suppose()
        supposed.compare_alternatives(alternatives(old) or [old], alternatives(new) or [new], path)
        supposed.compare_pending()
        if not is_exclusive(old) or any(
            one.kind not in INFORMATIVE_KINDS for one in supposed.found
        ):
            detail = "is one of several that may overlap, which changed"
            self._report(path, "type", Effect.UNDECIDED, detail)

    def compare_alternatives(
        self, old: Sequence[JsonSchema], new: Sequence[JsonSchema], path: str
    ) -> None:
        """Compare the alternatives of `anyOf` or `oneOf`."""
        lost, gained = self._match(old, new, path)
        for before in lost:
            if not any(self._fits(before, other) for other in new):
                name = label(self._old.resolve(before), before)
                self._report(path, "type", Effect.NARROWED, f"can no longer be {name}")
        for after in gained:
            name = label(self._new.resolve(after), after)
            self._report(path, "type", Effect.WIDENED, f"can now be {name}")

    def _match(
        self, old: Sequence[JsonSchema], new: Sequence[JsonSchema], path: str
    ) -> tuple[list[JsonSchema], list[JsonSchema]]:
        """Schedule the pairs of the same label; return the schemas without a counterpart."""
        gained = {self._new.find_meaning(after): after for after in new}
        lost = {self._old.find_meaning(before): before for before in old}
        same = gained.keys() & lost.keys()
        before_only = [before for meaning, before in lost.items() if meaning not in same]
        after_only = [after for meaning, after in gained.items() if meaning not in same]
        if len(before_only) == len(after_only) == 1:
            self._pending.append((before_only.pop(), after_only.pop(), path))
        for before, after in self._pair_by_label(before_only, after_only):
            self._pending.append((before, after, path))
        return before_only, after_only

    def _pair_by_label(
        self, lost: list[JsonSchema], gained: list[JsonSchema]
    ) -> Iterator[tuple[JsonSchema, JsonSchema]]:
        """Remove the pairs of the same label from both lists, and yield them."""
        for before in list(lost):
            name = label(self._old.resolve(before), before)
            for after in gained:
                if label(self._new.resolve(after), after) == name:
                    lost[:] = [one for one in lost if one is not before]
                    gained[:] = [one for one in gained if one is not after]
                    yield before, after
                    break

    def _fits(self, old: JsonSchema, new: JsonSchema) -> bool:
        """Return whether every value of the old schema is certainly valid in the new one."""
        supposed = self._suppose()
        supposed.run(old, new)
        return all(one.kind in _HARMLESS and one.is_certain for one in supposed.found)

    def _suppose(self) -> _Comparison:
        """Return a nested comparison; pairs that were compared already count as equal.

        Beyond the nesting limit it reports an undecided difference.
        """
        supposed = _Comparison(
            self._old,
            self._new,
            Effect.NARROWED,
            self._budget,
            self._depth + 1,
            self._is_cut,
        )
        supposed._seen = dict(self._seen)
        if supposed._depth > _MAX_SUPPOSITIONS:
            supposed._report("", "constraint", Effect.UNDECIDED, "nests too deep")
        return supposed

    def _compare_parts(self, old: JsonObject, new: JsonObject, path: str) -> None:
        """Compare the parts of `allOf`."""
        lost, gained = self._match(old.get("allOf", ()), new.get("allOf", ()), path)
        if lost and gained:
            self._report(path, "constraint", Effect.UNDECIDED, "is put together in another way")
        elif lost or gained:
            effect = Effect.WIDENED if lost else Effect.NARROWED
            names = [label(self._old.resolve(one), one) for one in lost]
            names += [label(self._new.resolve(one), one) for one in gained]
            has = "no longer has" if lost else "now has"
            self._report(path, "constraint", effect, f"{has} to be {', '.join(names)} as well")

    def _compare_unknown(self, old: JsonObject, new: JsonObject, path: str) -> None:
        """Compare the values of all other keywords."""
        for keyword in sorted((old.keys() | new.keys()) - _UNDERSTOOD):
            if keyword.startswith("x-"):
                continue
            before, after = (side.get(keyword) for side in (old, new))
            if self._old.find_meaning(before) == self._new.find_meaning(after):
                continue
            if keyword not in old:
                self._report(path, "constraint", Effect.NARROWED, f"now has a `{keyword}`")
            elif keyword not in new:
                self._report(path, "constraint", Effect.WIDENED, f"has no `{keyword}` any more")
            else:
                self._report(path, "constraint", Effect.UNDECIDED, f"has another `{keyword}`")

    def _report(self, path: str, aspect: str, effect: Effect, detail: str) -> None:
        is_certain = effect is not Effect.UNDECIDED
        effect = effect if is_certain else self._severe
        self._add(path, Kind(f"{aspect}-{effect.value}"), detail, is_certain=is_certain)

    def _add(self, path: str, kind: Kind, detail: str, *, is_certain: bool = True) -> None:
        self.found.add(Difference(path, kind, detail, is_certain))


_INSIDE = frozenset({"properties", "additionalProperties", "items", "allOf", "anyOf", "oneOf"})


def _has_no_content_schema(schema: JsonObject) -> bool:
    """Return whether a schema of objects or arrays has no keywords for their members."""
    return not _INSIDE & schema.keys() and bool(kinds(schema) & {"object", "array"})


def _format_types(schema: JsonObject) -> str:
    named = schema.get("type")
    if named is None:
        found = kinds(schema)
        return "anything" if found == ALL_KINDS else " or ".join(sorted(found)) or "nothing"
    return named if isinstance(named, str) else " or ".join(sorted(named))


def _describe_text(keyword: str, old: Any, new: Any) -> str:
    if new is None:
        return f"has no `{keyword}` any more"
    if old is None:
        return f"has a `{keyword}`: {format_value(new)}"
    return f"has another `{keyword}`: {format_value(new)}"
