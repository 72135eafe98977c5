"""A mock of a package's API, for commands that start its server."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from mcpgen.factory.packages import GeneratedPackage

if TYPE_CHECKING:
    from mcpgen.testing import MockUpstream

_NO_API: Final[Mapping[str, Any]] = {
    "servers": [],
    "schemas": {},
    "security_schemes": [],
    "operations": [],
}


@asynccontextmanager
async def serve_mock_api(
    package: GeneratedPackage, environ: Mapping[str, str] = os.environ, *, stateful: bool = False
) -> AsyncIterator[tuple[MockUpstream, dict[str, str]]]:
    """Serve a mock of a package's API; yield it and the settings for its use.

    The settings that `environ` has keep their values. A `stateful` mock stores items. The mock of a
    package without an API rejects every request.

    Raises:
        NoPackageError: the package has an API and no tests, which describe it.
    """
    from mcpgen.testing import MockUpstream  # takes long to import

    # Requests that the mock cannot parse are the business of its user alone.
    logging.getLogger("aiohttp.server").addHandler(logging.NullHandler())
    described = package.upstream() if package.contract["groups"] else dict(_NO_API)
    upstream = MockUpstream(described, stateful=stateful)
    try:
        yield upstream, package.mock_environment(await upstream.start(), environ)
    finally:
        await upstream.stop()
