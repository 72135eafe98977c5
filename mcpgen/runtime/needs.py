"""Which settings the tools of a server need, as alternatives of settings that go together.

The server (`--check-env`) and the generator (`mcpgen new`, `.env.example`, the README) count with
these functions, so that they say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from mcpgen.runtime.upstream.base_url import BaseUrls

Way = tuple[str, ...]
"""Settings that suffice together: ("SHOP_USERNAME", "SHOP_PASSWORD")."""
Need = tuple[Way, ...]
"""Alternatives, any of which suffices. An empty one cannot be met by any setting."""


@dataclass(frozen=True, slots=True)
class ToolNeeds:
    """The settings that calls of one tool need (all of `needs`), and those that they can use."""

    tool: str
    needs: tuple[Need, ...] = ()
    usable: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Usage:
    """How many tools of a server a setting concerns, out of `total`."""

    total: int
    needed_by: int = 0  # no call succeeds without it
    alternative_for: int = 0  # it can be set in place of others
    usable_by: int = 0  # calls use it where it is set
    of_its_sources: int = 0  # tools of the APIs that it is for, which others never change; 0: all

    @property
    def is_needed_by_most(self) -> bool:
        """Whether most tools of its APIs need it, and no other setting can replace it."""
        return 2 * self.needed_by > (self.of_its_sources or self.total)

    def counted(self) -> str:
        """Describe it with numbers: "needed by 110 of 113 tools", "optional"."""
        tools = f"of {self.total:,} tool{'' if self.total == 1 else 's'}"
        words = []
        if self.needed_by:
            words.append(f"needed by {self.needed_by:,} {tools}")
        if self.alternative_for:
            words.append(f"alternative for {self.alternative_for:,} {tools}")
        if not words and self.usable_by:
            words.append(f"optional, used by {self.usable_by:,} {tools}")
        return ", ".join(words) or "optional"

    def summary(self) -> str:
        """Describe it without numbers, which change with every tool: "needed by most tools"."""
        if self.needed_by:
            return f"needed by {self._share(self.needed_by)} tools"
        if self.alternative_for:
            return f"alternative for {self._share(self.alternative_for)} tools"
        return "optional"

    def _share(self, number: int) -> str:
        among = self.of_its_sources or self.total
        if number == among:
            return "all"
        return "most" if 2 * number > among else "some"


def settings_of_schemes(contract: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the settings of each security scheme, by part ("value", "username", ...)."""
    settings: dict[str, dict[str, str]] = {}
    for variable in contract.get("environment", ()):
        if variable.get("scheme"):
            parts = settings.setdefault(variable["scheme"], {})
            parts[variable.get("part") or "value"] = variable["name"]
    return settings


def sufficient_parts(scheme: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the alternatives of parts that configure a security scheme, the usual one first."""
    kind = scheme["type"]
    if kind in ("oauth2", "openIdConnect"):
        return _parts_of_oauth2(scheme)
    if kind == "mutualTLS":
        return (("certificate_file", "key_file"),)
    if kind == "http" and scheme["scheme"].lower() == "basic":
        return (("username", "password"),)
    return (("value",),)


def _parts_of_oauth2(scheme: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the ways to a token: by client credentials, a given one, or by a refresh token."""
    flows: Mapping[str, Mapping[str, Any]] = scheme.get("flows", {})
    has_discovery = bool(scheme.get("openid_connect_url"))
    ways: list[tuple[str, ...]] = [("access_token",)]
    if has_discovery or flows.get("clientCredentials", {}).get("tokenUrl"):
        ways.insert(0, ("client_id", "client_secret"))
    if has_discovery or any(
        flow.get("refreshUrl") or flow.get("tokenUrl") for flow in flows.values()
    ):
        ways.append(("refresh_token",))
    return tuple(ways)


class NeedsOfRequests:
    """Derives the needs of tools from a server's contract and the `request` of each tool."""

    def __init__(self, contract: Mapping[str, Any]) -> None:
        self._addresses = {
            source: BaseUrls(dict(contract), {}, source=source)
            for source in ("", *contract.get("sources", ()))
        }
        descriptions = contract.get("security_schemes", {})
        self._ways = {
            scheme: tuple(
                tuple(settings[part] for part in parts)
                for parts in sufficient_parts(descriptions[scheme])
                if all(part in settings for part in parts)
            )
            for scheme, settings in settings_of_schemes(contract).items()
        }

    def of(self, tool: str, request: Mapping[str, Any]) -> ToolNeeds:
        """Return what calls of a tool need. A tool that sends no request needs nothing."""
        if not request:
            return ToolNeeds(tool)
        address = self._addresses[request.get("source", "")]
        needs = [address.needed_settings(request.get("servers", ()))]
        security: Sequence[Mapping[str, Any]] = request.get("security", ())
        credentials = self._ways_to_authorize(security)
        usable = frozenset(setting for way in credentials for setting in way)
        if security and all(security):  # `{}` allows a call without credentials
            needs.append(credentials)
        needs += [((setting,),) for setting in request.get("needs_settings", ())]
        usable = usable.union(request.get("uses_settings", ()))
        return ToolNeeds(tool, tuple(need for need in needs if need is not None), usable)

    def _ways_to_authorize(self, security: Sequence[Mapping[str, Any]]) -> Need:
        ways = [
            tuple(dict.fromkeys(setting for way in combined for setting in way))
            for requirement in security
            for combined in product(*(self._ways.get(scheme, ()) for scheme in requirement))
        ]
        return tuple(dict.fromkeys(way for way in ways if way))


def usage_of(setting: str, tools: Iterable[ToolNeeds]) -> Usage:
    """Count the tools that a setting concerns."""
    total = needed = alternative = usable = 0
    for tool in tools:
        total += 1
        holders = [(need, sum(setting in way for way in need)) for need in tool.needs]
        if any(number and number == len(need) for need, number in holders):
            needed += 1
        elif any(number for _, number in holders):
            alternative += 1
        elif setting in tool.usable:
            usable += 1
    return Usage(total, needed, alternative, usable)
