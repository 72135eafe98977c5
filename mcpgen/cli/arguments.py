"""Arguments of a tool call, as they are typed on a command line."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from mcpgen.cli.usage_error import MisuseError
from mcpgen.jsonschema.types import JsonObject


class TypedArguments(Struct, frozen=True):
    """What `--arg KEY=VALUE` and `--json OBJECT` hold; the pairs win."""

    pairs: tuple[str, ...] = ()
    json_object: str | None = None

    def fit(self, schema: JsonObject) -> JsonObject:
        """Give the arguments, each value as the tool's input schema wants it.

        A pair's value is JSON where it can be and the schema does not want a string; a key that
        is given several times, or whose schema wants an array, collects its values.

        Raises:
            MisuseError: a pair has no "=", or the object is none.
        """
        properties = schema.get("properties", {})
        arguments = self._object()
        for key, texts in self._texts().items():
            arguments[key] = _value(texts, _types(properties.get(key, {}), schema))
        return arguments

    def _object(self) -> JsonObject:
        if self.json_object is None:
            return {}
        try:
            arguments = json.loads(self.json_object)
        except ValueError as error:
            raise MisuseError(f"--json has no JSON: {error}") from None
        if not isinstance(arguments, dict):
            raise MisuseError("--json has no JSON object", help="arguments have names")
        return arguments

    def _texts(self) -> dict[str, list[str]]:
        texts: dict[str, list[str]] = {}
        for pair in self.pairs:
            key, equals, text = pair.partition("=")
            if not equals:
                raise MisuseError(f"`--arg {pair}` is not KEY=VALUE")
            texts.setdefault(key, []).append(text)
        return texts


def _value(texts: list[str], types: set[str]) -> Any:
    if len(texts) > 1:
        return [_scalar(text, set()) for text in texts]
    value = _scalar(texts[0], types)
    return [value] if types == {"array"} and not isinstance(value, list) else value


def _scalar(text: str, types: set[str]) -> Any:
    if types == {"string"}:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _types(schema: Any, root: JsonObject) -> set[str]:
    """The JSON types that a property's schema names, one `$ref` deep, without null."""
    if isinstance(schema, dict) and "$ref" in schema:
        schema = root.get("$defs", {}).get(schema["$ref"].removeprefix("#/$defs/"), {})
    named = schema.get("type", []) if isinstance(schema, dict) else []
    return ({named} if isinstance(named, str) else set(named)) - {"null"}
