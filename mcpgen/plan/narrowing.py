"""A part of a schema: what is left of a response where the manifest keeps some members."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from mcpgen.ir.json_types import JsonObject, JsonSchema
from mcpgen.plan.shapes import Shapes

ITEMS = "[]"
"""Leads to the items of a list, where a name leads to a member."""
_DEEPEST = 20  # variants inside variants, which may go in a circle


class NoMemberError(Exception):
    """A path leads nowhere; says where it ends and what could be meant."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


def members(paths: Iterable[str]) -> JsonObject:
    """Nest paths by their names: `items[].id` gives {"items": {"[]": {"id": {}}}}."""
    tree: JsonObject = {}
    for path in paths:
        node = tree
        for step in steps(path):
            node = node.setdefault(step, {})
    return tree


def steps(path: str) -> tuple[str, ...]:
    """Split a path: `items[].id` gives ("items", "[]", "id"), and `[].id` ("[]", "id")."""
    found: list[str] = []
    for part in path.split("."):
        name = part.rstrip("[]")
        found += [name] if name else []
        found += [ITEMS] * part[len(name) :].count(ITEMS)
    return tuple(found)


class Narrowing:
    """Finds members of what an operation answers, as its schemas describe that."""

    def __init__(self, responses: Shapes) -> None:
        self._responses = responses

    def narrowed(
        self, schemas: Sequence[JsonSchema], wanted: JsonObject, path: str = ""
    ) -> JsonSchema:
        """The schema of the wanted members of a value that fits one of the `schemas`.

        Raises:
            NoMemberError: the schemas know of no such member.
        """
        if not wanted:
            return schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
        told = self._responses.of(schemas[0]).keywords.get("description")
        about = {"description": told} if told else {}
        if ITEMS in wanted:
            items = self.inside(schemas, ITEMS, path)
            narrowed = self.narrowed(items, wanted[ITEMS], f"{path}{ITEMS}")
            return {"type": "array", "items": narrowed, **about}
        properties = {
            name: self.narrowed(self.inside(schemas, name, path), inner, _joined(path, name))
            for name, inner in wanted.items()
        }
        return {"type": "object", "properties": properties, **about}

    def inside(self, schemas: Iterable[JsonSchema], step: str, path: str = "") -> list[JsonSchema]:
        """The schemas of what one step leads to; `path` led here.

        Raises:
            NoMemberError: none of the schemas knows of it.
        """
        known: dict[str, list[JsonSchema]] = {}
        is_open = False
        for schema in schemas:
            is_open |= self._gather(schema, known)
        if step in known:
            return known[step]
        if is_open and step != ITEMS:
            return [True]
        shown = path or "the response"
        if step == ITEMS:
            raise NoMemberError(f"{shown} is no list", f"name its members: {_listed(known)}")
        if ITEMS in known:
            raise NoMemberError(
                f"{shown} is a list, and has no `{step}`", f"its items do: `{path}{ITEMS}.{step}`"
            )
        near = difflib.get_close_matches(step, known, n=1, cutoff=0.5)
        meant = f"did you mean `{_joined(path, near[0])}`?" if near else f"it has {_listed(known)}"
        raise NoMemberError(f"{shown} has no `{step}`", meant)

    def _gather(
        self, schema: JsonSchema, known: dict[str, list[JsonSchema]], depth: int = 0
    ) -> bool:
        """Collect what is inside a value; whether it may have members that nobody described."""
        if depth > _DEEPEST:
            return False
        keywords = self._responses.of(schema).keywords
        inside = dict(keywords.get("properties", {}))
        if "items" in keywords:
            inside[ITEMS] = keywords["items"]
        for name, member in inside.items():
            found = known.setdefault(name, [])
            if member not in found:
                found.append(member)
        variants = [*keywords.get("anyOf", ()), *keywords.get("oneOf", ())]
        is_open = [self._gather(variant, known, depth + 1) for variant in variants]
        additional = keywords.get("additionalProperties", not inside and not variants)
        is_scalar = not {"object", "array"} & set(self._responses.of(schema).types or ("object",))
        return any(is_open) or bool(additional and not is_scalar)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "no members that are described"
