"""Tests of tasks: states, bounds, access, and persistence beyond the process."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from mcpgen.runtime.content import Text, ToolResult
from mcpgen.runtime.errors import ProtocolError, ToolError
from mcpgen.runtime.handlers.context import Context, ask_form
from mcpgen.runtime.handlers.features import Features
from mcpgen.runtime.protocol.jsonrpc import TASKS_EXTENSION
from mcpgen.runtime.state.memory_store import MemoryStore
from mcpgen.runtime.tasks import service, table
from mcpgen.runtime.tasks.record import TaskRecord
from tests.runtime.tasks.conftest import SharedStores
from tests.support.task_scene import ASKS, SUPPORTS_TASKS, TaskProcess, text_of

MISSING = -32021
INVALID = -32602
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ACCEPTED = {"action": "accept", "content": {"name": "Ada"}}


class Gates:
    """Tools that wait until the test continues them."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()
        self.names: list[str] = []
        self.features = features = Features()

        @features.tool()
        async def quick(ctx: Context) -> str:
            """Answer at once."""
            return "quick"

        @features.tool(task="auto")
        async def work(ctx: Context, *, name: str = "work") -> str:
            """Work until the gate opens."""
            await ctx.task.begin("begun", poll_seconds=0.25)
            self.begun.set()
            try:
                await self.open.wait()
            finally:
                self.ended.set()
                self.names.append(name)
            return f"{name} is done"

        @features.tool(task="required")
        async def only_task(ctx: Context) -> str:
            """Run as a task only."""
            await ctx.task.begin()
            return "only"

        @features.tool(task="auto")
        async def fail(ctx: Context, *, how: str) -> str:
            """Fail in some way."""
            await ctx.task.begin()
            if how == "tool":
                raise ToolError("no luck")
            if how == "protocol":
                raise ProtocolError(-32000, "no protocol", {"why": "test"})
            if how == "exit":
                raise SystemExit(3)
            if how == "cancel":
                raise asyncio.CancelledError
            raise KeyError("secret detail")

        @features.tool(task="auto")
        async def ask(ctx: Context) -> str:
            """Ask twice by one key, and two things at once."""
            await ctx.task.begin()
            first = await ctx.elicit("First?", NAME, key="name")
            second = await ctx.elicit("Second?", NAME, key="name")
            both = await ctx.ask({"a": ask_form("A?", NAME), "b": ask_form("B?", NAME)})
            names = [first.content.get("name"), second.content.get("name")]
            return json.dumps([*names, *(it["content"]["name"] for it in both.values())])

        @features.tool(task="auto")
        async def ask_first(ctx: Context) -> str:
            """Ask before the task begins."""
            answer = await ctx.elicit("Who?", NAME, key="who")
            await ctx.task.begin()
            return f"for {answer.content['name']}"

        @features.tool(task="auto")
        async def large(ctx: Context) -> ToolResult:
            """Return a result that is too large to store."""
            await ctx.task.begin()
            return ToolResult((Text("x" * (service.MAX_RESULT_BYTES + 1)),))


@asynccontextmanager
async def serving(gates: Gates, **more: Any) -> AsyncIterator[TaskProcess]:
    process = TaskProcess.of_features(gates.features, MemoryStore(), **more)
    try:
        yield process
    finally:
        await process.close()


def run(story: Callable[[], Coroutine[Any, Any, None]], stores: SharedStores | None = None) -> None:
    async def tell() -> None:
        try:
            await asyncio.wait_for(story(), 60)
        finally:
            if stores is not None:
                await stores.close()

    asyncio.run(tell())


@pytest.mark.requirement(
    "T001", "T002", "T003", "T008", "T009", "T010", "T011", "T014", "T017", "T038"
)
def test_a_task_is_working_until_its_handler_ends_and_then_has_the_result() -> None:
    async def story() -> None:
        gates = Gates()
        async with serving(gates) as process:
            discovered = await process.result("server/discover")
            assert discovered["capabilities"]["extensions"] == {TASKS_EXTENSION: {}}
            created = await process.result("tools/call", name="work")
            assert created["resultType"] == "task"
            assert created["status"] == "working"
            assert created["statusMessage"] == "begun"
            assert (created["ttlMs"], created["pollIntervalMs"]) == (86_400_000, 250)
            assert "result" not in created
            working = await process.result("tasks/get", taskId=created["taskId"])
            assert working == {**created, "resultType": "complete"}
            gates.open.set()
            done = await process.until_final(created["taskId"])
            assert done["status"] == "completed"
            assert text_of(done) == "work is done"
            # What the call itself would have returned.
            assert done["result"]["resultType"] == "complete"
            assert done["createdAt"] == created["createdAt"] <= done["lastUpdatedAt"]
            assert done == await process.result("tasks/get", taskId=created["taskId"])

    run(story)


@pytest.mark.requirement("T004", "T005", "T006")
def test_a_client_without_the_extension_gets_the_result_as_before() -> None:
    async def story() -> None:
        gates = Gates()
        async with serving(gates) as process:
            gates.open.set()
            await process.begin("work")
            for extensions in ({}, {"extensions": {}}, {"extensions": {TASKS_EXTENSION: None}}):
                result = await process.result("tools/call", name="work", capabilities=extensions)
                assert result["resultType"] == "complete"
                assert result["content"][0]["text"] == "work is done"
            error = await process.error("tools/call", name="only_task", capabilities={})
            assert error["code"] == MISSING
            required = {"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}}
            assert error["data"] == required
            assert process.service is not None
            for method in ("tasks/get", "tasks/update", "tasks/cancel"):
                error = await process.error(method, taskId="x", inputResponses={}, capabilities={})
                assert (error["code"], error["data"]) == (MISSING, required)

    run(story)


@pytest.mark.requirement("T007", "T020", "T027", "T031", "T036", "T040")
def test_unknown_ids_and_those_of_another_principal_are_refused_alike() -> None:
    async def story() -> None:
        gates = Gates()
        async with serving(gates) as process:
            task_id = await process.begin("work", principal="https://issuer ada")
            assert len(task_id) >= 32
            for method in ("tasks/get", "tasks/update", "tasks/cancel"):
                unknown = await process.error(method, taskId="no-such-task", inputResponses={})
                assert unknown["code"] == INVALID
                for principal in ("", "https://issuer bob"):
                    foreign = await process.error(
                        method, taskId=task_id, inputResponses={}, principal=principal
                    )
                    assert foreign["code"] == INVALID
                    assert (
                        foreign["message"].replace(task_id, "no-such-task") == (unknown["message"])
                    )
            own = await process.result("tasks/get", taskId=task_id, principal="https://issuer ada")
            assert own["status"] == "working"

    run(story)


@pytest.mark.requirement("T015", "T018", "T019", "T037", "T038", "T039")
def test_errors_of_the_tool_complete_a_task_and_errors_of_the_protocol_fail_it() -> None:
    async def story() -> None:
        gates = Gates()
        async with serving(gates) as process:
            found = {}
            for how in ("tool", "protocol", "bug", "exit", "cancel"):
                task_id = await process.begin("fail", arguments={"how": how})
                found[how] = await process.until_final(task_id)
            assert found["tool"]["status"] == "completed"
            assert found["tool"]["result"]["isError"] is True
            assert text_of(found["tool"]) == "no luck"
            assert found["protocol"]["status"] == "failed"
            assert found["protocol"]["error"] == {
                "code": -32000,
                "message": "no protocol",
                "data": {"why": "test"},
            }
            assert found["protocol"]["statusMessage"] == "no protocol"
            assert "result" not in found["protocol"]
            for how in ("bug", "exit", "cancel"):
                assert found[how]["status"] == "failed"
                assert found[how]["error"]["code"] == -32603
                assert "secret" not in json.dumps(found[how])

    run(story)


@pytest.mark.requirement("T012", "T021", "T022", "T023", "T024", "T025", "T026")
def test_questions_of_a_task_are_answered_by_updates() -> None:
    async def story() -> None:
        gates = Gates()
        async with serving(gates) as process:
            task_id = await process.begin("ask", capabilities=ASKS)
            seen: list[str] = []

            async def until_asked(count: int) -> dict[str, Any]:
                task = await process.until(
                    task_id, lambda it: len(it.get("inputRequests", ())) == count
                )
                assert task["status"] == "input_required"
                return dict(task["inputRequests"])

            for _ in range(2):
                asked = await until_asked(1)
                ((key, request),) = asked.items()
                assert request["method"] == "elicitation/create"
                assert key not in seen
                seen.append(key)
                ignored = {"never-asked": ACCEPTED, **dict.fromkeys(seen[:-1], ACCEPTED)}
                ack = await process.result("tasks/update", taskId=task_id, inputResponses=ignored)
                assert ack.keys() == {"resultType", "_meta"}
                assert await until_asked(1) == asked
                refused = await process.error(
                    "tasks/update", taskId=task_id, inputResponses={key: {"action": "perhaps"}}
                )
                assert refused["code"] == INVALID
                answer = {"action": "accept", "content": {"name": f"{len(seen)}"}}
                await process.result("tasks/update", taskId=task_id, inputResponses={key: answer})
            asked = await until_asked(2)
            first, second = asked
            for key, waiting in ((first, 1), (second, 0)):
                answer = {"action": "accept", "content": {"name": key[0]}}
                await process.result("tasks/update", taskId=task_id, inputResponses={key: answer})
                if waiting:
                    assert await until_asked(1) == {second: asked[second]}
            done = await process.until_final(task_id)
            assert json.loads(text_of(done)) == ["1", "2", "a", "b"]
            late = await process.result(
                "tasks/update", taskId=task_id, inputResponses={first: ACCEPTED}
            )
            assert late["resultType"] == "complete"
            error = await process.error("tasks/update", taskId=task_id)
            assert error["code"] == INVALID

    run(story)


def test_a_client_that_cannot_be_asked_makes_a_task_fail_that_asks() -> None:
    async def story() -> None:
        gates = Gates()
        async with serving(gates) as process:
            done = await process.until_final(await process.begin("ask"))
            assert (done["status"], done["error"]["code"]) == ("failed", MISSING)

    run(story)


@pytest.mark.requirement("T013")
def test_questions_before_the_task_are_answered_by_calling_again() -> None:
    async def story() -> None:
        gates = Gates()
        async with serving(gates) as process:
            first = await process.result(
                "tools/call", name="ask_first", arguments={}, capabilities=ASKS
            )
            assert first["resultType"] == "input_required"
            task_id = await process.begin(
                "ask_first",
                capabilities=ASKS,
                requestState=first["requestState"],
                inputResponses={"who": ACCEPTED},
            )
            assert text_of(await process.until_final(task_id)) == "for Ada"

    run(story)


@pytest.mark.requirement("T016", "T028", "T029")
def test_a_cancelled_task_ends_its_handler_and_stays_cancelled() -> None:
    async def story() -> None:
        gates = Gates()
        async with serving(gates) as process:
            task_id = await process.begin("work")
            await gates.begun.wait()
            for _ in range(2):
                ack = await process.result("tasks/cancel", taskId=task_id)
                assert ack.keys() == {"resultType", "_meta"}
            done = await process.until_final(task_id)
            assert done["status"] == "cancelled"
            assert "result" not in done
            assert gates.names == ["work"]
            gates.open.set()
            finished = await process.begin("work")
            await process.until_final(finished)
            await process.result("tasks/cancel", taskId=finished)
            assert (await process.result("tasks/get", taskId=finished))["status"] == "completed"

    run(story)


@pytest.mark.requirement("T030")
def test_the_notification_of_a_cancelled_request_does_not_cancel_its_task() -> None:
    async def story() -> None:
        gates = Gates()
        async with serving(gates) as process:
            task_id = await process.begin("work")
            params = {"requestId": process._last_id}
            cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            await process.connection.send(cancelled)
            gates.open.set()
            assert (await process.until_final(task_id))["status"] == "completed"

    run(story)


@pytest.mark.requirement("T032", "T033", "T034", "T035")
def test_a_listener_gets_each_state_of_its_own_tasks() -> None:
    async def story() -> None:
        gates = Gates()
        async with serving(gates) as process:
            task_id = await process.begin("work", arguments={"name": "mine"})
            foreign = await process.begin("work", principal="https://issuer bob")
            wanted = {"taskIds": [task_id, "no-such-task", foreign]}
            error = await process.error(
                "subscriptions/listen", notifications=wanted, capabilities={}
            )
            assert error["code"] == MISSING
            assert error["data"] == {"requiredCapabilities": SUPPORTS_TASKS}
            error = await process.error("subscriptions/listen", notifications={"taskIds": "x"})
            assert error["code"] == INVALID
            acknowledged = await process.request("subscriptions/listen", notifications=wanted)
            assert acknowledged["params"]["notifications"] == {"taskIds": [task_id]}
            gates.open.set()
            states = []
            while not states or states[-1]["params"]["status"] == "working":
                states.append(await process.receive())
            assert {it["method"] for it in states} == {"notifications/tasks"}
            final = states[-1]["params"]
            del final["_meta"]
            got = await process.result("tasks/get", taskId=task_id)
            assert final == {key: got[key] for key in final}
            assert got.keys() - final.keys() == {"resultType", "_meta"}

    run(story)


@pytest.mark.requirement("T035")
def test_progress_becomes_the_status_message() -> None:
    async def story() -> None:
        features, go = Features(), asyncio.Event()

        @features.tool(task="auto")
        async def count(ctx: Context) -> str:
            """Count."""
            await ctx.task.begin()
            ctx.report_progress(1, 3)
            ctx.report_progress(2, 3, "nearly")
            ctx.log("error", "not on this stream")
            await go.wait()
            return "counted"

        process = TaskProcess.of_features(features, MemoryStore())
        task_id = await process.begin("count")
        await process.until(task_id, lambda it: it.get("statusMessage") == "nearly")
        go.set()
        assert (await process.until_final(task_id))["status"] == "completed"
        assert process.notified == []
        await process.close()

    run(story)


def test_the_number_of_tasks_and_the_size_of_a_result_are_bounded() -> None:
    async def story() -> None:
        gates = Gates()
        async with serving(gates, limits={"max_tasks": 2}) as process:
            done = await process.until_final(await process.begin("large"))
            assert done["result"]["isError"] is True
            assert "too large" in text_of(done)
            await process.begin("work")
            refused = await process.result("tools/call", name="work")
            assert refused["isError"] is True
            assert "2 tasks" in refused["content"][0]["text"]
            other = await process.begin("work", principal="https://issuer bob")
            assert other

    run(story)


def test_a_task_is_unknown_after_its_time_to_live() -> None:
    async def story() -> None:
        gates = Gates()
        async with serving(gates, limits={"task_ttl_seconds": 0.3}) as process:
            task_id = await process.begin("work")
            async with asyncio.timeout(30):
                await gates.ended.wait()
                while True:
                    response = await process.request("tasks/get", taskId=task_id)
                    if "error" in response:
                        break
                    await asyncio.sleep(0.02)
            assert response["error"]["code"] == INVALID

    run(story)


@pytest.mark.requirement("T009")
def test_a_task_of_a_killed_process_fails_and_results_stay(
    stores: SharedStores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "LEASE_SECONDS", 0.5)

    async def story() -> None:
        gates = Gates()
        process = TaskProcess.of_features(gates.features, stores.open())
        done = await process.begin("fail", arguments={"how": "tool"})
        kept = await process.until_final(done)
        working = await process.begin("work")
        cancelled = await process.begin("work")
        await process.kill()

        again = TaskProcess.of_features(gates.features, stores.open())
        assert await again.result("tasks/get", taskId=done) == kept
        await again.result("tasks/cancel", taskId=cancelled)
        failed = await again.until_final(working)
        assert failed["status"] == "failed"
        assert failed["error"]["message"] == service._INTERRUPTED
        assert (await again.until_final(cancelled))["status"] == "cancelled"
        await again.close()

    run(story, stores)


def test_a_task_of_a_server_that_is_shut_down_fails_with_that_reason(stores: SharedStores) -> None:
    async def story() -> None:
        gates = Gates()
        process = TaskProcess.of_features(gates.features, stores.open())
        task_id = await process.begin("work")
        await process.close()
        again = TaskProcess.of_features(gates.features, stores.open())
        failed = await again.result("tasks/get", taskId=task_id)
        assert (failed["status"], failed["error"]["message"]) == ("failed", service._SHUT_DOWN)
        assert gates.names == ["work"]
        await again.close()

    run(story, stores)


def test_two_processes_serve_the_tasks_of_each_other(stores: SharedStores) -> None:
    async def story() -> None:
        gates = Gates()
        one = TaskProcess.of_features(gates.features, stores.open())
        other = TaskProcess.of_features(gates.features, stores.open())
        asking = await one.begin("ask", capabilities=ASKS)
        for count in (1, 1, 2):
            task = await other.until(
                asking,
                lambda it, n=count: len(it.get("inputRequests", ())) == n,  # type: ignore[misc]
            )
            answers = dict.fromkeys(task["inputRequests"], ACCEPTED)
            await other.result("tasks/update", taskId=asking, inputResponses=answers)
        assert json.loads(text_of(await other.until_final(asking))) == ["Ada"] * 4

        working = await one.begin("work")
        acknowledged = await other.request(
            "subscriptions/listen", notifications={"taskIds": [working]}
        )
        assert acknowledged["params"]["notifications"] == {"taskIds": [working]}
        await other.result("tasks/cancel", taskId=working)
        assert (await other.until_final(working))["status"] == "cancelled"
        assert gates.names == ["work"]
        states = [it["params"]["status"] for it in other.notified]
        while "cancelled" not in states:
            states.append((await other.receive())["params"]["status"])
        await one.close()
        await other.close()

    run(story, stores)


def test_a_request_that_the_client_cancels_before_the_task_begins_leaves_none() -> None:
    async def story() -> None:
        features, stuck, ended = Features(), asyncio.Event(), asyncio.Event()

        @features.tool(task="auto")
        async def never_begins(ctx: Context) -> str:
            """Wait before the task."""
            stuck.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return "never"

        process = TaskProcess.of_features(features, MemoryStore())
        call = asyncio.create_task(process.request("tools/call", name="never_begins"))
        await stuck.wait()
        params = {"requestId": process._last_id}
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        await process.connection.send(cancelled)
        await ended.wait()
        call.cancel()
        await process.close()

    run(story)


def test_a_process_that_lost_its_lease_does_not_change_the_task_again(stores: SharedStores) -> None:
    async def story() -> None:
        gates, store = Gates(), stores.open()
        one = TaskProcess.of_features(gates.features, store)
        other = TaskProcess.of_features(gates.features, stores.open())
        task_id = await one.begin("work")
        await gates.begun.wait()
        assert one.service is not None
        owner = one.service._open().owner
        await store.delete(f"task-owner:1:{owner}")  # as if it had been stopped for long
        failed = await other.until_final(task_id)
        assert failed["status"] == "failed"
        gates.open.set()
        await gates.ended.wait()
        await one.service.drain(30)
        assert await other.result("tasks/get", taskId=task_id) == failed
        await one.close()
        await other.close()

    run(story, stores)


def test_changes_of_two_processes_at_the_same_time_are_all_kept(stores: SharedStores) -> None:
    async def story() -> None:
        opened = [stores.open(), stores.open()]
        tables = [table.TaskTable(store) for store in opened]
        now = time.time()
        record = TaskRecord(
            id="t", caller="", owner=tables[0].owner, created_at=now, updated_at=now,
            ttl_seconds=60, poll_seconds=1,
        )  # fmt: skip
        await tables[0].add(record)

        def answer(number: int) -> Callable[[TaskRecord], TaskRecord]:
            return lambda it: replace(it, answers={**it.answers, str(number): {}})

        changes = (tables[number % 2].change("t", answer(number)) for number in range(20))
        await asyncio.gather(*changes)
        found = await tables[0].find("t")
        assert found is not None
        assert found.answers.keys() == {str(number) for number in range(20)}

    run(story, stores)
