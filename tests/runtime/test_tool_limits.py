"""Tests of limits of every tool: concurrent calls, visible members of results, and callers."""

from __future__ import annotations

import pytest

from mcpgen.runtime.process.output_screen import OutputScreen
from mcpgen.runtime.protocol.shapes import shape
from mcpgen.runtime.protocol.versions import REVISIONS
from mcpgen.runtime.state.session_store import MemorySessions
from mcpgen.runtime.tools.result_shape import ResultShape
from mcpgen.runtime.tools.results import make_result
from mcpgen.runtime.upstream.response.redaction import NO_SECRETS
from tests.support.http_server import Served, make_served, run, tool_call

HIDDEN = "\x1b[31m\u200b\u202e\u2066\U000e0041"


@pytest.mark.requirement("L077", "N098")
def test_calls_above_the_limit_are_rejected_until_a_slot_is_free() -> None:
    async def scenario(_: Served) -> None:
        served = make_served(max_in_flight=1)
        await served.client.initialize("2025-11-25")
        waiting = served.client.begin(tool_call("hang", id=1))
        await served.tools.started.wait()
        refused = await served.client.begin(tool_call("echo", id=2)).complete()
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert [name for name, _ in served.tools.calls] == ["hang"]
        served.tools.go_on.set()
        await waiting.complete()
        assert (await served.client.post(tool_call("echo", id=3))).status == 200

    run(scenario)


@pytest.mark.requirement("L078", "N098")
def test_a_result_is_returned_without_hidden_characters() -> None:
    result = shape(make_result(f"pay{HIDDEN} me", ResultShape("GET /text")), REVISIONS[-1])
    shown = OutputScreen(lambda: NO_SECRETS).make_readable(result)
    assert shown["content"] == [{"type": "text", "text": "pay me"}]


@pytest.mark.requirement("L158")
def test_a_session_is_not_found_for_another_principal() -> None:
    async def scenario(served: Served) -> None:
        await served.client.initialize("2025-11-25")
        store, now = served.store, served.clock()
        session_id = served.client.session_id
        assert await store.find_session(session_id, "", now) is not None
        assert await store.find_session(session_id, "somebody else", now) is None

    run(scenario)


@pytest.mark.requirement("L158")
def test_the_same_client_gets_another_session_id_each_time() -> None:
    async def scenario(served: Served) -> None:
        first, second = served.new_client(), make_served(store=MemorySessions()).client
        await first.initialize("2025-11-25")
        await second.initialize("2025-11-25")
        assert first.session_id != second.session_id

    run(scenario)
