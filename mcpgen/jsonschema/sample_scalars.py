"""Sample numbers and texts within the bounds of a schema, plainest first."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice
from math import ceil, floor, isfinite
from zlib import crc32

from msgspec import Struct

from mcpgen.jsonschema.patterns import TooHardError, iterate_matching_texts
from mcpgen.jsonschema.schemas import Schemas
from mcpgen.jsonschema.types import JsonObject

MAX_TEXT = 100_000
_LONGEST_TEXT = 64  # a `maxLength` up to this is met exactly; a higher one is left alone
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]")
_SAFE_INTEGER = 2**53 - 1  # what every JSON reader keeps exactly


class CannotSampleError(ValueError):
    """No valid value was found for a schema; the message states the location and the reason."""


class Preference(Struct, frozen=True):
    """Selection among the valid values.

    `which` is "smallest", "largest" or "example"; with another `variant` or `seed` (often the name
    of the parameter) the value differs if the schema allows it.
    """

    which: str
    seed: str
    variant: int

    @property
    def number(self) -> int:
        """A number of three digits that is derived from the seed."""
        return crc32(self.seed.encode()) % 900 + 100


def sample_number(keywords: JsonObject, preference: Preference, *, is_integer: bool) -> int | float:
    """Return a number within `minimum`, `maximum`, their exclusive forms and `multipleOf`.

    Raises:
        CannotSampleError: the bounds leave no number.
    """
    low, high = _find_bounds(keywords)
    step = _read_fraction(keywords.get("multipleOf")) or (Fraction(1) if is_integer else None)
    if is_integer and step is not None and step.denominator != 1:
        step = Fraction(step.numerator)  # the whole multiples of p/q are those of p
    if step is None:
        return _spell_number(_pick_fraction(low, high, keywords, preference))
    first = None if low is None else ceil(low / step)
    last = None if high is None else floor(high / step)
    if first is not None and _is_excluded(first * step, keywords.get("exclusiveMinimum")):
        first += 1
    if last is not None and _is_excluded(last * step, keywords.get("exclusiveMaximum")):
        last -= 1
    if first is not None and last is not None and first > last:
        raise CannotSampleError("no number lies within its bounds")
    return _spell_number(_pick_number(first, last, preference) * step)


def _find_bounds(keywords: JsonObject) -> tuple[Fraction | None, Fraction | None]:
    """Return the inclusive or exclusive bounds of a number; None if a side is unbounded."""
    lows = [_read_fraction(keywords.get(name)) for name in ("minimum", "exclusiveMinimum")]
    highs = [_read_fraction(keywords.get(name)) for name in ("maximum", "exclusiveMaximum")]
    low = max((bound for bound in lows if bound is not None), default=None)
    high = min((bound for bound in highs if bound is not None), default=None)
    return low, high


def _read_fraction(bound: float | None) -> Fraction | None:
    if bound is None or isinstance(bound, bool) or not isfinite(bound):
        return None
    return Fraction(str(bound))


def _is_excluded(value: Fraction, bound: float | None) -> bool:
    return bound is not None and value == _read_fraction(bound)


def _pick_number(first: int | None, last: int | None, preference: Preference) -> int:
    """Return an integer from `first` to `last`: the smallest, the largest or an example."""
    if preference.which == "smallest":
        start = first if first is not None else min(0, last if last is not None else 0)
        chosen = start + preference.variant
    elif preference.which == "largest" and last is not None:
        chosen = min(last, max(_SAFE_INTEGER, first or 0)) - preference.variant
    else:
        chosen = preference.number + preference.variant
    if last is not None:
        chosen = min(chosen, last)
    return max(chosen, first) if first is not None else chosen


def _pick_fraction(
    low: Fraction | None, high: Fraction | None, keywords: JsonObject, preference: Preference
) -> Fraction:
    """Choose a bound if it is requested and allowed, else a fraction well inside the bounds."""
    if low is not None and high is not None and low > high:
        raise CannotSampleError("no number lies within its bounds")
    preferred = {"smallest": low, "largest": high}.get(preference.which)
    is_excluded = preferred in (
        _read_fraction(keywords.get("exclusiveMinimum")),
        _read_fraction(keywords.get("exclusiveMaximum")),
    )
    if preferred is not None and not is_excluded and not preference.variant:
        return preferred
    half = Fraction(1, 2)
    if low is not None and high is not None:
        return low + (high - low) / (2 + preference.variant)
    if low is not None:
        return low + half + preference.variant
    if high is not None:
        return high - half - preference.variant
    start = Fraction(0) if preference.which == "smallest" else preference.number + half
    return start + preference.variant


def _spell_number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def sample_texts(keywords: JsonObject, preference: Preference, schemas: Schemas) -> Iterator[str]:
    """Yield texts with a schema's lengths, pattern and format, the preferred ones first.

    Raises:
        CannotSampleError: nothing was found.
    """
    least = keywords.get("minLength", 0)
    if least > MAX_TEXT:
        raise CannotSampleError(f"it must be {least} characters long, over {MAX_TEXT}")
    if least > keywords.get("maxLength", least):
        raise CannotSampleError("its shortest length is over its longest")
    asserted = ("minLength", "maxLength", "pattern", "format")
    rule = {keyword: keywords[keyword] for keyword in asserted if keyword in keywords}
    found = False
    for text in _iterate_likely_texts(keywords, preference):
        if schemas.fits(rule, text) if rule else True:
            found = True
            yield text
    if not found:
        raise CannotSampleError(_explain_no_text(rule, schemas))


def _explain_no_text(rule: JsonObject, schemas: Schemas) -> str:
    """Describe why no text was found: because of the pattern, or of a contradiction to it."""
    pattern = rule.get("pattern")
    if pattern is not None:
        try:
            texts = list(islice(iterate_matching_texts(pattern), 8))
            if not any(schemas.fits({"pattern": pattern}, text) for text in texts):
                return f"the pattern `{pattern}` matches no text"
        except TooHardError:
            return f"texts cannot be generated from the pattern `{pattern}`"
    rules = ", ".join(f"{keyword} `{value}`" for keyword, value in rule.items())
    return f"no generated text satisfies {rules}"


def _iterate_likely_texts(keywords: JsonObject, preference: Preference) -> Iterator[str]:
    if "pattern" in keywords:
        yield from _list_pattern_texts(keywords, preference)
    yield from _format_texts(str(keywords.get("format", "")), preference)
    if _is_base64(keywords):
        yield b64encode(preference.seed[:30].encode() + bytes([preference.variant % 256])).decode()
    yield _sample_plain_text(keywords, preference)
    if "pattern" in keywords:
        yield from _COMMON_TEXTS


def _is_base64(keywords: JsonObject) -> bool:
    """Return whether the text is in base64: by its encoding, or because it represents bytes."""
    if "contentEncoding" in keywords:
        return bool(keywords["contentEncoding"] == "base64")
    media_type = keywords.get("contentMediaType", "text/plain")
    is_text = media_type.startswith("text/") or media_type.endswith(("json", "xml", "yaml"))
    return keywords.get("format") in {"binary", "byte"} or not is_text


def _list_pattern_texts(keywords: JsonObject, preference: Preference) -> list[str]:
    """Return a few texts of allowed lengths that match the pattern, the preferred one first."""
    least, most = keywords.get("minLength", 0), keywords.get("maxLength", MAX_TEXT)
    try:
        matches = iterate_matching_texts(keywords["pattern"], longest=max(256, least))
        found = list(islice((text for text in matches if least <= len(text) <= most), 8))
    except TooHardError:
        return []  # one of the common texts may fit
    if preference.which == "largest":
        found.reverse()
    start = preference.variant % len(found) if found else 0
    return found[start:] + found[:start]


def _format_texts(name: str, preference: Preference) -> Iterator[str]:
    if name in _FORMATS:
        seed = re.sub(r"[^a-z0-9]", "", preference.seed.lower()) or "text"
        yield _FORMATS[name](seed, (preference.number + preference.variant) % 1000)


def _sample_date(number: int) -> str:
    return f"{2000 + number % 50}-{number % 12 + 1:02}-{number % 28 + 1:02}"


def _sample_time(number: int) -> str:
    return f"{number % 24:02}:{number % 60:02}:{number % 59:02}Z"


def _sample_host(seed: str, number: int) -> str:
    return f"{seed[:40]}{number}.example.com"


_FORMATS: dict[str, Callable[[str, int], str]] = {
    "date": lambda _, number: _sample_date(number),
    "time": lambda _, number: _sample_time(number),
    "date-time": lambda _, number: f"{_sample_date(number)}T{_sample_time(number)}",
    "duration": lambda _, number: f"P{number}D",
    "email": lambda seed, number: f"{seed[:40]}{number}@example.com",
    "idn-email": lambda seed, number: f"{seed[:40]}{number}@example.com",
    "hostname": _sample_host,
    "idn-hostname": _sample_host,
    "ipv4": lambda _, number: f"192.0.2.{number % 250 + 1}",
    "ipv6": lambda _, number: f"2001:db8::{number:x}",
    "uri": lambda seed, number: f"https://{seed[:40]}.example.com/{number}",
    "url": lambda seed, number: f"https://{seed[:40]}.example.com/{number}",
    "iri": lambda seed, number: f"https://{seed[:40]}.example.com/{number}",
    "uri-reference": lambda seed, number: f"/{seed}/{number}",
    "iri-reference": lambda seed, number: f"/{seed}/{number}",
    "uri-template": lambda seed, number: f"/{seed}/{number}",
    "uuid": lambda _, number: f"00000000-0000-4000-8000-000000000{number:03}",
    "json-pointer": lambda seed, number: f"/{seed}/{number}",
    "relative-json-pointer": lambda seed, number: f"{number}/{seed}",
    "regex": lambda seed, number: f"{seed}{number}",
}

_COMMON_TEXTS = (
    *("0", "1", "7", "10", "100", "2024", "a", "A", "ab", "AB", "abc", "ABC", "Abc1", "abcd1234"),
    *("Passw0rd!", "Aa1!Aa1!Aa1!", "1.0.0", "v1.0.0", "1.5", "/", "/a", "a/b", "#aabbcc", "en"),
    *("en-US", "EUR", "12:30", "2024-02-29", "2024-02-29T12:30:00Z", "P1D", "192.0.2.1"),
    *("reader@example.com", "example.com", "https://example.com/", "application/json"),
    *("+49301234567", "00000000-0000-4000-8000-000000000001", "YWJj", "0123456789abcdef" * 2),
    *("a" * 20, "A" * 20, "0" * 20, "0123456789abcdef" * 4, "arn:aws:iam::123456789012:role/a"),
)


def _sample_plain_text(keywords: JsonObject, preference: Preference) -> str:
    """Return a text of letters and digits of the seed, with an allowed length."""
    least, most = keywords.get("minLength", 0), keywords.get("maxLength", MAX_TEXT)
    seed = _NOT_PLAIN.sub("", preference.seed) or "text"
    mark = str(preference.variant) if preference.variant else ""
    if preference.which == "smallest":
        length = max(least, len(mark))
    elif preference.which == "largest" and most <= _LONGEST_TEXT:
        length = most
    else:
        length = max(least, len(seed + mark))
    length = min(length, most)
    stem = max(0, length - len(mark))
    text: str = (seed * (stem // len(seed) + 1))[:stem]
    return text + mark[: length - stem]
