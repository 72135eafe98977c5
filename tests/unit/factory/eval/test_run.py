"""Tests of tasks with agents: scripted, failing in every way, and choosing tools."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.factory.eval.agents import Agent, ScriptedAgent
from mcpgen.factory.eval.command_agent import MAX_LINE_BYTES, CommandAgent
from mcpgen.factory.eval.report import Evaluation, TaskResult
from mcpgen.factory.eval.run import EvalOptions, Subject, evaluate
from mcpgen.factory.eval.tasks import NoTasksError, read_tasks, write_first_tasks
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.ir.eval_tasks import TASKS_FILE
from tests.support.projects import silent
from tests.support.running_process import wait_for_end
from tests.unit.factory.eval.conftest import write_tasks

ADOPT = """\
  - id: adopt
    goal: "Add a pet (name: Tim). Show it."
    calls:
      - {tool: add_pet, id: new, arguments: {name: Tim}}
      - {tool: get_pet, arguments: {pet_id: $calls.new#/id}}
    forbidden: [{tool: remove_pet}]
    state:
      - {path: /pets, has: {name: Tim}, count: 1}
      - {path: /pets, lacks: {name: Tom}}
"""


def run(
    package: GeneratedPackage, agent: Agent | None = None, options: EvalOptions | None = None
) -> Evaluation:
    tasks = read_tasks(package, TASKS_FILE, (), Problems())
    subject = Subject(package, {})
    solving = evaluate(subject, tasks, agent or ScriptedAgent(), options or EvalOptions(), silent)
    return asyncio.run(solving)


def run_one(package: GeneratedPackage, code: str, options: EvalOptions | None = None) -> TaskResult:
    """Run the task with an agent of this code, which can use the functions `call` and `answer`."""
    prelude = (
        "import json, os, subprocess, sys, time\n"
        "def read(): return json.loads(sys.stdin.readline())\n"
        "def say(**message): print(json.dumps(message), flush=True)\n"
        "def call(tool, **arguments):\n"
        "    say(type='call', id=1, tool=tool, arguments=arguments)\n"
        "    return read()\n"
        "def answer(): say(type='answer', text='done')\n"
    )
    write_tasks(package, ADOPT)
    agent = CommandAgent([sys.executable, "-c", prelude + code])
    (result,) = run(package, agent, options).tasks
    return result


def test_the_scripted_agent_proves_that_a_task_can_be_solved(package: GeneratedPackage) -> None:
    write_tasks(package, ADOPT)
    evaluation = run(package)
    (result,) = evaluation.tasks
    assert (evaluation.failed, result.reasons) == (0, ())
    assert [call.tool for call in result.calls] == ["add_pet", "get_pet"]
    assert result.definition_tokens > 300
    assert result.summarize().result_tokens > 10


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "name: Tim}, count: 1",
            "name: Tim}, count: 2",
            '/pets has 1 item with {"name": "Tim"}, exp',
        ),
        (
            "has: {name: Tim}, count: 1",
            "has: {name: Tom}",
            '/pets has no item with {"name": "Tom"}',
        ),
        ("lacks: {name: Tom}", "lacks: {name: Tim}", '/pets has an item with {"name": "Tim"}'),
        ("tool: remove_pet", "tool: get_pet", "`get_pet` must not be called; call 2 did"),
        ("$calls.new#/id}", "$calls.new#/no}", "cannot call `get_pet`: the result of `new` has n"),
        ("pet_id: $calls.new#/id", "pet_id: 99", "`get_pet` failed: `GET /pets/99` answered 404"),
    ],
)
def test_what_must_hold_is_checked(
    package: GeneratedPackage, old: str, new: str, reason: str
) -> None:
    assert old in ADOPT
    write_tasks(package, ADOPT.replace(old, new))
    (result,) = run(package).tasks
    assert any(it.startswith(reason) for it in result.reasons), result.reasons


def test_a_state_that_holds_from_the_start_proves_nothing(package: GeneratedPackage) -> None:
    write_tasks(
        package,
        "  - {id: a, goal: g, calls: [{tool: list_pets}], state: [{path: /pets, count: 1}]}\n",
    )
    (result,) = run(package).tasks
    assert result.reasons == ("its `state` holds before the first call, so that it proves nothing",)


def test_each_task_begins_with_the_first_state(package: GeneratedPackage) -> None:
    write_tasks(package, ADOPT + ADOPT.replace("id: adopt", "id: again"))
    assert run(package).failed == 0


# Agents in processes


def test_an_agent_gets_the_goal_the_tools_and_the_results(package: GeneratedPackage) -> None:
    result = run_one(
        package,
        "task = read()\n"
        "assert task['goal'] == 'Add a pet (name: Tim). Show it.' and task['type'] == 'task'\n"
        "assert 'add_pet' in [it['name'] for it in task['tools']] and task['max_calls'] == 30\n"
        "assert 'error' in call('no_such_tool')\n"
        "assert call('get_pet', pet_id=99)['result']['isError']\n"
        "new = call('add_pet', name='Tim')\n"
        "print()\n"
        "call('get_pet', pet_id=new['result']['structuredContent']['id'])\n"
        "answer()\n",
    )
    assert result.reasons == ()
    assert (result.answer, result.summarize().calls, result.summarize().errors) == ("done", 4, 2)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("answer()", "`add_pet` was not called"),
        ("sys.exit('no key')", "the agent exited with code 1 before its answer: no key"),
        ("1/0", "the agent exited with code 1 before its answer: ZeroDivisionError: division by"),
        ("", "the agent exited with code 0 before its answer"),
        ("os.close(1); time.sleep(60)", "the agent closed its output without an answer"),
        ("print('hello', flush=True)", "the agent wrote an invalid line 1: it is not JSON"),
        ("print('[1]')", "the agent wrote an invalid line 1: it is not a JSON object"),
        ("print('[' * 100000)", "the agent wrote an invalid line 1: it is not JSON"),
        (
            "say(type='think')",
            'the agent wrote an invalid line 1: `type` is not "call" or "answer"',
        ),
        ("say(type='call', tool=7)", "the agent wrote an invalid line 1: `tool` is not a string"),
        ("say(type='answer')", "the agent wrote an invalid line 1: `text` is not a string"),
        (
            "say(type='call', tool='t', arguments=[])",
            "the agent wrote an invalid line 1: `arguments` is not an object",
        ),
        (
            f"print('x' * {MAX_LINE_BYTES + 9})",
            "the agent wrote an invalid line 1: it is longer th",
        ),
        ("while True: call('list_pets')", "the agent made more than 5 calls"),
    ],
)
def test_an_agent_that_fails_is_reported(package: GeneratedPackage, code: str, reason: str) -> None:
    result = run_one(package, code, EvalOptions(max_calls=5))
    assert result.reasons[0].startswith(reason), result.reasons


@pytest.mark.parametrize("code", ["time.sleep(600)", "read(); call('list_pets'); time.sleep(600)"])
def test_a_silent_agent_is_ended_with_its_children(
    package: GeneratedPackage, tmp_path: Path, code: str
) -> None:
    file = tmp_path / "pid"
    start = f"p = subprocess.Popen(['sleep', '600']); open({str(file)!r}, 'w').write(str(p.pid))\n"
    result = run_one(package, start + code, EvalOptions(timeout_seconds=3))
    assert result.reasons[0].startswith("no answer within 3 seconds, after ")
    wait_for_end(int(file.read_text()))


def test_a_program_that_cannot_run_is_reported(package: GeneratedPackage) -> None:
    write_tasks(package, ADOPT)
    (result,) = run(package, CommandAgent(["/nowhere/agent"])).tasks
    assert result.reasons[0].startswith("the agent cannot be started: No such file")


def test_a_server_that_does_not_start_is_reported(package: GeneratedPackage) -> None:
    write_tasks(package, ADOPT)
    tasks = read_tasks(package, TASKS_FILE, (), Problems())
    (package.directory / "src" / package.name / "__main__.py").write_text("1 / 0\n")
    subject = Subject(package, {})
    evaluation = asyncio.run(evaluate(subject, tasks, ScriptedAgent(), EvalOptions(), silent))
    assert evaluation.tasks[0].reasons[0].startswith("the server does not start: ")


# The file


def test_tools_and_paths_are_checked_with_locations(package: GeneratedPackage) -> None:
    write_tasks(
        package, ADOPT.replace("add_pet", "ad_pet").replace("{path: /pets, l", "{path: /x, l")
    )
    problems = Problems()
    with pytest.raises(RejectedError):
        read_tasks(package, TASKS_FILE, (), problems)
    assert [(str(it.at), it.message, it.help) for it in problems] == [
        ("evals/tasks.yaml:6:16", "unknown tool `ad_pet`", "did you mean `add_pet`?"),
        (
            "evals/tasks.yaml:11:16",
            "the mock stores no items at `/x`",
            "`mcpgen mock --stateful` lists the paths",
        ),
    ]


def test_a_project_without_tasks(package: GeneratedPackage) -> None:
    (package.directory / TASKS_FILE).unlink()
    with pytest.raises(NoTasksError, match="is missing"):
        read_tasks(package, TASKS_FILE, (), Problems())
    assert write_first_tasks(package.directory, Problems(), silent)
    with pytest.raises(FileExistsError):
        write_first_tasks(package.directory, Problems(), silent)
    with pytest.raises(NoTasksError, match="unknown task `nope`"):
        read_tasks(package, TASKS_FILE, ("nope",), Problems())


def test_the_first_tasks_can_be_solved(package: GeneratedPackage) -> None:
    evaluation = run(package)
    assert [(it.id, it.reasons) for it in evaluation.tasks] == [
        ("add-pet-then-list-visits", ()),
        ("add-pet-then-get-pet", ()),
        ("remove-pet", ()),
    ]
    idle = run(
        package, CommandAgent([sys.executable, "-c", 'print(\'{"type": "answer", "text": ""}\')'])
    )
    assert idle.failed == len(idle.tasks), "no task is solved by doing nothing"
