"""The package of a server as a git revision has it, in a temporary folder."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from mcpgen.factory.packages import GeneratedPackage, find_package
from mcpgen.pipeline.project.git import GitUnusableError, find_commit, read_tree_at

_FOLDERS = ("src", "tests/generated")
_CASES = "tests/generated/cases.json"  # names the operation of each tool


class NoRevisionError(ValueError):
    """The repository has no such revision, or git cannot read it; the message states why."""


@contextmanager
def extract_package(folder: Path, revision: str) -> Iterator[GeneratedPackage]:
    """Yield the package in `folder` at a revision; its files are removed at the exit.

    Raises:
        NoRevisionError: there is no such revision.
        NoPackageError: the revision has no package there.
    """
    try:
        commit = find_commit(folder, revision)
        if commit is None:
            raise NoRevisionError(f"git has no revision `{revision}`")
        files = read_tree_at(folder, commit, _FOLDERS, _is_inside)
    except GitUnusableError as error:
        raise NoRevisionError(str(error)) from None
    with tempfile.TemporaryDirectory(prefix="mcpgen-eval-") as name:
        root = Path(name)
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        yield find_package(root)


def find_renamed(now: GeneratedPackage, *earlier: GeneratedPackage) -> dict[str, str]:
    """Return the current names of tools by the names of the same operations earlier."""
    names: dict[str, str] = dict(now.contract.get("aliases", {}))
    if earlier:
        current = {operation: tool for tool, operation in _read_operations(now).items()}
        for package in earlier:
            for tool, operation in _read_operations(package).items():
                if operation in current:
                    names[tool] = current[operation]
    return {former: name for former, name in names.items() if former != name}


def _read_operations(package: GeneratedPackage) -> dict[str, str]:
    """Return the operation of each tool; {} without generated tests."""
    try:
        entries = json.loads((package.directory / _CASES).read_bytes())
        return {entry["tool"]: entry["operation"] for entry in entries}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return not pure.is_absolute() and ".." not in pure.parts
