"""Tests that secrets and their usual encodings are found in text and bytes."""

from __future__ import annotations

import json
import time
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.runtime.upstream.response.redaction import Redactor

SECRET = 'k"y/+ü-0123456789?>~'


@pytest.mark.parametrize(
    "spelled",
    [
        SECRET,
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote_plus(SECRET),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
    ],
)
def test_an_encoded_secret_is_masked(spelled: str) -> None:
    redactor = Redactor((SECRET,))
    assert redactor.mask(f"<{spelled}>") == "<***>"
    assert redactor.finds_in(msgspec.json.encode({"a": spelled}))
    text = msgspec.json.encode({"b": spelled}).decode()
    assert redactor.finds_in(msgspec.json.encode({"a": text}))


@given(st.binary(max_size=5), st.binary(max_size=5), st.booleans(), st.booleans())
def test_base64_that_contains_the_secret_is_masked(
    before: bytes, after: bytes, url_safe: bool, padded: bool
) -> None:
    encode = urlsafe_b64encode if url_safe else b64encode
    text = encode(before + SECRET.encode() + after).decode()
    shown = Redactor((SECRET,)).mask(text if padded else text.rstrip("="))
    assert "***" in shown
    # At most a character at each end depends on the secret.
    assert len(shown) <= 3 + 2 * (4 * (len(before + after) + 4) // 3)


def test_secrets_below_the_minimum_length_are_not_masked() -> None:
    redactor = Redactor(("abc", "test", "longer-secret"))
    assert redactor.mask("abc test") == "abc ***"
    assert redactor.mask_name("test longer-secret") == "test ***"


def test_a_secret_with_a_lone_surrogate_is_accepted() -> None:
    assert Redactor(("abcd\udcff", "secret")).mask("secret") == "***"


def test_masked_bytes_keep_their_length() -> None:
    assert Redactor(("secret",)).mask_bytes(b"\x00secret\xff") == b"\x00******\xff"


@pytest.mark.parametrize(
    "text",
    ["eyJ" * 100_000, "eyJ" + "a" * 300_000, "eyJaaaaaaaa." * 25_000, "bearer " * 40_000,
     "-----BEGIN " + "PRIVATE " * 30_000, "Bearer" + " " * 300_000],
)  # fmt: skip
def test_token_patterns_are_searched_in_linear_time(text: str) -> None:
    started = time.process_time()
    Redactor(()).clean(text)
    assert time.process_time() - started < 2.5  # quadratic: minutes


def test_json_web_tokens_are_masked() -> None:
    token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2lnbmF0dXJl"
    assert Redactor(()).clean(f'token="{token}", {token}') == 'token="***", ***'
