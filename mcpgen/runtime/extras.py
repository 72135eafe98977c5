"""Optional dependencies of the runtime ("extras"): which a server needs, which are missing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from mcpgen.runtime.errors import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from mcpgen.runtime.content import JsonObject

MODULE_OF_EXTRA: Final = {"seal": "cryptography"}
_MOST_NAMED_TOOLS: Final = 3

ASKING_METHODS: Final = ("ask", "elicit", "elicit_url", "list_roots", "require_url", "sample")
"""Methods of a handler's context that make a client of MCP 2026-07-28 carry encrypted state."""


class MissingExtraError(ConfigurationError):
    """An extra of mcpgen is not installed. `tools` need it; () where that is not known."""

    def __init__(self, extra: str, tools: Sequence[str] = ()) -> None:
        self.extra = extra
        self.tools = tuple(tools)
        self.command = f"pip install 'mcpgen[{extra}]'"
        users = f", which {_named(self.tools)}" if tools else ""
        super().__init__(f"mcpgen[{extra}] is not installed{users}: run `{self.command}`")


def missing_extras(contract: JsonObject) -> list[MissingExtraError]:
    """Return an error for each extra that the contract asks for and that is not installed."""
    return [
        MissingExtraError(extra, tools)
        for extra, tools in contract.get("extras", {}).items()
        if not is_installed(extra)
    ]


def is_installed(extra: str) -> bool:
    """Whether the distribution of an extra can be imported."""
    try:
        return find_spec(MODULE_OF_EXTRA[extra]) is not None
    except ValueError:  # a module without a specification
        return False


def _named(tools: Sequence[str]) -> str:
    if len(tools) == 1:
        return f"the tool {tools[0]} needs"
    shown = ", ".join(tools[:_MOST_NAMED_TOOLS])
    more = f" and {len(tools) - _MOST_NAMED_TOOLS} more" if len(tools) > _MOST_NAMED_TOOLS else ""
    return f"{len(tools)} tools need ({shown}{more})"
