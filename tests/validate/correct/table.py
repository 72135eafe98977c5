"""Correct servers: the lowest score that each may get, and the findings that are true.

A true finding was compared by hand with the text of the specification; any other finding about
one of these servers is false.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from mcpgen.factory.wire.targets import Target, find_target
from tests.support.paths import CACHE, EXAMPLES
from tests.validate.examine import RUN
from tests.validate.servers.core import LEGACY, MODERN

HERE = Path(__file__).parent
NODE_MODULES = CACHE / "node" / "node_modules"
NODE = NODE_MODULES / "node" / "bin" / "node"
R11 = LEGACY[-1]


class Correct(NamedTuple):
    """A correct server. `findings` are its true departures: requirement and reason."""

    name: str
    command: tuple[str, ...]
    revisions: tuple[str, ...]
    min_score: int = 100
    findings: Mapping[str, str] = {}

    @property
    def is_installed(self) -> bool:
        """Whether the program of the command is installed."""
        return Path(self.command[0]).exists()

    def make_target(self) -> Target:
        """Return the target of the server."""
        if len(self.command) == 1:  # a generated project
            return find_target(self.command)
        return Target(command=self.command)


def _on_sdk(environment: str, module: str, name: str) -> tuple[str, ...]:
    python = CACHE / "peers" / environment / "bin" / "python"
    return (str(python), str(HERE / "sdk_server.py"), module, name)


def _on_typescript(package: str) -> tuple[str, ...]:
    return (str(NODE), str(HERE / "typescript.mjs"), str(NODE_MODULES), package)


def unusual(name: str) -> tuple[str, ...]:
    """Return the command of a server of unusual.py."""
    return (sys.executable, "-I", "-S", str(RUN), "tests.validate.correct.unusual", name)


MINIMAL = Correct(
    "minimal", (sys.executable, "-I", "-S", str(HERE / "minimal.py")), LEGACY
)  # fmt: skip
EXAMPLE = Correct("petstore-mcp", (str(EXAMPLES / "petstore-mcp"),), (*LEGACY, MODERN))

UNKNOWN_TOOL = "the SDK answers a call of an unknown tool with `isError`; the text names -32602"
CURSORS = "the SDK ignores cursors; the text says that an invalid one should get -32602"
NOT_FOUND = "the SDK answers -32602 or 0; up to 2025-11-25 the text says -32002"
PROMPTS = "the SDK answers errors of prompts with 0 or -32603; the text says -32602"
PYTHON_SDKS = (  # whose examination takes half a minute each: a second for each process
    Correct(
        "mcp 1.30.0",
        _on_sdk("mcp-1.30.0", "mcp.server.fastmcp", "FastMCP"),
        (R11,),
        59,
        {
            "unknown-method-code": "unknown methods are refused as invalid params (-32602)",
            "logging-declared": "a line that is not JSON makes it send `notifications/message`",
            "unknown-tool-code": UNKNOWN_TOOL,
            "invalid-cursor-code": CURSORS,
            "resource-not-found-code": NOT_FOUND,
            "unknown-prompt-code": PROMPTS,
            "prompt-arguments-required": PROMPTS,
        },
    ),
    Correct(
        "mcp 2.3.0",
        _on_sdk("mcp-2.3.0", "mcp.server.mcpserver", "MCPServer"),
        (MODERN, R11),
        90,
        {
            "unknown-tool-code": UNKNOWN_TOOL,
            "invalid-cursor-code": CURSORS,
            "resource-not-found-code": NOT_FOUND,
            "unknown-prompt-code": PROMPTS,
            "prompt-arguments-required": PROMPTS,
        },
    ),
    Correct(
        "fastmcp 4.1.6",
        _on_sdk("fastmcp-4.1.6", "fastmcp", "FastMCP"),
        (MODERN, R11),
        95,
        {
            "unknown-tool-code": UNKNOWN_TOOL,
            "invalid-cursor-code": CURSORS,
            "resource-not-found-code": NOT_FOUND,
        },
    ),
)
TYPESCRIPT_SDKS = (
    Correct(
        "@modelcontextprotocol/sdk 1.32.2",
        _on_typescript("@modelcontextprotocol/sdk"),
        (R11,),
        59,
        {
            "task-ignored": "`task` is refused with -32603; the text says it must be ignored",
            "unknown-tool-code": UNKNOWN_TOOL,
            "invalid-cursor-code": CURSORS,
            "resource-not-found-code": NOT_FOUND,
        },
    ),
    Correct(
        "@modelcontextprotocol/server 2.3.1",
        _on_typescript("@modelcontextprotocol/server"),
        (R11,),
        95,
        {"invalid-cursor-code": CURSORS, "resource-not-found-code": NOT_FOUND},
    ),
)
