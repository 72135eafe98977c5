"""The server under examination: a folder, a command or a URL, with its settings and credentials."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from mcpgen.factory.packages import GeneratedPackage, find_package
from mcpgen.factory.wire.projects import find_project_server


class TargetError(ValueError):
    """Options that describe no server; `help` states what to write instead."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help


class Target(Struct, frozen=True, kw_only=True):
    """A server: by `url`, or by starting `command`."""

    url: str = ""
    command: tuple[str, ...] = ()
    package: GeneratedPackage | None = None  # where `command` starts a generated package
    headers: Mapping[str, str] = field(default_factory=dict)  # of every HTTP request
    environment: Mapping[str, str] = field(default_factory=dict)  # added to that of this process
    token: str = ""  # the access token in `headers`, "" if there is none

    def __str__(self) -> str:
        if self.package is not None:
            return str(self.package.directory)
        return self.url or shlex.join(self.command)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that reports must not contain."""
        values = (*self.headers.values(), *self.environment.values(), self.token)
        return tuple(value for value in values if value)

    def for_mock(self, settings: Mapping[str, str]) -> Target:
        """Return the target of a package whose API is a mock; `settings` are those for it."""
        if self.package is None:
            return self
        environment = {**settings, **self.environment}
        return replace(self, environment=environment, command=self.package.mock_command)

    def environ(self) -> dict[str, str]:
        """Return the whole environment of a process that runs `command`."""
        if self.package is not None:
            return self.package.environment(self.environment)
        return {**os.environ, **self.environment}


def find_target(
    words: Sequence[str],
    *,
    headers: Sequence[str] = (),
    environment: Sequence[str] = (),
    token_variable: str = "",
) -> Target:
    """Return the target that command line arguments describe.

    `words` are a URL, a folder of a generated package or of another project, or a command with its
    arguments; none means the current folder. `headers` and `environment` contain `NAME=VALUE`;
    `token_variable` names the environment variable with an access token.

    Raises:
        TargetError: a setting is malformed, or the variable is not set.
        NoPackageError: a folder describes no server.
    """
    sent = _parse_pairs(headers, "--header")
    token = ""
    if token_variable:
        token = os.environ.get(token_variable, "")
        if not token:
            raise TargetError(
                f"the environment variable `{token_variable}` is not set",
                "export it, or name another one with --token-from",
            )
        sent["Authorization"] = f"Bearer {token}"
    first = words[0] if words else "."
    variables = _parse_pairs(environment, "--env")
    if first.startswith(("http://", "https://")):
        if len(words) > 1:
            raise TargetError(f"unexpected argument `{words[1]}` after the URL")
        return Target(url=first, headers=sent, token=token)
    if len(words) <= 1 and Path(first).is_dir():
        return _find_in_folder(Path(first), sent, variables, token)
    command = tuple(shlex.split(first) if len(words) == 1 else words)
    return Target(command=command, headers=sent, environment=variables, token=token)


def _find_in_folder(
    folder: Path, headers: dict[str, str], variables: dict[str, str], token: str
) -> Target:
    if any(folder.glob("src/*/_generated/contract.json")):
        package = find_package(folder)
        return Target(
            command=package.command,
            package=package,
            headers=headers,
            environment=variables,
            token=token,
        )
    server = find_project_server(folder)
    return Target(
        url=server.url,
        command=server.command,
        headers=headers,
        environment={**server.environment, **variables},
        token=token,
    )


def _parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name.strip():
            raise TargetError(f"invalid value of {option}: expected NAME=VALUE, not `{name}`")
        pairs[name.strip()] = value
    return pairs
