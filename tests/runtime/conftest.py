"""Fixtures of the runtime tests: an API client that sends its requests to a fake upstream."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from mcpgen.runtime.upstream.client import ApiClient
from tests.support.fake_upstream import FakeEnvironment, FakeUpstream, run


@pytest.fixture(name="run")
def run_fixture() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    return run


@pytest.fixture
def upstream() -> FakeUpstream:
    return FakeUpstream()


@pytest.fixture
def environment() -> FakeEnvironment:
    return FakeEnvironment()


@pytest.fixture
def contract() -> dict[str, Any]:
    return {
        "name": "petstore",
        "env_prefix": "PETSTORE_",
        "servers": [{"url": "https://petstore.example/v1"}],
        "security_schemes": {},
        "environment": [],
        "groups": ["pets"],
    }


@pytest.fixture
def make_client(
    contract: dict[str, Any], upstream: FakeUpstream, environment: FakeEnvironment
) -> Callable[..., ApiClient]:
    def make(environ: dict[str, str] | None = None, **more: Any) -> ApiClient:
        return ApiClient(
            contract,
            environ or {},
            send=upstream.send,
            environment=environment.build(),
            **more,
        )

    return make
