"""Tests of values of command-line options: which are accepted and which are rejected."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from functools import partial

import pytest

from mcpgen.runtime.startup.option_values import (
    parse_allowed_host,
    parse_allowed_origin,
    parse_host,
    parse_port,
    parse_seconds,
    parse_workers,
)

parse_day = partial(parse_seconds, maximum=86_400)
parse_few = partial(parse_workers, maximum=256)

ACCEPTED: list[tuple[Callable[[str], object], str, object]] = [
    (parse_day, "0", 0.0),
    (parse_day, "2.5", 2.5),
    (parse_day, "1e3", 1000.0),
    (parse_day, "86400", 86_400.0),
    (parse_few, "1", 1),
    (parse_few, "256", 256),
    (parse_port, "0", 0),
    (parse_port, "8000", 8000),
    (parse_port, "65535", 65_535),
    (parse_host, "127.0.0.1", "127.0.0.1"),
    (parse_host, "::", "::"),
    (parse_host, "fe80::1%eth0", "fe80::1%eth0"),
    (parse_host, "my_host.example", "my_host.example"),
    (parse_allowed_host, "Mcp.example.com", "Mcp.example.com"),
    (parse_allowed_host, "[::1]", "[::1]"),
    (parse_allowed_origin, "https://app.example", "https://app.example"),
    (parse_allowed_origin, "http://localhost:1/", "http://localhost:1/"),
    (parse_allowed_origin, "http://[::1]:80", "http://[::1]:80"),
    (parse_allowed_origin, "vscode-webview://abc", "vscode-webview://abc"),
]
REJECTED: list[tuple[Callable[[str], object], str]] = [
    *[(parse_few, text) for text in ("", "0", "257", "-1", "2.0", "1_0", "\u0661")],
    *[
        (parse_day, text)
        for text in ("", "nan", "-nan", "inf", "-inf", "-1", "1e300", "86401", "5s", "1_0", "5\n6")
    ],
    *[
        (parse_port, text)
        for text in ("", "-1", "65536", "99999", "1e3", "http", " 80 x", "8_0", "\u0668\u0660")
    ],
    *[
        (parse_host, text)
        for text in (
            "",
            " ",
            "a b",
            "[::1]",
            "http://a",
            "a/b",
            "a\r\nb",
            "b\u00fccher",
            "*",
            "a..b",
            "x" * 64,
        )
    ],
    *[
        (parse_allowed_host, text)
        for text in ("", "*", "a:8000", "::1", "https://a", "a b", "a\nb", "a/", "b\u00fccher")
    ],
    *[
        (parse_allowed_origin, text)
        for text in ("", "*", "null", "app.example", "https://", "https://a/b", "https://a:0")
    ],
    *[
        (parse_allowed_origin, text)
        for text in (
            "https://a:99999",
            "https://me@a",
            "https://a?b",
            "https://a\nb",
            "https://*.a",
        )
    ],
]


@pytest.mark.parametrize(("parse", "text", "value"), ACCEPTED)
def test_a_valid_value_is_parsed(parse: Callable[[str], object], text: str, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(("parse", "text"), REJECTED)
def test_an_invalid_value_is_rejected(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=r"expected .* but got") as rejected:
        parse(text)
    assert str(rejected.value).isprintable()
