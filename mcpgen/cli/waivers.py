"""The waivers of the server that a command examines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpgen.cli.exit_codes import RejectedFileError
from mcpgen.diagnostics import Problems, RejectedError

if TYPE_CHECKING:
    from mcpgen.factory.packages import GeneratedPackage
    from mcpgen.ir.waivers import Waiver


def load_waivers(package: GeneratedPackage | None) -> tuple[Waiver, ...]:
    """Return the waivers of a project; () for another server.

    Raises:
        RejectedFileError: its `waivers.yaml` is invalid.
    """
    if package is None:
        return ()
    from mcpgen.factory.waivers import read_waivers

    problems = Problems()
    try:
        return read_waivers(package.directory, problems)
    except RejectedError:
        raise RejectedFileError(problems) from None
