"""The types of the models' properties, which datamodel-code-generator writes.

Most properties of an API share few types: GitHub's 7,835 properties have 296. The generator gets
each distinct type once, as a key of one class, where placeholders stand for the classes in it. Its
source is parsed, and the types are written again from what is known to be a type.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from mcpgen.jsonschema.references import PREFIX
from mcpgen.jsonschema.types import JsonObject
from mcpgen.text.identifiers import Identifier

BUILT_IN = frozenset({"bool", "dict", "float", "int", "list", "str"})
TYPING = frozenset({"Any", "Literal", "NotRequired", "TypedDict"})
_HOLDER = "Holder"  # the class whose keys have the types
_PLACEHOLDER = {"type": "object", "properties": {"key": {}}}
_REFERENCE = re.compile(rb'"\$ref":"#/\$defs/([^"\\]+)"')


class UnprovenTypeError(Exception):
    """The source of datamodel-code-generator differs from its request; the message states how."""


class PropertyType(Struct, frozen=True):
    """The type of a property, as an expression, and the names of the classes in it."""

    source: str
    classes: tuple[Identifier, ...]


class DistinctTypes:
    """The distinct types of some properties."""

    def __init__(self, schemas: Iterable[JsonObject]) -> None:
        """Collect the types of the properties with these schemas."""
        self._classes: dict[bytes, tuple[bytes, tuple[Identifier, ...]]] = {}
        for schema in schemas:
            encoded = msgspec.json.encode(schema)
            if encoded not in self._classes:
                self._classes[encoded] = _number_classes(encoded)
        self._keys = {
            shape: f"key_{number}"
            for number, shape in enumerate(sorted({shape for shape, _ in self._classes.values()}))
        }

    @property
    def definitions(self) -> dict[str, JsonObject]:
        """The definitions of which the generator writes the types."""
        if not self._keys:
            return {}
        most = max(len(classes) for _, classes in self._classes.values())
        properties = {key: msgspec.json.decode(shape) for shape, key in self._keys.items()}
        holder = {"type": "object", "properties": properties, "required": sorted(properties)}
        return {_HOLDER: holder, **{_placeholder(number): _PLACEHOLDER for number in range(most)}}

    def read(self, source: str) -> ProvenTypes:
        """Return the types in the module that the generator wrote for `definitions`.

        Raises:
            UnprovenTypeError: one is missing, or is not a type.
        """
        found = _read_annotations(source)
        if found.keys() != set(self._keys.values()):
            raise UnprovenTypeError("other keys than those that it was asked for")
        types = {
            encoded: PropertyType(
                _write_type(
                    found[self._keys[shape]],
                    {_placeholder(number): name for number, name in enumerate(classes)},
                ),
                classes,
            )
            for encoded, (shape, classes) in self._classes.items()
        }
        names = {
            node.id
            for annotation in found.values()
            for node in ast.walk(annotation)
            if isinstance(node, ast.Name)
        }
        return ProvenTypes(types, frozenset(names & TYPING))


class ProvenTypes:
    """The types of properties, by their schemas."""

    def __init__(self, types: Mapping[bytes, PropertyType], imports: frozenset[str]) -> None:
        self._types = types
        self.imports = imports  # from `typing`

    def of(self, schema: JsonObject) -> PropertyType:
        """Return the Python type of a property by its JSON Schema."""
        return self._types[msgspec.json.encode(schema)]


def _placeholder(number: int) -> str:
    return f"Class{number}"


def _number_classes(encoded: bytes) -> tuple[bytes, tuple[Identifier, ...]]:
    """Return a schema with a placeholder in place of each class, and the names of the classes."""
    numbers: dict[Identifier, int] = {}

    def replace(found: re.Match[bytes]) -> bytes:
        number = numbers.setdefault(Identifier(found[1].decode()), len(numbers))
        return f'"$ref":"{PREFIX}{_placeholder(number)}"'.encode()

    return _REFERENCE.sub(replace, encoded), tuple(numbers)


def _read_annotations(source: str) -> dict[str, ast.expr]:
    """Return the annotations of the class that has the types, by key."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise UnprovenTypeError(f"line {error.lineno} does not parse") from None
    found: dict[str, ast.expr] = {}
    for statement in tree.body:
        match statement:
            case ast.ImportFrom(module="__future__"):
                pass
            case ast.ImportFrom(module="typing", names=names):
                if any(each.asname or each.name not in TYPING for each in names):
                    raise UnprovenTypeError(f"unexpected import: {ast.unparse(statement):.80}")
            case ast.ClassDef(name=name, body=body):
                if name == _HOLDER:
                    found = dict(map(_read_annotation, body))
            case _:
                raise UnprovenTypeError(f"{type(statement).__name__} is not a definition")
    return found


def _read_annotation(statement: ast.stmt) -> tuple[str, ast.expr]:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=key), annotation=annotation, value=None):
            return key, annotation
    raise UnprovenTypeError(f"not a key: {ast.unparse(statement):.80}")


def _write_type(node: ast.expr, classes: Mapping[str, str]) -> str:
    """Write a type; `classes` has the names of the classes, by their placeholders."""
    match node:
        case ast.Name(id=name) if name in classes:
            return classes[name]
        case ast.Name(id=name) if name == "Any" or name in BUILT_IN:
            return name
        case ast.Constant(value=None):
            return "None"
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return f"{_write_type(left, classes)} | {_write_type(right, classes)}"
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            values = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return f"Literal[{', '.join(map(_write_literal, values))}]"
        case ast.Subscript(value=ast.Name(id="list" | "dict" as name), slice=inner):
            members = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            written = map(_write_type, members, itertools.repeat(classes))
            return f"{name}[{', '.join(written)}]"
    raise UnprovenTypeError(f"not a type: {ast.unparse(node):.80}")


def _write_literal(node: ast.expr) -> str:
    try:
        return repr(ast.literal_eval(node))
    except ValueError:
        raise UnprovenTypeError(f"not a value: {ast.unparse(node):.80}") from None
