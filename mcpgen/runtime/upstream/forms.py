"""Form bodies: `application/x-www-form-urlencoded`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote_plus

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.parameters import (
    ParameterRule,
    UnsendableError,
    content_text,
    is_json,
    json_text,
    percent_encode,
    primitive_text,
    styled_pairs,
)

_RESERVED_IN_FORMS = ":/?@!$'()*,;="  # "&" and "+" would end the value or become a space

Encodings = Mapping[str, JsonObject]


def urlencoded(value: Any, encodings: Encodings) -> bytes:
    """Write an object as a form, each property as its Encoding Object says.

    Where that names a style, as in a query; else arrays repeat the name, objects become JSON and
    the rest is plain text (OpenAPI 3.2, "Encoding Object").

    Raises:
        UnsendableError: it is no object, or a value has no spelling.
    """
    pairs: list[str] = []
    for name, item in members(value):
        pairs += _form_pairs(name, item, encodings.get(name, {}))
    return "&".join(pairs).encode()


def querystring_text(rule: ParameterRule, value: Any) -> str:
    """Spell the parameter that is the whole query (OpenAPI 3.2, `in: querystring`).

    A form is one here as well, with "+" for a space; anything else is percent-encoded as a whole.
    """
    media_type = rule.content_type.partition(";")[0].strip().lower()
    if media_type == "application/x-www-form-urlencoded":
        return urlencoded(value, {}).decode()
    return percent_encode(content_text(value, rule.content_type))


def members(value: Any) -> Iterable[tuple[str, Any]]:
    """What a form is made of.

    Raises:
        UnsendableError: the value is no object.
    """
    if not isinstance(value, dict):
        raise UnsendableError("must be an object: it travels as a form")
    return value.items()


def is_styled(encoding: JsonObject) -> bool:
    """Whether a property travels as it would in a query."""
    return bool({"style", "explode", "allow_reserved"} & encoding.keys())


def _form_pairs(name: str, value: Any, encoding: JsonObject) -> list[str]:
    key = _form_encode(name)
    if is_styled(encoding):
        style = encoding.get("style") or "form"
        explode = encoding.get("explode", style == "form")
        kept = _RESERVED_IN_FORMS if encoding.get("allow_reserved") else ""
        if not explode and isinstance(value, (list, tuple, dict)):
            kept = kept.replace(",", "")
        return styled_pairs(
            key, value, style=style, explode=explode, encode=lambda text: _form_encode(text, kept)
        )
    items = value if isinstance(value, (list, tuple)) else [value]
    return [f"{key}={_form_encode(_item_text(item, encoding))}" for item in items]


def _item_text(item: Any, encoding: JsonObject) -> str:
    return json_text(item) if is_json(encoding.get("content_type", "")) else primitive_text(item)


def _form_encode(text: str, safe: str = "") -> str:
    try:
        return quote_plus(text, safe=safe)
    except UnicodeEncodeError:
        raise UnsendableError("has half of a surrogate pair, which is no character") from None
