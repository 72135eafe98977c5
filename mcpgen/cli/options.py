"""Arguments and options that several commands have."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer


class FailOn(enum.StrEnum):
    """The levels of changes that a run can fail on."""

    MAJOR = "major"
    MINOR = "minor"
    PATCH = "patch"


Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A package that `mcpgen new` made.")]
Operation = Annotated[
    str, typer.Argument(metavar="OP", help='"GET /pets/{petId}", a tool\'s name or an operationId.')
]
Server = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SERVER]",
        help="The folder of a package, a URL, or a command (after `--` if it has options).",
    ),
]
Revision = Annotated[
    str, typer.Option(metavar="DATE", help="The MCP revision to speak: 2025-11-25, 2026-07-28.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")
]
Diff = Annotated[
    bool, typer.Option("--diff", help="Show each change as a unified diff, and write nothing.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]
FailOnLevel = Annotated[
    FailOn | None, typer.Option(help="Exit with 1 if a change is of this level or above.")
]
