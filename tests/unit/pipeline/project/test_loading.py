"""Tests that `check` finds startup errors, and loads `handlers/` only after they changed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mcpgen.diagnostics import Diagnostic, Problems
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options
from mcpgen.pipeline.project import loading
from tests.support.projects import DOCUMENT, silent

pytestmark = pytest.mark.slow

HANDLERS = "src/pet_shop_mcp/handlers/own.py"
HEAD = """\
from mcpgen.runtime import Context, Features, after, before, override

features = Features()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """Make a project with `new`, for tests to copy."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "petshop.yaml").write_text(DOCUMENT)
    options = Options(external_validator=False, cache=cache)
    report = new(str(folder / "petshop.yaml"), folder / "project", options, silent)
    assert report.outcome == "done", list(report.problems)
    return folder / "project"


@pytest.fixture
def project(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "project")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def write(project: Path, source: str) -> None:
    (project / HANDLERS).write_text(f"{HEAD}\n\n{source}")


def only_problem(project: Path) -> Diagnostic:
    report = check(project)
    (problem,) = report.problems
    assert report.outcome == ("findings" if problem.code == "handler-broken" else "done")
    return problem


BROKEN = {
    "no context": ("@features.tool()\ndef f(name: str) -> str: ...\n", 6, "the context first"),
    "no type": ("@features.tool()\ndef f(ctx: Context, name) -> str: ...\n", 6, "no type"),
    "unsupported type": (
        "@features.tool()\ndef f(ctx: Context, it: complex) -> str: ...\n",
        6,
        "JSON has no `complex`",
    ),
    "no call": ("@features.tool\ndef f(ctx: Context) -> str: ...\n", 6, "@features.tool()"),
    "bad name": (
        "@features.tool('a b')\ndef f(ctx: Context) -> str: ...\n",
        6,
        "'a b' is no valid tool name",
    ),
    "two of a name": (
        "@features.tool('f')\ndef f(ctx: Context): ...\n@features.tool('f')\ndef g(ctx): ...\n",
        8,
        "two features are the tool 'f'",
    ),
    "unknown completion": (
        "@features.completion(prompt='p', argument='a')\ndef f(ctx, value, arguments): ...\n",
        6,
        "no prompt or resource template has it",
    ),
    "import error": ("import nowhere_to_be_found\n", 6, "No module named 'nowhere_to_be_found'"),
    "name of a module": ("from mcpgen.runtime import Contxt\n", 6, "cannot import name"),
    "exception": ("int('x')\n", 6, "ValueError: invalid literal"),
    "exit": ("raise SystemExit('leaving')\n", 6, "SystemExit: leaving"),
}


@pytest.mark.parametrize(("handlers", "line", "why"), BROKEN.values(), ids=BROKEN)
def test_a_handler_error_at_import_is_reported_with_its_line(
    project: Path, handlers: str, line: int, why: str
) -> None:
    write(project, handlers)
    problem = only_problem(project)
    assert problem.code == "handler-broken"
    assert problem.at is not None
    assert (problem.at.file, problem.at.line) == (HANDLERS, line)
    assert problem.at.excerpt == (project / HANDLERS).read_text().splitlines()[line - 1]
    assert why in problem.why


def test_an_override_that_does_not_match_its_operation_is_an_error(
    project: Path, regenerate
) -> None:
    write(project, '@override("GET /pets/{petId}")\nasync def f(ctx: Context, call_next): ...\n')
    regenerate()
    problem = only_problem(project)
    assert (problem.code, problem.at and problem.at.line) == ("handler-broken", 6)
    assert "must take (ctx, call_next, *, pet_id)" in problem.why


def test_a_module_that_ends_the_process_is_an_error(project: Path) -> None:
    write(project, "import os, sys\nprint('bye', file=sys.stderr, flush=True)\nos._exit(3)\n")
    problem = only_problem(project)
    assert (problem.code, problem.why) == (
        "handler-broken",
        "loading it ends with exit code 3: bye",
    )


def test_a_module_that_never_ends_is_an_error(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "TIMEOUT_SECONDS", 3)
    write(project, "import threading\nthreading.Event().wait()\n")
    assert only_problem(project).why == "loading it takes more than 3 seconds"


def test_a_dependency_missing_only_on_this_machine_is_a_note(project: Path) -> None:
    write(project, "import os\nKEY = os.environ['A_KEY_OF_MINE']\n")
    problem = only_problem(project)
    assert problem.code == "handlers-not-loaded"
    assert problem.help == "set `A_KEY_OF_MINE`"

    write(project, "import acme_maps\n")
    assert only_problem(project).code == "handler-broken"
    settings = project / "pyproject.toml"
    settings.write_text(settings.read_text().replace('"mcpgen', '"acme-maps>=2", "mcpgen'))
    assert only_problem(project).code == "handlers-not-loaded"


def test_output_of_a_module_is_ignored(project: Path) -> None:
    write(project, "print('{')\n")
    assert check(project).outcome == "done"


def test_handlers_are_loaded_again_only_if_something_changed(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = tmp_path / "loads"
    monkeypatch.setenv("LOADS", str(loads))
    write(project, "import os\nopen(os.environ['LOADS'], 'a').write('.')\n")
    (project / "src/pet_shop_mcp/own_library.py").write_text("")

    counts = []
    for change in (None, None, "handlers/own.py", None, "own_library.py", None):
        if change:
            with (project / "src/pet_shop_mcp" / change).open("a") as file:
                file.write("# changed\n")
        assert check(project).outcome == "done"
        counts.append(len(loads.read_text()))

    assert counts == [1, 1, 2, 2, 3, 3]
    assert not list(project.rglob("__pycache__")), "check writes nothing into the project"


def test_a_server_without_handlers_of_its_own_starts_no_process(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "run", refuse)
    problems = Problems()
    assert not loading.check_loading(project, problems)
    assert not len(problems)


def test_handlers_are_loaded_with_the_environment_of_the_user(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY_OF_MINE", "key")
    write(project, "import os\nKEY = os.environ['A_KEY_OF_MINE']\n")
    assert check(project).outcome == "done"
    assert os.environ["A_KEY_OF_MINE"] == "key"
