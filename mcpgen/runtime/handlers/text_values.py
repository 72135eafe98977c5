"""Parser of values that are passed as text: variables of a URI, environment variables."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mcpgen.runtime.content import JsonObject

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
