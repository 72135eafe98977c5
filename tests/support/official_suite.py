"""Runs of the official conformance suite on a server over HTTP, and their results."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.running_server import NODE_MODULES, installed, run

_FOLDER = re.compile(r"server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z\Z")


class SuiteCheck(NamedTuple):
    """One check of a scenario; `status` is SUCCESS, FAILURE, WARNING, SKIPPED or INFO."""

    scenario: str
    id: str
    status: str
    message: str


async def run_suite(url: str, options: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run scenarios on a server; return the exit code and the output.

    The results are written to `folder`, for `read_checks`.
    """
    node = installed(NODE_MODULES / "node" / "bin" / "node", "peers")
    suite = installed(NODE_MODULES / "@modelcontextprotocol" / "conformance", "peers")
    program = [str(node), str(suite / "dist" / "index.js"), "server", "-o", str(folder)]
    url = url.replace("127.0.0.1", "localhost")  # one scenario tells them apart
    code, out, err = await run([*program, "--url", url, *options])
    return code, out + err


def read_checks(folder: Path) -> list[SuiteCheck]:
    """Return all checks that the suite wrote, by scenario."""
    found = []
    for path in sorted(folder.glob("*/checks.json")):
        scenario = _FOLDER.fullmatch(path.parent.name)
        assert scenario is not None, path
        for check in json.loads(path.read_bytes()):
            message = str(check.get("errorMessage", ""))
            found.append(SuiteCheck(scenario[1], check["id"], check["status"], message))
    return found
