"""Serialization of forms: `application/x-www-form-urlencoded`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote_plus

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.request.parameters import (
    NOT_UNICODE,
    ParameterRule,
    UnsendableError,
    check_members,
    format_content,
    format_pairs,
    percent_encode,
)
from mcpgen.text.media_types import essence_of

_RESERVED_IN_FORMS = ":/?@!$'()*,;="  # "&" and "+" would end the value or become a space

Encodings = Mapping[str, JsonObject]


def encode_form(value: Any, encodings: Encodings, reserved: Collection[str] = ()) -> bytes:
    """Serialize an object as a form, each property as its Encoding Object defines.

    A property with a style is serialized as in a query. Otherwise arrays repeat the name, objects
    become JSON, and other values plain text (OpenAPI 3.2, "Encoding Object").

    Raises:
        UnsendableError: the value is not an object, a property cannot be represented, or a member
            of an exploded object has a `reserved` name or that of a field.
    """
    check_styled_members(value, encodings, reserved)
    pairs: list[str] = []
    for name, item in list_members(value):
        pairs += _format_property(name, item, encodings.get(name, {}))
    return "&".join(pairs).encode()


def format_querystring(rule: ParameterRule, value: Any) -> str:
    """Serialize the parameter that is the whole query (OpenAPI 3.2, `in: querystring`).

    A form uses "+" for a space, as in a body; other content is percent-encoded as a whole.
    """
    if essence_of(rule.content_type) == "application/x-www-form-urlencoded":
        return encode_form(value, {}).decode()
    return percent_encode(format_content(value, rule.content_type))


def list_members(value: Any) -> Iterable[tuple[str, Any]]:
    """Return the members of a form.

    Raises:
        UnsendableError: the value is not an object.
    """
    if not isinstance(value, dict):
        raise UnsendableError("must be an object: it is sent as a form")
    return value.items()


def check_styled_members(value: Any, encodings: Encodings, reserved: Collection[str]) -> None:
    """Check the members of exploded objects in a form, which become fields of the form.

    Raises:
        UnsendableError: a member has a reserved name or that of a field.
    """
    for name, item in list_members(value):
        encoding = encodings.get(name, {})
        style = encoding.get("style") or "form"
        is_exploded = encoding.get("explode", style == "form") and style != "deepObject"
        if isinstance(item, dict) and is_styled(encoding) and is_exploded:
            fields = {*value, *encodings, *reserved} - {name}
            try:
                check_members(item, fields)
            except UnsendableError as error:
                raise error.locate_in(name) from None


def is_styled(encoding: JsonObject) -> bool:
    """Return whether a property is serialized as in a query."""
    return bool({"style", "explode", "allow_reserved"} & encoding.keys())


def _format_property(name: str, value: Any, encoding: JsonObject) -> list[str]:
    key = _encode_text(name)
    if is_styled(encoding):
        style = encoding.get("style") or "form"
        explode = encoding.get("explode", style == "form")
        kept = _RESERVED_IN_FORMS if encoding.get("allow_reserved") else ""
        if not explode and isinstance(value, (list, tuple, dict)):
            kept = kept.replace(",", "")
        encode = partial(_encode_text, safe=kept)
        return format_pairs(key, value, style=style, explode=explode, encode=encode)
    items = value if isinstance(value, (list, tuple)) else [value]
    media_type = encoding.get("content_type", "")
    return [f"{key}={_encode_text(format_content(item, media_type))}" for item in items]


def _encode_text(text: str, safe: str = "") -> str:
    try:
        return quote_plus(text, safe=safe)
    except UnicodeEncodeError:
        raise UnsendableError(NOT_UNICODE) from None
