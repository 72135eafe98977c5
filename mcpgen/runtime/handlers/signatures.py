"""JSON Schemas and conversions from the signature of a typed function."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, get_type_hints

import msgspec

from mcpgen.absent import ABSENT
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.handlers.annotations import (
    UnsupportedTypeError,
    convert,
    is_json_type,
    make_result_schema,
    make_schemas,
    remove_absent,
    spell,
)
from mcpgen.runtime.handlers.source_places import locate_source

_SECTION: Final = re.compile(
    r"^(?:(?:Args|Arguments|Keyword Arg(?:ument)?s|Parameters|Returns?|Yields?|Raises):[ \t]*$"
    r"|(?:(?:Other )?Parameters|Returns|Yields|Raises)\n-{3,}[ \t]*$"
    r"|:(?:param|arg|key|keyword|type|returns?|rtype|raises?|yields?)\b.*:)",
    re.MULTILINE,
)
_GOOGLE_PARAMETERS: Final = re.compile(
    r"^(?:Args|Arguments|Keyword Arg(?:ument)?s|Parameters):[ \t]*\n((?:[ \t]+\S.*\n?|[ \t]*\n)+)",
    re.MULTILINE,
)
_NUMPY_PARAMETERS: Final = re.compile(
    r"^(?:Other )?Parameters\n-{3,}[ \t]*\n(.*?)(?=^\S[^\n]*\n-{3,}|\Z)", re.MULTILINE | re.DOTALL
)
_SPHINX_PARAMETER: Final = re.compile(r":(?:param|arg|key|keyword) (?:[^:]* )?(\w+):(.*)")
_ENTRY: Final = re.compile(r"^(\S.*)((?:\n[ \t]+.*|\n(?=\n*[ \t]))*)", re.MULTILINE)


def read_summary(function: Callable[..., Any]) -> str:
    """Return the docstring up to its first section."""
    text = inspect.getdoc(function) or ""
    section = _SECTION.search(text)
    return (text[: section.start()] if section else text).strip()


def read_parameter_texts(function: Callable[..., Any]) -> dict[str, str]:
    """Return the description of each parameter, on one line, by its name."""
    return {
        name: " ".join(text.split())
        for name, text in _iterate_texts(inspect.getdoc(function) or "")
    }


def _iterate_texts(docstring: str) -> Iterator[tuple[str, str]]:
    for section in _GOOGLE_PARAMETERS.findall(docstring):
        for head, below in _ENTRY.findall(textwrap.dedent(section)):
            name, _, beside = head.partition(":")  # `name (int, optional): text`
            yield name.partition(" ")[0], beside + below
    for section in _NUMPY_PARAMETERS.findall(docstring):
        for head, below in _ENTRY.findall(section):
            for name in head.partition(":")[0].split(","):  # `name, other : int`
                yield name.strip(), below
    for head, below in _ENTRY.findall(docstring):
        if field := _SPHINX_PARAMETER.match(head):
            yield field[1], field[2] + below


class Signature:
    """Parameters and result of a typed function, as JSON Schemas and conversions."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Read a function's parameters: the context, and the arguments after it.

        Raises:
            ConfigurationError: the context does not come first, a parameter cannot be passed by
                keyword or has no type, or a type is unknown; the text starts with the location.
        """
        described = f"{locate_source(function)}: `{getattr(function, '__name__', function)}`"
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ConfigurationError(f"{described} is a generator: return the whole result instead")
        try:
            hints = get_type_hints(function, include_extras=True)
        except (NameError, TypeError) as error:
            raise ConfigurationError(f"{described} has an unknown type: {error}") from None
        self._described = described
        self._types: dict[str, Any] = {}
        self._defaults: dict[str, Any] = {}
        for parameter in _list_arguments(function, hints, described):
            if parameter.name not in hints:
                raise ConfigurationError(f"{described}: `{parameter.name}` has no type")
            self._types[parameter.name] = remove_absent(hints[parameter.name])
            if parameter.default is not parameter.empty:
                self._defaults[parameter.name] = parameter.default
        self._returns = hints.get("return", Any)
        self._descriptions = read_parameter_texts(function)

    def check_names(self, names: Iterable[str], described: str) -> None:
        """Check that the parameters match the names of the available values.

        Raises:
            ConfigurationError: a name is none of the arguments, or an argument without a default
                none of the names.
        """
        known = frozenset(names)
        if unknown := sorted(known - self._types.keys()):
            raise ConfigurationError(
                f"{self._described} has no argument `{unknown[0]}`, which is one of {described}"
            )
        if missing := sorted(set(self._list_required()) - known):
            raise ConfigurationError(
                f"{self._described}: nothing gives it `{missing[0]}`, which is none of {described}"
            )

    def make_input_schema(self) -> JsonObject:
        """Return the schema of the arguments: an object without additional properties.

        Raises:
            ConfigurationError: there is no schema of a type, or a default does not fit its type.
        """
        schemas, components = self._make_argument_schemas()
        properties: JsonObject = {}
        for name, schema in zip(self._types, schemas, strict=True):
            properties[name] = {
                **({"description": self._descriptions[name]} if name in self._descriptions else {}),
                **schema,
                **self._make_default(name),
            }
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        if required := self._list_required():
            schema["required"] = required
        return {**schema, "$defs": components} if components else schema

    def make_output_schema(self) -> tuple[JsonObject | None, str]:
        """Return the schema of the result, and its key if the result is not an object.

        Raises:
            ConfigurationError: there is no schema of the type.
        """
        if not is_json_type(self._returns):
            return None, ""
        try:
            schema, components = make_result_schema(self._returns)
        except UnsupportedTypeError as error:
            raise self._make_type_error("the result", self._returns, error) from None
        name = schema.get("$ref", "").rpartition("/")[2]
        if components.get(name, schema).get("type") == "object":
            root, key = components.get(name, schema), ""
            if f"#/$defs/{name}" not in repr(components):
                components = {other: it for other, it in components.items() if other != name}
        else:
            key = "result"
            root = {"type": "object", "properties": {key: schema}, "required": [key]}
        return ({**root, "$defs": components} if components else root), key

    def make_prompt_arguments(self) -> list[JsonObject]:
        """Return the arguments in the form of a prompt's list."""
        listed = []
        for name in self._types:
            argument: JsonObject = {"name": name}
            if name in self._descriptions:
                argument["description"] = self._descriptions[name]
            listed.append(argument | {"required": name not in self._defaults})
        return listed

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Convert arguments to the function's types; the text "7" of a URI becomes an `int`."""
        try:
            return {
                name: convert(value, self._types[name], is_strict=not isinstance(value, str))
                for name, value in arguments.items()
                if name in self._types
            }
        except msgspec.ValidationError as error:
            raise ValueError(f"an argument does not fit its type: {error}") from None

    def _list_required(self) -> list[str]:
        return [name for name in self._types if name not in self._defaults]

    def _make_default(self, name: str) -> JsonObject:
        default = self._defaults.get(name, ABSENT)
        if default is ABSENT:
            return {}
        try:
            plain = msgspec.to_builtins(default)
            convert(plain, self._types[name])
        except (TypeError, msgspec.ValidationError) as error:
            raise ConfigurationError(
                f"{self._described}: the default of `{name}` does not fit its type: {error}"
            ) from None
        return {"default": plain}

    def _make_argument_schemas(self) -> tuple[list[JsonObject], JsonObject]:
        """Return a schema of each argument, and the definitions that they refer to."""
        try:
            return make_schemas(self._types.values())
        except UnsupportedTypeError:
            for name, annotation in self._types.items():
                try:
                    make_schemas((annotation,))
                except UnsupportedTypeError as error:
                    raise self._make_type_error(f"`{name}`", annotation, error) from None
            raise

    def _make_type_error(
        self, described: str, annotation: Any, error: UnsupportedTypeError
    ) -> ConfigurationError:
        return ConfigurationError(
            f"{self._described}: unsupported type `{spell(annotation)}` of {described}: {error}"
        )


def _list_arguments(
    function: Callable[..., Any], hints: Mapping[str, Any], described: str
) -> Iterator[inspect.Parameter]:
    """Yield the parameters after the context; all of them accept keywords."""
    context, *others = inspect.signature(function).parameters.values() or (None,)
    if context is None or not _takes_context(context, hints):
        raise ConfigurationError(f"{described} must take the context first: `ctx: Context`")
    for parameter in others:
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            shown = str(parameter).partition(":")[0]
            raise ConfigurationError(
                f"{described}: `{shown}` cannot be passed by keyword, as arguments are"
            )
        yield parameter


def _takes_context(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> bool:
    # A function whose annotation names the class has imported this module already.
    from mcpgen.runtime.handlers.context import Context

    annotation = hints.get(parameter.name, Context)
    is_context = isinstance(annotation, type) and issubclass(Context, annotation)
    by_position = {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}
    return parameter.kind in by_position and (is_context or annotation is Any)
