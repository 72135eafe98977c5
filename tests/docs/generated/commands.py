"""Tables of the options of `mcpgen` and of a generated server, from the code that parses them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import typer.main

from mcpgen.cli.app import _command_line
from tests.docs.generated.pages import REPOSITORY
from tests.support.paths import EXAMPLES

_SERVER = "petstore"


def leaf_commands() -> dict[str, Any]:
    """Return each command of `mcpgen` by its full name: `source add`."""
    return dict(_leaves(typer.main.get_command(_command_line([])), ""))


def shared_options() -> list[Any]:
    """Return the options that (nearly) all commands have, in the order of the first command."""
    commands = leaf_commands()
    counts = Counter(_identity(option) for it in commands.values() for option in it.params)
    return [
        option
        for option in commands["new"].params
        if counts[_identity(option)] >= len(commands) - 1
    ]


def command_reference() -> str:
    """Return a section for each command, then the options that all commands share."""
    shared = {_identity(option) for option in shared_options()}
    sections = []
    for name, command in leaf_commands().items():
        own = [it for it in command.params if _identity(it) not in shared]
        text = command.help.replace("\n\n", "\n\n").strip()
        sections.append(f"## mcpgen {name}\n\n{text}\n\n```text\n{_usage(name, own)}\n```")
        if own:
            sections.append(_table(own))
    sections.append(f"## Options of every command\n\n{_table(shared_options())}")
    return "\n\n".join(sections)


def server_help() -> str:
    """Return the options in `petstore-mcp --help`; the settings have their own tables."""
    project = EXAMPLES / f"{_SERVER}-mcp" / "src"
    path = os.pathsep.join([str(project), str(REPOSITORY)])
    done = subprocess.run(
        [sys.executable, "-m", f"{_SERVER}_mcp", "--help"],
        env={"PYTHONPATH": path, "COLUMNS": "100", "PATH": os.environ.get("PATH", "")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    options = done.stdout.partition("\nsettings (")[0]
    return f"```text\n{options.strip()}\n```"


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    for inner_name, inner in getattr(command, "commands", {}).items():
        full_name = f"{name} {inner_name}".strip()
        if getattr(inner, "commands", None):
            yield from _leaves(inner, full_name)
        else:
            yield full_name, inner


def _identity(option: Any) -> tuple[str, ...]:
    return (option.param_type_name, *option.opts, option.help or "")


def _usage(name: str, parameters: list[Any]) -> str:
    words = [f"mcpgen {name} [OPTIONS]"]
    for each in parameters:
        if each.param_type_name == "argument":
            words.append(each.metavar if each.required else f"[{each.metavar.strip('[]')}]")
            if each.metavar.endswith("..."):
                words[-1] = each.metavar
    return " ".join(words)


def _table(parameters: list[Any]) -> str:
    rows = ["| argument or option | meaning |", "|---|---|"]
    for each in parameters:
        text = (each.help or "").replace("|", "\\|")
        if each.default not in (None, False, "") and "default" not in text:
            default = each.opts[0] if each.default is True else each.default
            text += f" Default: `{default}`."
        rows.append(f"| {_spelling(each)} | {text} |")
    return "\n".join(rows)


def _spelling(parameter: Any) -> str:
    metavar = (parameter.metavar or "").replace("|", "\\|")
    if parameter.param_type_name == "argument":
        return f"`{metavar.strip('[]') if not metavar.endswith('...') else metavar}`"
    names = sorted(parameter.opts, key=len, reverse=True) + parameter.secondary_opts
    takes = "" if parameter.is_flag else f" {metavar or _kind(parameter)}"
    return ", ".join(f"`{name}{takes}`" for name in names)


def _kind(parameter: Any) -> str:
    annotation = parameter.type_descriptor.annotation
    choices = getattr(annotation, "__members__", None)
    if choices:
        return "\\|".join(it.value for it in choices.values())
    return "N" if annotation in (int, float) else "TEXT"
