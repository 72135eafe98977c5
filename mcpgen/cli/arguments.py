"""Arguments of a tool call on the command line, converted by the tool's schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from typer import Context
from typer.core import TyperArgument, TyperGroup, TyperOption

from mcpgen.cli.exit_codes import UsageError
from mcpgen.jsonschema.references import follow_references
from mcpgen.jsonschema.types import JsonObject

if TYPE_CHECKING:
    from typer._click import Command


class TypedArguments(Struct, frozen=True):
    """The values of `--arg KEY=VALUE` and `--json OBJECT`; pairs take precedence."""

    pairs: tuple[str, ...] = ()
    json_object: str | None = None

    def convert(self, schema: JsonObject) -> JsonObject:
        """Return the arguments, converted to the types in the tool's input schema.

        The value of a pair is parsed as JSON if possible, unless the schema requires a string. A
        repeated key, or one whose schema requires an array, collects its values.

        Raises:
            UsageError: a pair has no "=", or the JSON text is not an object.
        """
        properties = schema.get("properties", {})
        arguments = self._object()
        for key, texts in self._texts().items():
            arguments[key] = _convert(texts, _find_types(properties.get(key, {}), schema))
        return arguments

    def _object(self) -> JsonObject:
        if self.json_object is None:
            return {}
        try:
            arguments = json.loads(self.json_object)
        except ValueError as error:
            raise UsageError(f"--json has no JSON: {error}") from None
        if not isinstance(arguments, dict):
            raise UsageError("--json has no JSON object", help="arguments have names")
        return arguments

    def _texts(self) -> dict[str, list[str]]:
        texts: dict[str, list[str]] = {}
        for pair in self.pairs:
            key, equals, text = pair.partition("=")
            if not equals:
                raise UsageError(f"`--arg {pair}` is not KEY=VALUE")
            texts.setdefault(key, []).append(text)
        return texts


def _convert(texts: list[str], types: set[str]) -> Any:
    if len(texts) > 1:
        return [_parse_scalar(text, set()) for text in texts]
    value = _parse_scalar(texts[0], types)
    return [value] if types == {"array"} and not isinstance(value, list) else value


def _parse_scalar(text: str, types: set[str]) -> Any:
    if types == {"string"}:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _find_types(schema: Any, root: JsonObject) -> set[str]:
    """Return the types in a property's schema, after its `$ref`s, without null."""
    named = follow_references(schema, root.get("$defs", {})).get("type", [])
    return ({named} if isinstance(named, str) else set(named)) - {"null"}


def disable_value_expansion(command: Command, parent: Context | None = None) -> None:
    """Replace typer's conversion in a command and its subcommands.

    Commands check paths themselves, so they do not need typer's checks.
    """
    context = Context(command, parent=parent, **command.context_settings)
    for parameter in command.get_params(context):
        if isinstance(parameter, TyperOption | TyperArgument):
            conversion = _Conversion(parameter)
            parameter.get_runtime_param = conversion.itself  # type: ignore[method-assign]  # typer has no other place for it
    if isinstance(command, TyperGroup):
        for each in command.commands.values():
            disable_value_expansion(each, context)


class _Conversion:
    """The conversion of a parameter; typer's own is used only if needed."""

    def __init__(self, parameter: TyperOption | TyperArgument) -> None:
        self._of_typer = parameter.get_runtime_param

    def itself(self) -> Any:
        """Return the object that typer calls to convert a value."""
        return self

    def coerce(self, value: Any, *, param: TyperOption | TyperArgument, ctx: Context) -> Any:
        """Convert a value to the parameter's type."""
        annotation = param.type_descriptor.annotation
        is_list = param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        if annotation == list[str] or (not is_list and isinstance(value, annotation)):
            return value
        if annotation is Path:
            return Path(value)
        return self._of_typer().coerce(value, param=param, ctx=ctx)
