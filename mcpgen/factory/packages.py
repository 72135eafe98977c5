"""Discovery of a generated package on disk, and the settings to start its server."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from mcpgen.diagnostics import Location, Problems
from mcpgen.pipeline.options import Outcome


class NoPackageError(Exception):
    """A folder without a generated package, or without a required part of it."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help


class WorkspaceRefusedError(Exception):
    """A workspace that cannot be used; `problems` contains the reasons."""

    def __init__(self, problems: Problems, outcome: Outcome) -> None:
        super().__init__()
        self.problems = problems
        self.outcome = outcome

    @classmethod
    def because(
        cls,
        rule: str,
        message: str,
        outcome: Outcome,
        *,
        at: Location | None = None,
        why: str = "",
        help: str = "",
    ) -> WorkspaceRefusedError:
        """Return the error for one problem."""
        problems = Problems()
        problems.error(rule, message, at=at, why=why, help=help)
        return cls(problems, outcome)


class GeneratedPackage(Struct, frozen=True):
    """A server package: its folder, its name and its contract."""

    directory: Path
    name: str  # of the Python package: "petstore_mcp"
    contract: Mapping[str, Any]

    @property
    def command(self) -> tuple[str, ...]:
        """The command that starts its server, installed or not."""
        return (sys.executable, "-m", self.name)

    @property
    def mock_command(self) -> tuple[str, ...]:
        """The command that starts its server for a mock API, at which no caller has an account."""
        if "credentials" not in self.contract:
            return self.command
        return (sys.executable, "-m", "mcpgen.testing.callers_credentials", self.name)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return this process's environment with the package on `PYTHONPATH`, and `extra`."""
        source = str((self.directory / "src").resolve())
        path = os.environ.get("PYTHONPATH")
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([source, path]) if path else source,
            **(extra or {}),
        }

    def mock_environment(
        self, base_url: str, environ: Mapping[str, str] = os.environ
    ) -> dict[str, str]:
        """Return settings for a mock API, with placeholders for what `environ` does not set."""
        from mcpgen.contract.placeholders import sample_text
        from mcpgen.factory.mock_certificate import find_mock_certificate_files
        from mcpgen.testing.callers_credentials import list_substitute_settings

        contract = dict(self.contract)
        settings = [*contract["environment"], *list_substitute_settings(contract)]
        unset = [it for it in settings if it["name"] not in environ]
        parts = {it["name"]: it["part"] for it in unset if it.get("scheme")}
        is_file_needed = any(part.endswith("_file") for part in parts.values())
        files = find_mock_certificate_files() if is_file_needed else {}
        stand_ins = {name: files.get(part, f"mock-{part}") for name, part in parts.items()}
        stand_ins |= {it["name"]: sample_text(it) for it in unset if "schema" in it}
        return {**stand_ins, **self.base_urls(base_url)}

    def base_urls(self, mock: str) -> dict[str, str]:
        """Return the base URL settings of each API of the server, for the mock at `mock`."""
        from mcpgen.testing.mock.upstream import mount_url

        sources = self.contract.get("sources", {})
        settings = {
            f"{about['env_prefix']}BASE_URL": mount_url(
                mock, source, [server["url"] for server in about.get("servers", ())]
            )
            for source, about in sources.items()
        }
        own = f"{self.contract['env_prefix']}BASE_URL"
        if not sources or any(item["name"] == own for item in self.contract["environment"]):
            settings[own] = mock
        return settings

    def read_tools(self) -> list[dict[str, Any]]:
        """Return the Tool objects of all generated tools, listed or not."""
        generated = self.directory / "src" / self.name / "_generated"
        listing = generated / "listing.json"
        if not listing.is_file():  # an earlier mcpgen wrote JSON Lines
            lines = (generated / "listing.jsonl").read_bytes().splitlines()
            return [json.loads(line) for line in lines]
        tools: list[dict[str, Any]] = json.loads(listing.read_bytes())
        return tools

    def list_unlisted_tools(self) -> list[dict[str, Any]]:
        """Return the Tool objects that a client can call although they are not listed.

        They are the generated tools by their former names and, with search tools, all tools.
        """
        tools = {tool["name"]: tool for tool in self.read_tools()}
        former: dict[str, str] = self.contract.get("aliases", {})
        renamed = [
            {**tools[name], "name": alias} for alias, name in former.items() if name in tools
        ]
        return [*tools.values(), *renamed] if self.search_tools else renamed

    @property
    def search_tools(self) -> tuple[str, ...]:
        """The names of the search tools; () if all tools are listed."""
        names = self.contract.get("search", {})
        return tuple(names[role] for role in ("search", "describe", "call", "run") if role in names)

    def upstream(self) -> dict[str, Any]:
        """Read the description of the API for the mock.

        Raises:
            NoPackageError: the package has no tests.
        """
        file = self.directory / "tests" / "generated" / "upstream.json"
        if not file.is_file():
            raise NoPackageError(f"`{file}` is missing, which describes the API to mock")
        description: dict[str, Any] = json.loads(file.read_bytes())
        return description


def find_package(directory: Path) -> GeneratedPackage:
    """Find the one generated package in `directory`.

    Raises:
        NoPackageError: there is none.
    """
    contracts = sorted(directory.glob("src/*/_generated/contract.json"))
    if len(contracts) != 1:
        raise NoPackageError(
            f"`{directory}` contains no generated package",
            help="give the folder of a package, or run `mcpgen new SOURCE DIR`",
        )
    try:
        contract = json.loads(contracts[0].read_bytes())
    except ValueError:
        contract = None
    if not isinstance(contract, dict):
        raise NoPackageError(
            f"`{contracts[0]}` is damaged",
            help=f"run `mcpgen generate --force {directory}`, which writes it anew",
        )
    return GeneratedPackage(directory, contracts[0].parents[1].name, contract)
