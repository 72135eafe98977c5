"""Classification of media types: JSON, JSON Lines, text, or other (RFC 6838, RFC 6839)."""

from __future__ import annotations

import codecs
from typing import Final

JSON_LINES: Final = frozenset(
    {
        "application/json-lines",
        "application/jsonl",
        "application/jsonlines",
        "application/ndjson",
        "application/x-jsonlines",
        "application/x-ndjson",
        "text/x-ndjson",
    }
)
TEXTUAL: Final = frozenset(
    {
        "application/graphql",
        "application/javascript",
        "application/jwt",
        "application/sql",
        "application/toml",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    }
)


def essence_of(media_type: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def is_json(media_type: str) -> bool:
    """Return whether a media type is JSON or has the suffix `+json`; parameters are ignored."""
    essence = essence_of(media_type)
    return essence in {"application/json", "text/json"} or essence.endswith("+json")


def is_text(essence: str) -> bool:
    """Return whether a media type is text; `essence` is in lower case, without parameters."""
    return (
        essence.startswith(("text/", "message/"))
        or essence in TEXTUAL
        or essence.endswith(("+xml", "+yaml"))
    )


_BINARY: Final = frozenset(
    {"application/octet-stream", "application/pdf", "application/zip", "application/gzip"}
)


def names_binary(media_types: str) -> bool:
    """Return whether all media types in a list with commas are those of well-known binary files."""
    return all(
        kind in _BINARY or kind.startswith(("image/", "audio/", "video/", "font/"))
        for kind in map(essence_of, media_types.split(","))
    )


def is_range_of(option: str, media_type: str) -> bool:
    """Return whether `option` is a range (`image/*`, `application/*+xml`) with `media_type`."""
    if option == "*/*":
        return "/" in media_type
    before, star, after = option.partition("*")
    has_room = len(media_type) > len(before) + len(after)
    return bool(star) and has_room and media_type.startswith(before) and media_type.endswith(after)


_SLICE_BYTES: Final = 16 * 1024  # at most 10 ms in the slowest codec, if all bytes are invalid

_BYTE_ORDER_MARKS: Final = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}
_CODECS: Final = {
    name: codec
    for codec, names in {
        "utf-8": "utf-8 utf8 unicode-1-1-utf-8",
        "utf-16": "utf-16 utf16",
        "utf-16-le": "utf-16-le utf16-le utf-16le",
        "utf-16-be": "utf-16-be utf16-be utf-16be",
        "utf-32": "utf-32 utf32",
        "utf-32-le": "utf-32-le utf32-le utf-32le",
        "utf-32-be": "utf-32-be utf32-be utf-32be",
        "ascii": "us-ascii ascii",
        **{f"iso8859-{n}": f"iso-8859-{n} iso8859-{n}" for n in range(2, 17) if n != 12},
        "iso8859-1": "iso-8859-1 iso8859-1 latin1 latin-1 l1",
        "iso8859-8": "iso-8859-8 iso8859-8 iso-8859-8-i",
        **{f"cp{n}": f"windows-{n} cp{n} x-cp{n}" for n in (874, *range(1250, 1259))},
        **{name: name for name in ("tis-620", "koi8-r", "koi8-u", "gb18030", "cp950", "big5")},
        "cp866": "ibm866 cp866",
        "mac-roman": "macintosh",
        # WHATWG: text with this label is nearly always Microsoft's variant
        "cp932": "shift-jis sjis x-sjis windows-31j ms932 cp932",
        "euc-jp": "euc-jp x-euc-jp",
        "iso2022-jp": "iso-2022-jp",
        "cp949": "euc-kr ks-c-5601-1987 cp949 windows-949",
        "gbk": "gb2312 gbk",
        "hz": "hz-gb-2312",
        "big5hkscs": "big5-hkscs",
    }.items()
    for name in names.split()
}


def find_codec(charset: str) -> str:
    """Find the Python codec of a charset by its name in a media type; "" if it is unsupported."""
    if charset == "utf-8":
        return charset
    return _CODECS.get(charset.strip().lower().replace("_", "-"), "") if len(charset) < 40 else ""


def decode_text(data: bytes, codec: str) -> str:
    """Decode text; replace invalid bytes by U+FFFD.

    Long text is decoded in slices, so that other threads do not wait for long.
    """
    if len(data) <= _SLICE_BYTES:
        return data.decode(codec, "replace")
    marks = _BYTE_ORDER_MARKS.get(codec)
    if marks is not None and not data.startswith(marks):
        codec += "-le"  # the default of WHATWG; Python's incremental decoder requires a mark
    decoder = codecs.getincrementaldecoder(codec)("replace")
    slices = range(0, len(data), _SLICE_BYTES)
    parts = [decoder.decode(data[start : start + _SLICE_BYTES]) for start in slices]
    parts.append(decoder.decode(b"", final=True))
    return "".join(parts)
