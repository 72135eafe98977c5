"""Form bodies: `application/x-www-form-urlencoded` and `multipart/form-data`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, unquote

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.body_schemas import Described, described, items_of, property_of
from mcpgen.runtime.upstream.files import FileReader
from mcpgen.runtime.upstream.parameters import (
    ParameterRule,
    UnsendableError,
    checked_header,
    content_text,
    is_json,
    json_text,
    percent_encode,
    primitive_text,
    styled_pairs,
)

_RESERVED_IN_FORMS = ":/?@!$'()*,;="  # "&" and "+" would end the value or become a space
_OCTETS = "application/octet-stream"

Encodings = Mapping[str, JsonObject]


def urlencoded(value: Any, encodings: Encodings) -> bytes:
    """Write an object as a form, each property as its Encoding Object says.

    Where that names a style, as in a query; else arrays repeat the name, objects become JSON and
    the rest is plain text (OpenAPI 3.2, "Encoding Object").

    Raises:
        UnsendableError: it is no object, or a value has no spelling.
    """
    pairs: list[str] = []
    for name, item in _members(value):
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


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise UnsendableError("must be an object: it travels as a form")
    return value.items()


def _is_styled(encoding: JsonObject) -> bool:
    return bool({"style", "explode", "allow_reserved"} & encoding.keys())


def _form_pairs(name: str, value: Any, encoding: JsonObject) -> list[str]:
    key = _form_encode(name)
    if _is_styled(encoding):
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


# multipart/form-data


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    content: bytes = field(repr=False)
    content_type: str = ""
    file_name: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def to_bytes(self) -> bytes:
        disposition = f'form-data; name="{_quoted(self.name)}"'
        if self.file_name is not None:
            disposition += f'; filename="{_quoted(self.file_name)}"'
        lines = [f"Content-Disposition: {disposition}"]
        if self.content_type:
            lines.append(f"Content-Type: {self.content_type}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join([*lines, "", ""]).encode() + self.content


def _quoted(name: str) -> str:
    """Escape a name as browsers do (HTML, "multipart/form-data encoding algorithm")."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


@dataclass(frozen=True, slots=True)
class Multipart:
    """A multipart body, and the boundary that its `Content-Type` has to name."""

    boundary: str
    content: bytes = field(repr=False)


def multipart(
    value: Any, encodings: Encodings, schema: JsonObject | bool | None, files: FileReader
) -> Multipart:
    """Write an object as `multipart/form-data` (RFC 7578): arrays part by part, objects as JSON.

    What the schema calls binary is read as a file argument and sent as one.

    Raises:
        UnsendableError: it is no object, or a value has no spelling.
    """
    root = schema if isinstance(schema, dict) else {}
    whole = described(root, root)
    parts: list[bytes] = []
    for name, item in _members(value):
        about = property_of(whole, name, root)
        for part in _parts(name, item, encodings.get(name, {}), about, root, files):
            try:
                parts.append(part.to_bytes())
            except UnicodeEncodeError:
                raise UnsendableError(
                    "has half of a surrogate pair, which is no character"
                ) from None
    return _joined(parts)


def _joined(parts: Sequence[bytes]) -> Multipart:
    # Made from the content: the same call gives the same bytes, and no content can foresee it.
    boundary = f"mcpgen-{hashlib.sha256(b'|'.join(parts)).hexdigest()[:32]}"
    marker = f"--{boundary}".encode()
    content = b"".join(marker + b"\r\n" + part + b"\r\n" for part in parts)
    return Multipart(boundary, content + marker + b"--\r\n")


def _parts(
    name: str,
    value: Any,
    encoding: JsonObject,
    about: Described,
    root: JsonObject,
    files: FileReader,
) -> Iterator[_Part]:
    headers = tuple(_fixed_headers(encoding))
    if _is_styled(encoding):
        yield from _styled_parts(name, value, encoding, headers)
        return
    is_array = isinstance(value, (list, tuple))
    if is_array:
        about = items_of(about, root)
    is_file = any(_is_binary(schema) for schema in about)
    is_encoded = any("contentEncoding" in schema for schema in about)  # and stays so
    plain = _OCTETS if is_encoded else ""
    for item in value if is_array else [value]:
        wanted = encoding.get("content_type", "")
        if isinstance(item, str) and not is_encoded and (is_file or _names_binary(wanted)):
            file = files.read(item)
            content_type = _chosen_type(wanted, file.media_type) or _OCTETS
            yield _Part(name, file.content, content_type, file.name or name, headers)
        elif isinstance(item, (dict, list, tuple)) or is_json(wanted):
            content_type = _chosen_type(wanted, "application/json") or "application/json"
            yield _Part(name, json_text(item).encode(), content_type, None, headers)
        else:
            text = primitive_text(item)
            yield _Part(name, _encoded(text), _chosen_type(wanted, plain) or plain, None, headers)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UnsendableError("has half of a surrogate pair, which is no character") from None


def _styled_parts(
    name: str, value: Any, encoding: JsonObject, headers: tuple[tuple[str, str], ...]
) -> Iterator[_Part]:
    style = encoding.get("style") or "form"
    explode = encoding.get("explode", style == "form")
    for pair in styled_pairs(percent_encode(name), value, style=style, explode=explode):
        key, _, text = pair.partition("=")
        yield _Part(unquote(key), unquote(text).encode(), headers=headers)


def _fixed_headers(encoding: JsonObject) -> Iterator[tuple[str, str]]:
    """The headers of a part whose schema leaves them one value; no argument gives the others."""
    for header in encoding.get("headers", ()):
        schema = header.get("schema")
        if not isinstance(schema, dict) or header["name"].lower().startswith("content-"):
            continue
        values = schema.get("enum", ())
        fixed = schema.get("const", schema.get("default", values[0] if len(values) == 1 else None))
        if fixed is not None:
            yield header["name"], checked_header(primitive_text(fixed))


def _chosen_type(wanted: str, known: str) -> str:
    """The media type of a part: what the file is, where the encoding allows that, else its first.

    `wanted` may list several, and have wildcards: "image/png, image/*".
    """
    options = [option.strip() for option in wanted.split(",") if option.strip()]
    for option in options:
        if known and (option in {known, "*/*"} or _is_range_of(option, known)):
            return known
    exact = [option for option in options if "*" not in option]
    if exact:
        return exact[0]
    return known if not options else ""


def _is_range_of(option: str, media_type: str) -> bool:
    return option.endswith("/*") and media_type.startswith(option[:-1])


def _names_binary(content_type: str) -> bool:
    """Whether every media type of an Encoding Object is of bytes that are no text."""
    kinds = [kind.partition(";")[0].strip().lower() for kind in content_type.split(",")]
    return all(
        kind == "application/octet-stream"
        or kind in {"application/pdf", "application/zip", "application/gzip"}
        or kind.startswith(("image/", "audio/", "video/", "font/"))
        for kind in kinds
    )


# What the schema says of a property


def _is_binary(schema: JsonObject) -> bool:
    if schema.get("format") == "binary":
        return True
    media_type = schema.get("contentMediaType", "")
    is_encoded = "contentEncoding" in schema
    return bool(media_type) and not is_encoded and _names_binary(media_type)
