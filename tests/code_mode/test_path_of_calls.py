"""Tests that calls in code are treated like direct calls: audit, log, scopes, tasks."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.code import run_code
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.protocol.jsonrpc import TASKS_EXTENSION
from mcpgen.runtime.telemetry.audit import AuditFile
from mcpgen.runtime.telemetry.listing import list_tool_facts
from mcpgen.runtime.telemetry.observer import RequestObserver
from mcpgen.runtime.telemetry.spans import Spans
from mcpgen.testing.client.client import MODERN, Client
from tests.code_mode.conftest import Scene, answer_of, text_of
from tests.support.otlp_receiver import OtlpReceiver

REPLACE = "replace_pet(pet_id={}, name='Rex', species='dog')"


def observe(scene: Scene, path: Path, **options: Any) -> None:
    """Configure the server to write an audit file."""
    audit = AuditFile(str(path), "k" * 32)
    observer = RequestObserver(list_tool_facts(scene.package), audit=audit, **options)
    scene.package.definition = scene.package.definition.replace(observer=observer)


def test_calls_that_change_something_are_audited_one_by_one(scene: Scene, tmp_path: Path) -> None:
    observe(scene, tmp_path / "audit.log")
    code = f"get_pet(pet_id=1)\n{REPLACE.format(1)}\n{REPLACE.format(2)}"
    answer_of(scene.run(code, revision=MODERN))

    lines = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
    assert [(it["tool"], it["operation"], it["outcome"]) for it in lines] == [
        ("replace_pet", "PUT /pets/{petId}", "ok"),
        ("replace_pet", "PUT /pets/{petId}", "ok"),
    ]
    assert [it["request"].partition("/")[2] for it in lines] == ["call-2", "call-3"]
    assert [it["status"] for it in lines] == [200, 200]


def test_a_call_that_cannot_be_audited_is_not_made(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "audited"
    folder.mkdir()
    observe(scene, folder / "audit.log")
    (folder / "audit.log").unlink()
    folder.rmdir()
    result = scene.run(f"get_pet(pet_id=1)\n{REPLACE.format(1)}", revision=MODERN)

    assert "the audit file of this server cannot be written" in json.loads(text_of(result))["error"]
    assert scene.shop.requests == ["GET /pets/1"]


def test_each_call_has_a_line_in_the_log(
    scene: Scene,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    observe(scene, tmp_path / "audit.log", logs_calls=True)
    scene.run("get_pet(pet_id=1)\nget_pet(pet_id=99)")

    shown = capsys.readouterr().err
    assert shown.count("tools/call get_pet") == 2
    assert "tools/call run_code" in shown
    assert "tool_error" in shown


def test_each_call_has_a_span_below_that_of_the_run(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = OtlpReceiver()
    try:
        for name, value in receiver.environment.items():
            monkeypatch.setenv(name, value)
        spans = Spans(Resource.create({"service.name": "codeshop"}))
        observe(scene, tmp_path / "audit.log", spans=spans)
        answer_of(scene.run("get_pet(pet_id=1)"))
        observer = scene.package.definition.observer
        assert observer is not None
        observer.close()
        found = {span.name: span for span in receiver.spans}
    finally:
        receiver.close()

    run, call = found["tools/call run_code"], found["tools/call get_pet"]
    assert call.trace_id == run.trace_id
    assert call.parent_id == run.span_id
    (sent,) = [span for span in found.values() if span.name.startswith("GET")]
    assert sent.parent_id == call.span_id


def test_scopes_of_the_caller_apply_to_each_call(scene: Scene) -> None:
    scene.access = Access("ada", frozenset({"pets:read"}))
    code = "get_pet(pet_id=1)\nupdate_user(username='ada', newsletter=True)"
    result = scene.run(code)

    assert "the access token lacks the scope `users:write`" in json.loads(text_of(result))["error"]
    assert scene.shop.requests == ["GET /pets/1"]


def test_a_long_run_becomes_a_task_that_asks_its_user(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_code, "_TASK_AFTER_SECONDS", -1.0)
    scene.capabilities = {"elicitation": {"form": {}}, "extensions": {TASKS_EXTENSION: {}}}
    code = "a = get_pet(pet_id=1)['name']\ndelete_pet(pet_id=2)\na"

    async def follow(client: Client, task_id: str) -> JsonObject:
        while True:
            task = await client.request("tasks/get", {"taskId": task_id})
            if task["status"] in {"completed", "failed"}:
                return task
            if asked := task.get("inputRequests"):
                answers = {key: {"action": "accept", "content": {}} for key in asked}
                params = {"taskId": task_id, "inputResponses": answers}
                await client.request("tasks/update", params)
            await asyncio.sleep(0.01)

    async def story(client: Client) -> JsonObject:
        begun = await client.request(
            "tools/call", {"name": "run_code", "arguments": {"code": code}}
        )
        assert begun["resultType"] == "task"
        return await follow(client, begun["taskId"])

    task = scene.talk(story, MODERN)

    assert answer_of(task["result"])["result"] == "pet 1"
    assert scene.shop.requests == ["GET /pets/1", "DELETE /pets/2"]


def test_a_question_of_a_task_that_nobody_answers_ends_the_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_code, "_TASK_AFTER_SECONDS", -1.0)
    scene.settings["CODESHOP_QUESTION_TIMEOUT_SECONDS"] = "1"
    scene.capabilities = {"elicitation": {"form": {}}, "extensions": {TASKS_EXTENSION: {}}}
    code = "try:\n    delete_pet(pet_id=2)\nexcept BaseException:\n    get_pet(pet_id=1)"

    async def story(client: Client) -> JsonObject:
        params = {"name": "run_code", "arguments": {"code": code}}
        begun = await client.request("tools/call", params)
        while True:
            task = await client.request("tasks/get", {"taskId": begun["taskId"]})
            if task["status"] in {"completed", "failed"}:
                return task
            await asyncio.sleep(0.02)

    told = json.loads(text_of(scene.talk(story, MODERN)["result"]))

    assert "did not answer within 1 seconds" in told["error"]
    assert scene.shop.requests == []


def test_a_missing_worker_is_an_error_of_the_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONTY_BIN", "/nowhere/monty")

    assert "The sandbox does not start" in text_of(scene.run("1"))
