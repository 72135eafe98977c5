"""The command line: its commands, and the reports of failures."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
import typer.main

import mcpgen
from mcpgen.cli import completion
from mcpgen.cli.arguments import disable_value_expansion
from mcpgen.cli.exit_codes import EXIT_CODES, UsageError
from mcpgen.cli.options import command
from mcpgen.cli.output.report import Printer
from mcpgen.factory.packages import NoPackageError
from mcpgen.pipeline.options import Outcome


def write_bug_report(traceback: str) -> str:
    """Write the traceback into a new file and return its path; "" if that fails."""
    import tempfile  # here and below: for bugs alone

    try:
        handle, path = tempfile.mkstemp(prefix="mcpgen-bug-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"Python {sys.version}\n\n{traceback}")
    except OSError:
        return ""
    return path


# Each is a module of its own. The help lists them in this order.
_COMMANDS = tuple(
    """
    new generate pull source check status review dashboard changelog override eject ack tools call
    explore inspect mock test validate lint audit eval add remove list doctor bundle schema overlay
    ws completion
    """.split()
)


def _show_version(is_requested: bool) -> None:
    if is_requested:
        from importlib.metadata import version

        Printer().result(f"mcpgen {version('mcpgen')}")
        raise typer.Exit


def options_before_the_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Turn an API description into an MCP server package, and look after it."""


def _command_line(argv: Sequence[str]) -> typer.Typer:
    """Build the command line with the requested command, or with all if there is none.

    Importing all commands would take longer than most commands run.
    """
    app = typer.Typer(
        help=mcpgen.__doc__,
        add_completion=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        callback=options_before_the_command,
    )
    for name in argv[:1] if argv and argv[0] in _COMMANDS else _COMMANDS:
        module = importlib.import_module(f"mcpgen.cli.commands.{name}")
        if hasattr(module, "add_to"):  # a group of commands, or a command that is special
            module.add_to(app)
        else:
            app.command(name)(command(getattr(module, name)))
    return app


def run(argv: Sequence[str]) -> int:
    """Run one command and return its exit code; raise an exception only with `--debug`."""
    options = argv[: argv.index("--")] if "--" in argv else argv
    printer = Printer(as_json="--json" in options)
    if completion.is_completing():
        return _complete()
    try:
        command_line = typer.main.get_command(_command_line(argv))
        disable_value_expansion(command_line)
        code = command_line.main(args=list(argv), prog_name="mcpgen", standalone_mode=False)
        return int(code or 0)
    except (UsageError, NoPackageError) as error:
        printer.error("usage", str(error), help=error.help)
        return printer.finish(Outcome.USAGE)
    except typer.TyperException as error:
        return _report_usage_error(printer, argv, error)
    except typer.Abort:
        return printer.finish(Outcome.USAGE, "aborted")
    except Exception as error:  # any bug is reported without a traceback
        if "--debug" in options:
            raise
        from mcpgen.pipeline.project.disk import is_system_fault  # imported only when needed

        return (_report_fault if is_system_fault(error) else _report_bug)(printer, error)


def _complete() -> int:
    """Answer the completion script of a shell."""
    words = completion.read_words()
    name = completion.choose_command(words, _COMMANDS)
    app = _command_line([name]) if name else _list_commands()
    completion.register_shells()
    command_line = typer.main.get_command(app)
    disable_value_expansion(command_line)
    command_line.main(args=[], prog_name="mcpgen", complete_var=completion.VARIABLE)
    return EXIT_CODES[Outcome.DONE]


def _list_commands() -> typer.Typer:
    """Return a command line with the names of all commands, none of which is imported."""
    app = typer.Typer(add_completion=False, callback=options_before_the_command)
    for name in _COMMANDS:
        app.command(name, help=completion.summarize_command(name))(lambda: None)
    return app


def _report_usage_error(printer: Printer, argv: Sequence[str], error: typer.TyperException) -> int:
    message = error.format_message().rstrip(".")
    if not message:  # no command was named, and typer has shown the help
        return EXIT_CODES[Outcome.USAGE]
    command_path = [argv[0]] if argv[0] in _COMMANDS else []
    printer.error(
        "usage",
        message,
        help=f"`{' '.join(['mcpgen', *command_path, '--help'])}` shows what there is",
    )
    return printer.finish(Outcome.USAGE)


def _report_fault(printer: Printer, error: Exception) -> int:
    """Report a fault of the user's system, such as a full disk."""
    from mcpgen.diagnostics import Problems
    from mcpgen.pipeline.project.disk import report_system_fault

    problems = Problems()
    outcome = report_system_fault(error, problems)
    printer.problems(problems)
    return printer.finish(outcome)


def _report_bug(printer: Printer, bug: Exception) -> int:
    """Report a bug of mcpgen in one line, and write its details to a file.

    The text of the exception is only in the file, because it may contain input of the user.
    """
    import traceback

    report = write_bug_report("".join(traceback.format_exception(bug)))
    printer.fact(report=report)
    where = f"the details are in {report}" if report else "`--debug` shows the details"
    printer.error("bug", f"bug in mcpgen ({type(bug).__name__}); {where}")
    return printer.finish(Outcome.BUG)
