"""The third-party servers of servers.toml: their installation and their sample files."""

from __future__ import annotations

import sqlite3
import subprocess
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from tests.support.paths import CACHE

_LIST: Final = Path(__file__).with_name("servers.toml")
_INSTALLED: Final = CACHE / "servers"
_GIT: Final = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com")
_NPM: Final = (
    "npm",
    "install",
    "--no-package-lock",
    "--no-save",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
)
_TOOLBOX: Final = """\
sources:
  memory: {kind: sqlite, database: ":memory:"}
tools:
  count_pets:
    kind: sqlite-sql
    source: memory
    description: Count the pets.
    statement: SELECT 2 AS pets
    annotations: {readOnlyHint: true}
  add:
    kind: sqlite-sql
    source: memory
    description: Add two numbers.
    statement: SELECT ? + ? AS total
    parameters:
      - {name: a, type: integer, description: The first number}
      - {name: b, type: integer, description: The second number}
    annotations: {readOnlyHint: true}
"""
# Nothing listens there, so every tool that needs the cluster fails.
_KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: none, user: {}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
"""


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One server of servers.toml, which describes the members."""

    name: str
    registry: str
    pins: tuple[str, ...]
    sdk: str
    command: tuple[str, ...]
    stdio: tuple[str, ...] = ()
    http: tuple[str, ...] = ()
    endpoint: str = ""
    environment: Mapping[str, str] = {}

    @property
    def at(self) -> Path:
        """The folder of the installation."""
        return _INSTALLED / self.name.replace("/", "_")


class _List(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    server: tuple[Server, ...]


def read_servers() -> tuple[Server, ...]:
    """Return the servers of the list."""
    return msgspec.toml.decode(_LIST.read_bytes(), type=_List).server


def install(server: Server) -> None:
    """Install a server unless the same pins are already installed."""
    stamp = server.at / "installed.txt"
    wanted = "\n".join(server.pins)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if server.registry == "pypi":
        venv.create(server.at, with_pip=True, clear=True)
        pip = [str(server.at / "bin/python"), "-m", "pip", "--disable-pip-version-check", "-q"]
        subprocess.run([*pip, "install", *server.pins], check=True)
    else:
        server.at.mkdir(parents=True, exist_ok=True)
        subprocess.run([*_NPM, "--prefix", str(server.at), *server.pins], check=True)
        program = Path(server.command[0].replace("{at}", str(server.at)))
        program.chmod(0o755)  # a script of the package would do that
    stamp.write_text(wanted)


def write_samples(folder: Path) -> None:
    """Write the files that the servers of the list read into an empty folder."""
    (folder / "notes.txt").write_text("A note.\n")
    (folder / "toolbox.yaml").write_text(_TOOLBOX)
    (folder / "kubeconfig.yaml").write_text(_KUBECONFIG)
    with sqlite3.connect(folder / "pets.sqlite") as database:
        database.execute("CREATE TABLE pets (id INTEGER, name TEXT)")
    database.close()
    repository = folder / "repository"
    repository.mkdir()
    (repository / "notes.txt").write_text("A note.\n")
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "Add a note"]):
        subprocess.run([*_GIT, *command], cwd=repository, check=True)
