"""Run a journey: a Markdown page of commands, edits and expected output.

README.md in this folder describes the format. Each journey has a folder and a virtual environment
of its own, which contains only what the journey installs.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support.paths import CACHE
from tests.support.running_server import NODE_MODULES, installed
from tests.support.wheel import mcpgen_wheel, new_environment, pip_command, shell_variables

WAIT_SECONDS: Final = 600
WIDTH: Final = "100"
_HERE: Final = Path(__file__).parent
_FENCE: Final = re.compile(r"^```(\w+) ?(.*)$")
_ADDRESS: Final = re.compile(r"(127\.0\.0\.1|localhost):(\d{2,5})\b")
_DURATION: Final = re.compile(r"\bin \d+\.\d+s( \([0-9:]+\))?")
_ANYTHING: Final = "…"
_PEERS: Final = CACHE / "peers"
_NODE: Final = NODE_MODULES / "node" / "bin" / "node"
_PYRIGHT: Final = NODE_MODULES / "pyright" / "index.js"
# Programs of other projects: what runs them, and its first arguments.
_OTHERS: Final = {
    "mcp-1.30.0": (_PEERS / "mcp-1.30.0/bin/python", [str(_HERE / "clients/mcp_1_30.py")]),
    "mcp-2.3.0": (_PEERS / "mcp-2.3.0/bin/python", [str(_HERE / "clients/mcp_2_3.py")]),
    "typescript-client-2.4.0": (_NODE, [str(_HERE / "clients/typescript.mjs"), str(NODE_MODULES)]),
    "pyright": (_NODE, [str(_PYRIGHT)]),
}
Pip = Callable[[Path], list[str]]


@dataclass
class Block:
    """A fenced block of a page: its kind, the rest of the opening line, and its lines."""

    kind: str
    title: str
    lines: list[str]


@dataclass
class Command:
    """A command with its expected output lines."""

    line: str
    expected: list[str] = field(default_factory=list)


def run_page(page: str, folder: Path, pip: Pip = pip_command) -> str:
    """Run a page in the empty `folder`; return the page with its actual output.

    `pip` returns the command that stands for `pip` in an environment, by its folder of programs.

    Expected lines that fit stay as they are, with their placeholders. In every other place the
    result has what was printed.
    """
    for name, (runs, arguments) in _OTHERS.items():
        if f"$ {name} " in page:
            installed(runs, "peers")
            installed(Path(arguments[0]), "peers")
    with contextlib.ExitStack() as stack:
        shell = Shell(folder, stack, pip)
        parts: list[str] = []
        for part in _parts(page):
            if isinstance(part, str):
                parts.append(part)
            elif part.kind == "console":
                parts += _run_console(part, shell)
            else:
                _edit(part, shell.directory)
                parts += _fenced(part)
        return "\n".join(parts)


def _parts(page: str) -> Iterator[str | Block]:
    """Split a page into lines of prose and fenced blocks."""
    lines = iter(page.split("\n"))
    for line in lines:
        if found := _FENCE.match(line):
            block = Block(found[1], found[2], [])
            for inner in lines:
                if inner == "```":
                    break
                block.lines.append(inner)
            yield block
        else:
            yield line


def _fenced(block: Block) -> list[str]:
    return [f"```{block.kind} {block.title}".rstrip(), *block.lines, "```"]


def _run_console(block: Block, shell: Shell) -> list[str]:
    printed: list[str] = []
    for command in _commands(block):
        actual = shell.run(command.line, len(command.expected))
        is_same = fits(command.expected, actual)
        printed += [f"$ {command.line}", *(command.expected if is_same else actual)]
    return _fenced(Block(block.kind, block.title, printed))


def _commands(block: Block) -> list[Command]:
    commands: list[Command] = []
    for line in block.lines:
        if line.startswith("$ "):
            commands.append(Command(line.removeprefix("$ ")))
        else:
            commands[-1].expected.append(line)
    return commands


def fits(expected: list[str], actual: list[str]) -> bool:
    """Return whether lines match: "…" is any text, or any lines if it is alone on a line."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == _ANYTHING else _line_pattern(line) + "\n" for line in expected
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in actual)) is not None


def _line_pattern(line: str) -> str:
    return ".*?".join(map(re.escape, line.split(_ANYTHING)))


def _edit(block: Block, directory: Path) -> None:
    """Write a file, or apply a diff without line numbers to it."""
    path = directory / block.title
    if block.kind != "diff":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(block.lines) + "\n")
        return
    old = "".join(f"{line[1:]}\n" for line in block.lines if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in block.lines if not line.startswith("-"))
    text = path.read_text()
    assert text.count(old) == 1, f"the diff does not fit {block.title}:\n{old}\n---\n{text}"
    path.write_text(text.replace(old, new))


class Shell:
    """A user's shell that runs single commands; its variables and current folder persist."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack, pip: Pip) -> None:
        self.directory = folder / "work"
        self.directory.mkdir()
        self._stack = stack
        self._state = folder / "state.sh"
        self._port = ""
        scripts = new_environment(folder / "environment")
        programs = _make_programs(folder / "programs", pip(scripts))
        variables = shell_variables(scripts)
        self._variables = {
            **{name: variables[name] for name in ("LANG", "LC_ALL") if name in variables},
            "PATH": os.pathsep.join([str(programs), variables["PATH"]]),
            "VIRTUAL_ENV": variables["VIRTUAL_ENV"],
            "HOME": str(folder / "home"),
            "XDG_CACHE_HOME": str(CACHE / "journeys"),
            "COLUMNS": WIDTH,
            "TERMINAL_WIDTH": WIDTH,
            "NO_COLOR": "1",
        }
        (folder / "home").mkdir()
        shutil.copy(mcpgen_wheel(), self.directory)
        self._state.write_text(f"cd {shlex.quote(str(self.directory))}\n")

    def run(self, line: str, expected_lines: int) -> list[str]:
        """Run a command; return its output lines, then the exit code unless it is 0."""
        line = line.replace(":PORT", f":{self._port}")
        if line.endswith(" &"):
            return self._start(line.removesuffix(" &"), expected_lines)
        state = shlex.quote(str(self._state))
        script = f". {state}\n{line}\ncode=$?\n"
        script += f'{{ export -p; echo "cd \\"$PWD\\""; }} >{state}\nexit $code'
        done = subprocess.run(
            ["bash", "-c", script],
            env=self._variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        lines = [self._settled(each) for each in done.stdout.splitlines()]
        return lines + ([f"[exit code {done.returncode}]"] if done.returncode else [])

    def _start(self, line: str, expected_lines: int) -> list[str]:
        """Start a server program, and wait until it has printed the expected number of lines."""
        script = f". {shlex.quote(str(self._state))}\nexec {line}"
        process = subprocess.Popen(
            ["bash", "-c", script],
            env=self._variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._stack.callback(_stop, process)
        assert process.stdout is not None
        lines: list[str] = []
        while len(lines) < max(expected_lines, 1) and (printed := process.stdout.readline()):
            lines.append(self._settled(printed.rstrip("\n")))
        return lines

    def _settled(self, line: str) -> str:
        """Replace what differs between runs, and remember the last announced port."""
        line = line.replace(f"{self.directory}/", "").replace(str(self.directory), ".")
        if (found := _ADDRESS.search(line)) is not None:
            self._port = found[2]
        line = _DURATION.sub("in … s", line)
        return _ADDRESS.sub(r"\1:PORT", line).rstrip()


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.communicate(timeout=WAIT_SECONDS)


def _make_programs(folder: Path, pip: list[str]) -> Path:
    """Write the programs that a journey expects: pip, and programs of other projects."""
    folder.mkdir()
    commands = {name: [str(runs), *arguments] for name, (runs, arguments) in _OTHERS.items()}
    for name, command in {"pip": pip, **commands}.items():
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        program.chmod(0o755)
    return folder


def journeys() -> list[Path]:
    """Return the pages, in order."""
    return sorted(_HERE.glob("[0-9]*.md"))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as place:
            sys.stdout.write(run_page(Path(argument).read_text(), Path(place)))
