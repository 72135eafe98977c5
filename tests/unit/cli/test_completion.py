"""Tests of shell completion: candidates, speed, and insertion by real shells."""

from __future__ import annotations

import json
import os
import pty
import resource
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from mcpgen.cli.app import _COMMANDS, run
from mcpgen.cli.completion import SHELLS, VARIABLE, make_script, summarize_command
from tests.support.paths import EXAMPLES
from tests.support.programs import find_program

MOST_CPU_SECONDS = 0.75  # 0.15 on a machine of our own; tests share theirs
WAIT_SECONDS = 60
PROMPT = "> "
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def complete(line: str, folder: Path = EXAMPLES) -> list[str]:
    """Complete the last word of a line with bash's protocol."""
    words = line.split(" ")
    environment = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return ask(environment, "bash", folder).split()


def ask(environment: Mapping[str, str], shell: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mcpgen"],
        env={**os.environ, **environment, VARIABLE: f"complete_{shell}"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_commands_are_completed_with_their_summaries() -> None:
    assert complete("mcpgen ") == list(_COMMANDS)
    assert complete("mcpgen ge") == ["generate"]
    assert [name for name in _COMMANDS if not summarize_command(name)] == []


def test_options_and_values_of_enums_are_completed() -> None:
    assert "--confirm-origin" in complete("mcpgen new --con")
    assert complete("mcpgen audit --intensity ") == ["low", "normal", "high"]
    assert complete("mcpgen completion ") == list(SHELLS)
    assert complete("mcpgen validate --revision 2026") == ["2026-07-28"]
    assert complete("mcpgen ws ch") == ["check", "changelog"]


def test_servers_of_the_workspace_are_completed() -> None:
    assert complete("mcpgen check pet") == ["petstore-mcp"]
    assert complete("mcpgen ws generate pet") == ["petstore-mcp"]
    assert complete("mcpgen call get_pet chat") == ["chatdesk-mcp"]
    assert complete("mcpgen add ") == sorted(path.name for path in EXAMPLES.glob("*-mcp"))


def test_servers_are_found_without_a_workspace(tmp_path: Path) -> None:
    for name in ("b-mcp", "a-mcp", "no server", "$(touch x)"):
        (tmp_path / name).mkdir()
        if name != "no server":
            (tmp_path / name / "mcpgen.yaml").touch()

    assert complete("mcpgen generate ", tmp_path) == ["a-mcp", "b-mcp"]


def test_tools_of_the_named_server_are_completed() -> None:
    assert complete("mcpgen tools petstore-mcp --explain get_") == [
        "get_inventory",
        "get_order",
        "get_pet",
        "get_user",
    ]
    assert complete("mcpgen call get_p", EXAMPLES / "petstore-mcp") == ["get_pet"]
    assert {"get_pet", "get_book"} <= set(complete("mcpgen call get_"))


def test_clients_are_completed_in_a_list_with_commas() -> None:
    assert complete("mcpgen add --client curs") == ["cursor"]
    assert "cursor,claude-code" in complete("mcpgen add --client cursor,claude-c")
    assert "cursor,cursor" not in complete("mcpgen add --client cursor,c")


def test_unreadable_folders_offer_nothing(tmp_path: Path) -> None:
    (tmp_path / "mcpgen-workspace.yaml").write_text("servers: [1, /etc, '[']\n\t-")
    generated = tmp_path / "src/x/_generated"
    generated.mkdir(parents=True)
    (generated / "listing.json").write_text("{")
    (tmp_path / "mcpgen.yaml").touch()

    assert complete("mcpgen check ", tmp_path) == []
    assert complete("mcpgen call ", tmp_path) == []


@pytest.mark.parametrize(
    "line", ["mcpgen ", "mcpgen call get_pet ", "mcpgen new --", "mcpgen call "]
)
def test_completion_is_fast(line: str) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    complete(line)

    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < MOST_CPU_SECONDS


def test_powershell_gets_values_with_help_by_typers_protocol() -> None:
    script = make_script("powershell")
    assert f'$Env:{VARIABLE} = "complete_powershell"' in script
    assert "Register-ArgumentCompleter -Native -CommandName mcpgen" in script

    words = {"_TYPER_COMPLETE_ARGS": "mcpgen ge", "_TYPER_COMPLETE_WORD_TO_COMPLETE": "ge"}
    answer = ask(words, "powershell", EXAMPLES)

    assert answer.startswith("generate:::bring a server package up to date")


def test_the_command_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "bash"]) == 0
    assert capsys.readouterr().out.rstrip() == make_script("bash")

    assert run(["completion", "fish", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["script"] == make_script("fish")

    assert run(["completion", "tcsh"]) == 2


def test_bash_inserts_the_completion() -> None:
    setup = f'PS1="{PROMPT}"; eval "$(mcpgen completion bash)"'
    shell = [find_program("bash"), "--norc", "--noprofile", "-i"]

    assert press_tab(shell, setup, "mcpgen gener", "mcpgen generate ")
    assert press_tab(shell, setup, "mcpgen check pets", "mcpgen check petstore-mcp")
    assert press_tab(shell, setup, "mcpgen new READ", "mcpgen new README.md")


def test_zsh_inserts_the_completion() -> None:
    setup = 'autoload -Uz compinit; compinit -u -D; eval "$(mcpgen completion zsh)"'
    shell = [find_program("zsh"), "-f", "-i", "-o", "no_prompt_sp"]

    assert press_tab(shell, setup, "mcpgen gener", "mcpgen generate")
    assert press_tab(shell, setup, "mcpgen check pets", "mcpgen check petstore-mcp")


def test_fish_offers_the_completions() -> None:
    script = (
        "mcpgen completion fish | source; complete -C'mcpgen gener'; complete -C'mcpgen check pets'"
    )
    done = subprocess.run(
        [find_program("fish"), "--no-config", "-c", script],
        env={**os.environ, "PATH": PATH},
        cwd=EXAMPLES,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    generate, petstore = done.stdout.splitlines()
    assert generate.startswith("generate\tbring a server package up to date")
    assert petstore == "petstore-mcp"


def press_tab(shell: Sequence[str], setup: str, line: str, expected: str) -> str:
    """Type a line and press Tab in an interactive shell; wait until it shows the expected line."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(EXAMPLES)
        os.execve(shell[0], shell, {**os.environ, "PATH": PATH, "TERM": "dumb", "PS1": PROMPT})
    try:
        os.write(terminal, f"{setup}; echo re''ady\n".encode())
        shown = read_until(terminal, "ready")
        if PROMPT not in shown.rpartition("ready")[2]:
            read_until(terminal, PROMPT)
        os.write(terminal, f"{line}\t".encode())
        return read_until(terminal, expected)
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def read_until(terminal: int, text: str) -> str:
    """Read until the output contains a text; return the output."""
    shown, end = "", time.monotonic() + WAIT_SECONDS
    while text not in shown:
        assert time.monotonic() < end, f"no {text!r} in {shown!r}"
        if select.select([terminal], [], [], 0.1)[0]:
            shown += os.read(terminal, 65536).decode("utf-8", "replace")
    return shown
