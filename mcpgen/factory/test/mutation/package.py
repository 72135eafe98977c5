"""The files of a generated package, from which mutants are made."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from mcpgen.factory.packages import NoPackageError, find_package
from mcpgen.factory.test.mutation.mutants import Tokens

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
        paths = [generated / "contract.json", generated / "listing.jsonl"]
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
        """The contract of each tool with its file, by name."""
        found: dict[str, tuple[str, JsonObject]] = {}
        for file, content in self.originals.items():
            if "/tools/" in file and file.endswith(".json"):
                contracts = json.loads(content)["tools"]
                found |= {name: (file, contract) for name, contract in contracts.items()}
        return dict(sorted(found.items()))

    @cached_property
    def listed(self) -> dict[str, Tokens]:
        """The line of each tool in the prepared list, as the first token of a JSON Pointer."""
        lines = self.originals[f"{self.generated}/listing.jsonl"].splitlines()
        return {json.loads(line)["name"]: (str(number),) for number, line in enumerate(lines)}
