"""The output profile: tolerant schemas of results, which responses with deviations still match.

They inform a model about names, types and meaning. Nothing is required or bounded, every member
may be null, and undescribed members are allowed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import lru_cache

from mcpgen.jsonschema.direction import Shape, Shapes
from mcpgen.jsonschema.types import JsonObject, JsonSchema
from mcpgen.plan.schemas.input_profile import Build, find_choice
from mcpgen.plan.schemas.schema_part import SchemaPart, make_branch, make_leaf
from mcpgen.text.prose import first_sentence

_MAX_DESCRIPTION = 120


class OutputProfile:
    """Builds listed schemas of results."""

    grows_with_depth = True

    def description(self, schema: JsonObject) -> str:
        """Return the first sentence of a schema's description."""
        text = schema.get("description")
        return first_sentence(text, _MAX_DESCRIPTION) if text else ""

    def cut(self, shape: Shape) -> SchemaPart:
        """Return the replacement of a part that is nested too deeply."""
        types = _certain_types(shape)
        if find_choice(shape.keywords) and shape.keywords.keys().isdisjoint(("type", "enum")):
            types = ()  # `properties` implies an object, but the choice may allow other values
        return _build_plain(types, self.description(shape.keywords))

    def build(self, shape: Shape, build: Build) -> SchemaPart:
        """Return one level, with children from `build`."""
        if not shape.can_nest:
            return self.cut(shape)  # the same, and most parts are such
        keywords = shape.keywords
        choice = find_choice(keywords)
        children: list[SchemaPart] = []
        schema = _build_types(_certain_types(shape))
        own = dict(schema)
        levels = 0
        properties: dict[str, SchemaPart] = {}
        if "properties" in keywords and "object" in (shape.types or ("object",)):
            properties = {name: build(it) for name, it in sorted(keywords["properties"].items())}
            children += properties.values()
            schema["properties"] = {name: child.schema for name, child in properties.items()}
            levels = 1
        elif isinstance(keywords.get("additionalProperties"), dict):
            child = build(keywords["additionalProperties"])
            children.append(child)
            schema["additionalProperties"] = child.schema
            levels = 1
        if "items" in keywords and "array" in (shape.types or ("array",)):
            child = build(keywords["items"] or True)
            children.append(child)
            schema["items"] = child.schema
            levels = 1
        if choice and "properties" not in schema:
            members = [build(member) for member in keywords[choice] if member is not False]
            distinct: list[SchemaPart] = []
            for member in members:
                if not any(member.schema == other.schema for other in distinct):
                    distinct.append(member)
            if len(distinct) == 1 and not children:
                return distinct[0].describe(self.description(keywords))
            if all(member.schema for member in distinct) and distinct:
                children += distinct
                schema.pop("type", None)  # the members state it, including null
                schema["anyOf"] = [*(member.schema for member in distinct), {"type": "null"}]
                own["anyOf"] = []
        elif choice and "type" not in keywords:
            # `properties` does not apply to other values, which the choice may describe.
            members = [build(member) for member in keywords[choice] if member is not False]
            others = [one for one in members if "object" not in one.schema.get("type", ["object"])]
            if others:
                children += others
                schema = {"anyOf": [schema, *(one.schema for one in others)]}
                own["anyOf"] = []
        description = self.description(keywords)
        if description:
            schema["description"] = own["description"] = description
        return make_branch(schema, own, children, levels=levels, is_exact=True, names=properties)


def _certain_types(shape: Shape) -> tuple[str, ...]:
    """Return the types of a value; none if only `items` suggests a list: others are valid, too."""
    types = shape.types
    return () if types == ("array",) and "type" not in shape.keywords else types


@lru_cache(maxsize=4096)
def _build_plain(types: tuple[str, ...], description: str) -> SchemaPart:
    """Return a schema without children, cached because thousands of properties are equal."""
    schema = _build_types(types)
    return make_leaf({**schema, "description": description} if description else schema)


def _build_types(allowed: tuple[str, ...]) -> JsonObject:
    """Return the `type` of a value, including null."""
    types = [name for name in allowed if name != "null"]
    return {"type": [*types, "null"]} if types else {}


ITEMS = "[]"
"""The path step for the items of a list; other steps are names of members."""
_DEEPEST = 20  # variants inside variants, which may go in a circle


class NoMemberError(Exception):
    """A path refers to an unknown member; the message states where, `help` an alternative."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


def nest_paths(paths: Iterable[str]) -> JsonObject:
    """Nest paths by their steps: `items[].id` returns {"items": {"[]": {"id": {}}}}."""
    tree: JsonObject = {}
    for path in paths:
        node = tree
        for step in split_path(path):
            node = node.setdefault(step, {})
    return tree


def split_path(path: str) -> tuple[str, ...]:
    """Split a path into steps: `items[].id` returns ("items", "[]", "id")."""
    found: list[str] = []
    for part in path.split("."):
        name = part.rstrip("[]")
        found += [name] if name else []
        found += [ITEMS] * part[len(name) :].count(ITEMS)
    return tuple(found)


class Projection:
    """Projection of response schemas to selected members."""

    def __init__(self, responses: Shapes) -> None:
        self._responses = responses

    def project(
        self, schemas: Sequence[JsonSchema], selection: JsonObject, path: str = ""
    ) -> JsonSchema:
        """Return the schema of the wanted members of a value that matches one of the `schemas`.

        Raises:
            NoMemberError: none of the schemas declares a member.
        """
        if not selection:
            return schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
        description = self._responses.of(schemas[0]).keywords.get("description")
        about = {"description": description} if description else {}
        if ITEMS in selection:
            items = self.find_inside(schemas, ITEMS, path)
            narrowed = self.project(items, selection[ITEMS], f"{path}{ITEMS}")
            return {"type": "array", "items": narrowed, **about}
        properties = {
            name: self.project(self.find_inside(schemas, name, path), inner, _join_path(path, name))
            for name, inner in selection.items()
        }
        return {"type": "object", "properties": properties, **about}

    def find_inside(
        self, schemas: Iterable[JsonSchema], step: str, path: str = ""
    ) -> list[JsonSchema]:
        """Return the schemas at one step below `path`.

        Raises:
            NoMemberError: none of the schemas declares it.
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
            raise NoMemberError(
                f"{shown} is not a list", f"name its members: {_format_names(known)}"
            )
        if ITEMS in known:
            raise NoMemberError(
                f"{shown} is a list, and has no `{step}`", f"its items do: `{path}{ITEMS}.{step}`"
            )
        near = difflib.get_close_matches(step, known, n=1, cutoff=0.5)
        hint = (
            f"did you mean `{_join_path(path, near[0])}`?"
            if near
            else f"it has {_format_names(known)}"
        )
        raise NoMemberError(f"{shown} has no `{step}`", hint)

    def _gather(
        self, schema: JsonSchema, known: dict[str, list[JsonSchema]], depth: int = 0
    ) -> bool:
        """Collect the members of a value; return whether it may have undeclared ones."""
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


def _join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _format_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "no members that are described"
