"""The files of a generated package, from which mutants are made."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from mcpgen.factory.packages import NoPackageError, find_package

JsonObject = dict[str, Any]


class PackageFiles(Struct, frozen=True, dict=True):
    """The files that determine the behaviour of a package's tools, by path in the project."""

    project: Path
    name: str  # of the Python package
    originals: dict[str, bytes]

    @classmethod
    def read(cls, project: Path) -> PackageFiles:
        """Read the package of a project.

        Raises:
            NoPackageError: there is none, or all its handlers are written by hand.
        """
        name = find_package(project).name
        generated = project / "src" / name / "_generated"
        if not (project / "tests" / "generated" / "cases.json").is_file():
            raise NoPackageError(f"{project} has no generated test cases")
        if not (generated / "listing.json").is_file():
            raise NoPackageError(
                f"an earlier mcpgen generated {project}; run `mcpgen generate` there first"
            )
        paths = [generated / "contract.json", generated / "listing.json"]
        paths += sorted(generated.glob("tools/*.json")) + sorted(generated.glob("tools/*.py"))
        originals = {path.relative_to(project).as_posix(): path.read_bytes() for path in paths}
        return cls(project, name, originals)

    @property
    def generated(self) -> str:
        """The folder of the generated files, relative to the project."""
        return f"src/{self.name}/_generated"

    @cached_property
    def server(self) -> JsonObject:
        """The contract of the server as a whole."""
        contract: JsonObject = json.loads(self.originals[f"{self.generated}/contract.json"])
        return contract

    @cached_property
    def tools(self) -> dict[str, tuple[str, JsonObject]]:
        """The contract of each tool with its `listing`, and the file of the contract, by name."""
        found: dict[str, tuple[str, JsonObject]] = {}
        for file, content in self.originals.items():
            if "/tools/" in file and file.endswith(".json"):
                contracts = json.loads(content)["tools"]
                found |= {name: (file, contract) for name, contract in contracts.items()}
        for tool in self._listing:
            if tool["name"] in found:
                found[tool["name"]][1]["listing"] = tool
        return dict(sorted(found.items()))

    @cached_property
    def listed(self) -> dict[str, str]:
        """The index of each tool in the prepared list, which has what clients see of it."""
        return {tool["name"]: str(number) for number, tool in enumerate(self._listing)}

    @cached_property
    def _listing(self) -> list[JsonObject]:
        tools: list[JsonObject] = json.loads(self.originals[self.listing_file])
        return tools

    @property
    def listing_file(self) -> str:
        """The prepared list, below the project."""
        return f"{self.generated}/listing.json"
