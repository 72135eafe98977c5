"""The listing of a server that is started or contacted, with the reason if there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from mcpgen.factory.lint.connect import NoListingError, fetch_listing
from mcpgen.factory.lint.listing import Listing
from mcpgen.factory.lint.load import add_unlisted, load_package
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.factory.wire.connection import (
    ConnectionLostError,
    UnauthorizedError,
    UnreachableError,
)
from mcpgen.factory.wire.targets import Target

_NO_API: Final = "http://127.0.0.1:9"  # nothing is called


class UnlistedError(Exception):
    """A server whose tools cannot be listed; `word` is the outcome."""

    def __init__(self, word: str, message: str, help: str = "") -> None:
        super().__init__(message)
        self.word = word
        self.help = help


def list_tools(target: Target) -> Listing:
    """Start or contact a server, and return its listing.

    Raises:
        UnlistedError: it does not list its tools.
    """
    try:
        return asyncio.run(fetch_listing(target))
    except UnauthorizedError as error:
        raise UnlistedError(
            "unauthorized",
            f"the server requires credentials: {error}",
            "pass them with --token-from VARIABLE, --header or --env",
        ) from None
    except (UnreachableError, ConnectionLostError, NoListingError, OSError) as error:
        raise UnlistedError("unreachable", f"cannot list the tools: {error}") from None


def list_started_package(
    package: GeneratedPackage, environment: Mapping[str, str] | None = None
) -> Listing:
    """Start the server of a package without an API, and return its listing.

    It is completed from the files of the package: the tools behind search tools, and the locations
    of tools.

    Raises:
        UnlistedError: the server does not list its tools.
    """
    settings = {**package.mock_environment(_NO_API), **(environment or {})}
    target = Target(command=package.command, package=package, environment=settings)
    return add_unlisted(list_tools(target), load_package(package))
