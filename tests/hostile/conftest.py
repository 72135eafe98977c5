"""An API that a test controls, and the server of the module's `project` in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.attack.api import HostileApi
from tests.support.attack.server import PREFIX, AttackedServer, serve_http


@pytest.fixture(scope="module")
def api() -> Iterator[HostileApi]:
    with HostileApi() as api:
        yield api


@pytest.fixture(scope="module")
def server(project: Path, api: HostileApi) -> Iterator[AttackedServer]:
    with serve_http(project, {f"{PREFIX}BASE_URL": api.base_url}) as server:
        yield server
