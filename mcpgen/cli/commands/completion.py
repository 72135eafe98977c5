"""`mcpgen completion`: the script that completes `mcpgen` in a shell."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from mcpgen.cli.output.report import Printer
from mcpgen.pipeline.options import Outcome


class Shell(enum.StrEnum):
    """The shells that have completion."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(
    printer: Printer,
    shell: Annotated[
        Shell, typer.Argument(metavar="bash|zsh|fish|powershell", help="The shell to complete in.")
    ],
) -> int:
    """Print the script that completes commands, options, servers and tools in a shell.

    bash: `eval "$(mcpgen completion bash)"` in ~/.bashrc. zsh: the same with `zsh` in ~/.zshrc,
    after `compinit`. fish: `mcpgen completion fish | source` in config.fish. PowerShell:
    `mcpgen completion powershell | Out-String | Invoke-Expression` in the profile.
    """
    from mcpgen.cli.completion import make_script

    script = make_script(shell.value)
    printer.fact(shell=shell.value, script=script)
    for line in script.splitlines():
        printer.result(line)
    return printer.finish(Outcome.DONE)
