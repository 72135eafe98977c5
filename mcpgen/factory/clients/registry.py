"""MCP clients in which servers can be installed, from `installations.toml`, and their files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct, field

from mcpgen.jsonschema.types import JsonObject

Scope = Literal["user", "project"]
Format = Literal["json", "toml", "yaml"]
_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_PLATFORMS: Final[Mapping[str, str]] = {"darwin": "macos", "win32": "windows"}


class UserFiles(Struct, frozen=True, forbid_unknown_fields=True):
    """Candidate files of a user, by operating system."""

    any: tuple[str, ...] = ()
    linux: tuple[str, ...] = ()
    macos: tuple[str, ...] = ()
    windows: tuple[str, ...] = ()


class Nested(Struct, frozen=True, forbid_unknown_fields=True):
    """A key below `keys` that newer versions of a client use, if the file already has it."""

    key: str
    omits: tuple[str, ...] = ()


class InstallClient(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One client: where it stores servers, and how it writes them (see `installations.toml`)."""

    id: str
    title: str
    format: Format
    keys: tuple[str, ...]
    is_list: bool = False
    user: UserFiles = field(default_factory=UserFiles)
    project: tuple[str, ...] = ()
    project_head: JsonObject = field(default_factory=dict)  # of a new file of a project, in YAML
    project_omits: tuple[str, ...] = ()  # keys that entries in a project's file do not have
    nested: Nested | None = None
    stdio: JsonObject
    http: JsonObject | None = None
    keeps_empty: bool = False
    variable: str = ""
    forwards: str = ""
    forwards_headers: str = ""
    inputs: str = ""
    after: str  # what the user does next
    remote_help: str = ""
    verified: str  # year and month; "" if the row has not been verified
    source: str

    @property
    def is_verified(self) -> bool:
        """Whether its file is known, so that it can be edited."""
        return bool(self.verified)

    def candidates(self, scope: Scope, name: str, folder: Path) -> list[Path]:
        """Return the files in which it may store the server `name`, the preferred one first."""
        if scope == "project":
            return [folder / each.replace("{name}", name) for each in self.project]
        own: tuple[str, ...] = getattr(self.user, _PLATFORMS.get(sys.platform, "linux"))
        return [expand_path(each) for each in (*own, *self.user.any)]

    def spell_project_head(self, name: str) -> str:
        """Return what a new file of a project contains before its first server."""
        if not self.project_head:
            return ""
        import yaml

        head = fill(self.project_head, {"name": name}, keeps_empty=True)
        return yaml.safe_dump(head, sort_keys=False, allow_unicode=True)

    def find_file(self, scope: Scope, name: str, folder: Path) -> Path | None:
        """Return the file to edit: the first candidate that exists, else the first one."""
        candidates = self.candidates(scope, name, folder)
        existing = (each for each in candidates if each.exists() or each.is_symlink())
        return next(existing, candidates[0] if candidates else None)

    @property
    def is_detected(self) -> bool:
        """Whether the folder of one of the user's files exists, other than the home folder."""
        home = Path.home()
        for each in self.candidates("user", "", Path()):
            if each.exists() or (each.parent != home and each.parent.is_dir()):
                return True
        return False


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    client: tuple[InstallClient, ...]


@cache
def read_install_clients() -> Mapping[str, InstallClient]:
    """Return the known clients by id."""
    content = Path(__file__).with_name("installations.toml").read_bytes()
    return {row.id: row for row in msgspec.toml.decode(content, type=_File).client}


def expand_path(text: str) -> Path:
    """Replace `~` and environment variables in a path of `installations.toml`."""

    def replace(found: re.Match[str]) -> str:
        return os.environ.get(found[1]) or found[2] or _default_variable(found[1])

    return Path(_VARIABLE.sub(replace, text)).expanduser()


def _default_variable(name: str) -> str:
    return {"APPDATA": "~/AppData/Roaming"}.get(name, "")


def fill(template: JsonObject, values: Mapping[str, Any], *, keeps_empty: bool) -> JsonObject:
    """Return an entry: the template with its `$` values replaced by those in `values`."""
    entry: JsonObject = {}
    for key, value in template.items():
        if not (isinstance(value, str) and value.startswith("$")):
            entry[key] = value
            continue
        found = values[value[1:]]
        if keeps_empty or value not in ("$env", "$headers") or found:
            entry[key] = found
    return entry
