"""Change of the version pin in a workspace file; the rest of the file stays as it is."""

from __future__ import annotations

from msgspec.structs import replace

from mcpgen.diagnostics import Location
from mcpgen.factory.workspace.files import replace_file
from mcpgen.factory.workspace.members import Workspace, WorkspaceRefusedError
from mcpgen.ir.version_pin import VersionPin
from mcpgen.ir.workspace import WORKSPACE_FILE
from mcpgen.pipeline.outcome import Outcome
from mcpgen.text.lines import text_lines


def change_pin(workspace: Workspace, to: str) -> Workspace:
    """Return the workspace with another pin, without writing it.

    Raises:
        WorkspaceRefusedError: invalid version range `to`.
    """
    try:
        pin = VersionPin.parse(to)
    except ValueError:
        raise WorkspaceRefusedError.because(
            "usage",
            f"invalid version range `{to}`",
            Outcome.USAGE,
            help='use a version or a range, such as "0.4.*" or ">=0.4.1,<0.5"',
        ) from None
    settings = replace(workspace.settings, mcpgen=pin)
    return replace(workspace, settings=settings)


def write_pin(workspace: Workspace) -> None:
    """Replace the old pin in the file with the workspace's pin.

    Raises:
        WorkspaceRefusedError: the file cannot be written.
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
