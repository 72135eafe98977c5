"""The servers that `mcpgen add` installs: packages, commands and URLs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from mcpgen.factory.clients.entries import (
    EntryError,
    InstalledServer,
    Value,
    check_name,
    parse_env,
    parse_headers,
)
from mcpgen.factory.packages import GeneratedPackage, find_package

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LAUNCHERS: Final = frozenset(
    ["bunx", "docker", "node", "npx", "pipx", "pnpm", "python", "python3", "uv", "uvx"]
)
_COMMAND_WORDS: Final = frozenset(["dlx", "exec", "run", "tool", "x"])


def find_servers(
    words: Sequence[str], *, name: str, env: Sequence[str], headers: Sequence[str]
) -> list[InstalledServer]:
    """Return the servers that command line arguments describe.

    `words` are folders of generated packages, one URL, or one command with its arguments; none
    means the current folder.

    Raises:
        EntryError: the words or options contradict each other, or no name can be found.
        NoPackageError: a folder contains no generated package.
    """
    arguments = [*words] or ["."]
    if all(Path(word).is_dir() for word in arguments):
        if name and len(arguments) > 1:
            raise EntryError("--name needs a single server")
        if headers:
            raise EntryError("--header needs a URL", "a command gets credentials with --env")
        return [_describe_package(find_package(Path(word)), name, env) for word in arguments]
    if arguments[0].startswith(("http://", "https://")):
        if len(arguments) > 1:
            raise EntryError(f"unexpected argument `{arguments[1]}` after the URL")
        if env:
            raise EntryError("--env needs a command", "a URL gets credentials with --header")
        found = name or _name_url(arguments[0])
        check_name(found)
        return [
            InstalledServer(name=found, url=arguments[0], headers=parse_headers(headers, found))
        ]
    if headers:
        raise EntryError("--header needs a URL", "a command gets credentials with --env")
    command = _split_command(arguments)
    found = name or _name_command(command)
    check_name(found)
    values = parse_env(env, frozenset())
    return [InstalledServer(name=found, command=command, env=values)]


def _describe_package(package: GeneratedPackage, name: str, env: Sequence[str]) -> InstalledServer:
    found = name or _NOT_IN_NAMES.sub("-", str(package.contract["name"]))
    check_name(found)
    settings = package.contract["environment"]
    secrets = frozenset(it["name"] for it in settings if it.get("secret"))
    values = parse_env(env, secrets)
    for setting in settings:  # credentials that are set here are needed there
        variable = setting["name"]
        if setting.get("scheme") and variable in os.environ and variable not in values:
            values[variable] = Value(None, variable, is_secret=True)
    command, paths = _find_program(package)
    if paths:
        values.setdefault("PYTHONPATH", Value(paths, "PYTHONPATH", is_secret=False))
    return InstalledServer(
        name=found,
        command=command,
        env=values,
        tools=() if package.search_tools else tuple(it["name"] for it in package.read_tools()),
        folder=str(package.directory),
    )


def _find_program(package: GeneratedPackage) -> tuple[tuple[str, ...], str]:
    """Return the command of a server with absolute paths, and its `PYTHONPATH` if it needs one.

    Clients start servers with another PATH and in another folder.
    """
    script = package.name.replace("_", "-")
    folder = package.directory.resolve()
    for place in (
        folder / ".venv" / "bin",
        folder / ".venv" / "Scripts",
        Path(sys.executable).parent,
    ):
        for file in (place / script, place / f"{script}.exe"):
            if file.is_file():
                return (str(file),), ""
    on_path = shutil.which(script)
    if on_path:
        return (str(Path(on_path).absolute()),), ""
    return (sys.executable, "-m", package.name), str(folder / "src")


def _split_command(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command; a single word with spaces is split by the rules of the shell.

    Raises:
        EntryError: a quotation is not closed.
    """
    if len(words) > 1 or shutil.which(words[0]) or Path(words[0]).exists():
        command = list(words)
    else:
        try:
            command = shlex.split(words[0])
        except ValueError as error:
            raise EntryError(f"invalid command: {str(error).lower()}") from None
    if not command:
        raise EntryError("missing command", "give a folder, a URL, or `-- COMMAND ARG…`")
    program = Path(command[0])
    if len(program.parts) > 1 and not program.is_absolute() and program.exists():
        command[0] = str(program.absolute())
    return tuple(command)


def _name_url(url: str) -> str:
    """Return a name from the host of a URL: "petstore" of "https://mcp.petstore.example/mcp"."""
    parts = [part for part in (urlsplit(url).hostname or "").split(".") if part]
    useful = [part for part in parts[:-1] if part not in ("www", "api", "mcp")] or parts[:1]
    return _NOT_IN_NAMES.sub("-", useful[-1] if useful else "")


def _name_command(command: Sequence[str]) -> str:
    """Return a name from a command: that of its package or script, not of its launcher."""
    words = [Path(command[0]).stem, *command[1:]]
    while len(words) > 1 and (
        words[0] in _LAUNCHERS or words[0] in _COMMAND_WORDS or words[0].startswith("-")
    ):
        words.pop(0)
    last = re.sub(r"(?<=.)@[^/@]*$", "", words[0]).rpartition("/")[2]
    stem = re.sub(r"\.(?:py|js|mjs|ts|exe)$", "", last)
    return _NOT_IN_NAMES.sub("-", stem.removeprefix("mcp-server-").removeprefix("server-")).strip(
        "-"
    )
