"""JSON Schemas of type annotations, and the conversion of JSON values to their types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec

from mcpgen.absent import Absent
from mcpgen.runtime.content import (
    Audio,
    EmbeddedResource,
    Image,
    JsonObject,
    ResourceLink,
    Text,
    ToolResult,
)

SUPPORTED_TYPES: Final = (
    "`str`, `int`, `float`, `bool`, `None`, `bytes`, `list`, `tuple`, `set`, `dict`, `Sequence`, "
    "`Mapping`, `Literal`, `Enum`, `TypedDict`, dataclasses, msgspec structs, `datetime`, `date`, "
    "`Decimal`, `UUID`, `object`, and unions of them"
)
_ANYTHING: Final = (Any, object)
# msgspec takes `{}` from a schema hook for no answer, so the schema of `object` carries a mark.
_MARK: Final = {"$comment": "any JSON value"}
_CONTENT: Final = (Audio, EmbeddedResource, Image, ResourceLink, Text, ToolResult, bytes)


class UnsupportedTypeError(Exception):
    """An annotation without a JSON Schema; the text names the unsupported part and the reason."""


def make_schemas(annotations: Iterable[Any]) -> tuple[list[JsonObject], JsonObject]:
    """Return a schema of each annotation, and the definitions that they refer to.

    Raises:
        UnsupportedTypeError: one of the annotations has no JSON Schema.
    """
    annotations = tuple(annotations)
    try:
        return _describe(annotations)
    except (NameError, TypeError) as error:  # a NameError: a field names a type that is not found
        for annotation in annotations:
            part = _find_smallest_unsupported(annotation, set())
            if part is not None:
                raise UnsupportedTypeError(_explain_unsupported(part, annotation)) from None
        raise UnsupportedTypeError(str(error).splitlines()[-1]) from None


def make_result_schema(annotation: Any) -> tuple[JsonObject, JsonObject]:
    """Return the schema of a result, and the definitions that it refers to.

    Unlike an argument, a result needs no conversion. So it may also be one of several object types.

    Raises:
        UnsupportedTypeError: the annotation has no JSON Schema.
    """
    members = list_members(annotation)
    if len(members) > 1 and all(map(_is_object_type, members)):
        schemas, components = make_schemas(members)
        return {"type": "object", "anyOf": schemas}, components
    (schema,), components = make_schemas((annotation,))
    return schema, components


def is_json_type(annotation: Any) -> bool:
    """Return whether a result is JSON: neither plain text nor content blocks."""
    if all(member in {str, NoneType} for member in list_members(annotation)):
        return False
    return not _may_have_content(annotation)


def convert(value: Any, annotation: Any, *, is_strict: bool = True) -> Any:
    """Convert a JSON value to a type; unless `is_strict`, also the text "7" to a number.

    Raises:
        msgspec.ValidationError: the value does not fit the type.
    """
    return msgspec.convert(value, annotation, strict=is_strict, dec_hook=_accept_object)


def remove_absent(annotation: Any) -> Any:
    """Remove `Absent` from a union: JSON has no such value."""
    members = tuple(member for member in list_members(annotation) if member is not Absent)
    return Union[members] if len(members) < len(list_members(annotation)) else annotation  # noqa: UP007  (a tuple of types)


def list_members(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the annotation alone."""
    union = get_origin(annotation) in {Union, UnionType}
    return get_args(annotation) if union else (annotation,)


def spell(annotation: Any) -> str:
    """Return an annotation as its author would write it: `list[Path]`, not `list[pathlib.Path]`."""
    arguments = get_args(annotation)
    if get_origin(annotation) in {Union, UnionType}:
        return " | ".join(map(spell, arguments))
    if annotation is NoneType:
        return "None"
    name = getattr(annotation, "__name__", None) or repr(annotation)
    if not arguments or not hasattr(get_origin(annotation), "__name__"):
        return name if isinstance(annotation, type) else repr(annotation).replace("typing.", "")
    return f"{name}[{', '.join(spell(each) if each is not ... else '...' for each in arguments)}]"


def _describe(annotations: Iterable[Any]) -> tuple[list[JsonObject], JsonObject]:
    schemas, components = msgspec.json.schema_components(
        annotations, schema_hook=_accept_object, ref_template="#/$defs/{name}"
    )
    return [_remove_marks(each) for each in schemas], _remove_marks(components)


def _remove_marks(schema: Any) -> Any:
    if isinstance(schema, list | tuple):
        return [_remove_marks(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _remove_marks(value)
        for key, value in schema.items()
        if (key, value) not in _MARK.items()
        and not (key in {"additionalProperties", "items"} and value == _MARK)
    }


def _accept_object(type_: type, value: Any = _MARK) -> Any:
    """Return the schema of `object`, or a value as one; msgspec knows the other types itself."""
    if type_ is object:
        return value
    raise NotImplementedError


def _may_have_content(annotation: Any) -> bool:
    """Return whether a value may contain content blocks; the values of a mapping are JSON."""
    if annotation in _ANYTHING or annotation in _CONTENT:
        return True
    parts: Sequence[Any] = get_args(annotation)
    if _is_mapping(annotation):
        parts = [part for part in parts if part not in _ANYTHING]
    return any(map(_may_have_content, parts))


def _is_mapping(annotation: Any) -> bool:
    origin = get_origin(annotation) or annotation
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _is_object_type(annotation: Any) -> bool:
    if is_typeddict(annotation) or is_dataclass(annotation) or _is_mapping(annotation):
        return True
    return isinstance(annotation, type) and issubclass(annotation, msgspec.Struct)


def _find_smallest_unsupported(annotation: Any, seen: set[int]) -> Any | None:
    """Find the part of an annotation that has no schema although all of its own parts have one."""
    if id(annotation) in seen:
        return None
    seen.add(id(annotation))
    try:
        _describe((annotation,))
    except NameError:
        return None
    except TypeError:
        for part in _iterate_parts(annotation):
            if (found := _find_smallest_unsupported(part, seen)) is not None:
                return found
        return annotation
    return None


def _iterate_parts(annotation: Any) -> Iterator[Any]:
    """Yield the components of a type: the arguments of a generic, the fields of a class."""
    if get_origin(annotation) is Annotated:
        yield get_args(annotation)[0]
    elif get_args(annotation):
        yield from (part for part in get_args(annotation) if part is not ...)
    elif _is_object_type(annotation) and isinstance(annotation, type):
        yield from get_type_hints(annotation, include_extras=True).values()


def _explain_unsupported(part: Any, annotation: Any) -> str:
    if len(list_members(part)) > 1:
        return (
            f"the members of `{spell(part)}` cannot be told apart in JSON: an argument may be one "
            "object type, one array type and one text type at most"
        )
    within = f", which is part of `{spell(annotation)}`" if part is not annotation else ""
    return f"JSON has no `{spell(part)}`{within}. Use {SUPPORTED_TYPES}"


_MAX_ITEMS: Final = 10_000  # of a list in a text
_READ_AS_JSON: Final = frozenset({"boolean", "integer", "number", "object"})


def parse_text_value(text: str, schema: JsonObject) -> Any:
    """Parse `text` as the types that `schema` allows; return it unchanged if that fails.

    A list is JSON, or items separated by commas. A schema that allows a string, or names no type,
    takes the text as it is.
    """
    types = schema.get("type", "string")
    types = {types} if isinstance(types, str) else set(types)
    if "string" in types:
        return text
    if "array" in types and not text.lstrip().startswith("["):
        if text.count(",") > _MAX_ITEMS:
            return text
        return [parse_text_value(part.strip(), schema.get("items", {})) for part in text.split(",")]
    if types & {*_READ_AS_JSON, "array"}:
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError):
            return text
    return text
