"""Tests of the conversion of typed arguments to values of a tool's schema."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.cli.arguments import TypedArguments
from mcpgen.cli.exit_codes import UsageError

SCHEMA = {
    "properties": {
        "isbn": {"type": "string"},
        "limit": {"type": "integer"},
        "note": {"type": ["string", "null"]},
        "tag": {"type": "array", "items": {"type": "string"}},
        "status": {"$ref": "#/$defs/Status"},
        "body": {"type": "object"},
        "anything": {},
    },
    "$defs": {"Status": {"type": "string"}},
}


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (("isbn=9780000000019",), {"isbn": "9780000000019"}),
        (("status=1",), {"status": "1"}),
        (("note=7",), {"note": "7"}),
        (("limit=20",), {"limit": 20}),
        (("limit=many",), {"limit": "many"}),
        (("tag=quiet",), {"tag": ["quiet"]}),
        (("tag=quiet", "tag=small"), {"tag": ["quiet", "small"]}),
        (('tag=["quiet", "small"]',), {"tag": ["quiet", "small"]}),
        (('body={"name": "Rex"}',), {"body": {"name": "Rex"}}),
        (("anything=true", "unknown=x=y"), {"anything": True, "unknown": "x=y"}),
    ],
)
def test_an_argument_pair_is_converted_to_the_schema_type(
    pairs: tuple[str, ...], expected: Any
) -> None:
    assert TypedArguments(pairs).convert(SCHEMA) == expected


def test_pairs_override_the_json_arguments() -> None:
    typed = TypedArguments(("limit=2",), '{"limit": 1, "isbn": "978"}')

    assert typed.convert(SCHEMA) == {"limit": 2, "isbn": "978"}


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (TypedArguments(("limit",)), "`--arg limit` is not KEY=VALUE"),
        (TypedArguments((), "{limit: 1}"), "--json has no JSON: "),
        (TypedArguments((), "[1]"), "--json has no JSON object"),
    ],
)
def test_an_invalid_argument_reports_the_expected_form(typed: TypedArguments, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("`", ".")):
        typed.convert(SCHEMA)
