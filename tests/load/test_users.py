"""Tests that users of a load run detect wrong responses and count correct ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.load.api import hash_key
from tests.load.users import FACTOR, Figures, RefusedError, User, WrongResponseError

USER = User(1, {}, "key-1", lambda _: "", Figures(), 0)


def response(value: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"id": value, "result": {"content": [], "structuredContent": content}}


def test_the_response_to_the_own_request_is_correct() -> None:
    USER.check("a", response("a", {"id": "a", "key": hash_key("key-1")}))


@pytest.mark.parametrize(
    ("number", "value", "key"),
    [("b", "a", "key-1"), ("a", "b", "key-1"), ("a", "a", "key-2")],
    ids=["id", "value", "credential"],
)
def test_the_response_to_another_request_is_wrong(number: str, value: str, key: str) -> None:
    with pytest.raises(WrongResponseError):
        USER.check("a", response(number, {"id": value, "key": hash_key(key)}))


def test_an_error_is_counted_by_its_kind() -> None:
    with pytest.raises(RefusedError, match="JSON-RPC error -32603"):
        USER.check("a", {"id": "a", "error": {"code": -32603}})


def test_percentiles_are_exact_within_a_class() -> None:
    figures = Figures()
    for milliseconds in range(1, 1001):
        figures.add(milliseconds / 1000)
    for share in (0.5, 0.99, 0.999):
        assert share * 1000 <= figures.percentile_ms(share) <= share * 1000 * FACTOR * 1.01
