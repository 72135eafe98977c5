"""Shell completion: the answers to the scripts that `mcpgen completion` prints.

The scripts are typer's. They run `mcpgen` with `_MCPGEN_COMPLETE=complete_<shell>` and the words
before the cursor in COMP_WORDS (bash) or _TYPER_COMPLETE_ARGS (zsh, fish, PowerShell).
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence
from pathlib import Path

VARIABLE = "_MCPGEN_COMPLETE"
SHELLS = ("bash", "zsh", "fish", "powershell")
_SUMMARY = re.compile(r'"""[^`]*`mcpgen [^`]*`: (.*?)\.?(?:""")?$')


def is_completing() -> bool:
    """Whether a completion script runs this process."""
    return bool(os.environ.get(VARIABLE))


def read_words() -> list[str]:
    """Return the complete words after `mcpgen` on the command line that is being completed."""
    if "COMP_WORDS" in os.environ:
        return os.environ["COMP_WORDS"].split()[1 : _read_cursor()]
    line = os.environ.get("_TYPER_COMPLETE_ARGS", "")
    words = line.split()[1:]
    has_open_word = bool(words) and not line.endswith(" ")
    return words[:-1] if has_open_word else words


def _read_cursor() -> int:
    text = os.environ.get("COMP_CWORD", "")
    return int(text) if text.isdecimal() else 1


def summarize_command(name: str) -> str:
    """Return the summary of a command in the first line of its module, without importing it."""
    found = importlib.util.find_spec(f"mcpgen.cli.commands.{name}")
    if found is None or found.origin is None:
        return ""
    with Path(found.origin).open(encoding="utf-8") as file:
        summary = _SUMMARY.match(file.readline().rstrip())
    return summary[1] if summary else ""


def make_script(shell: str) -> str:
    """Return the script that completes `mcpgen` in a shell."""
    from typer._completion_shared import get_completion_script  # typer offers it by options only

    return get_completion_script(prog_name="mcpgen", complete_var=VARIABLE, shell=shell)


def register_shells() -> None:
    """Let typer answer the scripts of its shells."""
    from typer._completion_classes import completion_init  # as above

    completion_init()


def choose_command(words: Sequence[str], commands: Sequence[str]) -> str:
    """Return the command among the words; "" while the user types its name."""
    return next((word for word in words if word in commands), "")
