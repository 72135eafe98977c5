"""Tests that body members passed as arguments produce the same bytes as the body."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from mcpgen.ir.listing_form import NEW_SERVERS
from mcpgen.runtime.content import ToolResult
from tests.wire.cases import FOLDER, Case, all_cases
from tests.wire.served import Served, serve
from tests.wire.test_wire import call, comparable, said, shown

CASES = [case for case in all_cases() if "body" in case.arguments]
NEEDS_NESTED = {
    "form-bodies: all that separates is encoded, in names too",
    "json-bodies: a member under both of its names is refused",
    "json-bodies: an optional body that is an empty object",
    "multipart-bodies: what has no place among parts without names is refused",
    "refused-arguments: unknown in a body",
    "swagger-2.0: a body",
}
"""Cases with members that the document does not name, or with an empty optional body."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Served]:
    """Return the package of a clause's document with flat bodies, generated once."""
    made: dict[str, Served] = {}

    def of(clause: str) -> Served:
        if clause not in made:
            document = FOLDER / clause / "openapi.yaml"
            folder = tmp_path_factory.mktemp(clause)
            made[clause] = serve(document, f"flat-{clause}", folder, form=NEW_SERVERS)
        return made[clause]

    return of


@pytest.mark.parametrize("case", CASES, ids=str)
def test_flat_arguments_send_the_same_bytes(case: Case, served: Callable[[str], Served]) -> None:
    made = served(case.clause)
    (flat,) = (it.flat_body for it in made.plan.tools if it.name == case.tool)
    spread = case.arguments if flat is None else flat.spread(case.arguments)
    assert (spread is None) == (str(case) in NEEDS_NESTED)
    if spread is None:
        return

    upstream, outcome = asyncio.run(call(replace(case, arguments=spread), made))

    expected = [
        (it.sends, tuple((name.lower(), value) for name, value in sorted(it.headers.items())))
        for it in case.exchanges
    ]
    sent = [comparable(it) for it in upstream.received]
    assert [(it.line, it.headers) for it in sent] == expected, said(outcome)
    assert [it.body for it in sent] == [it.body for it in case.exchanges]
    assert not (case.refused and isinstance(outcome, ToolResult) and not outcome.is_error)
    if case.result is not None:
        assert isinstance(outcome, ToolResult), said(outcome)
        assert shown(outcome) == {"is_error": False, **case.result}
