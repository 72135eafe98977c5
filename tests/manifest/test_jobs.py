"""Tests of operations that start or await a job of the API, as tasks without handwritten code."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.protocol.jsonrpc import TASKS_EXTENSION
from mcpgen.runtime.tasks import table
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from tests.support.imports import importing_anew
from tests.support.reports import DOCUMENT, HEAD
from tests.support.task_scene import BOUND_SECONDS, TaskProcess, text_of


class Api:
    """An API whose reports are finished after some requests."""

    def __init__(self, *, requests_until_done: int = 3) -> None:
        self.states: dict[str, int] = {}
        self.requests: list[str] = []
        self.faults: list[int] = []  # statuses of the next responses
        self.until_done = requests_until_done
        self.location = "/v1/reports/r%207"

    async def send(self, request: HttpRequest) -> HttpResponse:
        path = request.url.removeprefix("https://reports.example")
        self.requests.append(f"{request.method} {path}")
        headers = [("Content-Type", "application/json")]
        if request.method == "DELETE":
            return HttpResponse(204, (), b"")
        if request.method == "POST":
            name = f"r{len(self.states) + 1}"
            self.states[name] = 0
            headers.append(("Retry-After", "0"))
            return HttpResponse(202, tuple(headers), self.body(name, "queued"))
        if request.method == "PATCH":
            self.states["r 7"] = 0
            headers = [("Location", self.location), ("Retry-After", "0")]
            return HttpResponse(202, tuple(headers), b"")
        if self.faults:
            return HttpResponse(self.faults.pop(0), (), b"")
        name = path.rpartition("/")[2].replace("%20", " ")
        self.states[name] = self.states.get(name, 0) + 1
        is_done = self.states[name] >= self.until_done
        return HttpResponse(200, tuple(headers), self.body(name, "done" if is_done else "running"))

    def body(self, name: str, status: str) -> bytes:
        return json.dumps({"id": name, "status": status}).encode()

    def count(self, request: str) -> int:
        return self.requests.count(request)


class Project:
    """A project whose manifest tests replace, and processes of its server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def generate(self, manifest: str = "") -> int:
        (self.folder / "mcpgen.yaml").write_text(HEAD + manifest)
        return run(["generate", str(self.folder), "-q"])

    def start(self, api: Api) -> TaskProcess:
        package = ServerPackage.load("reports_mcp")
        environ = {"REPORTS_STATE_URL": f"sqlite:///{self.folder / 'state.db'}"}
        dispatcher = package.make_dispatcher(environ, send=api.send)
        if dispatcher.task_service is not None:
            dispatcher.task_service.start()
        return TaskProcess(dispatcher, package.definition)


@pytest.fixture(scope="session")
def made_reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("jobs")
    source, target = folder / "openapi.json", folder / "reports-mcp"
    source.write_text(json.dumps(DOCUMENT))
    assert run(["new", str(source), str(target), "--name", "reports", "--no-models", "-q"]) == 0
    return target


@pytest.fixture
def project(
    made_reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    folder = shutil.copytree(made_reports, tmp_path / "reports-mcp")
    monkeypatch.syspath_prepend(folder / "src")
    monkeypatch.setattr("mcpgen.runtime.tools.jobs.MIN_SECONDS", 0.01)
    with importing_anew("reports_mcp"):
        yield Project(folder)


def converse(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(story(), BOUND_SECONDS))


FAST = "poll: {until: status, values: [done, failed], interval_seconds: 0.01, timeout_seconds: 5"
BY_HAND = f"""
operations:
  createReport:
    {FAST}, operation: getReport, cancel: cancelReport}}
  getReport:
    {FAST}, cancel: cancelReport}}
"""


def test_a_job_that_the_document_describes_becomes_a_task(project: Project) -> None:
    assert project.generate() == 0

    async def story() -> None:
        api = Api()
        process = project.start(api)
        discovered = await process.result("server/discover")
        assert TASKS_EXTENSION in discovered["capabilities"]["extensions"]
        done = await process.until_final(await process.begin("create_report"))
        assert done["status"] == "completed"
        assert done["result"]["structuredContent"] == {"id": "r1", "status": "done"}
        assert api.requests == ["POST /reports", *["GET /reports/r1"] * 3]
        await process.close()

    # The document says nothing of the interval, and the state is asked for every two seconds.
    converse(story)


@pytest.mark.parametrize(
    ("location", "is_job"),
    [
        ("/v1/reports/r%207", True),
        ("https://elsewhere.example/reports/r%207/", True),  # where the request does not go
        ("/exports/7", False),
        ("", False),
    ],
)
def test_a_job_is_found_by_the_header_location(
    project: Project, location: str, is_job: bool
) -> None:
    assert project.generate() == 0

    async def story() -> None:
        api = Api()
        api.location = location
        process = project.start(api)
        if is_job:
            done = await process.until_final(await process.begin("refresh_reports"))
            assert text_of(done) == '{"id":"r 7","status":"done"}'
            assert api.requests == ["PATCH /reports", *["GET /reports/r%207"] * 3]
        else:
            result = await process.result("tools/call", name="refresh_reports", arguments={})
            assert (result["resultType"], api.requests) == ("complete", ["PATCH /reports"])
        await process.close()

    converse(story)


def test_a_client_without_tasks_gets_the_response_that_begins_the_job(project: Project) -> None:
    assert project.generate() == 0

    async def story() -> None:
        api = Api()
        process = project.start(api)
        result = await process.result(
            "tools/call", name="create_report", arguments={}, capabilities={}
        )
        assert result["structuredContent"] == {"id": "r1", "status": "queued"}
        assert api.requests == ["POST /reports"]
        await process.close()

    converse(story)


NEVER = "operations: {createReport: {task: never}, refreshReports: {task: never}}\n"


def test_a_server_without_tasks_declares_nothing(project: Project) -> None:
    assert project.generate(NEVER) == 0

    async def without() -> None:
        process = project.start(Api())
        discovered = await process.result("server/discover")
        assert TASKS_EXTENSION not in discovered["capabilities"].get("extensions", {})
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            assert (await process.error(method, taskId="x"))["code"] == -32601
        await process.close()

    converse(without)


def test_required_refuses_clients_without_tasks(project: Project) -> None:
    assert project.generate("operations: {replaceReports: {task: required}}\n") == 0

    async def required() -> None:
        api = Api()
        process = project.start(api)
        error = await process.error(
            "tools/call", name="replace_reports", arguments={}, capabilities={}
        )
        assert (error["code"], api.requests) == (-32021, [])
        done = await process.until_final(await process.begin("replace_reports"))
        assert (done["status"], api.requests) == ("completed", ["PUT /reports"])
        await process.close()

    converse(required)


def test_a_polled_operation_is_a_task_once_it_must_wait(project: Project) -> None:
    assert project.generate(BY_HAND) == 0

    async def story() -> None:
        api = Api(requests_until_done=1)
        process = project.start(api)
        call = {"name": "get_report", "arguments": {"report_id": "r9"}}
        at_once = await process.result("tools/call", **call)
        assert at_once["structuredContent"]["status"] == "done"
        api.until_done = 5
        task_id = await process.begin("get_report", arguments={"report_id": "r9"})
        assert text_of(await process.until_final(task_id)) == '{"id":"r9","status":"done"}'
        await process.close()

    converse(story)


@pytest.mark.parametrize("tool", ["create_report", "get_report"])
def test_cancellation_reaches_the_api(project: Project, tool: str) -> None:
    assert project.generate(BY_HAND) == 0

    async def story() -> None:
        api = Api(requests_until_done=1_000_000)
        process = project.start(api)
        arguments = {"report_id": "r1"} if tool == "get_report" else {}
        task_id = await process.begin(tool, arguments=arguments)
        await process.until(task_id, lambda it: "running" in it.get("statusMessage", ""))
        await process.result("tasks/cancel", taskId=task_id)
        done = await process.until_final(task_id)
        assert (done["status"], api.count("DELETE /reports/r1")) == ("cancelled", 1)
        await process.close()

    converse(story)


def test_a_job_survives_failures_of_the_api(project: Project) -> None:
    assert project.generate(BY_HAND) == 0

    async def story() -> None:
        api = Api()
        api.faults = [404]
        process = project.start(api)
        failed = await process.until_final(await process.begin("create_report"))
        assert failed["status"] == "completed"
        assert failed["result"]["isError"] is True
        api.faults = [503] * 4
        done = await process.until_final(await process.begin("create_report"))
        assert done["result"]["structuredContent"] == {"id": "r2", "status": "done"}
        await process.close()

    converse(story)


@pytest.mark.parametrize("tool", ["create_report", "get_report"])
@pytest.mark.parametrize("end", ["kill", "close"])
def test_another_process_continues_a_job(
    project: Project, monkeypatch: pytest.MonkeyPatch, tool: str, end: str
) -> None:
    monkeypatch.setattr(table, "LEASE_SECONDS", 0.3)
    assert project.generate(BY_HAND) == 0

    async def story() -> None:
        api = Api(requests_until_done=1_000_000)
        process = project.start(api)
        arguments = {"report_id": "r1"} if tool == "get_report" else {}
        task_id = await process.begin(tool, arguments=arguments)
        await process.until(task_id, lambda it: "running" in it.get("statusMessage", ""))
        await (process.kill() if end == "kill" else process.close())
        polls = len(api.requests)
        await asyncio.sleep(0.4)
        assert len(api.requests) <= polls + 1
        api.until_done = api.states["r1"] + 3
        again = project.start(api)
        async with asyncio.timeout(BOUND_SECONDS):
            while True:
                await asyncio.sleep(0.02)
                if api.states["r1"] >= api.until_done:  # nobody has asked for it
                    break
        done = await again.until_final(task_id)
        assert done["result"]["structuredContent"] == {"id": "r1", "status": "done"}
        assert api.count("POST /reports") <= 1
        await again.close()

    converse(story)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{task: never, " + FAST + ", operation: getReport}}", "`task` is `never`"),
        ("{" + FAST + ", operation: readReport}}", "`readReport` is no operation"),
        ("{" + FAST + ", operation: cancelReport}}", "polling sends it again"),
        ("{" + FAST + ", operation: getReport, arguments: {reportId: $x}}}", "invalid expression"),
        (
            "{" + FAST + ", operation: getReport, arguments: {reportId: $inputs.x}}}",
            "there is no input `x`",
        ),
        ("{" + FAST.replace("status", "state") + ", operation: getReport}}", "state"),
    ],
)
def test_a_job_that_cannot_be_awaited_is_an_error(
    project: Project, capfd: pytest.CaptureFixture[str], entry: str, said: str
) -> None:
    assert project.generate(f"operations: {{createReport: {entry}}}\n") != 0
    assert said in capfd.readouterr().err


def test_an_argument_that_nothing_gives_is_an_error(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    entry = "{" + FAST + ", operation: getReport}}"
    assert project.generate(f"operations: {{replaceReports: {entry}}}\n") != 0
    assert "nothing gives" in capfd.readouterr().err
