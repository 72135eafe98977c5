"""Tests of the atomicity of stores that several processes share."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.state.open_store import open_store
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.slow

PROCESSES = 4
KEYS = 40
ROUNDS = 25
SECONDS = 240.0  # for all processes

SCRIPT = """
import asyncio, json, sys
from mcpgen.runtime.state.open_store import open_store

async def main(url, name, keys, rounds):
    store = open_store(url, server="petstore")
    added, taken, sums, numbers, replaced = [], [], [], [], 0
    for number in range(keys):
        if await store.add(f"add:{number}", name.encode(), 600):
            added.append(number)
        if await store.take(f"take:{number}") is not None:
            taken.append(number)
    for _ in range(rounds):
        sums.append(await store.count("count", 600))
        numbers.append(await store.append(
            "log", name.encode(), ttl_seconds=600, max_entries=1000, max_bytes=100_000))
        while True:
            value = await store.get("number")
            if await store.replace("number", value, b"%d" % (int(value) + 1), 600):
                break
    await store.publish("done", name.encode())
    await store.aclose()
    print(json.dumps([added, taken, sums, numbers]))

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
"""


@pytest.fixture(params=["sqlite", "redis"])
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'state.db'}"
    server: RedisServer = request.getfixturevalue("redis_server")
    server.run("FLUSHALL")
    return server.url


async def run_process(url: str, name: str) -> Any:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SCRIPT, url, name, str(KEYS), str(ROUNDS), stdout=subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(out)


def test_operations_of_several_processes_are_atomic(shared_url: str) -> None:
    async def scenario() -> None:
        store = open_store(shared_url, server="petstore")
        for number in range(KEYS):
            await store.put(f"take:{number}", b"once", 600)
        await store.put("number", b"0", 600)
        done: list[bytes] = []

        async def receive() -> None:
            async for _, message in store.subscribe(["done"]):
                done.append(message)

        receiving = asyncio.create_task(receive())
        while not done:
            await store.publish("done", b"begin")
            await asyncio.sleep(0.005)
        names = [f"process-{it}" for it in range(PROCESSES)]
        found = await asyncio.gather(*(run_process(shared_url, it) for it in names))

        for index in (0, 1):  # added and taken: each key by one process
            keys = Counter(key for results in found for key in results[index])
            assert keys == Counter(range(KEYS))
        for index in (2, 3):  # sums and numbers: each one once, and rising in each process
            assert sorted(it for results in found for it in results[index]) == list(
                range(1, PROCESSES * ROUNDS + 1)
            )
            assert all(results[index] == sorted(results[index]) for results in found)
        assert await store.get("number") == b"%d" % (PROCESSES * ROUNDS)
        log = await store.read_log("log", 0) or []
        assert Counter(value.decode() for _, value in log) == dict.fromkeys(names, ROUNDS)
        while len(set(done)) < PROCESSES + 1:  # noqa: ASYNC110  (of other processes)
            await asyncio.sleep(0.005)
        receiving.cancel()
        await asyncio.gather(receiving, return_exceptions=True)
        await store.aclose()

    asyncio.run(asyncio.wait_for(scenario(), SECONDS))


def test_a_killed_process_leaves_what_it_stored_and_no_lock(shared_url: str) -> None:
    script = """
import asyncio, os, signal, sys
from mcpgen.runtime.state.open_store import open_store

async def main():
    store = open_store(sys.argv[1], server="petstore")
    for number in range(1, 1_000_000):
        await store.append("log", b"%d" % number, ttl_seconds=600, max_entries=10**6,
                           max_bytes=10**9)
        print(number, flush=True)

asyncio.run(main())
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script, shared_url], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    while int(process.stdout.readline()) < 20:
        pass
    process.kill()
    acknowledged = process.communicate()[0].split()

    async def scenario() -> None:
        store = open_store(shared_url, server="petstore")
        log = await store.read_log("log", 0) or []
        assert [int(value) for _, value in log] == [number for number, _ in log]
        assert len(log) >= max(20, *map(int, acknowledged[:-1]), 0)
        next_number = await store.append(
            "log", b"new", ttl_seconds=600, max_entries=10**6, max_bytes=10**9
        )
        assert next_number == len(log) + 1
        await store.aclose()

    asyncio.run(asyncio.wait_for(scenario(), SECONDS))
