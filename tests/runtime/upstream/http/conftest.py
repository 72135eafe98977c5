"""Event loops and certificates for the tests of the HTTP client."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.support.event_loops import LOOPS

BOUND_SECONDS = 60.0
Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture(name="run", params=LOOPS)
def run_fixture(request: pytest.FixtureRequest) -> Run:
    """Return a function that runs a coroutine on each kind of event loop, with a time limit."""

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            return runner.run(asyncio.wait_for(coroutine, BOUND_SECONDS))

    return run


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a self-signed certificate of api.example and localhost; the file has its key, too."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    subprocess.run(
        [
            program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", str(file), "-out", f"{file}.crt", "-subj", "/CN=api.example",
            "-days", "2", "-addext", "subjectAltName=DNS:api.example,DNS:localhost",
        ],
        check=True, capture_output=True, timeout=30,
    )  # fmt: skip
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file
