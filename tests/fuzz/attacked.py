"""The generated servers that the targets `frames` and `responses` attack."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

from tests.fuzz.cases import FaultError
from tests.support.attack.api import HostileApi
from tests.support.attack.documents import HEALTHY_TOOL, api_document
from tests.support.attack.server import (
    ANSWER_SECONDS,
    BYSTANDER_ADDRESS,
    PREFIX,
    AttackedServer,
    HttpClient,
    generate,
    serve_http,
)
from tests.support.paths import REPOSITORY

TIMEOUT_SECONDS = 2
"""The timeout of one call of the API."""


def make_project(folder: Path, paths: dict[str, Any]) -> Path:
    """Generate the attacked server, with short call timeouts."""
    project = generate(folder, api_document(paths))
    manifest = project / "mcpgen.yaml"
    settings = f'\noperations:\n  "*":\n    timeout_seconds: {TIMEOUT_SECONDS}\n'
    manifest.write_text(manifest.read_text() + settings)
    command = [sys.executable, "-m", "mcpgen", "generate", str(project), "--ci"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    return project


class AttackedHttp:
    """A hostile API, a server over HTTP, and a second client of the server."""

    def __init__(self, paths: dict[str, Any]) -> None:
        self._paths = paths
        self._stack = contextlib.ExitStack()
        self._asked = 0
        self._log_read = 0

    def __enter__(self) -> Self:
        enter = self._stack.enter_context
        folder = Path(enter(tempfile.TemporaryDirectory(prefix="mcpgen-fuzz-")))
        self.project = make_project(folder, self._paths)
        self.api = enter(HostileApi())
        self.environ = {f"{PREFIX}BASE_URL": self.api.base_url}
        self.server: AttackedServer = enter(serve_http(self.project, self.environ))
        self._bystander = enter(HttpClient(self.server.port, BYSTANDER_ADDRESS, seconds=20.0))
        self._bystander.open_session()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def check_bystander(self) -> None:
        """Check that the other client is answered in time, with its own data.

        Raises:
            FaultError: it is not answered in time, or gets other data.
        """
        self._asked += 1
        identifier = f"bystander-{self._asked}"
        began = _now()
        try:
            self._bystander.ping()
            answer = self._bystander.call_tool(HEALTHY_TOOL, {"id": identifier})
        except (OSError, ValueError, AssertionError) as error:
            self._reconnect()
            raise FaultError(f"the bystander was not answered: {type(error).__name__}") from error
        if (seconds := _now() - began) > ANSWER_SECONDS:
            raise FaultError(f"the bystander waited {seconds:.1f} s")
        text = json.dumps(answer)
        if answer.get("result", {}).get("structuredContent") != {"id": identifier}:
            raise FaultError(f"the bystander got {text[:300]}")

    def check_log(self) -> None:
        """Check that the server is alive and has logged no traceback since the last check.

        Raises:
            FaultError: the server has ended or logged a traceback.
        """
        if not self.server.is_alive:
            raise FaultError(f"the server has died: {self.server.log[-1000:]}")
        with (self.project.parent / "server-log.txt").open("rb") as log:
            log.seek(self._log_read)
            new = log.read()
        self._log_read += len(new)
        check_log_text(new)

    def _reconnect(self) -> None:
        self._bystander = self._stack.enter_context(
            HttpClient(self.server.port, BYSTANDER_ADDRESS, seconds=20.0)
        )
        with contextlib.suppress(OSError, ValueError):
            self._bystander.open_session()


def check_log_text(log: bytes) -> None:
    """Check that a log has no traceback and no control character.

    Raises:
        FaultError: the log contains one.
    """
    at = log.find(b"Traceback (most recent call last)")
    if at >= 0:
        raise FaultError(f"a traceback in the log: {_last_line(log[at:])}")
    controls = set(log) & (set(range(32)) - {9, 10})
    if controls:
        raise FaultError(f"control characters in the log: {sorted(controls)}")


def _last_line(log: bytes) -> str:
    lines = log.decode("utf-8", "replace").splitlines()
    ends = [line for line in lines[1:] if line and not line[0].isspace()]
    return ends[0][:300] if ends else ""


def _now() -> float:
    import time

    return time.monotonic()
