"""Run a load test: many users over two replicas with a shared store, with injected faults.

`python -m tests.load --seconds 1800 --users 200` prints a table and ends with 1 if a response was
wrong, or if a replica grew. Everything is on this machine, and bounded in count and time.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tests.load.api import KEY_HEADER
from tests.load.faults import Faults
from tests.load.users import Figures, User
from tests.support.attack.documents import api_document
from tests.support.attack.server import PACKAGE, PREFIX, configure, generate, resident_bytes
from tests.support.paths import REPOSITORY
from tests.support.redis_server import RedisServer

REPLICAS: Final = 2
START_SECONDS: Final = 60.0
MAX_GROWTH_MB: Final = 20.0
SHARES_STATE: Final = find_spec("mcpgen.runtime.transports.http.shared_sessions") is not None
HAS_TOKENS: Final = find_spec("mcpgen.runtime.auth.static_tokens") is not None


class Process:
    """A Python process that can be killed and restarted on its port."""

    def __init__(
        self, folder: Path, name: str, command: list[str], environ: dict[str, str]
    ) -> None:
        self.name = name
        self.starts = 0
        self.memory: list[float] = []  # MB, once a second, since the latest start
        self._log_file = folder / f"{name}.log"
        self._command = [sys.executable, "-m", *command]
        self._environ = {**os.environ, **environ}

    def start(self) -> None:
        self.starts += 1
        self.memory = []
        with self._log_file.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, env=self._environ, stderr=log, stdout=log
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        self.kill()
        self.start()

    def wait_for_port(self) -> int:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            found = re.findall(r"http://127\.0\.0\.1:(\d+)", self._log_file.read_text())
            if found:
                return int(found[-1])
            time.sleep(0.05)
        raise SystemExit(f"{self.name} does not serve: {self._log_file.read_text()[-2000:]}")

    def sample(self) -> None:
        with contextlib.suppress(OSError, AssertionError):
            self.memory.append(resident_bytes(self.process.pid) / 1e6)

    @property
    def growth_mb(self) -> float:
        """Growth from the second to the last fifth of the samples, as a difference of medians."""
        fifth = len(self.memory) // 5
        if fifth < 3:
            return 0.0
        first, last = self.memory[fifth : 2 * fifth], self.memory[-fifth:]
        return statistics.median(last) - statistics.median(first)


class Run:
    """The processes, users and figures of a load run."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.options = options
        self.figures = Figures()
        self.redis = RedisServer(folder)
        self.api_port = _free_port()
        self._folder = folder
        self._project = self._generate()
        self.api = Process(folder, "api", ["tests.load.api", str(self.api_port)], self._paths())
        self.replicas = [self._make_replica(number) for number in range(REPLICAS)]
        self.faults = Faults(lambda: self.ports)
        self.ports: list[int] = []

    def _generate(self) -> Path:
        document = api_document(
            components={
                "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": KEY_HEADER}}
            }
        )
        operation = document["paths"]["/healthy/{id}"]["get"]
        operation["security"] = [{"key": []}]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        schema["properties"]["key"] = {"type": "string"}
        project = generate(self._folder, document)
        # The first manifest has no key `credentials`; a server with one takes the users' own.
        configure(project, "\ncredentials:\n  key: {from: header, header: X-User-Key}\n")
        return project

    def _paths(self) -> dict[str, str]:
        return {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(self._project / "src")])}

    def _make_replica(self, number: int) -> Process:
        port = _free_port()
        settings = {
            **self._paths(),
            f"{PREFIX}BASE_URL": f"http://127.0.0.1:{self.api_port}",
            f"{PREFIX}STATE_KEYS": "a key of the load run that is long enough",
        }
        if SHARES_STATE:
            settings[f"{PREFIX}STATE_URL"] = self.redis.url
        if HAS_TOKENS:
            settings[f"{PREFIX}AUTH_TOKENS_FILE"] = str(self._write_tokens())
        command = [PACKAGE, "--http", "--port", str(port)]
        return Process(self._folder, f"replica-{number + 1}", command, settings)

    def _write_tokens(self) -> Path:
        file = self._folder / "tokens"
        lines = [
            f"user-{number} {hashlib.sha256(_token(number).encode()).hexdigest()}\n"
            for number in range(self.options.users)
        ]
        file.write_text("".join(lines))
        return file

    def start(self) -> None:
        self.redis.start()
        for process in (self.api, *self.replicas):
            process.start()
        self.ports = [replica.wait_for_port() for replica in self.replicas]

    def stop(self) -> None:
        for process in (self.api, *self.replicas):
            with contextlib.suppress(AttributeError):  # not started
                process.kill()
        self.redis.stop()

    def _make_user(self, number: int) -> User:
        def choose(count: int) -> str:
            # A round-robin balancer; without shared sessions, a user stays at its replica.
            is_free = SHARES_STATE or number % 4 == 0
            return f"http://127.0.0.1:{self.ports[(number + is_free * count) % REPLICAS]}/mcp"

        headers = {"X-User-Key": f"key-{number}"}
        if HAS_TOKENS:
            headers["Authorization"] = f"Bearer {_token(number)}"
        pause = self.options.pause
        return User(number, headers, f"key-{number}", choose, self.figures, pause)

    async def drive(self) -> None:
        """Run the users, the faults and the memory sampling to the end."""
        seconds = self.options.seconds
        until = time.monotonic() + seconds
        users = [self._make_user(number) for number in range(self.options.users)]
        rare = max(10.0, seconds / 20)
        faults = self.faults
        async with asyncio.TaskGroup() as group:
            for user in users:
                group.create_task(user.run(until))
            group.create_task(self._sample(until))
            if self.options.faults:
                group.create_task(faults.attack_until(until - 5, self.options.pause))
                # The first replica is never killed, so that its memory shows the whole run.
                last = self.replicas[-1]
                group.create_task(faults.repeat("kill -9 of a replica", last.restart, until, rare))
                group.create_task(
                    faults.repeat("restarts of the store", self._restart_store, until, 1.7 * rare)
                )

    def _restart_store(self) -> None:
        self.redis.stop()
        self.redis.start()

    async def _sample(self, until: float) -> None:
        while time.monotonic() < until:
            for process in (self.api, *self.replicas):
                process.sample()
            await asyncio.sleep(1)

    def report(self) -> list[str]:
        """Return the table in Markdown."""
        figures, options = self.figures, self.options
        rows = [
            ("users, replicas, seconds", f"{options.users}, {REPLICAS}, {options.seconds:g}"),
            ("state shared, users with tokens", f"{_yes(SHARES_STATE)}, {_yes(HAS_TOKENS)}"),
            ("correct responses", f"{figures.responses:,}"),
            ("wrong responses", str(len(figures.wrong))),
            ("responses per second", f"{figures.responses / options.seconds:.0f}"),
        ]
        for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)):
            rows.append((name, f"{figures.percentile_ms(share):.0f} ms"))
        rows += [
            (
                f"memory of {it.name} ({it.starts} starts)",
                f"{max(it.memory):.0f} MB at most, growth {it.growth_mb:+.1f} MB",
            )
            for it in self.replicas
            if it.memory
        ]
        rows += [(f"error: {kind}", f"{count:,}") for kind, count in figures.errors.most_common()]
        rows += [(f"fault: {name}", f"{count}") for name, count in self.faults.counts.items()]
        return ["| figure | value |", "|---|---|", *(f"| {name} | {it} |" for name, it in rows)]


def _token(number: int) -> str:
    return f"token-of-user-{number}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def main() -> int:
    """Run the load; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument(
        "--pause", type=float, default=0.5, help="mean, between two calls of a user"
    )
    parser.add_argument("--no-faults", dest="faults", action="store_false")
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), parser.parse_args())
        try:
            run.start()
            asyncio.run(run.drive())
        finally:
            run.stop()
    sys.stdout.write("".join(f"{line}\n" for line in run.report()))
    for wrong in run.figures.wrong[:20]:
        sys.stderr.write(f"wrong: {wrong}\n")
    has_grown = run.replicas[0].growth_mb > MAX_GROWTH_MB
    return 1 if run.figures.wrong or has_grown or not run.figures.responses else 0


if __name__ == "__main__":
    sys.exit(main())
