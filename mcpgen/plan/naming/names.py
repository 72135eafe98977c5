"""Names of modules, arguments, properties and classes: valid everywhere, unique and stable.

No name depends on the order of the document. If two names would be equal, each gets a suffix of
six digits: a hash of the thing that it names. A third equal name therefore changes neither.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from mcpgen.ir.api import Api, Operation
from mcpgen.ir.portable_profile import PROPERTY_NAME
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.references import iterate_reachable
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.naming.words import digest, keep_published_spelling, snake_case, transliterate
from mcpgen.text.identifiers import Identifier, pascal_case, safe_filename

_MAX_MODULE = 48
_MAX_ARGUMENT = 64
_PROPERTY = re.compile(rf"{PROPERTY_NAME}\Z")  # accepted by every known client
_SYMBOL_WORDS = {"@": "at", "$": "dollar", "+": "plus", "<": "lt", ">": "gt"}
_SYMBOL = re.compile("[@$+<>]|^-(?=[0-9])")
_MAX_CLASS = 80
_MAX_CALL_TYPE = _MAX_CLASS + len("Call")
_OTHER = re.compile(r"[^A-Za-z0-9]+")
_RESERVED = frozenset(
    {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "ctx", "tools", "self", "cls"}
)


@lru_cache(maxsize=4096)
def to_class_name(text: str) -> str:
    """Convert `text` to a class name in ASCII; its capital letters stay."""
    name = pascal_case(transliterate(text))
    return name if name and not name[0].isdigit() else f"Model{name}"


@lru_cache(maxsize=4096)
def to_identifier(text: str) -> Identifier:
    """Convert `text` to a Python name that shadows no builtin and no name used by handlers."""
    name = re.sub(r"\W", "_", transliterate(text), flags=re.ASCII).lstrip("_") or "value"
    if name[0].isdigit():
        name = f"n{name}"
    return Identifier(f"{name}_" if name in _RESERVED else name)


def assign_module_names(tags: Mapping[str, str]) -> dict[str, Identifier]:
    """Return a module name for each tag, unique ignoring case and valid as a file name.

    `tags` maps each tag to its source; a source never changes the names of one sorted before it.
    """
    names: dict[str, Identifier] = {}
    taken = set(_MODULES)
    for source in sorted(set(tags.values())):
        derived = {tag: _derive_module_name(tag) for tag in tags if tags[tag] == source}
        count = Counter(derived.values())
        for tag, name in derived.items():
            is_free = count[name] == 1 and name not in taken
            names[tag] = Identifier(name if is_free else f"{name}_{digest(tag)}")
        taken |= {*derived.values()}
    return names


_MODULES = frozenset({"shared"})  # modules without a tag


def _derive_module_name(tag: str) -> str:
    name = snake_case(tag)[:_MAX_MODULE].strip("_") or "tag"
    if name[0].isdigit():
        name = f"tag_{name}"
    if name in _RESERVED:
        name = f"{name}_"
    try:
        return safe_filename(name)
    except ValueError:  # a device name of Windows
        return f"tag_{name}"


def assign_argument_names(
    places: Collection[tuple[str, str]],
    published: Collection[str] = (),
    reserved: Collection[str] = (),
) -> dict[tuple[str, str], str]:
    """Return an argument name for each (location, wire name) of an operation, in the same order.

    Of parameters with equal names, path comes before query, header and cookie, and a wire name
    that is already a valid argument name comes first within its location. The others get their
    location as a prefix, or else a hash as a suffix. A `published` name keeps its spelling. The
    `reserved` names are published for members of the body.
    """
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = {"body", "content_type", *reserved}
    for place in sorted(places, key=_rank_place):
        location, wire_name = place
        plain = keep_published_spelling(derive_argument_name(wire_name), published)
        name = plain if plain not in taken else f"{location}_{plain}"[:_MAX_ARGUMENT]
        if name in taken:
            hashed = f"{plain[: _MAX_ARGUMENT - 7]}_{digest(f'{location}:{wire_name}')}"
            name = hashed if hashed not in taken else ""
            while not name or name in taken:
                name = f"{plain[: _MAX_ARGUMENT - 7]}_{digest(name + hashed)}"
        taken.add(name)
        names[place] = name
    return {place: names[place] for place in places}


def assign_member_names(
    members: Iterable[str],
    taken: Collection[str],
    chosen: Mapping[str, str],
    published: Mapping[str, str],
) -> dict[str, str]:
    """Return an argument name for each member of a body, by the API's name, in the same order.

    A member whose name is `taken` is called `body_NAME`, or else gets a hash as a suffix. Names
    that the manifest has `chosen` and that were `published` stay.
    """
    names = {**{it: name for it, name in published.items() if name not in taken}, **chosen}
    members = tuple(members)
    used = {*taken, "content_type", "max_pages", *(names[it] for it in members if it in names)}
    found: dict[str, str] = {}
    for member in sorted(members, key=lambda it: (derive_argument_name(it) != it, it)):
        plain = derive_argument_name(member)
        candidates = (plain, f"body_{plain}"[:_MAX_ARGUMENT])
        name = names.get(member) or next((it for it in candidates if it not in used), "")
        seed = f"body:{member}"
        while not name:
            hashed = f"{plain[: _MAX_ARGUMENT - 7]}_{digest(seed)}"
            name, seed = "" if hashed in used else hashed, member + hashed
        used.add(name)
        found[member] = name
    return {member: found[member] for member in members}


_PLACES = ("path", "query", "querystring", "header", "cookie")


def _rank_place(place: tuple[str, str]) -> tuple[int, bool, str]:
    location, wire_name = place
    return (_PLACES.index(location), derive_argument_name(wire_name) != wire_name, wire_name)


def derive_argument_name(wire_name: str) -> str:
    """Convert a wire name to an argument name: `filter[kind]` to `filter_kind`."""
    return _limit_name(snake_case(wire_name) or "value", wire_name)


def _limit_name(name: str, wire_name: str) -> str:
    """Prefix a leading digit, and shorten a long name with a hash of its wire name."""
    if name[0].isdigit():
        name = f"n{name}"
    if len(name) > _MAX_ARGUMENT:
        name = f"{name[: _MAX_ARGUMENT - 7]}_{digest(wire_name)}"
    return name


def assign_safe_names(wire_names: Collection[str]) -> dict[str, str]:
    """Map each wire name that some client rejects to a safe one: `filter[kind]` to `filter_kind`.

    A safe name differs from all `wire_names` and from every other safe name.
    """
    derived = {
        name: _derive_safe_name(name) for name in sorted(wire_names) if not _PROPERTY.match(name)
    }
    count = Counter(derived.values())
    taken = set(wire_names)
    names: dict[str, str] = {}
    for wire_name, plain in derived.items():
        name, seed = plain, wire_name
        while name in taken or (name == plain and count[plain] > 1):
            name = f"{plain[: _MAX_ARGUMENT - 7]}_{digest(seed)}"
            seed += "+"
        taken.add(name)
        names[wire_name] = name
    return names


def _derive_safe_name(wire_name: str) -> str:
    """Convert `wire_name` to letters, digits and "_", without changing its case."""
    spoken = _SYMBOL.sub(lambda found: f"_{_SYMBOL_WORDS.get(found[0], 'minus')}_", wire_name)
    return _limit_name(_OTHER.sub("_", transliterate(spoken)).strip("_") or "value", wire_name)


def assign_call_types(
    operations: Iterable[Operation],
    published: Mapping[str, str] = MappingProxyType({}),
    known: Collection[str] = (),
) -> dict[str, Identifier]:
    """Return the class name of each operation's call by operation key: `GetPetsPetIdCall`.

    Overrides are written with this name, so it depends on the key alone ("GET /pets/{petId}"),
    and not on tags, operationIds or names of tools. `published` names stay. Of equal names, those
    of operations that are not `known` from earlier runs, or whose source is sorted later, change.
    """
    names = {it.key: Identifier(published[it.key]) for it in operations if it.key in published}
    groups: dict[tuple[bool, str], dict[str, str]] = {}
    for operation in operations:
        if operation.key not in names:
            group = groups.setdefault((operation.key not in known, operation.source), {})
            group[operation.key] = derive_call_type(operation)
    taken: set[str] = {*names.values()}
    for _, derived in sorted(groups.items()):
        count = Counter(derived.values())
        for key, name in derived.items():
            is_free = count[name] == 1 and name not in taken and len(name) <= _MAX_CALL_TYPE
            hashed = f"{name.removesuffix('Call')[:_MAX_CLASS]}{digest(key)}Call"
            names[key] = Identifier(name if is_free else hashed)
        taken |= {*derived.values()}
    return names


def derive_call_type(operation: Operation) -> str:
    """Return the class name of an operation's call, which another operation may have as well."""
    words = f"{operation.source} {operation.path}"
    if operation.declared is not None:
        words = operation.declared.tool
    return f"{to_class_name(f'{operation.method.lower()} {words}')}Call"


_CALL_TYPE = re.compile(r"(Delete|Get|Head|Options|Patch|Post|Put|Query|Trace)[A-Za-z0-9]*Call\Z")


class ClassNames:
    """Class names in use; no two of them are equal ignoring case."""

    def __init__(self) -> None:
        self._owners: dict[str, str] = {name.lower(): "" for name in _CLASSES_IN_HANDLERS}

    def assign(self, requested: str, owner: str) -> Identifier:
        """Return `requested` as a class name for `owner`, with a hash of `owner` if it is taken."""
        name = to_class_name(requested)[:_MAX_CLASS]
        is_taken = self._owners.get(name.lower(), owner) != owner
        if is_taken or name in _RESERVED or _CALL_TYPE.match(name):
            name = f"{name}_{digest(owner)}"
        self._owners[name.lower()] = owner
        return Identifier(name)


_CLASSES_IN_HANDLERS = (
    "Absent", "Any", "Context", "Literal", "NotRequired", "ToolGroup", "TypeAlias", "TypedDict",
    "Union", "Optional", "Required", "Dict", "List",
)  # fmt: skip


def find_safe_names(api: Api) -> dict[str, str]:
    """Return a safe name for each property name in requests that some client rejects, by wire name.

    A name has one meaning in the whole API, so that schemas remain shared and a choice between
    objects is never ambiguous.
    """
    values: list[JsonValue] = [it.schema for each in api.operations for it in each.parameters]
    bodies = [item for operation in api.operations for item in operation.body_content]
    values += [schema for item in bodies for schema in (item.schema, item.item_schema)]
    return assign_safe_names(_collect_property_names(iterate_reachable(values, api.schemas)))


def wire_names(schema: JsonObject, safe_names: Mapping[str, str]) -> dict[str, str]:
    """Return the wire names of the renamed properties in a tool's arguments, by safe name."""
    if not safe_names:
        return {}
    declared = _collect_property_names(
        iterate_reachable([*schema["properties"].values(), schema.get("$defs")], {})
    )
    return {name: wire for wire, name in sorted(safe_names.items()) if name in declared}


def _collect_property_names(schemas: Iterable[JsonObject]) -> set[str]:
    """Collect the names in `properties` and `required` of these schemas."""
    found: set[str] = set()
    for schema in schemas:
        for names in (schema.get("properties"), schema.get("required")):
            if isinstance(names, dict | list):  # else this is part of an example
                found.update(name for name in names if isinstance(name, str))
    return found


def rename_to_safe(
    value: JsonValue, schemas: Iterable[JsonSchema], shapes: Shapes, safe_names: Mapping[str, str]
) -> JsonValue:
    """Return a value with its properties renamed from wire names to safe names.

    `schemas` describe the value; a key that none of them declares stays as it is.
    """
    levels = [level for schema in schemas for level in _iterate_levels(schema, shapes)]
    if isinstance(value, list):
        items = [level.get("items", True) for level in levels]
        return [rename_to_safe(item, items, shapes, safe_names) for item in value]
    if not isinstance(value, dict):
        return value
    declared = _collect_property_names(levels)
    return {
        safe_names.get(name, name) if name in declared else name: rename_to_safe(
            member, _list_member_schemas(name, levels), shapes, safe_names
        )
        for name, member in value.items()
    }


def _iterate_levels(schema: JsonSchema, shapes: Shapes) -> Iterator[JsonObject]:
    """Yield the keywords of a schema and of all its subschemas that apply to the same value."""
    keywords = shapes.of(schema).keywords
    yield keywords
    members = [member for choice in ("anyOf", "oneOf") for member in keywords.get(choice, ())]
    members += [keywords[name] for name in ("not", "if", "then", "else") if name in keywords]
    for member in (*members, *keywords.get("dependentSchemas", {}).values()):
        yield from _iterate_levels(member, shapes)


def _list_member_schemas(name: str, levels: Iterable[JsonObject]) -> list[JsonSchema]:
    return [
        level.get("properties", {}).get(name, level.get("additionalProperties", True))
        for level in levels
    ]
