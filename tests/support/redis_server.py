"""A real Valkey or Redis server on a free port, which tests can stop, freeze and restart."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path
from types import TracebackType

import pytest

START_SECONDS = 60.0


def find_program() -> str:
    """Return the path of a server program; skip the test if it is missing, or fail in CI."""
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    message = "neither valkey-server nor redis-server is installed; `apt-get install redis-server`"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


class RedisServer:
    """A server with its data in a folder; `options` are configuration options."""

    def __init__(self, folder: Path, *options: str, password: str = "") -> None:
        self._program = find_program()
        self._folder = folder
        self._options = list(options)
        self._tls_options: list[str] = []
        self._tls: ssl.SSLContext | None = None
        self._password = password
        self.port = _find_free_port()
        self.process: subprocess.Popen[bytes] | None = None
        if password:
            self._options += ["--requirepass", password]

    def use_tls(self, certificate: Path, key: Path) -> None:
        """Serve TLS only, without client certificates."""
        self._tls_options = ["--tls-port", str(self.port), "--tls-auth-clients", "no"]
        self._tls_options += ["--tls-cert-file", str(certificate), "--tls-key-file", str(key)]
        self._tls = ssl.create_default_context(cafile=str(certificate))

    @property
    def url(self) -> str:
        """The URL, with the password."""
        credentials = f":{self._password}@" if self._password else ""
        return f"redis{'s' if self._tls else ''}://{credentials}127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        address = ["--bind", "127.0.0.1", "--port", "0" if self._tls else str(self.port)]
        durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "no"]
        options = [*address, *self._tls_options, *durable, *self._options]
        self.process = subprocess.Popen(
            [self._program, *options, "--dir", str(self._folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
        )
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self.process.poll() is None, "the server ended"
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.01)

    def stop(self) -> None:
        """Kill the server."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        """Make the server accept connections without answering."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let the server continue after `freeze`."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def run(self, *command: str) -> bytes:
        """Run a command; return the first 64 KB of the response as sent."""
        commands = [command]
        if self._password:
            commands.insert(0, ("AUTH", self._password))
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(
                socket.create_connection(("127.0.0.1", self.port), timeout=START_SECONDS)
            )
            if self._tls:
                connection = stack.enter_context(
                    self._tls.wrap_socket(connection, server_hostname="127.0.0.1")
                )
            for each in commands:
                connection.sendall((" ".join(each) + "\r\n").encode())
                answer = connection.recv(65536)
        return answer

    def _answers(self) -> bool:
        try:
            return self.run("PING").startswith(b"+PONG")
        except OSError:
            return False

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
