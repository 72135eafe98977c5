"""JSON Schemas and conversions from the signature of a typed function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from mcpgen.runtime.absent import ABSENT, Absent
from mcpgen.runtime.content import (
    Audio,
    EmbeddedResource,
    Image,
    JsonObject,
    ResourceLink,
    Text,
    ToolResult,
)
from mcpgen.runtime.errors import ConfigurationError

_NO_JSON: Final = (
    Any,
    Audio,
    EmbeddedResource,
    Image,
    ResourceLink,
    Text,
    ToolResult,
    bytes,
)


class Signature:
    """The keywords of a function and what it returns, as JSON sees them."""

    def __init__(
        self,
        types: Mapping[str, Any],
        defaults: Mapping[str, Any],
        returns: Any,
        descriptions: Mapping[str, str],
    ) -> None:
        self._types = types
        self._defaults = defaults
        self._returns = returns
        self._descriptions = descriptions

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Signature:
        """Read a function's keyword-only parameters.

        Raises:
            ConfigurationError: one has no type, or its type cannot be found.
        """
        name = getattr(function, "__name__", repr(function))
        try:
            hints = get_type_hints(function, include_extras=True)
        except NameError as error:
            raise ConfigurationError(f"the types of `{name}` cannot be found: {error}") from None
        types, defaults = {}, {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is not parameter.KEYWORD_ONLY:
                continue
            if parameter.name not in hints:
                raise ConfigurationError(f"`{parameter.name}` of `{name}` has no type")
            types[parameter.name] = _without_absent(hints[parameter.name])
            if parameter.default is not parameter.empty:
                defaults[parameter.name] = parameter.default
        return cls(types, defaults, hints.get("return", Any), _descriptions(function))

    def input_schema(self) -> JsonObject:
        """Give the schema of the keywords: an object that allows no others."""
        schemas, components = _schemas(list(self._types.values()))
        properties: JsonObject = {}
        for name, schema in zip(self._types, schemas, strict=True):
            default = self._defaults.get(name, ABSENT)
            properties[name] = {
                **({"description": self._descriptions[name]} if name in self._descriptions else {}),
                **schema,
                **({} if default is ABSENT else {"default": msgspec.to_builtins(default)}),
            }
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        required = [name for name in self._types if name not in self._defaults]
        if required:
            schema["required"] = required
        return {**schema, "$defs": components} if components else schema

    def output_schema(self) -> tuple[JsonObject | None, str]:
        """Give the schema of the result, and the key it is under if it is no object itself."""
        if not _is_json(self._returns):
            return None, ""
        (schema,), components = _schemas([self._returns])
        name = schema.get("$ref", "").rpartition("/")[2]
        if components.get(name, schema).get("type") == "object":
            root, key = components.get(name, schema), ""
            if f"#/$defs/{name}" not in repr(components):
                components = {other: it for other, it in components.items() if other != name}
        else:
            properties = {"result": schema}
            root, key = (
                {"type": "object", "properties": properties, "required": ["result"]},
                "result",
            )
        return ({**root, "$defs": components} if components else root), key

    def prompt_arguments(self) -> list[JsonObject]:
        """Give the keywords as a prompt lists them."""
        listed = []
        for name in self._types:
            argument: JsonObject = {"name": name}
            if name in self._descriptions:
                argument["description"] = self._descriptions[name]
            listed.append(argument | {"required": name not in self._defaults})
        return listed

    def converted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Give the arguments as the function's types; a resource's `7` becomes its `int`."""
        try:
            return {
                name: msgspec.convert(value, self._types[name], strict=not isinstance(value, str))
                for name, value in arguments.items()
                if name in self._types
            }
        except msgspec.ValidationError as error:
            raise ValueError(f"an argument does not fit its type: {error}") from None

    def plain(self, value: Any) -> Any:
        """Give what the function returned as plain JSON values."""
        return msgspec.to_builtins(value)


def place_of(function: object) -> str:
    """Say in which file and line a function begins, its decorators included."""
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(function)


def summary_of(function: Callable[..., Any]) -> str:
    """Give the docstring up to its sections, as one text for clients."""
    text = inspect.getdoc(function) or ""
    for section in ("\nArgs:", "\nReturns:", "\nRaises:"):
        text = text.partition(section)[0]
    return text.strip()


def _descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """Read the `Args:` section of a docstring: one line or more for each name."""
    _, _, section = (inspect.getdoc(function) or "").partition("\nArgs:\n")
    found: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        if line and not line.startswith(" "):
            break
        head, colon, rest = line.strip().partition(":")
        if line.startswith("    ") and not line.startswith("     ") and colon:
            name = head.partition(" ")[0]
            found[name] = rest.strip()
        elif name and line.strip():
            found[name] += " " + line.strip()
    return found


def _is_json(annotation: Any) -> bool:
    """Tell whether what a function returns is JSON to be described, and not content blocks."""
    members = _members(annotation)
    if all(member in {str, NoneType} for member in members):
        return False
    return not any(part in _NO_JSON for part in _parts(annotation))


def _parts(annotation: Any) -> Iterator[Any]:
    """Give a type and all that it is made of: `list[Text | Image]` holds `Text` and `Image`."""
    yield annotation
    for argument in get_args(annotation):
        yield from _parts(argument)


def _members(annotation: Any) -> tuple[Any, ...]:
    union = get_origin(annotation) in {Union, UnionType}
    return get_args(annotation) if union else (annotation,)


def _without_absent(annotation: Any) -> Any:
    members = tuple(member for member in _members(annotation) if member is not Absent)
    return Union[members] if len(members) < len(_members(annotation)) else annotation  # noqa: UP007  (a tuple of types)


def _schemas(types: list[Any]) -> tuple[list[JsonObject], JsonObject]:
    schemas, components = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    return list(schemas), components
