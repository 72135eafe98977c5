"""Finding a generated package on disk: where there is none, the command was misused."""

from __future__ import annotations

from pathlib import Path

from mcpgen.cli.usage_error import MisuseError
from mcpgen.factory import packages
from mcpgen.factory.packages import GeneratedPackage

__all__ = ["GeneratedPackage", "find_package"]


def find_package(directory: Path) -> GeneratedPackage:
    """Find the one generated package in `directory`.

    Raises:
        MisuseError: there is none.
    """
    try:
        return packages.find_package(directory)
    except packages.NoPackageError as error:
        raise MisuseError(str(error), help=error.help) from None
