"""Reading and validation of `mcpgen-workspace.yaml`, by its JSON Schema and by further checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePosixPath, PureWindowsPath

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.workspace import (
    WORKSPACE_FILE,
    VersionPin,
    WorkspaceFile,
    WorkspaceSettings,
    list_owners,
)
from mcpgen.manifest.owners import check_owner
from mcpgen.manifest.typed_file import TypedFile, read_typed


def read_workspace_file(content: bytes, problems: Problems) -> WorkspaceSettings:
    """Read the workspace file.

    Raises:
        RejectedError: it is invalid.
    """
    read = read_typed(content, WORKSPACE_FILE, WorkspaceFile, "workspace", problems)
    file = read.value
    for tokens, path in _iterate_paths(file):
        if _is_outside(path):
            read.refuse(
                tokens,
                f"`{path}` is outside the workspace's folder",
                "write a path relative to the workspace file, with `/`",
            )
    for tokens, owner in _iterate_owners(file):
        check_owner(read, tokens, owner)
    pin = _read_pin(read, "mcpgen", file.mcpgen, VersionPin.parse)
    runtime = None
    if file.runtime is not None:
        runtime = _read_pin(read, "runtime", file.runtime, VersionPin.parse_requirement)
    if pin is None or problems.has_errors:
        raise RejectedError
    return WorkspaceSettings(file, pin, runtime, read.at)


def _read_pin(
    read: TypedFile[WorkspaceFile],
    key: str,
    text: str,
    parse: Callable[[str], VersionPin],
) -> VersionPin | None:
    try:
        return parse(text)
    except ValueError:
        is_runtime = key == "runtime"
        read.refuse(
            (key,),
            f"invalid {'requirement of mcpgen' if is_runtime else 'range of versions'} `{text}`",
            'write it as in a server\'s pyproject.toml: "mcpgen>=0.6,<0.7"'
            if is_runtime
            else 'write one version or a range, such as "0.6.*" or ">=0.6.1,<0.7"',
        )
        return None


def _iterate_paths(file: WorkspaceFile) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every path and glob of the file with its place."""
    for number, pattern in enumerate(file.servers):
        yield ("servers", str(number)), pattern
    for pattern in file.owners:
        yield ("owners", pattern), pattern
    for key, entry in (
        ("inventory", file.inventory),
        ("codeowners", file.codeowners),
        ("gitattributes", file.gitattributes),
        ("schema", file.schema),
    ):
        if entry is not None:
            yield (key, "file"), entry.file


def _iterate_owners(file: WorkspaceFile) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every owner with its place."""
    for owner in list_owners(file.defaults.owner):
        yield ("defaults", "owner"), owner
    for pattern, owners in file.owners.items():
        for owner in list_owners(owners):
            yield ("owners", pattern), owner


def _is_outside(path: str) -> bool:
    is_absolute = path.startswith("/") or bool(PureWindowsPath(path).anchor) or "\\" in path
    return is_absolute or ".." in PurePosixPath(path).parts or path == "."
