"""The official conformance suite: which scenarios apply to a server, and their results."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from mcpgen.factory.node import find_node, find_npm_package, read_node_version
from mcpgen.factory.validate.hosting import host
from mcpgen.factory.wire.targets import Target
from mcpgen.jsonschema.types import JsonObject

PACKAGE: Final = "@modelcontextprotocol/conformance"
VERSION: Final = "0.2.0-alpha.12"
_MIN_NODE: Final = 22
_SCENARIO_SECONDS: Final = 60
_PASSED: Final = frozenset({"SUCCESS", "SKIPPED", "INFO"})
_HANDSHAKE: Final = ("2025-06-18", "2025-11-25")
_ALL: Final = (*_HANDSHAKE, "2026-07-28")
_NEWEST: Final = ("2025-11-25", "2026-07-28")


class Scenario(NamedTuple):
    """A scenario that does not need the suite's own fixture, but possibly a capability."""

    name: str
    revisions: Sequence[str]
    capability: str = ""


SCENARIOS: Final = (
    Scenario("server-initialize", _HANDSHAKE),
    Scenario("ping", _HANDSHAKE),
    Scenario("logging-set-level", _HANDSHAKE, "logging"),
    Scenario("tools-list", _ALL, "tools"),
    Scenario("resources-list", _ALL, "resources"),
    Scenario("prompts-list", _ALL, "prompts"),
    Scenario("sep-2164-resource-not-found", ("2026-07-28",), "resources"),
    Scenario("dns-rebinding-protection", _NEWEST),
    Scenario("server-sse-multiple-streams", _NEWEST),
)


class OfficialSuiteError(Exception):
    """The suite cannot be run; `help` states how to install it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.help = (
            f"install Node >= {_MIN_NODE}, and `npm install {PACKAGE}@{VERSION}` in this folder"
        )


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """The checks of one scenario, counted by status."""

    name: str
    revision: str
    counts: dict[str, int]

    @property
    def passed(self) -> bool:
        """Whether a check succeeded and none failed."""
        return self.counts.get("SUCCESS", 0) > 0 and self.counts.keys() <= _PASSED


async def run_official(
    target: Target, capabilities: Mapping[str, JsonObject]
) -> list[ScenarioResult]:
    """Run the scenarios that apply to a server over Streamable HTTP.

    `capabilities` are those of the server by supported revision.

    Raises:
        OfficialSuiteError: Node or the suite is missing, or the target is a command.
    """
    if not target.url and target.package is None:
        raise OfficialSuiteError("the official suite needs a URL: it does not know stdio")
    program = await find_suite()
    async with host(target, ("http",)) as targets:
        # One scenario distinguishes `localhost` from its address.
        url = targets["http"].url.replace("127.0.0.1", "localhost")
        return [
            await _run_scenario(program, url, scenario.name, revision)
            for scenario in SCENARIOS
            for revision in scenario.revisions
            if revision in capabilities
            and (not scenario.capability or scenario.capability in capabilities[revision])
        ]


async def find_suite() -> list[str]:
    """Return the command that runs the suite: from `node_modules` here, or npm's global folder.

    Raises:
        OfficialSuiteError: Node or the suite is missing, or Node is too old.
    """
    node, package = find_node(), find_npm_package(PACKAGE)
    if not node:
        raise OfficialSuiteError(f"Node {_MIN_NODE} or newer is not installed")
    script = package / "dist" / "index.js" if package is not None else None
    if script is None or not script.is_file():
        raise OfficialSuiteError(f"the npm package {PACKAGE} is not installed")
    version = await asyncio.to_thread(read_node_version, node)
    if version < (_MIN_NODE,):
        major = version[0] if version else 0
        raise OfficialSuiteError(f"Node is {major}, expected {_MIN_NODE} or newer")
    return [node, str(script)]


async def _run_scenario(
    program: Sequence[str], url: str, name: str, revision: str
) -> ScenarioResult:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        process = await asyncio.create_subprocess_exec(
            *program,
            *("server", "--url", url, "--scenario", name, "--spec-version", revision),
            *("-o", folder),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(_SCENARIO_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            counts["TIMEOUT"] += 1
        counts.update(_read_statuses(Path(folder)))
    return ScenarioResult(name, revision, dict(counts))


def _read_statuses(folder: Path) -> list[str]:
    """Return the status of each check that the suite wrote."""
    files = sorted(folder.rglob("checks.json"))
    return [str(check["status"]) for file in files for check in json.loads(file.read_bytes())]
