"""Run the tests of `Client` over connections of our own server, and over ASGI."""

from __future__ import annotations

import pytest

from tests.support.asgi import AsgiExchange
from tests.support.http_server import Client

OVER_ASGI = (
    "test_cross_origin",
    "test_legacy_sse",
    "test_modern_requests",
    "test_resumed_streams",
    "test_sessions",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test of these modules twice."""
    if metafunc.module.__name__.rpartition(".")[2] in OVER_ASGI:
        metafunc.parametrize("transport", ["http", "asgi"], indirect=True)


@pytest.fixture(autouse=True)
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `Client` send its requests over ASGI, if the parameter says so."""
    if getattr(request, "param", "http") == "asgi":
        monkeypatch.setattr(Client, "make_exchange", AsgiExchange)
