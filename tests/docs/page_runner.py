"""Run the commands of a documentation page, and apply its edits of files.

| in the page | meaning |
|---|---|
| ```` ```console ```` | commands after `$ `, each with what it prints, as in tests/journeys |
| ```` ```KIND title="PATH" ```` | write a file; with the kind `diff`, change it |
| `<!-- copy: PATH -->` | copy a file or folder of this repository to where the page starts |
| `<!-- not run: REASON -->` | the next block is only shown |

Commands run in the environment of the tests, whose `pip` installs nothing: for a project made by a
page, it only writes the command that starts the server.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

from tests.docs.generated.pages import REPOSITORY
from tests.journeys.runner import Block, Command, Shell, _edit, fits
from tests.support.paths import CACHE
from tests.support.wheel import copy_project

_FENCE: Final = re.compile(r'^( *)```(\w+)(?: title="([^"]+)")?$')
_COPY: Final = re.compile(r"^<!-- copy: (\S+) -->$")
_NOT_RUN: Final = re.compile(r"^<!-- not run: .+ -->$")
_PROMPT: Final = "$ "
_PIP: Final = """#!{python}
import pathlib, sys, tomllib
for argument in sys.argv[1:]:
    folder = pathlib.Path(argument.partition("[")[0]).resolve()
    if (folder / "pyproject.toml").is_file():
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        for name, target in project["scripts"].items():
            program = pathlib.Path({programs!r}, name)
            module = target.partition(".")[0]
            program.write_text(
                f'#!/bin/sh\\nPYTHONPATH="{{folder}}/src" exec {python} -m {{module}} "$@"\\n'
            )
            program.chmod(0o755)
"""


class PageShell(Shell):
    """A shell in an empty folder, whose `mcpgen` is that of this checkout."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.directory = folder / "work"
        programs, home = folder / "programs", folder / "home"
        for each in (self.directory, programs, home):
            each.mkdir()
        pip = programs / "pip"
        pip.write_text(_PIP.format(python=sys.executable, programs=str(programs)))
        pip.chmod(0o755)
        self._stack = stack
        self._state = folder / "state.sh"
        self._state.write_text(f"cd {shlex.quote(str(self.directory))}\n")
        self._port = ""
        scripts = Path(sys.executable).parent
        self._variables = {
            "PATH": os.pathsep.join([str(programs), str(scripts), os.environ["PATH"]]),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "XDG_CACHE_HOME": str(CACHE / "journeys"),
            "COLUMNS": "100",
            "TERMINAL_WIDTH": "100",
            "NO_COLOR": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }


def runs_commands(page: str) -> bool:
    """Return whether a page contains a command to run."""
    return any(
        block and block.kind == "console" and is_run
        for _, block, is_run in _parts(page.split("\n"))
    )


def run_page(page: str, folder: Path) -> str:
    """Run the commands of a page in an empty folder; return the page with their actual output."""
    with contextlib.ExitStack() as stack:
        shell = PageShell(folder, stack)
        result: list[str] = []
        for lines, block, is_run in _parts(page.split("\n")):
            if copied := _COPY.match(lines[0]):
                _copy(copied[1], shell.directory)
            if block is None or not is_run:
                result += lines
            elif block.kind == "console":
                result += [lines[0], *_run(block, shell), lines[-1]]
            else:
                if block.title:
                    _edit(block, shell.directory)
                result += lines
        return "\n".join(result)


def commands_of(block: Block) -> list[Command]:
    """Return the commands of a block with their expected lines; a trailing `\\` continues one."""
    commands: list[Command] = []
    is_open = False
    for line in block.lines:
        if is_open:
            commands[-1].line += f"\n{line}"
        elif line.startswith(_PROMPT):
            commands.append(Command(line.removeprefix(_PROMPT)))
        else:
            commands[-1].expected.append(line)
        is_open = line.endswith("\\") and (is_open or line.startswith(_PROMPT))
    return commands


def _run(block: Block, shell: Shell) -> list[str]:
    shown: list[str] = []
    for command in commands_of(block):
        actual = shell.run(command.line, len(command.expected))
        expected = command.expected if fits(command.expected, actual) else actual
        shown += [f"{_PROMPT}{command.line}", *expected]
    return shown


def _copy(path: str, directory: Path) -> None:
    source = REPOSITORY / path
    if source.is_dir():
        copy_project(source, directory / source.name)
    else:
        shutil.copy(source, directory)


def _parts(lines: list[str]) -> list[tuple[list[str], Block | None, bool]]:
    """Split a page into single lines and fenced blocks, and mark the blocks to run."""
    parts: list[tuple[list[str], Block | None, bool]] = []
    at, is_run = 0, True
    while at < len(lines):
        found = _FENCE.match(lines[at])
        if found is None:
            if lines[at]:
                is_run = _NOT_RUN.match(lines[at]) is None
            parts.append(([lines[at]], None, is_run))
            at += 1
            continue
        end = lines.index(f"{found[1]}```", at + 1)
        inner = lines[at + 1 : end]
        parts.append((lines[at : end + 1], Block(found[2], found[3] or "", inner), is_run))
        at, is_run = end + 1, True
    return parts


def blocks_of(page: str) -> list[tuple[Block, bool]]:
    """Return the fenced blocks of a page, and whether each is run."""
    return [(block, is_run) for _, block, is_run in _parts(page.split("\n")) if block is not None]
