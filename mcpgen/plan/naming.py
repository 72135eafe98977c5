"""Names of modules, arguments and classes: legal everywhere, distinct and stable.

No name depends on the order of the document. Where two would be equal, each gets six digits of a
hash of what it stands for, so that a third one later moves neither.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from mcpgen.ir.api import Operation
from mcpgen.ir.identifiers import Identifier, safe_filename
from mcpgen.plan.transliteration import plain_ascii
from mcpgen.plan.words import digest, published_spelling, snake_case

_MAX_MODULE = 48
_MAX_ARGUMENT = 64
_PROPERTY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")  # what no client is known to refuse
_SPOKEN = {"@": "at", "$": "dollar", "+": "plus", "<": "lt", ">": "gt"}
_SPOKEN_SYMBOL = re.compile("[@$+<>]|^-(?=[0-9])")
_MAX_CLASS = 80
_MAX_CALL_TYPE = _MAX_CLASS + len("Call")
_OTHER = re.compile(r"[^A-Za-z0-9]+")
_RESERVED = frozenset(
    {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "ctx", "tools", "self", "cls"}
)


@lru_cache(maxsize=4096)
def pascal_case(text: str) -> str:
    """`text` as a class name; the capitals that it has are kept."""
    words = [word for word in _OTHER.split(plain_ascii(text)) if word]
    name = "".join(word[0].upper() + word[1:] for word in words)
    return name if name and not name[0].isdigit() else f"Model{name}"


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
    name = snake_case(tag)[:_MAX_MODULE].strip("_") or "tag"
    if name[0].isdigit():
        name = f"tag_{name}"
    if name in _RESERVED:
        name = f"{name}_"
    try:
        return safe_filename(name)
    except ValueError:  # a device name of Windows
        return f"tag_{name}"


def argument_names(
    places: Collection[tuple[str, str]], published: Collection[str] = ()
) -> dict[tuple[str, str], str]:
    """Return an argument for each (location, wire name) of an operation, in the order given.

    A name goes to the path before the query, the header and the cookie, and there to the wire name
    that is spelled so; the others are told by their place, and then by a hash. A `published` name
    keeps its spelling.
    """
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = {"body", "content_type"}
    for place in sorted(places, key=_precedence):
        location, wire_name = place
        plain = published_spelling(argument_name(wire_name), published)
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
