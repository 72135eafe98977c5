"""Arguments and options that several commands have."""

from __future__ import annotations

import enum
import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec

import typer

from mcpgen.cli.completion_values import list_revisions, list_servers, offer
from mcpgen.cli.exit_codes import RejectedFileError
from mcpgen.cli.output.report import Printer
from mcpgen.factory.packages import WorkspaceRefusedError

P = ParamSpec("P")


def _flag(*names: str, help: str) -> Any:
    return Annotated[bool, typer.Option(*names, help=help, rich_help_panel="In every command")]


_SHARED = {
    "json": _flag("--json", help="Print the result as one JSON object."),
    "quiet": _flag("--quiet", "-q", help="Print errors and warnings only."),
    "ci": _flag("--ci", help="Never prompt, as in continuous integration."),
    "verbose": _flag(
        "--verbose",
        "-v",
        help="List what is otherwise counted: test cases, decisions, stages.",
    ),
    "debug": _flag("--debug", help="Show the traceback of an internal error."),
}


def command(
    run: Callable[Concatenate[Printer, P], int], *, has_json_flag: bool = True
) -> Callable[..., int]:
    """Add the shared options to `run`, and pass it the printer for them.

    typer reads a command's options from its signature, so the shared ones are added there.
    `has_json_flag=False` is for a command that has a `--json` of its own.
    """
    shared = {name: _SHARED[name] for name in _SHARED if has_json_flag or name != "json"}

    @functools.wraps(run)
    def run_with_printer(*args: Any, **kwargs: Any) -> int:
        flags = {name: bool(kwargs.pop(name)) for name in shared}
        printer = Printer(
            as_json=flags.get("json", False),
            is_quiet=flags["quiet"],
            is_verbose=flags["verbose"],
            is_unattended=flags["ci"] or os.environ.get("CI", "").lower() not in {"", "0", "false"},
        )
        try:
            return run(printer, *args, **kwargs)
        except (WorkspaceRefusedError, RejectedFileError) as refused:
            printer.problems(refused.problems)
            return printer.finish(refused.outcome)

    own = inspect.signature(run, eval_str=True)
    _, *parameters = own.parameters.values()
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=option)
        for name, option in shared.items()
    ]
    run_with_printer.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]  # typer asks `inspect` for it
    run_with_printer.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": int}
    return run_with_printer


class FailOn(enum.StrEnum):
    """The levels of changes that a run can fail on."""

    MAJOR = "major"
    MINOR = "minor"
    PATCH = "patch"


Directory = Annotated[
    Path,
    typer.Argument(
        metavar="DIR", help="The folder of a server package.", autocompletion=list_servers
    ),
]
Operation = Annotated[
    str,
    typer.Argument(
        metavar="OP", help='An operation ("GET /pets/{petId}"), tool name or operationId.'
    ),
]
Server = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SERVER]",
        help="The folder of a package, a URL, or a command (after `--` if it has options).",
        autocompletion=list_servers,
    ),
]
_CONNECTION = "Connection"
Header = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A header of every HTTP request; repeatable.",
        rich_help_panel=_CONNECTION,
    ),
]
Env = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="An environment variable of the server's process; repeatable.",
        rich_help_panel=_CONNECTION,
    ),
]
TokenFrom = Annotated[
    str,
    typer.Option(
        metavar="VARIABLE",
        help="The environment variable that contains the access token.",
        rich_help_panel=_CONNECTION,
    ),
]
Live = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Use the API and the variables of your environment instead of a mock of the API.",
    ),
]
AllowWrites = Annotated[
    bool,
    typer.Option("--allow-writes", help="Also call tools that are not marked as read-only."),
]
ExaminedRevision = Annotated[
    str,
    typer.Option(
        metavar="DATE|all",
        help="Examine one revision, or all that the server supports.",
        autocompletion=list_revisions,
    ),
]
ExaminedTransport = Annotated[
    str,
    typer.Option(
        metavar="NAME|all",
        help="stdio, http (Streamable HTTP) or sse (HTTP+SSE of 2024-11-05). By default stdio"
        " for a command, http for a URL, and both for the folder of a package.",
        autocompletion=offer("stdio", "http", "sse", "all"),
    ),
]
MarkdownFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a Markdown page.", rich_help_panel="Reports"),
]
Revision = Annotated[
    str,
    typer.Option(
        metavar="DATE",
        help="The MCP revision to use: 2025-11-25 or 2026-07-28.",
        autocompletion=offer("2025-11-25", "2026-07-28"),
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit with 1 also if evidence of a required stage is missing."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would change without writing it.")
]
Diff = Annotated[
    bool, typer.Option("--diff", help="Show the changes as a unified diff without writing them.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]
FailOnLevel = Annotated[
    FailOn | None, typer.Option(help="Exit with 1 if a change has this level or a higher one.")
]
LintTargets = Annotated[
    list[str] | None,
    typer.Option(
        "--targets",
        metavar="A,B",
        help="Check for these clients; `all`, `portable` or `strict`. By default, `targets` of"
        " mcpgen.yaml, else `portable`.",
    ),
]
TokensBudget = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="The most tokens that the list of tools may cost. By default, `budget` of"
        " mcpgen.yaml, else 10,000.",
    ),
]
StartToLint = Annotated[
    bool,
    typer.Option(
        "--start", help="Start the server of a project, to check its hand-written tools too."
    ),
]
MinScore = Annotated[
    int,
    typer.Option(
        min=0,
        max=100,
        metavar="N",
        help="Exit with 0 if every score is at least N, and 80 % were exercised.",
    ),
]
BundleFormats = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="A,B",
        help="`all`, or some of mcpb, plugin, claude-plugin, docker and server-json.",
    ),
]
SourceCommit = Annotated[
    str,
    typer.Option(metavar="SHA", help="The commit that Docker's catalogue builds from."),
]
StartToBundle = Annotated[
    bool,
    typer.Option("--start", help="Start the server, to list its hand-written tools too."),
]
Against = Annotated[
    str | None,
    typer.Option(
        metavar="REF",
        help="The git revision to compare with; of a branch, the commit where this one left it."
        " By default, HEAD or, outside git, the last result of `generate`.",
    ),
]
