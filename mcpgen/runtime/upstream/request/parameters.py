"""Serialization of parameters by `style`, `explode` and `content`.

It follows the Parameter Object of OpenAPI 3.2 and, where that is silent, RFC 6570 and RFC 3986:
every byte outside the unreserved set is percent-encoded unless `allowReserved` is set. Choices
that the specification leaves open:

- null becomes "null", to distinguish it from "" and from a missing argument.
- An empty exploded array or object is not sent (RFC 6570, section 2.4.2); without `explode` it is
  `name=`.
- Values nested too deeply for a style become compact JSON; in `deepObject` they become further
  brackets, with the index for arrays: `filter[tags][0]=new`.
- `explode` in a cookie produces one cookie per item, since "&" is not a separator there.
- The delimited styles, including `tabDelimited`, also exist in paths and headers: they are the
  collection formats `ssv`, `pipes` and `tsv` of OpenAPI 2.0.

A value that cannot be represented faithfully is rejected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, TypeAlias
from urllib.parse import quote, unquote, unquote_plus

import msgspec
from msgspec import Struct, field

from mcpgen.runtime.content import JsonObject
from mcpgen.text.json_pointer import json_pointer
from mcpgen.text.media_types import is_json

Encode: TypeAlias = Callable[[str], str]


class UnsendableError(ValueError):
    """A value cannot be represented in its location; the text completes "`/argument` …".

    `pointer` is the JSON Pointer of the invalid part within the argument ("" for all of it).
    """

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer

    def locate_in(self, member: str | int) -> UnsendableError:
        """Return the error with `member` prepended to its pointer."""
        return UnsendableError(str(self), json_pointer([member]) + self.pointer)


class ParameterRule(Struct, frozen=True):
    """One entry of `request.parameters` in a tool's contract."""

    location: str = field(name="in")
    name: str
    argument: str = ""
    style: str = ""
    explode: bool = False
    allow_reserved: bool = False
    allow_empty_value: bool = False
    content_type: str = ""  # for `content` instead of a style
    setting: str = ""  # the environment variable with the value, if it is not an argument


# Text of values


def format_primitive(value: Any) -> str:
    """Format a JSON value as plain text; arrays and objects as compact JSON.

    Raises:
        UnsendableError: a number is not finite, or a text is not valid Unicode.
    """
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _format_float(value)
    return format_json(value)


def _format_float(value: float) -> str:
    """Format a number without an exponent, which many servers cannot read outside JSON."""
    if value - value != 0:
        raise UnsendableError("must be a finite number")
    if value.is_integer():
        return str(int(value))
    text = repr(value)
    if "e" not in text:
        return text
    from decimal import Decimal  # only for the few numbers that need it

    return format(Decimal(text), "f")


def format_json(value: Any) -> str:
    """Format a value as compact JSON.

    Raises:
        UnsendableError: a text is not valid Unicode.
    """
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        raise UnsendableError(NOT_UNICODE) from None


NOT_UNICODE = "has a lone surrogate, which is not a character"


def find_charset(content_type: str) -> str:
    """Return the `charset` parameter of a media type; "utf-8" if there is none."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"') or "utf-8"
    return "utf-8"


def format_content(value: Any, media_type: str) -> str:
    """Format the value of a parameter that has `content` instead of a style."""
    return format_json(value) if is_json(media_type) else format_primitive(value)


# Percent-encoding

_UNESCAPED_IN_NAMES = "$@:"  # legal in a query as they are, and OData servers look for "$"
_RESERVED_IN_QUERY = ":/?@!$'()*,;="  # without "#", "[", "]", which are illegal, and "&", "+"
_RESERVED_IN_PATH = ":@!$&'()*+,;="  # without "/", "?", "#", which would end the segment


def percent_encode(text: str, safe: str = "") -> str:
    """Percent-encode everything outside the unreserved characters of RFC 3986, section 2.3.

    Raises:
        UnsendableError: the text is not Unicode.
    """
    if text.isalnum() and text.isascii():  # most values: nothing to look for
        return text
    try:
        return quote(text, safe=safe)
    except UnicodeEncodeError:
        raise UnsendableError(NOT_UNICODE) from None


@cache
def _make_encoder(safe: str, *, structural: str = "") -> Encode:
    """Return an encoder that leaves `safe` unescaped, except for the separators `structural`."""
    kept = "".join(character for character in safe if character not in structural)
    return lambda text: percent_encode(text, kept)


# Paths

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_LITERAL_IN_PATH = ":@!$&'()*+,;=~%"
_MAX_DECODINGS = 8


class UnsendablePathError(UnsendableError):
    """A path value cannot be represented; `name` is the parameter's wire name."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class PathTemplate:
    """A parsed path with placeholders: "/pets/{petId}" with {"petId": 7} expands to "/pets/7".

    The expanded path has exactly the segments of the template.
    """

    def __init__(self, template: str) -> None:
        # Each segment is text, name, text, name, ..., text.
        self._segments = tuple(
            tuple(
                piece if index % 2 else percent_encode(piece, _LITERAL_IN_PATH)
                for index, piece in enumerate(_PLACEHOLDER.split(segment))
            )
            for segment in template.split("/")
        )

    def expand(self, rules: Mapping[str, ParameterRule], values: JsonObject) -> str:
        """Insert the values; both mappings are keyed by wire name.

        Raises:
            UnsendablePathError: a value is empty or could move the request to another path.
            KeyError: the template names a parameter that has no value.
        """
        return "/".join([_expand_segment(segment, rules, values) for segment in self._segments])


def _expand_segment(
    segment: Sequence[str], rules: Mapping[str, ParameterRule], values: JsonObject
) -> str:
    if len(segment) == 1:
        return segment[0]
    pieces = list(segment)
    for index in range(1, len(pieces), 2):
        name = pieces[index]
        pieces[index] = _format_path_value(rules[name], values[name])
    expanded = "".join(pieces)
    # Several values may form a segment; each alone was checked before.
    if len(segment) > 3 and _has_dot_segment(expanded):
        raise UnsendablePathError(segment[-2], _DOT_SEGMENT)
    return expanded


def _format_path_value(rule: ParameterRule, value: Any) -> str:
    try:
        text = "" if _is_empty(rule, value) else format_path(rule, value)
    except UnsendableError as error:
        raise UnsendablePathError(rule.name, str(error)) from None
    if not text:
        raise UnsendablePathError(rule.name, "must not be empty: it is a segment of the path")
    return text


def _is_empty(rule: ParameterRule, value: Any) -> bool:
    """Return whether only a prefix would be sent; in `matrix`, the name marks an empty text."""
    return value in ("", [], {}) and (rule.style != "matrix" or value != "")


def format_path(rule: ParameterRule, value: Any) -> str:
    """Format a path value, percent-encoded, with the prefix of its style.

    An empty value returns "", which `PathTemplate` rejects.

    Raises:
        UnsendableError: it contains a control character, or a piece that is, or decodes to, a dot
            segment.
    """
    text = _format_styled_path(rule, value)
    written = text.replace("%09", "") if rule.style == "tabDelimited" else text
    if "%" in written and re.search(r"%(?:[01][0-9A-F]|7F)", written):
        raise UnsendableError("must not have control characters: it is a segment of the path")
    if _has_dot_segment(text):
        raise UnsendableError(_DOT_SEGMENT)
    return text


def _format_styled_path(rule: ParameterRule, value: Any) -> str:
    reserved = _RESERVED_IN_PATH if rule.allow_reserved else ""
    if rule.content_type:
        return percent_encode(format_content(value, rule.content_type))
    is_composite = isinstance(value, (list, tuple, dict))
    encode = _make_encoder(reserved, structural=",;=" if is_composite else "")
    if rule.style == "matrix":
        return _format_matrix(rule, value, encode)
    if rule.style == "label":
        if is_composite and rule.explode:
            items = _encode_items(value, True, lambda text: encode(text).replace(".", "%2E"))
            return "." + ".".join(items)
        return "." + ",".join(_encode_items(value, rule.explode, encode))
    if is_composite and rule.style in _DELIMITERS:
        return _join_delimited(value, rule.style, encode)
    return ",".join(_encode_items(value, rule.explode, encode))


def _format_matrix(rule: ParameterRule, value: Any, encode: Encode) -> str:
    name = percent_encode(rule.name)
    if rule.explode and isinstance(value, (list, tuple)):
        pairs = [(name, encode(format_primitive(item))) for item in value]
    elif rule.explode and isinstance(value, dict):
        pairs = [(encode(key), encode(format_primitive(item))) for key, item in value.items()]
    else:
        pairs = [(name, ",".join(_encode_items(value, False, encode)))]
    return "".join(f";{key}={text}" if text else f";{key}" for key, text in pairs)


def _encode_items(value: Any, explode: bool, encode: Encode) -> list[str]:
    """Encode a value, its items, or its members as `k=v` (exploded) or as `k`, `v`."""
    if isinstance(value, (list, tuple)):
        return [encode(format_primitive(item)) for item in value]
    if isinstance(value, dict):
        members = [(encode(key), encode(format_primitive(item))) for key, item in value.items()]
        if explode:
            return [f"{key}={text}" for key, text in members]
        return [piece for member in members for piece in member]
    return [encode(format_primitive(value))]


_DOT_SEGMENT = (
    "must not have `.` or `..` as a piece of the path, in whatever encoding: "
    "it would reach another path"
)


def _has_dot_segment(text: str) -> bool:
    """Return whether `text`, however often decoded, has a piece that is `.` or `..`."""
    if "." not in text and "%" not in text:
        return False
    for _ in range(_MAX_DECODINGS):
        # Some servers drop ";parameters" before they normalize the path.
        pieces = (unquote(piece).partition(";")[0] for piece in re.split(r"[/\\]", text))
        if not {".", ".."}.isdisjoint(pieces):
            return True
        decoded = unquote(text, errors="replace")
        if decoded == text:
            return False
        text = decoded
    return True  # no legitimate value is encoded this often


# Queries


def format_query(rule: ParameterRule, value: Any) -> list[str]:
    """Format a query parameter as encoded `name=value` pairs, in order; possibly none.

    Raises:
        UnsendableError: an item contains the separator of its style.
    """
    name = percent_encode(rule.name, _UNESCAPED_IN_NAMES)
    if rule.content_type:
        return [f"{name}={percent_encode(format_content(value, rule.content_type))}"]
    is_composite = isinstance(value, (list, tuple, dict))
    reserved = _RESERVED_IN_QUERY if rule.allow_reserved else ""
    encode = _make_encoder(reserved, structural="," if is_composite and not rule.explode else "")
    pairs = format_pairs(name, value, style=rule.style, explode=rule.explode, encode=encode)
    if not pairs and rule.allow_empty_value:
        return [f"{name}="]
    return pairs


def format_pairs(
    name: str, value: Any, *, style: str, explode: bool, encode: Encode = percent_encode
) -> list[str]:
    """Format a value in a query style, as `name=value` pairs; `name` is already encoded.

    Forms use it with their own `encode`.
    """
    if style == "deepObject":
        return _format_deep_object(name, value, encode)
    if explode and isinstance(value, (list, tuple)):
        return [f"{name}={encode(format_primitive(item))}" for item in value]
    if explode and isinstance(value, dict):
        return [f"{encode(key)}={encode(format_primitive(item))}" for key, item in value.items()]
    if style in _DELIMITERS and isinstance(value, (list, tuple, dict)):
        return [f"{name}={_join_delimited(value, style, encode)}"]
    return [f"{name}={','.join(_encode_items(value, False, encode))}"]


_DELIMITERS = {"spaceDelimited": " ", "tabDelimited": "\t", "pipeDelimited": "|"}
_NAMES = {" ": "a space", "\t": "a tab"}


def _join_delimited(value: Any, style: str, encode: Encode) -> str:
    delimiter = _DELIMITERS[style]
    return encode(delimiter).join(_encode_items(value, False, _forbid(delimiter, encode)))


def _forbid(delimiter: str, encode: Encode) -> Encode:
    """Return an encoder that rejects text with the delimiter, which would be ambiguous."""

    def check_and_encode(text: str) -> str:
        if delimiter in text:
            name = _NAMES.get(delimiter, f"`{delimiter}`")
            raise UnsendableError(f"must not have {name} in an item: it separates items")
        return encode(text)

    return check_and_encode


def _format_deep_object(name: str, value: Any, encode: Encode) -> list[str]:
    if isinstance(value, dict):
        members = [(f"{name}%5B{encode(key)}%5D", item) for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        members = [(f"{name}%5B{index}%5D", item) for index, item in enumerate(value)]
    else:
        return [f"{name}={encode(format_primitive(value))}"]
    return [pair for key, item in members for pair in _format_deep_object(key, item, encode)]


# Headers and cookies

_VISIBLE = re.compile(r"[\x20-\x7e]*\Z")
_COOKIE_OCTETS = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*\Z")  # RFC 6265, 4.1.1


def format_header(rule: ParameterRule, value: Any) -> str:
    """Format a header value, without percent-encoding (OpenAPI 3.2, appendix D).

    Raises:
        UnsendableError: it contains characters other than visible ASCII and inner spaces, or an
            item contains the separator.
    """
    if rule.content_type:
        if is_json(rule.content_type):
            return json.dumps(value, separators=(",", ":"))  # escapes what is not ASCII
        return check_header_value(format_primitive(value))
    if not isinstance(value, (list, tuple, dict)):
        return check_header_value(format_primitive(value))
    delimiter = _DELIMITERS.get(rule.style, ",")
    encode = _forbid(delimiter, check_header_value)
    items = delimiter.join(_encode_items(value, rule.explode, encode))
    if items != items.strip(" \t"):
        raise UnsendableError("must not start or end with an empty item: a header would lose it")
    return items


def check_header_value(text: str) -> str:
    """Return `text` if it is a valid header value.

    Raises:
        UnsendableError: it contains control or non-ASCII characters, or outer spaces.
    """
    if not _VISIBLE.match(text):
        raise UnsendableError(
            "must have only visible ASCII characters and spaces: it is sent in a header"
        )
    if text != text.strip(" "):
        raise UnsendableError("must not start or end with a space: a header would lose it")
    return text


def format_cookie(rule: ParameterRule, value: Any) -> list[str]:
    """Format a cookie parameter as `name=value` pairs, to be joined with "; ".

    Style `form` percent-encodes; style `cookie` (3.2) sends the value as it is.

    Raises:
        UnsendableError: it contains a control character or, with style `cookie`, a character that
            a cookie cannot contain unencoded.
    """
    encode = _check_raw_cookie if rule.style == "cookie" else _encode_cookie
    if rule.content_type:
        return [f"{rule.name}={_encode_cookie(format_content(value, rule.content_type))}"]
    return format_pairs(rule.name, value, style="form", explode=rule.explode, encode=encode)


def _encode_cookie(text: str) -> str:
    if re.search(r"[\x00-\x1f\x7f]", text):
        raise UnsendableError("must not have control characters: it is sent in a cookie")
    return percent_encode(text)


def _check_raw_cookie(text: str) -> str:
    if not _COOKIE_OCTETS.match(text):
        raise UnsendableError(
            "must have no space, quote, comma, semicolon, backslash, control or non-ASCII "
            "character: it is sent unencoded in a cookie"
        )
    return text


_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]")


@lru_cache(maxsize=512)
def canonicalize_name(name: str) -> str:
    """Normalize a name as the most tolerant servers do: "Tenant%00[]" is "tenant".

    Some decode a name repeatedly, end it at NUL or "[", normalize compatibility characters, ignore
    case and invisible characters, or treat ".", " " and "_" alike (PHP).
    """
    for _ in range(_MAX_DECODINGS):
        decoded = unquote_plus(name, errors="replace")
        if decoded == name:
            break
        name = decoded
    if not name.isascii():
        import unicodedata  # few names need it

        name = unicodedata.normalize("NFKC", name)
    name = name.partition("\x00")[0].strip().replace(" ", "_")
    text = _INVISIBLE.sub("", name).casefold()
    return text[:1] + text[1:].partition("[")[0].replace(".", "_")


def check_members(value: Mapping[str, Any], reserved: Iterable[str]) -> None:
    """Check that no member of an object has a reserved name, in any spelling.

    Raises:
        UnsendableError: a member has one.
    """
    names = {canonicalize_name(name): name for name in reserved}
    if not names:
        return
    for member in value:
        name = names.get(canonicalize_name(member))
        if name is not None:
            raise UnsendableError(
                f"must not be set here: it would replace or repeat `{name}`"
            ).locate_in(member)


def check_spellings(value: Mapping[str, Any], reserved: Iterable[str]) -> None:
    """Check that no member has a reserved name in another spelling; the name itself is allowed.

    Raises:
        UnsendableError: a member has one.
    """
    names = frozenset(reserved)
    check_members({member: None for member in value if member not in names}, names)
