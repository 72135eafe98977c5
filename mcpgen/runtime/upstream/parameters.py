"""How a value travels as a parameter: `style`, `explode` and `content`, to the exact bytes.

Follows the Parameter Object of OpenAPI 3.2 and, for what it leaves open, RFC 6570 and RFC 3986:
every byte outside the unreserved set is percent-encoded unless `allowReserved` says otherwise.
Choices where the specification leaves room:

- null is spelled "null", so that it stays apart from "" and from an argument that was not given.
- An empty array or object has no exploded spelling (RFC 6570, section 2.4.2) and is not sent then;
  without `explode` it is `name=`.
- What is nested deeper than a style reaches travels as compact JSON; in `deepObject`, as further
  brackets, with the index for arrays: `filter[tags][0]=new`.
- `explode` in a cookie gives one cookie for each item, since "&" separates nothing there.
- The delimited styles, `tabDelimited` among them, exist in paths and headers too: they are the
  collection formats `ssv`, `pipes` and `tsv` of OpenAPI 2.0.

Nothing here knows about HTTP clients; a value that cannot be sent as itself is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

import msgspec

from mcpgen.runtime.content import JsonObject

Encode: TypeAlias = Callable[[str], str]


class UnsendableError(ValueError):
    """The value has no faithful spelling in this place; the text completes "`/argument` …".

    `pointer` leads from the argument to the part of it that has none ("" for all of it).
    """

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer

    def inside(self, member: str | int) -> UnsendableError:
        """The same, told by what holds the value under `member`."""
        token = str(member).replace("~", "~0").replace("/", "~1")
        return UnsendableError(str(self), f"/{token}{self.pointer}")


@dataclass(frozen=True, slots=True)
class ParameterRule:
    """One entry of `request.parameters` in a tool's contract."""

    location: str
    name: str
    argument: str
    style: str = ""
    explode: bool = False
    allow_reserved: bool = False
    allow_empty_value: bool = False
    content_type: str = ""  # instead of a style
    setting: str = ""  # the environment variable that has the value, if no argument has it

    @classmethod
    def from_json(cls, entry: JsonObject) -> ParameterRule:
        """Read an entry as it stands in `tools/<tag>.json`."""
        return cls(
            location=entry["in"],
            name=entry["name"],
            argument=entry.get("argument", ""),
            style=entry.get("style", ""),
            explode=entry.get("explode", False),
            allow_reserved=entry.get("allow_reserved", False),
            allow_empty_value=entry.get("allow_empty_value", False),
            content_type=entry.get("content_type", ""),
            setting=entry.get("setting", ""),
        )


# Text of values


def primitive_text(value: Any) -> str:
    """Spell a JSON value as plain text; arrays and objects as compact JSON.

    Raises:
        UnsendableError: a number that is not finite, or text that is not Unicode.
    """
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    return json_text(value)


def _float_text(value: float) -> str:
    """Spell a number without an exponent, which many servers cannot read outside JSON."""
    if value - value != 0:
        raise UnsendableError("must be a finite number")
    if value.is_integer():
        return str(int(value))
    text = repr(value)
    if "e" not in text:
        return text
    from decimal import Decimal  # only for the few numbers that need it

    return format(Decimal(text), "f")


def json_text(value: Any) -> str:
    """Spell a value as compact JSON.

    Raises:
        UnsendableError: it holds text that is not Unicode.
    """
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        raise UnsendableError(_NOT_UNICODE) from None


_NOT_UNICODE = "has half of a surrogate pair, which is no character"


def is_json(media_type: str) -> bool:
    """Whether a media type, parameters or not, is JSON: `application/json` or anything `+json`."""
    essence = media_type.partition(";")[0].strip().lower()
    return essence in {"application/json", "text/json"} or essence.endswith("+json")


def charset_of(content_type: str) -> str:
    """The `charset` parameter of a media type, "utf-8" without one."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"') or "utf-8"
    return "utf-8"


def content_text(value: Any, media_type: str) -> str:
    """Spell the value of a parameter that has `content` instead of a style."""
    return json_text(value) if is_json(media_type) else primitive_text(value)


# Percent-encoding

_UNESCAPED_IN_NAMES = "$@:"  # legal in a query as they are, and OData servers look for "$"
_RESERVED_IN_QUERY = ":/?@!$'()*,;="  # without "#", "[", "]", which are illegal, and "&", "+"
_RESERVED_IN_PATH = ":@!$&'()*+,;="  # without "/", "?", "#", which would end the segment


def percent_encode(text: str, safe: str = "") -> str:
    """Escape everything outside the unreserved characters of RFC 3986, section 2.3.

    Raises:
        UnsendableError: the text is not Unicode.
    """
    if text.isalnum() and text.isascii():  # most values: nothing to look for
        return text
    try:
        return quote(text, safe=safe)
    except UnicodeEncodeError:
        raise UnsendableError(_NOT_UNICODE) from None


@cache
def _encoder(safe: str, *, structural: str = "") -> Encode:
    """Escape all but `safe`; and `structural`, which separates the items of the value."""
    kept = "".join(character for character in safe if character not in structural)
    return lambda text: percent_encode(text, kept)


# Paths

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_LITERAL_IN_PATH = ":@!$&'()*+,;=~%"
_MAX_DECODINGS = 8


class UnsendablePathError(UnsendableError):
    """A path value is refused; `name` is the parameter's wire name."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class PathTemplate:
    """A path with placeholders, taken apart once: "/pets/{petId}" and {"petId": 7} give "/pets/7".

    What it expands to has exactly the segments of the template.
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
        """Put values in their places; both maps are by wire name.

        Raises:
            UnsendablePathError: a value is empty or could move the request to another path.
            KeyError: the template names a parameter that has no value.
        """
        return "/".join([_expanded(segment, rules, values) for segment in self._segments])


def _expanded(
    segment: Sequence[str], rules: Mapping[str, ParameterRule], values: JsonObject
) -> str:
    if len(segment) == 1:
        return segment[0]
    pieces = list(segment)
    for index in range(1, len(pieces), 2):
        name = pieces[index]
        pieces[index] = _path_value(rules[name], values[name])
    expanded = "".join(pieces)
    # Several values may make up a segment, and each alone was looked at before.
    if len(segment) > 3 and _has_dot_segment(expanded):
        raise UnsendablePathError(segment[-2], _DOT_SEGMENT)
    return expanded


def _path_value(rule: ParameterRule, value: Any) -> str:
    try:
        text = "" if _is_empty(rule, value) else path_text(rule, value)
    except UnsendableError as error:
        raise UnsendablePathError(rule.name, str(error)) from None
    if not text:
        raise UnsendablePathError(rule.name, "must not be empty: it is a segment of the path")
    return text


def _is_empty(rule: ParameterRule, value: Any) -> bool:
    """Whether nothing but a prefix would travel; in `matrix`, a name tells of an empty text."""
    return value in ("", [], {}) and (rule.style != "matrix" or value != "")


def path_text(rule: ParameterRule, value: Any) -> str:
    """Spell a path value, percent-encoded, with the prefix that its style asks for.

    Raises:
        UnsendableError: it holds a control character, or a piece that is, or decodes to, a dot
            segment. An empty value gives "", which `PathTemplate` refuses.
    """
    text = _styled_path_text(rule, value)
    written = text.replace("%09", "") if rule.style == "tabDelimited" else text
    if "%" in written and re.search(r"%(?:[01][0-9A-F]|7F)", written):
        raise UnsendableError("must not have control characters: it is a segment of the path")
    if _has_dot_segment(text):
        raise UnsendableError(_DOT_SEGMENT)
    return text


def _styled_path_text(rule: ParameterRule, value: Any) -> str:
    reserved = _RESERVED_IN_PATH if rule.allow_reserved else ""
    if rule.content_type:
        return percent_encode(content_text(value, rule.content_type))
    is_composite = isinstance(value, (list, tuple, dict))
    encode = _encoder(reserved, structural=",;=" if is_composite else "")
    if rule.style == "matrix":
        return _matrix_text(rule, value, encode)
    if rule.style == "label":
        if is_composite and rule.explode:
            return "." + ".".join(_items(value, rule.explode, _with_dots_escaped(encode)))
        return "." + ",".join(_items(value, rule.explode, encode))
    if is_composite and rule.style in _DELIMITERS:
        return _delimited(value, rule.style, encode)
    return ",".join(_items(value, rule.explode, encode))


def _with_dots_escaped(encode: Encode) -> Encode:
    """Escape "." too, which is unreserved but separates the items of an exploded label."""
    return lambda text: encode(text).replace(".", "%2E")


def _matrix_text(rule: ParameterRule, value: Any, encode: Encode) -> str:
    name = percent_encode(rule.name)
    if rule.explode and isinstance(value, (list, tuple)):
        pairs = [(name, encode(primitive_text(item))) for item in value]
    elif rule.explode and isinstance(value, dict):
        pairs = [(encode(key), encode(primitive_text(item))) for key, item in value.items()]
    else:
        pairs = [(name, ",".join(_items(value, False, encode)))]
    return "".join(f";{key}={text}" if text else f";{key}" for key, text in pairs)


def _items(value: Any, explode: bool, encode: Encode) -> list[str]:
    """The encoded pieces of a value: itself, its items, or its members as `k=v` or `k`, `v`."""
    if isinstance(value, (list, tuple)):
        return [encode(primitive_text(item)) for item in value]
    if isinstance(value, dict):
        members = [(encode(key), encode(primitive_text(item))) for key, item in value.items()]
        if explode:
            return [f"{key}={text}" for key, text in members]
        return [piece for member in members for piece in member]
    return [encode(primitive_text(value))]


_DOT_SEGMENT = (
    "must not have `.` or `..` as a piece of the path, in whatever encoding: "
    "it would reach another path"
)


def _has_dot_segment(text: str) -> bool:
    """Whether any decoding of `text` has a piece that a server could take for `.` or `..`."""
    if "." not in text and "%" not in text:
        return False
    for _ in range(_MAX_DECODINGS):
        pieces = re.split(r"[/\\]", text)
        if any(_is_dot_segment(piece) for piece in pieces):
            return True
        decoded = unquote(text, errors="replace")
        if decoded == text:
            return False
        text = decoded
    return True  # nothing honest is encoded this often


def _is_dot_segment(piece: str) -> bool:
    # Some servers drop ";parameters" before they normalise the path.
    return unquote(piece).partition(";")[0] in {".", ".."}


# Queries


def query_pairs(rule: ParameterRule, value: Any) -> list[str]:
    """Spell a query parameter as encoded `name=value` pairs, in order; possibly none.

    Raises:
        UnsendableError: an item holds the separator of its style.
    """
    name = percent_encode(rule.name, _UNESCAPED_IN_NAMES)
    if rule.content_type:
        return [f"{name}={percent_encode(content_text(value, rule.content_type))}"]
    is_composite = isinstance(value, (list, tuple, dict))
    reserved = _RESERVED_IN_QUERY if rule.allow_reserved else ""
    encode = _encoder(reserved, structural="," if is_composite and not rule.explode else "")
    pairs = styled_pairs(name, value, style=rule.style, explode=rule.explode, encode=encode)
    if not pairs and rule.allow_empty_value:
        return [f"{name}="]
    return pairs


def styled_pairs(
    name: str, value: Any, *, style: str, explode: bool, encode: Encode = percent_encode
) -> list[str]:
    """Spell a value by a query style, as pairs; `name` is encoded already.

    Forms use it as well, with their own `encode`.
    """
    if style == "deepObject":
        return _deep_pairs(name, value, encode)
    if explode and isinstance(value, (list, tuple)):
        return [f"{name}={encode(primitive_text(item))}" for item in value]
    if explode and isinstance(value, dict):
        return [f"{encode(key)}={encode(primitive_text(item))}" for key, item in value.items()]
    if style in _DELIMITERS and isinstance(value, (list, tuple, dict)):
        return [f"{name}={_delimited(value, style, encode)}"]
    return [f"{name}={','.join(_items(value, False, encode))}"]


_DELIMITERS = {"spaceDelimited": " ", "tabDelimited": "\t", "pipeDelimited": "|"}
_NAMES = {" ": "a space", "\t": "a tab"}


def _delimited(value: Any, style: str, encode: Encode) -> str:
    """Join the pieces of a value, none of which may hold the delimiter: both would look the same.

    Raises:
        UnsendableError: one of them does.
    """
    delimiter = _DELIMITERS[style]

    def checked(text: str) -> str:
        _check_has_no(delimiter, text)
        return encode(text)

    return encode(delimiter).join(_items(value, False, checked))


def _check_has_no(delimiter: str, text: str) -> None:
    if delimiter in text:
        name = _NAMES.get(delimiter, f"`{delimiter}`")
        raise UnsendableError(f"must not have {name} in an item, where it separates items")


def _deep_pairs(name: str, value: Any, encode: Encode) -> list[str]:
    if isinstance(value, dict):
        members = [(f"{name}%5B{encode(key)}%5D", item) for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        members = [(f"{name}%5B{index}%5D", item) for index, item in enumerate(value)]
    else:
        return [f"{name}={encode(primitive_text(value))}"]
    return [pair for key, item in members for pair in _deep_pairs(key, item, encode)]


# Headers and cookies

_VISIBLE = re.compile(r"[\x20-\x7e]*\Z")
_COOKIE_OCTETS = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*\Z")  # RFC 6265, 4.1.1


def header_text(rule: ParameterRule, value: Any) -> str:
    """Spell a header value, unencoded, as OpenAPI asks (3.2, appendix D).

    Raises:
        UnsendableError: it has anything but visible ASCII and inner spaces, or an item holds what
            separates items.
    """
    if rule.content_type:
        if is_json(rule.content_type):
            return json.dumps(value, separators=(",", ":"))  # escapes what is not ASCII
        return checked_header(primitive_text(value))
    if not isinstance(value, (list, tuple, dict)):
        return checked_header(primitive_text(value))
    delimiter = _DELIMITERS.get(rule.style, ",")

    def checked(text: str) -> str:
        _check_has_no(delimiter, text)
        return checked_header(text)

    items = delimiter.join(_items(value, rule.explode, checked))
    if items != items.strip(" \t"):
        raise UnsendableError("must not start or end with an empty item: a header loses it")
    return items


def checked_header(text: str) -> str:
    """Give `text` back when a header carries it unchanged.

    Raises:
        UnsendableError: line breaks, controls, other than ASCII, or spaces at an end.
    """
    if not _VISIBLE.match(text):
        raise UnsendableError(
            "must have only visible ASCII characters and spaces: it travels in a header"
        )
    if text != text.strip(" "):
        raise UnsendableError("must not start or end with a space: a header loses it")
    return text


def cookie_pairs(rule: ParameterRule, value: Any) -> list[str]:
    """Spell a cookie parameter as `name=value` pairs, to be joined with "; ".

    Style `form` percent-encodes; style `cookie` (3.2) sends the value as it is.

    Raises:
        UnsendableError: a control character, or with style `cookie` anything that a cookie cannot
            hold unencoded.
    """
    encode = _raw_cookie if rule.style == "cookie" else _encoded_cookie
    if rule.content_type:
        return [f"{rule.name}={_encoded_cookie(content_text(value, rule.content_type))}"]
    return styled_pairs(rule.name, value, style="form", explode=rule.explode, encode=encode)


def _encoded_cookie(text: str) -> str:
    if re.search(r"[\x00-\x1f\x7f]", text):
        raise UnsendableError("must not have control characters: it travels in a cookie")
    return percent_encode(text)


def _raw_cookie(text: str) -> str:
    if not _COOKIE_OCTETS.match(text):
        raise UnsendableError(
            "must have no space, quote, comma, semicolon, backslash, control or non-ASCII "
            "character: it travels in a cookie as it is"
        )
    return text
