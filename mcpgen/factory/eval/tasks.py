"""The tasks of a project, checked against its server."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

from mcpgen.diagnostics import Problems, RejectedError, did_you_mean
from mcpgen.factory.eval.calls import list_tools
from mcpgen.factory.eval.run import list_tool_names
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.ir.eval_references import mask_references
from mcpgen.ir.eval_tasks import TASKS_FILE, EvalTask, LocatedTasks, StateCheck
from mcpgen.pipeline.options import Progress
from mcpgen.pipeline.project.disk import write_atomically
from mcpgen.pipeline.project.eval_tasks import parse_project_tasks
from mcpgen.pipeline.project.project_folder import read_file

_MAKE_THEM = "`mcpgen eval --init` writes a first file, docs/how-to/eval.md has its format"


class NoTasksError(Exception):
    """A project without tasks, or without the requested ones; `help` states what to do."""

    def __init__(self, message: str, help: str = _MAKE_THEM) -> None:
        super().__init__(message)
        self.help = help


def read_tasks(
    package: GeneratedPackage, shown_as: str, task_ids: Collection[str], problems: Problems
) -> tuple[EvalTask, ...]:
    """Read the tasks of a project, or those with `task_ids`.

    Raises:
        NoTasksError: there is no such task.
        RejectedError: the file is invalid, for the reasons in `problems`.
        ServerFailedError: the server does not list its tools.
    """
    content = read_file(package.directory, TASKS_FILE)
    if content is None:
        raise NoTasksError(f"`{package.directory / TASKS_FILE}` is missing")
    located = parse_project_tasks(content, shown_as, problems)
    _check_tools(located, asyncio.run(list_tool_names(package)))
    _check_state(located, package)
    if problems.has_errors:
        raise RejectedError
    for name in task_ids:
        if not any(task.id == name for task in located.tasks):
            names = [task.id for task in located.tasks]
            hint = did_you_mean(name, names, f"the tasks are {', '.join(names) or 'none'}")
            raise NoTasksError(f"unknown task `{name}`", hint)
    chosen = tuple(task for task in located.tasks if not task_ids or task.id in task_ids)
    if not chosen:
        raise NoTasksError(f"`{package.directory / TASKS_FILE}` has no tasks")
    return chosen


def write_first_tasks(target: Path, problems: Problems, progress: Progress) -> bool:
    """Write a first file of tasks; return whether the API shows any.

    Raises:
        FileExistsError: the project has the file.
        OSError: the disk refused.
        RejectedError: the project cannot be planned, for the reasons in `problems`.
    """
    from mcpgen.pipeline.first_files import render_first_tasks
    from mcpgen.pipeline.planned import plan_existing

    if read_file(target, TASKS_FILE) is not None:
        raise FileExistsError
    files = render_first_tasks(plan_existing(target, problems, progress))
    for file in files:
        (target / file.path).parent.mkdir(exist_ok=True)
        write_atomically(target / file.path, file.content)
    return bool(files)


def _check_tools(located: LocatedTasks, known: frozenset[str]) -> None:
    for number, task in enumerate(located.tasks):
        for keys, tool in list_tools(task):
            if tool not in known:
                hint = did_you_mean(tool, sorted(known), "`mcpgen tools` lists the tools")
                located.report(("tasks", str(number), *keys), f"unknown tool `{tool}`", hint)


def _check_state(located: LocatedTasks, package: GeneratedPackage) -> None:
    """Check that the mock stores the collections whose state is required."""
    checks = [
        (("tasks", str(number), "state", str(index), "path"), check)
        for number, task in enumerate(located.tasks)
        for index, check in enumerate(task.state)
    ]
    if not checks:
        return
    from mcpgen.testing.mock.description import Description
    from mcpgen.testing.mock.item_collections import find_collections

    described = package.upstream() if package.contract["groups"] else {}
    stored, skipped = find_collections(Description(described))
    paths = [(shape[0], it.path) for shape, it in stored.items()]
    for keys, check in checks:
        if not any(_is_path_of(check, *each) for each in paths):
            reason = skipped.get(check.path, "")
            known = sorted({path for source, path in paths if source == check.source})
            located.report(
                keys,
                f"the mock stores no items at `{check.path}`{f': {reason}' if reason else ''}",
                did_you_mean(check.path, known, "`mcpgen mock --stateful` lists the paths"),
            )


def _is_path_of(check: StateCheck, source: str, path: str) -> bool:
    """Return whether a check's path may be that of a collection: its literal segments are."""
    segments = mask_references(check.path).strip("/").split("/")
    found = path.strip("/").split("/")
    return (
        check.source == source
        and len(segments) == len(found)
        and all("{" in one or one == other for one, other in zip(found, segments, strict=True))
    )
