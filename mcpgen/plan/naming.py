"""Names of tools, modules, arguments and classes: legal everywhere, distinct, and steady.

No name depends on the order of the document. Where two would be equal, each gets six digits of a
hash of what it stands for, so a third one later moves neither.
"""

from __future__ import annotations

import builtins
import hashlib
import keyword
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from mcpgen.ir.api import Operation
from mcpgen.ir.identifiers import Identifier, safe_filename
from mcpgen.plan.transliteration import plain_ascii

MAX_TOOL_NAME = 48
_SHORTEST_LIMIT = 24
_TOOL_NAME = re.compile(r"[a-z][a-z0-9_]{0,47}\Z")
_MAX_ARGUMENT = 64
_PROPERTY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")  # what no client is known to refuse
_SPOKEN = {"@": "at", "$": "dollar", "+": "plus", "<": "lt", ">": "gt"}
_SPOKEN_SYMBOL = re.compile("[@$+<>]|^-(?=[0-9])")
_MAX_CLASS = 80
_MAX_CALL_TYPE = _MAX_CLASS + len("Call")
_ACRONYM = re.compile(r"([A-Z]+)([A-Z][a-z])")
_CAMEL = re.compile(r"([a-z0-9])([A-Z])")
_OTHER = re.compile(r"[^A-Za-z0-9]+")
_RESERVED = frozenset(
    {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "ctx", "tools", "self", "cls"}
)


def digest(text: str) -> str:
    """Six hexadecimal digits that stand for `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def snake_case(text: str) -> str:
    """`text` as words of `[a-z0-9]` joined by "_"; every separator is kept as one."""
    words = _CAMEL.sub(r"\1_\2", _ACRONYM.sub(r"\1_\2", plain_ascii(text)))
    return _OTHER.sub("_", words).strip("_").lower()


@lru_cache(maxsize=4096)
def pascal_case(text: str) -> str:
    """`text` as a class name; the capitals that it has are kept."""
    words = [word for word in _OTHER.split(plain_ascii(text)) if word]
    name = "".join(word[0].upper() + word[1:] for word in words)
    return name if name and not name[0].isdigit() else f"Model{name}"


def tool_name_limit(server: str) -> int:
    """How long a tool's name may be, so that `mcp__<server>__<tool>` stays within 64."""
    return max(_SHORTEST_LIMIT, min(MAX_TOOL_NAME, 57 - len(server)))


def tool_names(
    operations: Iterable[Operation],
    issued: Mapping[str, str],
    limit: int = MAX_TOOL_NAME,
    *,
    reserved: Collection[str] = (),
    prefixes: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """A name for the tool of each operation, by operation key. Issued names are kept.

    No new tool gets a `reserved` name. `prefixes` begin new names, by the operations' source.
    """
    names = {
        operation.key: issued[operation.key]
        for operation in operations
        if _TOOL_NAME.match(issued.get(operation.key, ""))
    }
    wanted = {
        operation.key: _wanted_tool_name(operation, prefixes or {})
        for operation in sorted(operations, key=lambda operation: operation.key)
        if operation.key not in names
    }
    count = Counter(wanted.values())
    taken = {*issued.values(), *reserved}
    hashed: list[str] = []
    for key, name in wanted.items():
        if count[name] == 1 and name not in taken and len(name) <= limit:
            names[key] = name
            taken.add(name)
        else:
            hashed.append(key)
    for key in hashed:
        name, seed = _hashed(wanted[key], key, limit), key
        while name in taken:
            seed += "+"
            name = _hashed(wanted[key], seed, limit)
        names[key] = name
        taken.add(name)
    return names


def new_document_names(
    operations: Iterable[Operation],
    names: Mapping[str, str],
    limit: int = MAX_TOOL_NAME,
    *,
    reserved: Collection[str] = (),
    prefixes: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """What the document calls operations by now whose tools are called otherwise, by key.

    Only a name that the tool could have at once is given.
    """
    wanted = {
        operation.key: _wanted_tool_name(operation, prefixes or {}) for operation in operations
    }
    count = Counter(wanted.values())
    taken = {*names.values(), *reserved}
    return {
        key: name
        for key, name in wanted.items()
        if key in names and count[name] == 1 and name not in taken and len(name) <= limit
    }


def _wanted_tool_name(operation: Operation, prefixes: Mapping[str, str]) -> str:
    name = snake_case(operation.called) or snake_case(operation.operation_id)
    if not name:
        name = _name_of_request(operation)
    if prefix := prefixes.get(operation.source, ""):
        name = f"{prefix.rstrip('_')}_{name}"
    return name if name[0].isalpha() else f"op_{name}"


def _name_of_request(operation: Operation) -> str:
    """`get_pets_by_pet_id` for "GET /pets/{petId}"."""
    words = [operation.method]
    for segment in operation.path.split("/"):
        parts = re.split(r"(\{[^{}]*\})", segment)
        words += [f"by_{part[1:-1]}" if part.startswith("{") else part for part in parts if part]
    return "_".join(filter(None, map(snake_case, words))) or "call"


def _hashed(name: str, key: str, limit: int) -> str:
    """`name` cut after whole words, with a hash of the operation's key."""
    room = limit - 7
    if len(name) > room:
        head = name[: room + 1]
        name = head.rsplit("_", 1)[0] if "_" in head[1:] else head[:room]
    return f"{name.rstrip('_')}_{digest(key)}"


@lru_cache(maxsize=4096)
def identifier(text: str) -> Identifier:
    """`text` as a Python name that shadows neither a builtin nor what handlers use."""
    name = re.sub(r"\W", "_", plain_ascii(text), flags=re.ASCII).lstrip("_") or "value"
    if name[0].isdigit():
        name = f"n{name}"
    return Identifier(f"{name}_" if name in _RESERVED else name)


def module_names(tags: Mapping[str, str]) -> dict[str, Identifier]:
    """A module for each tag, distinct without regard to case and legal as a file name.

    `tags` has the source of each; one never changes the names of a source that sorts before it.
    """
    names: dict[str, Identifier] = {}
    taken = set(_MODULES)
    for source in sorted(set(tags.values())):
        wanted = {tag: _module_name(tag) for tag in tags if tags[tag] == source}
        count = Counter(wanted.values())
        for tag, name in wanted.items():
            is_free = count[name] == 1 and name not in taken
            names[tag] = Identifier(name if is_free else f"{name}_{digest(tag)}")
        taken |= {*wanted.values()}
    return names


_MODULES = frozenset({"shared"})  # our own, beside those of tags


def _module_name(tag: str) -> str:
    name = snake_case(tag)[:MAX_TOOL_NAME].strip("_") or "tag"
    if name[0].isdigit():
        name = f"tag_{name}"
    if name in _RESERVED:
        name = f"{name}_"
    try:
        return safe_filename(name)
    except ValueError:  # a device name of Windows
        return f"tag_{name}"


def argument_names(places: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """An argument for each (location, wire name) of an operation, in the order given.

    A name goes to the path before the query, the header and the cookie, and there to the wire name
    that is spelled so; the others are told by their place, and then by a hash.
    """
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = {"body", "content_type"}
    for place in sorted(places, key=_precedence):
        location, wire_name = place
        plain = argument_name(wire_name)
        hashed = f"{plain[: _MAX_ARGUMENT - 7]}_{digest(f'{location}:{wire_name}')}"
        candidates = (plain, f"{location}_{plain}"[:_MAX_ARGUMENT], hashed)
        name = next((name for name in candidates if name not in taken), "")
        while not name or name in taken:
            name = f"{plain[: _MAX_ARGUMENT - 7]}_{digest(name + hashed)}"
        taken.add(name)
        names[place] = name
    return {place: names[place] for place in places}


_PLACES = ("path", "query", "querystring", "header", "cookie")


def _precedence(place: tuple[str, str]) -> tuple[int, bool, str]:
    location, wire_name = place
    return (_PLACES.index(location), argument_name(wire_name) != wire_name, wire_name)


def argument_name(wire_name: str) -> str:
    """`wire_name` as an argument: `filter[kind]` is `filter_kind`, `petId` is `pet_id`."""
    name = snake_case(wire_name) or "value"
    if name[0].isdigit():
        name = f"n{name}"
    if len(name) > _MAX_ARGUMENT:
        name = f"{name[: _MAX_ARGUMENT - 7]}_{digest(wire_name)}"
    return name


def property_names(wire_names: Collection[str]) -> dict[str, str]:
    """A name for each of `wire_names` that some client refuses: `filter[kind]` is `filter_kind`.

    It is unlike all of `wire_names` and unlike each other one that is given.
    """
    wanted = {
        name: _property_name(name) for name in sorted(wire_names) if not _PROPERTY.match(name)
    }
    count = Counter(wanted.values())
    taken = set(wire_names)
    names: dict[str, str] = {}
    for wire_name, plain in wanted.items():
        name, seed = plain, wire_name
        while name in taken or (name == plain and count[plain] > 1):
            name = f"{plain[: _MAX_ARGUMENT - 7]}_{digest(seed)}"
            seed += "+"
        taken.add(name)
        names[wire_name] = name
    return names


def _property_name(wire_name: str) -> str:
    """`wire_name` in letters, digits and "_", in the case that it has."""
    spoken = _SPOKEN_SYMBOL.sub(lambda found: f"_{_SPOKEN.get(found[0], 'minus')}_", wire_name)
    name = _OTHER.sub("_", plain_ascii(spoken)).strip("_") or "value"
    if name[0].isdigit():
        name = f"n{name}"
    if len(name) > _MAX_ARGUMENT:
        name = f"{name[: _MAX_ARGUMENT - 7]}_{digest(wire_name)}"
    return name


def call_types(
    operations: Iterable[Operation],
    published: Mapping[str, str] = MappingProxyType({}),
    known: Collection[str] = (),
) -> dict[str, Identifier]:
    """A class name for the call of each operation, by operation key.

    `GetPetsPetIdCall` for "GET /pets/{petId}": whoever overrides the operation writes it, so it
    depends on the key alone, and not on tags, operationIds or the names of tools. Where two
    would be equal, `published` has the names that stay, and operations whose key is not `known`
    from earlier runs, or is of a source that sorts later, get another one.
    """
    names = {it.key: Identifier(published[it.key]) for it in operations if it.key in published}
    groups: dict[tuple[bool, str], dict[str, str]] = {}
    for operation in operations:
        if operation.key not in names:
            group = groups.setdefault((operation.key not in known, operation.source), {})
            group[operation.key] = plain_call_type(operation)
    taken: set[str] = {*names.values()}
    for _, wanted in sorted(groups.items()):
        count = Counter(wanted.values())
        for key, name in wanted.items():
            is_free = count[name] == 1 and name not in taken and len(name) <= _MAX_CALL_TYPE
            hashed = f"{name.removesuffix('Call')[:_MAX_CLASS]}{digest(key)}Call"
            names[key] = Identifier(name if is_free else hashed)
        taken |= {*wanted.values()}
    return names


def plain_call_type(operation: Operation) -> str:
    """The name of an operation's call that no other operation competes for."""
    words = f"{operation.source} {operation.path}"
    if operation.declared is not None:
        words = operation.declared.tool
    return f"{pascal_case(f'{operation.method.lower()} {words}')}Call"


_CALL_TYPE = re.compile(r"(Delete|Get|Head|Options|Patch|Post|Put|Query|Trace)[A-Za-z0-9]*Call\Z")


class ClassNames:
    """Gives class names out; none is given twice, without regard to case."""

    def __init__(self) -> None:
        self._owners: dict[str, str] = {name.lower(): "" for name in _CLASSES_IN_HANDLERS}

    def give(self, wanted: str, owner: str) -> Identifier:
        """`wanted` as a class name for `owner`, with a hash of `owner` where it is taken."""
        name = pascal_case(wanted)[:_MAX_CLASS]
        is_taken = self._owners.get(name.lower(), owner) != owner
        if is_taken or name in _RESERVED or _CALL_TYPE.match(name):
            name = f"{name}_{digest(owner)}"
        self._owners[name.lower()] = owner
        return Identifier(name)


_CLASSES_IN_HANDLERS = (
    "Absent", "Any", "Context", "Literal", "NotRequired", "ToolGroup", "TypeAlias", "TypedDict",
    "Union", "Optional", "Required", "Dict", "List",
)  # fmt: skip
