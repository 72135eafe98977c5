"""Tests that only charsets that are decoded in linear time are decoded."""

from __future__ import annotations

import time

import pytest

from mcpgen.text.media_types import _CODECS, decode_text, find_codec

KILOBYTE = 1024
HOSTILE = (b"\xff", b"\x80", b"\x81a", b"a", b"\x1b$B", b"\xd8\x00", b"\x00\xd8", b"~{", b"+-")


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        ("UTF-8", "utf-8"),
        ("utf8", "utf-8"),
        ("ISO_8859-1", "iso8859-1"),
        ("latin-1", "iso8859-1"),
        ("Windows-1252", "cp1252"),
        ("Shift_JIS", "cp932"),
        ("GB2312", "gbk"),
        ("punycode", ""),
        ("idna", ""),
        ("unicode_escape", ""),
        ("utf-7", ""),
        ("rot13", ""),
        ("x" * 100_000, ""),
    ],
)
def test_a_charset_has_a_codec_only_if_it_is_allowed(charset: str, codec: str) -> None:
    assert find_codec(charset) == codec


@pytest.mark.parametrize("codec", sorted(set(_CODECS.values())))
def test_decoding_takes_linear_time(codec: str) -> None:
    for pattern in HOSTILE:
        durations = []
        for size in (64 * KILOBYTE, 512 * KILOBYTE):
            data = pattern * (size // len(pattern))
            started = time.process_time()
            decode_text(data, codec)
            durations.append(time.process_time() - started)
        # 8 times as much; quadratic time would be 64 times as long
        assert durations[1] < 30 * max(durations[0], 0.01), (pattern, durations)


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-32", "cp932", "gb18030", "cp1252"])
def test_long_text_is_decoded_as_short_text_is(codec: str) -> None:
    text = "aé€ " * 10_000 if codec.startswith(("utf", "gb")) else "abc " * 10_000
    data = text.encode(codec)
    assert decode_text(data, codec) == data.decode(codec) == text


def test_utf_16_without_a_byte_order_mark_is_little_endian() -> None:
    assert decode_text("abc".encode("utf-16-le") * 20_000, "utf-16") == "abc" * 20_000


def test_invalid_bytes_become_replacement_characters() -> None:
    assert decode_text(b"a\xff" * 20_000, "utf-8") == "a\ufffd" * 20_000
