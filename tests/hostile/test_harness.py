"""Tests of the bystander client: it is served without an attack, and detects server faults."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.attack.api import Exchange, HostileApi
from tests.support.attack.documents import HEALTHY_PATH, api_document
from tests.support.attack.server import PREFIX, Bystander, HttpClient, generate, serve_http


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("plain"), api_document())


def test_a_bystander_is_served(project: Path) -> None:
    with HostileApi() as api, serve_http(project, {f"{PREFIX}BASE_URL": api.base_url}) as server:
        with Bystander(server) as bystander, HttpClient(server.port) as client:
            answer = client.call_tool("get_healthy", {"id": "a"})
            time.sleep(0.3)
        assert answer["result"]["structuredContent"] == {"id": "a"}
        bystander.check()


def test_a_stopped_server_is_noticed(project: Path) -> None:
    with HostileApi() as api, serve_http(project, {f"{PREFIX}BASE_URL": api.base_url}) as server:
        with Bystander(server) as bystander:
            time.sleep(0.3)
            os.kill(server.process.pid, signal.SIGSTOP)
            time.sleep(5.5)
            os.kill(server.process.pid, signal.SIGCONT)
        with pytest.raises(AssertionError, match="answered in"):
            bystander.check()


def test_a_bystander_detects_data_of_another_client(project: Path) -> None:
    async def answer_with_foreign_data(exchange: Exchange) -> None:
        await exchange.answer({"id": "of somebody else"})

    with HostileApi() as api, serve_http(project, {f"{PREFIX}BASE_URL": api.base_url}) as server:
        with Bystander(server) as bystander:
            api.on(f"{HEALTHY_PATH}bystander-3", answer_with_foreign_data)
            while bystander.rounds < 3:
                time.sleep(0.05)
            time.sleep(0.3)
        with pytest.raises(AssertionError, match="not served"):
            bystander.check()


def test_a_dead_server_is_noticed(project: Path) -> None:
    with HostileApi() as api, serve_http(project, {f"{PREFIX}BASE_URL": api.base_url}) as server:
        with Bystander(server) as bystander:
            server.process.kill()
            asyncio.run(asyncio.to_thread(server.process.wait))
        with pytest.raises(AssertionError, match="has died"):
            bystander.check()
