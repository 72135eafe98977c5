"""`mcpgen eval`: tasks for an agent, with the stateful mock of a server's API."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.completion_values import list_tasks
from mcpgen.cli.exit_codes import UsageError
from mcpgen.cli.options import Directory, MarkdownFile, command
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.summary import display_path
from mcpgen.cli.output.visible import visible
from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.factory.packages import find_package
from mcpgen.pipeline.options import Outcome

if TYPE_CHECKING:
    from mcpgen.factory.eval.agents import Agent
    from mcpgen.factory.eval.compare import Comparison
    from mcpgen.factory.eval.report import Evaluation
    from mcpgen.factory.eval.run import EvalOptions
    from mcpgen.factory.packages import GeneratedPackage
    from mcpgen.ir.eval_tasks import EvalTask

_LIMITS = "Limits of each task"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("eval")(command(evaluate))


def evaluate(
    printer: Printer,
    directory: Directory = Path(),
    *,
    agent: Annotated[
        str,
        typer.Option(
            "--agent",
            metavar="COMMAND",
            help="Start this agent for each task, and speak JSON Lines with it. By default, a"
            " scripted agent makes the required calls.",
        ),
    ] = "",
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="ID",
            help="Run only this task; repeatable.",
            autocompletion=list_tasks,
        ),
    ] = None,
    compare: Annotated[
        str,
        typer.Option(
            "--compare",
            metavar="REPORT|REVISION",
            help="Compare with a report of --json, or with the server at a git revision, which the"
            " same agent tries first.",
        ),
    ] = "",
    max_calls: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="The most calls.", rich_help_panel=_LIMITS),
    ] = 30,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            help="The most seconds until the answer.",
            rich_help_panel=_LIMITS,
        ),
    ] = 120.0,
    init: Annotated[
        bool,
        typer.Option(
            "--init",
            help="Write a first evals/tasks.yaml, from workflows, links and collections of the"
            " API, and run nothing.",
        ),
    ] = False,
    markdown: MarkdownFile = None,
) -> int:
    """Let an agent solve the tasks of evals/tasks.yaml, and check its calls and what they did.

    No request leaves this machine: the server uses a mock of its API that stores items. The exit
    code is 1 if a task failed.
    """
    from mcpgen.factory.eval.run import EvalOptions, ServerFailedError

    package = find_package(directory)
    if init:
        return _write_first_tasks(printer, directory)
    chosen = _choose_agent(agent)
    problems = Problems()
    try:
        tasks = _read_tasks(package, task or (), problems)
        with printer.progress() as progress:
            options = EvalOptions(max_calls, timeout)
            now, comparison = _run(package, tasks, chosen, options, compare, progress)
    except RejectedError:
        printer.problems(problems)
        return printer.finish(Outcome.REJECTED)
    except ServerFailedError as error:
        printer.error("unreachable", visible(str(error)))
        return printer.finish(Outcome.FINDINGS, "unreachable")
    _report(printer, now, comparison, markdown)
    passed = not now.failed
    return printer.finish(
        Outcome.DONE if passed else Outcome.FINDINGS, "passed" if passed else "failed"
    )


def _write_first_tasks(printer: Printer, directory: Path) -> int:
    """Write the first tasks.

    Raises:
        UsageError: there are some already, or the folder cannot be written.
    """
    from mcpgen.factory.eval.tasks import write_first_tasks
    from mcpgen.ir.eval_tasks import TASKS_FILE

    problems, shown = Problems(), visible(display_path(directory / TASKS_FILE))
    try:
        with printer.progress() as progress:
            written = write_first_tasks(directory, problems, progress)
    except RejectedError:
        printer.problems(problems)
        return printer.finish(Outcome.REJECTED)
    except FileExistsError:
        raise UsageError(f"`{shown}` exists", help="remove it to get a new one") from None
    except OSError as error:
        raise UsageError(f"cannot write `{shown}`: {error.strerror}") from None
    printer.fact(written=[TASKS_FILE] if written else [])
    if written:
        printer.result(f"wrote {shown}")
    else:
        printer.result("no tasks: the API has no workflows, links or collections that show one")
    return printer.finish(Outcome.DONE)


def _choose_agent(command_line: str) -> Agent:
    """Return the agent of a command, or the scripted one.

    Raises:
        UsageError: there is no such program.
    """
    from mcpgen.factory.eval.agents import ScriptedAgent
    from mcpgen.factory.eval.command_agent import CommandAgent

    if not command_line.strip():
        return ScriptedAgent()
    try:
        words = shlex.split(command_line)
    except ValueError as error:
        raise UsageError(f"invalid value of --agent: {error}") from None
    if shutil.which(words[0]) is None:
        raise UsageError(
            f"cannot find the program `{visible(words[0])}` of --agent",
            help="write its path, or a command with arguments in quotes",
        )
    return CommandAgent(words)


def _read_tasks(
    package: GeneratedPackage, task_ids: Sequence[str], problems: Problems
) -> tuple[EvalTask, ...]:
    from mcpgen.factory.eval.tasks import NoTasksError, read_tasks
    from mcpgen.ir.eval_tasks import TASKS_FILE

    try:
        shown_as = display_path(package.directory / TASKS_FILE)
        return read_tasks(package, shown_as, task_ids, problems)
    except NoTasksError as error:
        raise UsageError(visible(str(error)), help=visible(error.help)) from None


def _run(
    package: GeneratedPackage,
    tasks: Sequence[EvalTask],
    agent: Agent,
    options: EvalOptions,
    compared: str,
    progress: Callable[[str], None],
) -> tuple[Evaluation, Comparison | None]:
    """Run the tasks, and compare.

    Raises:
        UsageError: there is nothing to compare with.
    """
    from mcpgen.factory.eval.report import ReportError
    from mcpgen.factory.eval.revision import NoRevisionError
    from mcpgen.factory.eval.session import evaluate_and_compare

    try:
        return evaluate_and_compare(package, tasks, agent, options, compared, progress)
    except ReportError as error:
        raise UsageError(
            f"`{visible(compared)}` is no report: {visible(str(error))}",
            help="make one with `mcpgen eval --json > FILE`",
        ) from None
    except NoRevisionError as error:
        raise UsageError(
            f"cannot compare with `{visible(compared)}`: {visible(str(error))}",
            help="give the file of a report, or a git revision",
        ) from None


def _report(
    printer: Printer, now: Evaluation, comparison: Comparison | None, markdown: Path | None
) -> None:
    """Print the results, and write the page that was asked for."""
    from mcpgen.cli.output.evaluation import show_comparison, show_evaluation
    from mcpgen.cli.output.review import write_markdown
    from mcpgen.factory.eval.compare import format_comparison
    from mcpgen.factory.eval.markdown import format_markdown
    from mcpgen.factory.eval.report import format_evaluation

    if markdown is not None:
        write_markdown(markdown, format_markdown(now, comparison))
    printer.fact(**format_evaluation(now))
    show_evaluation(printer, now)
    if comparison is None:
        return
    printer.fact(comparison=format_comparison(comparison))
    show_comparison(printer, comparison)
    if comparison.has_other_agent:
        printer.note(
            "other-agent",
            f"the agent was `{visible(comparison.before.agent)}` before",
            why="the difference may be that of the agents",
            help="compare with a git revision, which the same agent tries",
        )
    changed = [it.id for it in comparison.changes if it.has_other_goal]
    if changed:
        printer.note(
            "other-goals",
            f"the goals of {', '.join(changed)} have changed",
            why="their results before and after are of different tasks",
        )
