"""Scopes that calls require, and those that a caller has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

OFFLINE_ACCESS: Final = "offline_access"
"""Never required: only clients request refresh tokens (MCP 2026-07-28, "Authorization")."""
_NONE: Final[frozenset[str]] = frozenset()

FindTool = Callable[[str, Mapping[str, Any]], Iterable[str]]
"""Function that returns the tools that a request calls, by its method and its params."""


class ScopeRules:
    """Scopes that each call requires (`required`), and those of single tools (`by_tool`).

    `includes` maps a broad scope to the narrower ones that it contains.
    """

    def __init__(
        self,
        required: Iterable[str] = (),
        by_tool: Mapping[str, Iterable[str]] | None = None,
        includes: Mapping[str, Iterable[str]] | None = None,
        find_tools: FindTool | None = None,
    ) -> None:
        self.required = frozenset(required)
        self._by_tool = {name: frozenset(scopes) for name, scopes in (by_tool or {}).items()}
        self._includes = {name: frozenset(scopes) for name, scopes in (includes or {}).items()}
        self._find_tools = find_tools or _find_called_tool

    @property
    def all(self) -> list[str]:
        """All scopes that calls require, sorted."""
        return sorted(self.required.union(*self._by_tool.values()) - {OFFLINE_ACCESS})

    def find_missing(self, message: Any, scopes: frozenset[str]) -> frozenset[str]:
        """Return the scopes that a message, or a batch of them, requires beyond `scopes`."""
        if not self._by_tool:
            return _NONE
        messages = message if type(message) is list else (message,)
        missing = _NONE
        for it in messages:
            if type(it) is dict and type(it.get("params")) is dict:
                for tool in self._find_tools(str(it.get("method")), it["params"]):
                    missing |= self.find_missing_for(tool, scopes)
        return missing

    def find_missing_for(self, tool: str, scopes: frozenset[str]) -> frozenset[str]:
        """Return the scopes that a tool requires beyond `scopes`."""
        missing = self._by_tool.get(tool, _NONE) - scopes
        return missing and self.reduce(missing, scopes)

    def reduce(self, missing: frozenset[str], scopes: frozenset[str]) -> frozenset[str]:
        """Remove the missing scopes that a broader one of `scopes` includes."""
        if not self._includes:
            return missing
        granted, waiting = set(scopes), list(scopes & self._includes.keys())
        while waiting:
            added = self._includes.get(waiting.pop(), _NONE) - granted
            granted |= added
            waiting += added
        return missing - granted


def _find_called_tool(method: str, params: Mapping[str, Any]) -> Iterable[str]:
    name = params.get("name")
    return (name,) if method == "tools/call" and type(name) is str else ()


def make_tool_scopes(contract: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the scopes of the tools in a server's contract, by every name of a tool."""
    scopes = dict(contract.get("authorization", {}).get("scopes", {}))
    for alias, name in contract.get("aliases", {}).items():
        if name in scopes:
            scopes[alias] = scopes[name]
    return scopes
