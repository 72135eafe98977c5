"""A server of 129 tools, which exceed the token budget, with a mock of its API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from mcpgen.factory.packages import find_package
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import MockUpstream
from mcpgen.testing.client.client import Client
from tests.support.imports import importing_anew
from tests.support.paths import EXAMPLES

CHATDESK = EXAMPLES / "chatdesk-mcp"

Connect = Callable[..., AbstractAsyncContextManager[tuple[Client, MockUpstream]]]


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ServerPackage:
    monkeypatch.syspath_prepend(str(CHATDESK / "src"))
    with importing_anew("chatdesk_mcp"):
        yield ServerPackage.load("chatdesk_mcp")


@pytest.fixture
def connect(package: ServerPackage) -> Connect:
    """Connect to the server; yield the client and the mock API."""

    @asynccontextmanager
    async def open_client(**settings: str) -> AsyncIterator[tuple[Client, MockUpstream]]:
        described = find_package(CHATDESK)
        upstream = MockUpstream(described.upstream())
        environ = described.mock_environment(await upstream.start()) | settings
        try:
            async with Client.in_memory(package, environ) as client:
                yield client, upstream
        finally:
            await upstream.stop()

    return open_client
