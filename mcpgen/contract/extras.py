"""The error of an invalid server configuration, and checks for optional dependencies (extras)."""

from __future__ import annotations

from collections.abc import Sequence

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Final

    from mcpgen.jsonschema.types import JsonObject


class ConfigurationError(Exception):
    """A configuration with which the server cannot start or a call cannot be sent.

    The message states what to set. `setting` is the missing or invalid environment variable, or "".
    """

    def __init__(self, message: str, *, setting: str = "") -> None:
        super().__init__(message)
        self.setting = setting


MODULE_OF_EXTRA: Final = {
    "auth": "joserfc",
    "code": "pydantic_monty",
    "embeddings": "onnxruntime",
    "explore": "textual",
    "otel": "opentelemetry.exporter.otlp.proto.http",
    "redis": "redis",
    "seal": "cryptography",
}
_MAX_NAMED_TOOLS: Final = 3

ASKING_METHODS: Final = ("ask", "elicit", "elicit_url", "list_roots", "require_url", "sample")
"""Methods of a handler's context that ask the client for input.

With MCP 2026-07-28 they need encrypted request state.
"""


class MissingExtraError(ConfigurationError):
    """An extra of mcpgen that is not installed.

    `tools` are the tools that need it, `needed_by` is the setting that does; either may be empty.
    """

    def __init__(self, extra: str, tools: Sequence[str] = (), *, needed_by: str = "") -> None:
        self.extra = extra
        self.tools = tuple(tools)
        self.command = f"pip install 'mcpgen[{extra}]'"
        users = f", which {_describe_users(self.tools)}" if tools else ""
        users = f", which {needed_by} needs" if needed_by else users
        super().__init__(f"mcpgen[{extra}] is not installed{users}: run `{self.command}`")


def find_missing_extras(contract: JsonObject) -> list[MissingExtraError]:
    """Return an error for each extra that the contract requires and that is not installed."""
    return [
        MissingExtraError(extra, tools)
        for extra, tools in contract.get("extras", {}).items()
        if not is_installed(extra)
    ]


def is_installed(extra: str) -> bool:
    """Return whether the distribution of an extra can be imported."""
    from importlib.util import find_spec  # every start of a server imports this module

    try:
        return find_spec(MODULE_OF_EXTRA[extra]) is not None
    except (ModuleNotFoundError, ValueError):  # no parent package, or no specification
        return False


def _describe_users(tools: Sequence[str]) -> str:
    if len(tools) == 1:
        return f"the tool {tools[0]} needs"
    names = ", ".join(tools[:_MAX_NAMED_TOOLS])
    more = f" and {len(tools) - _MAX_NAMED_TOOLS} more" if len(tools) > _MAX_NAMED_TOOLS else ""
    return f"{len(tools)} tools need ({names}{more})"
