"""The tools that a server lists when it runs: also those that its owner wrote by hand."""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec.structs import replace

from mcpgen.factory.lint.connect import NoListingError, fetch_listing
from mcpgen.factory.lint.listing import Listing
from mcpgen.factory.lint.load import load_package
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.factory.wire.connection import ConnectionLostError, UnreachableError
from mcpgen.factory.wire.targets import Target

_NO_API: Final = "http://127.0.0.1:9"  # nothing is called


def list_tools(package: GeneratedPackage) -> Listing | None:
    """Start the server without an API, and return what it lists; None if it lists nothing."""
    environment = package.mock_environment(_NO_API)
    target = Target(command=package.command, package=package, environment=environment)
    try:
        started = asyncio.run(fetch_listing(target))
    except (UnreachableError, ConnectionLostError, NoListingError, OSError):
        return None
    files = load_package(package)
    return replace(files, tools=started.tools, has_unknown_tools=False)
