"""Mutants: a mutant is one fault in a generated package, as changes of the contents of files."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import UNSET, Struct

from mcpgen.factory.packages import NoPackageError, find_package
from mcpgen.jsonschema.types import JsonObject

Tokens: TypeAlias = tuple[str, ...]


GONE = UNSET
"""Marks a value that is removed."""


class TextChange(Struct, frozen=True):
    """Replacement of the text from `start` to `end`, in characters of the file."""

    file: str  # relative to the project
    start: int
    end: int
    text: str

    def apply(self, content: bytes) -> bytes:
        """Return the file's content with the change."""
        source = content.decode()
        return (source[: self.start] + self.text + source[self.end :]).encode()


class JsonChange(Struct, frozen=True):
    """Replacement of the value at a JSON Pointer's tokens; `GONE` removes it."""

    file: str
    tokens: Tokens
    value: Any

    def apply(self, content: bytes) -> bytes:
        """Return the file's content with the change."""
        return json.dumps(_replace_value(json.loads(content), self.tokens, self.value)).encode()


Change: TypeAlias = TextChange | JsonChange


class Mutant(Struct, frozen=True):
    """A package with one fault. `tool` is "" for a fault of the server as a whole."""

    operator: str
    tool: str
    place: str  # "src/pets_mcp/_generated/tools/pets.py:42", or a file and a JSON Pointer
    what: str  # "`GET` became `POST`"
    changes: tuple[Change, ...]
    equivalent: str = ""  # the rule by which it behaves like the original; "" if there is none

    @property
    def id(self) -> str:
        """Identifier in the package, the same in every run."""
        return f"{self.operator} {self.place} {self.what}"

    def files(self, originals: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the contents of the changed files, by path."""
        changed: dict[str, bytes] = {}
        for change in self.changes:
            before = changed.get(change.file, originals[change.file])
            changed[change.file] = change.apply(before)
        return changed


def at(value: Any, tokens: Sequence[str]) -> Any:
    """Return the value at a JSON Pointer's tokens."""
    for token in tokens:
        value = value[int(token)] if isinstance(value, list) else value[token]
    return value


def _replace_value(root: Any, tokens: Tokens, value: Any) -> Any:
    root = copy.deepcopy(root)
    holder, last = at(root, tokens[:-1]), tokens[-1]
    key: Any = int(last) if isinstance(holder, list) else last
    if value is GONE:
        del holder[key]
    else:
        holder[key] = value
    return root


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
        """Index in the prepared list of each tool, which states what clients see of the tool."""
        return {tool["name"]: str(number) for number, tool in enumerate(self._listing)}

    @cached_property
    def _listing(self) -> list[JsonObject]:
        tools: list[JsonObject] = json.loads(self.originals[self.listing_file])
        return tools

    @property
    def listing_file(self) -> str:
        """Path of the prepared list, relative to the project."""
        return f"{self.generated}/listing.json"
