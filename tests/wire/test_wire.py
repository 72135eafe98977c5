"""Tests of each clause of the specification by the bytes that arrive at the API."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mcpgen.runtime.content import Audio, EmbeddedResource, Image, Text, ToolResult
from mcpgen.runtime.errors import InvalidArgumentsError
from mcpgen.testing import Suite
from tests.wire.cases import FOLDER, Case, all_cases
from tests.wire.served import Served, serve
from tests.wire.upstream import Sent, Upstream

CASES = list(all_cases())
Outcome = ToolResult | InvalidArgumentsError


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Served]:
    """Return the package of a clause's document, generated once."""
    made: dict[str, Served] = {}

    def of(clause: str) -> Served:
        if clause not in made:
            document = FOLDER / clause / "openapi.yaml"
            made[clause] = serve(document, clause, tmp_path_factory.mktemp(clause))
        return made[clause]

    return of


@pytest.mark.parametrize("case", CASES, ids=str)
def test_requests_and_results_match_the_specification(
    case: Case, served: Callable[[str], Served]
) -> None:
    upstream, outcome = asyncio.run(call(case, served(case.clause)))

    expected = [
        Sent(
            exchange.sends,
            tuple((name.lower(), value) for name, value in sorted(exchange.headers.items())),
            exchange.body,
        )
        for exchange in case.exchanges
    ]
    assert [comparable(sent) for sent in upstream.received] == expected, said(outcome)
    if case.refused:
        for part in case.refused:
            assert part in said(outcome)
    elif case.result is None:
        assert isinstance(outcome, ToolResult), said(outcome)
        assert not outcome.is_error, said(outcome)
    else:
        assert isinstance(outcome, ToolResult), said(outcome)
        assert shown(outcome) == {"is_error": False, **case.result}


@pytest.mark.parametrize("clause", sorted({case.clause for case in CASES}))
def test_the_mock_decodes_every_request_of_the_generated_suite(
    clause: str, served: Callable[[str], Served]
) -> None:
    made = served(clause)
    suite = Suite(str(made.plan.package), made.folder / "tests" / "generated")

    tested = [case for case in suite.cases if not case.untested]

    assert tested
    for case in tested:
        suite.run(case)


async def call(case: Case, served: Served) -> tuple[Upstream, Outcome]:
    upstream = Upstream([exchange.answer for exchange in case.exchanges] or Upstream().answers)
    async with asyncio.timeout(20), upstream.listening() as address:
        environ = dict(case.environ)
        if case.is_configured:
            environ.setdefault(f"{served.plan.env_prefix}BASE_URL", f"{address}/v1")
        registry = served.registry(environ, None if case.is_configured else upstream.send)
        try:
            context: Any = SimpleNamespace(owner=None)
            outcome: Outcome = await registry.call(case.tool, case.arguments, context)
        except InvalidArgumentsError as refused:
            outcome = refused
        finally:
            await registry.aclose()
    return upstream, outcome


def comparable(sent: Sent) -> Sent:
    """Return a request with sorted headers and the multipart boundary replaced by `B`."""
    headers, body = dict(sent.headers), sent.body
    boundary = re.search("boundary=([^;]+)", headers.get("content-type", ""))
    if boundary and body is not None:
        headers["content-type"] = headers["content-type"].replace(boundary[1], "B")
        body = body.replace(boundary[1].encode(), b"B")
    assert len(headers) == len(sent.headers), "a field came twice"
    return Sent(sent.line, tuple(sorted(headers.items())), body)


def said(outcome: Outcome) -> str:
    """Return all text that the caller gets."""
    if isinstance(outcome, InvalidArgumentsError):
        return str(outcome)
    return "\n".join(item.text for item in outcome.content if isinstance(item, Text))


def shown(result: ToolResult) -> dict[str, Any]:
    """Return a result in the form of the cases."""
    seen: dict[str, Any] = {"is_error": result.is_error}
    content: list[Any] = []
    for item in result.content:
        if isinstance(item, Text):
            content.append(item.text)
        elif isinstance(item, Image | Audio):
            content.append({item.mime_type: item.data.hex()})
        elif isinstance(item, EmbeddedResource) and item.blob is not None:
            content.append({f"{item.mime_type} at {item.uri}": item.blob.hex()})
    seen["content"] = content[0] if len(content) == 1 else content
    if result.structured_content is not None:
        seen["structured"] = result.structured_content
    if result.meta:
        seen["meta"] = result.meta
    return seen


def test_each_part_has_its_share_of_at_least_120_cases() -> None:
    counts = Counter(case.clause for case in CASES)

    assert sum(counts.values()) >= 120
    assert min(counts.values()) >= 3, counts


def test_no_two_cases_of_a_clause_have_the_same_name() -> None:
    names = Counter(map(str, CASES))

    assert [name for name, count in names.items() if count > 1] == []
