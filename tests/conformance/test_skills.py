"""Tests of every example with the official scenarios of the Skills extension and the Inspector.

A scenario whose checks are skipped is reported as passed, so that checks are counted here.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import EXAMPLES
from tests.support.running_server import (
    NODE_MODULES,
    inspected,
    inspector,
    installed,
    run,
    running,
)

SERVERS = sorted(path.name for path in EXAMPLES.glob("*-mcp"))
CHECKS = {  # of each scenario, with that of the wire
    "sep-2640-skills-directory": 7,
    "sep-2640-skills-enumeration": 32,
    "sep-2640-skills-manifest": 6,
}
INSPECTED = ["bookshop-mcp", "chatdesk-mcp", "everything-mcp", "n8n-mcp"]


def count_checks(folder: Path) -> Counter[str]:
    """Return the number of checks per status in a run, without informational checks."""
    (path,) = folder.glob("*/checks.json")
    checks: list[dict[str, Any]] = json.loads(path.read_bytes())
    counts = Counter(check["status"] for check in checks)
    del counts["INFO"]
    return counts


@pytest.mark.parametrize("name", SERVERS)
def test_every_check_of_the_skills_scenarios_succeeds(name: str, tmp_path: Path) -> None:
    node = installed(NODE_MODULES / "node" / "bin" / "node", "peers")
    suite = installed(NODE_MODULES / "@modelcontextprotocol" / "conformance", "peers")
    program = [str(node), str(suite / "dist" / "index.js"), "server"]

    async def story() -> None:
        async with running(EXAMPLES / name) as server:
            url = server.url.replace("127.0.0.1", "localhost")
            for scenario, number in CHECKS.items():
                folder = tmp_path / scenario
                options = ["--scenario", scenario, "--spec-version", "2026-07-28", "--force"]
                code, out, err = await run([*program, "--url", url, "-o", str(folder), *options])
                assert count_checks(folder) == {"SUCCESS": number}, out + err
                assert code == 0, out + err

    asyncio.run(story())


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("name", INSPECTED)
def test_the_inspector_verifies_every_skill(name: str, transport: str) -> None:
    program = inspector()

    async def story() -> None:
        async with running(EXAMPLES / name) as server:
            options = ["--method", "skills/list", "--verify", "--require-digests"]
            options += ["--protocol-era", "modern", "--format", "json"]
            code, out, err = await run([*program, *options, *inspected(server, transport)])
            assert code == 0, out + err
            reports = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
            assert reports, out

    asyncio.run(story())
