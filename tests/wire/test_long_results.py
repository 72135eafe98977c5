"""Tests of results that are longer than a model gets: the shown part, and the notes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcpgen.runtime.content import ToolResult
from tests.wire.cases import FOLDER
from tests.wire.served import Served, serve
from tests.wire.test_wire import said
from tests.wire.upstream import Answer, Upstream

LONGEST = 100_000  # bytes
PET = {"id": 1, "name": "Rex, a dog of some years"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    folder: Path = tmp_path_factory.mktemp("long")
    return serve(FOLDER / "results" / "openapi.yaml", "long-results", folder)


@pytest.fixture
def answered(served: Served) -> Callable[..., ToolResult]:
    def call(tool: str, media_type: str, body: bytes) -> ToolResult:
        return asyncio.run(
            _answered(served, tool, Answer(200, (("Content-Type", media_type),), body))
        )

    return call


async def _answered(served: Served, tool: str, answer: Answer) -> ToolResult:
    upstream, context = Upstream([answer]), SimpleNamespace(owner=None)
    async with asyncio.timeout(20), upstream.listening() as address:
        registry = served.registry({f"{served.plan.env_prefix}BASE_URL": f"{address}/v1"})
        try:
            return await registry.call(tool, {}, context)  # type: ignore[arg-type]  # it asks nothing
        finally:
            await registry.aclose()


def test_a_long_list_is_truncated_as_valid_json_with_a_note(answered: Any) -> None:
    result = answered("pets", "application/json", json.dumps([PET] * 9000).encode())

    text = result.content[0].text
    assert json.loads(text) == result.structured_content
    shown = result.structured_content["result"]
    assert 0.95 * LONGEST < len(text) <= LONGEST
    assert shown == [PET] * len(shown)
    assert f"shows {len(shown):,} of 9,000 items" in said(result)


def test_a_long_text_is_truncated_with_a_note(answered: Any) -> None:
    result = answered("text", "text/plain; charset=utf-8", ("é" * 200_000).encode())

    text = result.content[0].text
    assert text == "é" * len(text)
    assert 0.95 * LONGEST < len(text.encode()) <= LONGEST
    assert "200,000" in said(result)


@pytest.mark.parametrize(
    ("tool", "media_type", "one"),
    [
        ("events", "text/event-stream", 'data: {"n":1}\n\n'),
        ("lines", "application/x-ndjson", '{"n":1}\n'),
    ],
)
def test_a_long_stream_is_truncated_with_a_note(
    answered: Any, tool: str, media_type: str, one: str
) -> None:
    result = answered(tool, media_type, (one * 60_000).encode())

    text = result.content[0].text
    assert json.loads(text) == result.structured_content
    items = result.structured_content["result"]
    assert len(text) <= LONGEST
    assert 1 < len(items) < 60_000
    assert f"shows {len(items):,} of" in said(result)
