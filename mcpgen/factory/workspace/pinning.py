"""Changing a workspace's pin: one word of its file, and nothing else of it."""

from __future__ import annotations

from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems
from mcpgen.factory.workspace.files import replace_file
from mcpgen.factory.workspace.members import Workspace, WorkspaceRefusedError
from mcpgen.ir.version_pin import VersionPin
from mcpgen.ir.workspace import WORKSPACE_FILE
from mcpgen.pipeline.outcome import Outcome
from mcpgen.text.lines import text_lines


def change_pin(workspace: Workspace, to: str) -> Workspace:
    """Give the workspace with another pin; nothing is written.

    Raises:
        WorkspaceRefusedError: invalid version range `to`.
    """
    try:
        pin = VersionPin.parse(to)
    except ValueError:
        problems = Problems()
        problems.error(
            "usage",
            f"invalid version range `{to}`",
            help='give one version or a range, such as "0.4.*" or ">=0.4.1,<0.5"',
        )
        raise WorkspaceRefusedError(problems, Outcome.USAGE) from None
    settings = replace(workspace.settings, mcpgen=pin)
    return replace(workspace, settings=settings)


def write_pin(workspace: Workspace) -> None:
    """Write the workspace's pin where the file has its old one.

    Raises:
        WorkspaceRefusedError: the disk refused.
    """
    path = workspace.root / WORKSPACE_FILE
    at = workspace.settings.at(("mcpgen",))
    text = path.read_bytes().decode("utf-8")
    lines = text_lines(text)
    lines[at.line - 1] = _with_pin(lines[at.line - 1], at, workspace.settings.mcpgen.text)
    replace_file(path, "".join(lines).encode())


def _with_pin(line: str, at: Location, pin: str) -> str:
    start = at.column - 1
    return f'{line[:start]}"{pin}"{line[start + at.width :]}'
