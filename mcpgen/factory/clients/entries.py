"""The entry of a server in the configuration of a client, without its secrets."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from mcpgen.factory.clients.registry import InstallClient, fill
from mcpgen.jsonschema.types import JsonObject
from mcpgen.text.secret_names import is_secret_name

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,48}")
_INPUT_ID: Final = re.compile(r"[^A-Za-z0-9]+")
_SCHEME: Final = re.compile(r"(?:Bearer|Basic|Token) ")


class EntryError(ValueError):
    """A server that a client cannot have; `help` states what to do instead."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help


class Value(Struct, frozen=True):
    """An environment variable or header: its value, or None to take it from the environment.

    `variable` is the variable that contains the value where the entry must not contain it.
    """

    value: str | None
    variable: str
    is_secret: bool
    scheme: str = ""  # of an Authorization header, before the secret: "Bearer "


class InstalledServer(Struct, frozen=True, kw_only=True):
    """A server to install: by a command with its environment, or by a URL with headers."""

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, Value] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, Value] = field(default_factory=dict)
    tools: tuple[str, ...] = ()  # names of its listed tools, if they are known
    folder: str = ""  # of the generated package


class Entry(Struct, frozen=True):
    """An entry, and what goes with it.

    `inputs` are questions that the client asks the user. `variables` must be set in the
    environment of the client.
    """

    content: JsonObject
    inputs: tuple[JsonObject, ...] = ()
    variables: tuple[str, ...] = ()
    has_secret: bool = False  # in clear text


def parse_env(texts: Sequence[str], secrets: frozenset[str]) -> dict[str, Value]:
    """Return environment variables from `NAME=VALUE` and `NAME` (taken from the environment).

    Raises:
        EntryError: a name is missing.
    """
    return {
        name: Value(value, name, name in secrets or is_secret_name(name.lower()))
        for name, value in _split(texts, "--env")
    }


def parse_headers(texts: Sequence[str], server: str) -> dict[str, Value]:
    """Return headers from `NAME=VALUE` and `NAME`; all of them may be secrets.

    Raises:
        EntryError: a name is missing.
    """
    found = {}
    for name, value in _split(texts, "--header"):
        variable = _INPUT_ID.sub("_", f"{server}_{name}").upper()
        scheme = _SCHEME.match(value or "")
        found[name] = Value(value, variable, is_secret=True, scheme=scheme[0] if scheme else "")
    return found


def _split(texts: Sequence[str], option: str) -> list[tuple[str, str | None]]:
    pairs: list[tuple[str, str | None]] = []
    for text in texts:
        name, separator, value = text.partition("=")
        if not name.strip():
            raise EntryError(f"{option} `{text}` has no name", "write NAME=VALUE, or NAME")
        pairs.append((name.strip(), value if separator else None))
    return pairs


def check_name(name: str) -> None:
    """Check that every client accepts the name of a server.

    Raises:
        EntryError: one does not.
    """
    if not _NAME.fullmatch(name):
        raise EntryError(
            f"invalid server name `{name}`",
            "use letters, digits, `-` and `_`, at most 48: `--name NAME`",
        )


def build_entry(
    server: InstalledServer,
    client: InstallClient,
    *,
    inline_secrets: bool,
    omits: Collection[str] = (),
) -> Entry:
    """Return the entry of a server in the form of a client.

    Secrets are references to the environment, or questions to the user. `inline_secrets` writes
    them in clear text. `omits` are keys of the form that are omitted.

    Raises:
        EntryError: the client starts local servers only, or cannot refer to a secret.
    """
    template = client.http if server.url else client.stdio
    if template is None:
        raise EntryError(f"{client.title} cannot be given a URL", client.remote_help)
    references = _refer(server, client, inline_secrets=inline_secrets)
    content = fill(
        {key: value for key, value in template.items() if key not in omits},
        {
            "name": server.name,
            "command": server.command[0] if server.command else "",
            "args": list(server.command[1:]),
            "command_line": list(server.command),
            "env": references.written,
            "url": server.url,
            "headers": references.written,
        },
        keeps_empty=client.keeps_empty,
    )
    if references.forwarded and server.url:
        content[client.forwards_headers] = references.forwarded
    elif references.forwarded:
        content[client.forwards] = [*references.forwarded]
    return Entry(
        content,
        tuple(references.inputs),
        tuple(references.variables),
        has_secret=references.has_secret,
    )


class _References(Struct):
    """The environment or headers of an entry: values that are written, and references."""

    written: dict[str, str] = field(default_factory=dict)
    forwarded: dict[str, str] = field(default_factory=dict)  # name: variable
    inputs: list[JsonObject] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    has_secret: bool = False


def _refer(server: InstalledServer, client: InstallClient, *, inline_secrets: bool) -> _References:
    found = _References()
    forwards = client.forwards_headers if server.url else client.forwards
    for name, value in (server.headers if server.url else server.env).items():
        if value.value is not None and (inline_secrets or not value.is_secret):
            found.written[name] = value.value
            found.has_secret = found.has_secret or value.is_secret
        elif client.inputs:
            input_id = _INPUT_ID.sub("-", f"{server.name}-{name}").lower()
            found.written[name] = f"{value.scheme}${{input:{input_id}}}"
            found.inputs.append(_describe_input(input_id, name, server.name))
        elif forwards:
            found.forwarded[name] = value.variable
            found.variables.append(value.variable)
        elif client.variable:
            reference = client.variable.replace("NAME", value.variable)
            found.written[name] = value.scheme + reference
            found.variables.append(value.variable)
        else:
            raise EntryError(
                f"{client.title} cannot take `{name}` from the environment",
                f"`--inline-secrets` with `{name}=VALUE` writes the value into its file",
            )
    return found


def _describe_input(input_id: str, name: str, server: str) -> dict[str, Any]:
    return {
        "type": "promptString",
        "id": input_id,
        "description": f"{name} of {server}",
        "password": True,
    }
