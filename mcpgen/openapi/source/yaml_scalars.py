"""Values of YAML scalars by the core schema (YAML 1.2.2, section 10.3.2)."""

from __future__ import annotations

import math
import re
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")


class OddNumberError(ValueError):
    """A YAML number that JSON cannot represent."""


def read_plain_scalar(text: str, max_digits: int) -> Scalar:
    """Return the value of an unquoted scalar: null, a boolean, a number, else the text itself.

    Dates, sexagesimals and `yes` of YAML 1.1 are text; `012` is twelve. A decimal beyond the range
    of a double is text, since it is usually a commit hash such as `4e1234`.

    Raises:
        OddNumberError: `.nan`, `.inf`, or an integer of more than `max_digits` digits.
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if _INTEGER.match(text):
        if len(text) > max_digits:
            raise OddNumberError
        return int(text)
    if _FLOAT.match(text):
        number = float(text)
        return text if math.isinf(number) else number
    if _OCTAL.match(text):
        return int(text, 0)
    if _HEXADECIMAL.match(text):
        return int(text, 0)
    if _NOT_FINITE.match(text):
        raise OddNumberError
    return text


def read_tagged_scalar(tag: str, text: str, max_digits: int) -> Scalar:
    """Return the value of a scalar with a tag of the core schema, e.g. `!!int "7"`.

    Raises:
        ValueError: the text is invalid for the tag.
        KeyError: the tag is not part of the core schema.
    """
    expected: tuple[type, ...] = _TAGS[tag]
    if expected == (str,):
        return text
    value = read_plain_scalar(text, max_digits)
    if float in expected and type(value) is int:
        return float(value)
    if type(value) not in expected:
        raise ValueError(f"{text!r} under {tag}")
    return value


_TAGS: dict[str, tuple[type, ...]] = {
    "!": (str,),
    "tag:yaml.org,2002:str": (str,),
    "tag:yaml.org,2002:int": (int,),
    "tag:yaml.org,2002:float": (float,),
    "tag:yaml.org,2002:bool": (bool,),
    "tag:yaml.org,2002:null": (type(None),),
}
