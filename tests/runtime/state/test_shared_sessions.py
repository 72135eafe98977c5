"""Tests of sessions in a store: changes by several replicas, and bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from mcpgen.runtime.protocol.session import LegacySession
from mcpgen.runtime.protocol.versions import BY_NAME
from mcpgen.runtime.state.memory_store import MemoryStore
from mcpgen.runtime.state.session_store import StoredSession
from mcpgen.runtime.state.shared_sessions import (
    LogEntry,
    SessionState,
    SharedSessions,
    encode_ids,
)


def new_session() -> LegacySession:
    return LegacySession(BY_NAME["2025-11-25"])


def on_store(scenario: Callable[[MemoryStore], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        store = MemoryStore()
        await scenario(store)
        await store.aclose()

    asyncio.run(run())


async def open_session(
    sessions: SharedSessions, client: str = "", owner: str = ""
) -> StoredSession:
    return await sessions.open_session(new_session(), owner, 0.0, client)


async def is_open(sessions: SharedSessions, session: StoredSession) -> bool:
    return await sessions.find_session(session.id, session.principal, 0.0) is not None


def test_changes_of_two_replicas_are_merged() -> None:
    async def scenario(store: MemoryStore) -> None:
        here, there = SharedSessions(store), SharedSessions(store)
        opened = await open_session(here)
        before = SessionState.of(opened.state)
        changed = before._replace(log_level="error", subscribed_uris=frozenset({"a", "b"}))
        await here.change_session(opened.id, before, changed)
        other = before._replace(is_initialized=True, elicitation_ids=("e",))
        await there.change_session(opened.id, before, other)
        await there.change_session(
            opened.id, changed, changed._replace(subscribed_uris=frozenset({"b"}))
        )
        found = await here.find_session(opened.id, "", 0.0)
        assert found is not None
        assert SessionState.of(found.state) == before._replace(
            log_level="error",
            subscribed_uris=frozenset({"b"}),
            is_initialized=True,
            elicitation_ids=("e",),
        )

    on_store(scenario)


def test_a_session_that_has_ended_is_not_stored_again() -> None:
    async def scenario(store: MemoryStore) -> None:
        sessions = SharedSessions(store)
        opened = await open_session(sessions)
        before = SessionState.of(opened.state)
        await sessions.end_session(opened.id)
        changed = before._replace(log_level="error")
        assert await sessions.change_session(opened.id, before, changed) is None
        assert not await is_open(sessions, opened)

    on_store(scenario)


def test_only_its_principal_finds_a_session() -> None:
    async def scenario(store: MemoryStore) -> None:
        sessions = SharedSessions(store)
        opened = await open_session(sessions, owner="alice")
        assert await sessions.find_session(opened.id, "alice", 0.0) is not None
        for other in ("", "bob"):
            assert await sessions.find_session(opened.id, other, 0.0) is None

    on_store(scenario)


def test_a_session_above_the_limit_ends_the_one_that_was_opened_first() -> None:
    async def scenario(store: MemoryStore) -> None:
        here = SharedSessions(store, max_sessions=3, max_of_client=3)
        there = SharedSessions(store, max_sessions=3, max_of_client=3)
        first = await open_session(here, "a")
        others = [await open_session(there, client) for client in ("b", "c")]
        assert await here.evict(0.0) == []
        newest = await open_session(here, "d")
        assert await here.evict(0.0) == [first.id]
        assert not await is_open(there, first)
        for session in (*others, newest):
            assert await is_open(there, session)

    on_store(scenario)


def test_a_client_with_many_sessions_ends_its_own_and_not_those_of_others() -> None:
    async def scenario(store: MemoryStore) -> None:
        sessions = SharedSessions(store, max_sessions=10, max_of_client=4)
        quiet = await open_session(sessions, "quiet")
        many = [await open_session(sessions, "greedy") for _ in range(40)]
        assert await is_open(sessions, quiet)
        assert [await is_open(sessions, it) for it in many] == [False] * 36 + [True] * 4

    on_store(scenario)


def test_each_replica_bounds_the_events_that_it_stores() -> None:
    async def scenario(store: MemoryStore) -> None:
        sessions = SharedSessions(store, max_streams=3, max_bytes=1000)
        large, small = await open_session(sessions), await open_session(sessions)
        await sessions.append_event(small.id, "s", LogEntry(b"x" * 300, is_last=True))
        for number in range(3):
            entry = LogEntry(b"x" * 200, is_last=number == 1)
            await sessions.append_event(large.id, f"p{number}", entry)
        await sessions.append_event(large.id, "p3", LogEntry(b"x"))  # the fourth stream
        assert await sessions.find_events_after(large.id, "p1", 0) is None  # it had ended
        await sessions.append_event(large.id, "p3", LogEntry(b"x" * 400))
        found = [await sessions.find_events_after(large.id, f"p{it}", 0) for it in range(4)]
        assert [it is None for it in found] == [True, True, False, False]
        assert await sessions.find_events_after(small.id, "s", 0) is not None

    on_store(scenario)


def test_the_ids_of_a_message_are_those_of_its_requests() -> None:
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    answer = {"jsonrpc": "2.0", "id": 8, "result": {}}
    assert encode_ids(call) == b"7"
    assert encode_ids([call, answer]) == b"[7]"
    assert encode_ids(answer) == b"null"
    assert encode_ids({**call, "id": "x" * 10_000}) == b"null"
    entry = LogEntry(b'{"a": 1}', is_last=True, ids=b"[7]")
    assert LogEntry.decode(entry.encode()) == entry
