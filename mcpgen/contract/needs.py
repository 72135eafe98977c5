"""Settings (environment variables) that the tools of a server need, and how many tools need each.

The server (`--check-env`) and the generator (`mcpgen new`, `.env.example`, the README) both use
these functions, so that their numbers agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice, product
from typing import Any

from msgspec import Struct

from mcpgen.contract.base_url import BaseUrls

Way = tuple[str, ...]
"""Settings that are sufficient together: ("SHOP_USERNAME", "SHOP_PASSWORD")."""
Need = tuple[Way, ...]
"""Alternatives, each of which is sufficient. No setting satisfies an empty `Need`."""

_MAX_COMBINATIONS = 100
"""Limit of the combinations for one security requirement: twenty OAuth 2 schemes have 3^20."""
_USABLE, _ALTERNATIVE, _NEEDED = range(3)


class ToolNeeds(Struct, frozen=True):
    """The settings that calls of one tool need (all of `needs`), and the optional ones."""

    tool: str
    needs: tuple[Need, ...] = ()
    usable: frozenset[str] = frozenset()


class Usage(Struct, frozen=True):
    """The numbers of tools that need or can use a setting, out of `total`."""

    total: int
    needed_by: int = 0  # no call succeeds without it
    alternative_for: int = 0  # it is one of several sufficient settings
    usable_by: int = 0  # calls use it if it is set
    of_its_sources: int = 0  # number of tools of the sources that it belongs to; 0: `total`

    @property
    def is_needed_by_most(self) -> bool:
        """Whether most tools of its sources need it, without an alternative."""
        return 2 * self.needed_by > (self.of_its_sources or self.total)

    def describe_counts(self) -> str:
        """Describe the usage with numbers: "needed by 110 of 113 tools", "optional"."""
        tools = f"of {self.total:,} tool{'' if self.total == 1 else 's'}"
        words = []
        if self.needed_by:
            words.append(f"needed by {self.needed_by:,} {tools}")
        if self.alternative_for:
            words.append(f"alternative for {self.alternative_for:,} {tools}")
        if not words and self.usable_by:
            words.append(f"optional, used by {self.usable_by:,} {tools}")
        return ", ".join(words) or "optional"

    def describe(self) -> str:
        """Describe the usage without numbers, which change often: "needed by most tools"."""
        if self.needed_by:
            return f"needed by {self._describe_share(self.needed_by)} tools"
        if self.alternative_for:
            return f"alternative for {self._describe_share(self.alternative_for)} tools"
        return "optional"

    def _describe_share(self, number: int) -> str:
        among = self.of_its_sources or self.total
        if number == among:
            return "all"
        return "most" if 2 * number > among else "some"


def settings_of_schemes(contract: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the settings of each security scheme: scheme -> part ("value", ...) -> setting."""
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
        return _oauth2_parts(scheme)
    if kind == "mutualTLS":
        return (("certificate_file", "key_file"),)
    if kind == "http" and scheme["scheme"].lower() == "basic":
        return (("username", "password"),)
    return (("value",),)


def _oauth2_parts(scheme: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the sources of an access token: client credentials, a fixed one, a refresh token."""
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


def _list_source_settings(
    scheme: str, source: Mapping[str, Any], contract: Mapping[str, Any]
) -> Way:
    """Return the settings of a scheme whose credentials belong to callers."""
    settings = settings_of_schemes(contract).get(scheme, {})
    # A public client of OAuth 2 has no secret.
    return (settings["client_id"],) if source["from"] == "user" and settings else ()


class RequestNeeds:
    """Derivation of the settings that tools need, from a server's contract."""

    def __init__(self, contract: Mapping[str, Any]) -> None:
        self._addresses = {
            source: BaseUrls(dict(contract), {}, source=source)
            for source in ("", *contract.get("sources", ()))
        }
        descriptions = contract.get("security_schemes", {})
        self._ways: dict[str, Need] = {
            scheme: tuple(
                tuple(settings[part] for part in parts)
                for parts in sufficient_parts(descriptions[scheme])
                if all(part in settings for part in parts)
            )
            for scheme, settings in settings_of_schemes(contract).items()
        }
        for scheme, source in contract.get("credentials", {}).items():
            self._ways[scheme] = (_list_source_settings(scheme, source, contract),)

    def of(self, tool: str, request: Mapping[str, Any]) -> ToolNeeds:
        """Return the needs of a tool with this `request`; a tool without a request has none."""
        if not request:
            return ToolNeeds(tool)
        address = self._addresses[request.get("source", "")]
        needs = [address.find_required_settings(request.get("servers", ()))]
        security: Sequence[Mapping[str, Any]] = request.get("security", ())
        credentials = self._list_credentials(security)
        usable = frozenset(setting for way in credentials for setting in way)
        # `{}` allows a call without credentials, and `()` a call with credentials of the caller.
        if security and all(security) and () not in credentials:
            needs.append(credentials)
        needs += [((setting,),) for setting in request.get("needs_settings", ())]
        usable = usable.union(request.get("uses_settings", ()))
        return ToolNeeds(tool, tuple(need for need in needs if need is not None), usable)

    def _list_credentials(self, security: Sequence[Mapping[str, Any]]) -> Need:
        ways = [
            tuple(dict.fromkeys(setting for way in combined for setting in way))
            for requirement in security
            for combined in islice(
                product(*(self._ways.get(scheme, ()) for scheme in requirement)), _MAX_COMBINATIONS
            )
        ]
        return tuple(dict.fromkeys(ways))


def count_usages(tools: Sequence[ToolNeeds]) -> dict[str, Usage]:
    """Count, for each setting, the tools that need it or can use it; omit unused settings."""
    kinds = [_kinds_of_use(tool) for tool in tools]
    counts = Counter(use for found in kinds for use in found.items())
    return {
        setting: Usage(
            len(tools), *(counts[setting, kind] for kind in (_NEEDED, _ALTERNATIVE, _USABLE))
        )
        for setting in dict.fromkeys(setting for found in kinds for setting in found)
    }


def _kinds_of_use(tool: ToolNeeds) -> dict[str, int]:
    """Return the strongest use of each setting by a tool."""
    kinds = dict.fromkeys(tool.usable, _USABLE)
    for need in tool.needs:
        ways = Counter(setting for way in need for setting in set(way))
        for setting, number in ways.items():
            kind = _NEEDED if number == len(need) else _ALTERNATIVE
            kinds[setting] = max(kind, kinds.get(setting, _USABLE))
    return kinds
