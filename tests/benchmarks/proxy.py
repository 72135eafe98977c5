"""Benchmarks of the whole path: an MCP call over HTTP that causes a REST request."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import measures
from processes import Candidate, free_port, pin, wait_until_listening

HERE = Path(__file__).parent
CALL = {"name": "get_thing", "arguments": {"id": 7, "fields": ["a", "b"]}}
THING = {"id": 1234}
FIRST_CALL_MS = 60.0


def write_proxy(folder: Path, python: str = sys.executable) -> None:
    """Generate the server of things.json with the mcpgen of a given Python."""
    command = [python, "-m", "mcpgen", "new", str(HERE / "servers" / "things.json")]
    target = folder / "things-mcp"
    subprocess.run([*command, str(target), "--defaults"], check=True, capture_output=True)


def proxied_calls(candidate: Candidate) -> dict[str, float]:
    """Return CPU microseconds of the proxy for one call over HTTP, on 16 kept connections."""
    name = "getThing" if "fastmcp" in candidate.name else "get_thing"
    with rest_api() as base_url:
        environment = {**candidate.environment, "THINGS_BASE_URL": base_url}
        ready = replace(candidate, environment=environment)
        return measures.http_calls(ready, call=CALL | {"name": name}, check=check)


def proxied_stdio_calls(candidate: Candidate) -> dict[str, float]:
    """Return CPU microseconds of the proxy for one call over stdio, with one call at a time."""
    with rest_api() as base_url:
        environment = {**candidate.environment, "THINGS_BASE_URL": base_url}
        ready = replace(candidate, environment=environment)
        return measures.sequential(ready, call=CALL, check=check)


def proxied_first_call(candidate: Candidate) -> dict[str, float]:
    """Return CPU milliseconds of the first call over stdio, which sends a REST request.

    For the candidate "bound", return the goal.
    """
    if candidate.name == "bound":
        return {"cpu_ms": FIRST_CALL_MS}
    with rest_api() as base_url:
        environment = {**candidate.environment, "THINGS_BASE_URL": base_url}
        return measures.first_call(
            replace(candidate, environment=environment), call=CALL, check=check
        )


def check(answer: dict[str, object]) -> None:
    """Raise an error unless the response comes from the API."""
    result = answer.get("result")
    if not isinstance(result, dict) or result.get("structuredContent") != THING:
        raise RuntimeError(f"wrong answer: {json.dumps(answer)[:300]}")


@contextmanager
def rest_api() -> Iterator[str]:
    """Run the API behind the proxy; yield its base URL."""
    port = free_port()
    command = [sys.executable, str(HERE / "servers" / "rest_api.py"), str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    pin(process.pid, 1)
    try:
        wait_until_listening(process, port, "the API")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(10)
