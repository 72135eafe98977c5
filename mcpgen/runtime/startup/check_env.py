"""Report for `--check-env`: the settings of a server, their state, and the tools they block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcpgen.contract.extras import find_missing_extras, is_installed
from mcpgen.contract.needs import Need, RequestNeeds, ToolNeeds, Usage, Way, count_usages
from mcpgen.contract.server_settings import list_applicable
from mcpgen.runtime.errors import ConfigurationError, UnknownToolsetError
from mcpgen.runtime.startup.authorization import find_authorization_problems
from mcpgen.runtime.startup.caller_credentials import find_blocked_tools, find_forwarded_tokens
from mcpgen.runtime.startup.connecting import find_connect_problems
from mcpgen.runtime.startup.secret_files import SUFFIX, ResolvedEnvironment
from mcpgen.runtime.startup.server_settings import find_misspelt
from mcpgen.runtime.startup.startup_checks import find_invalid_settings
from mcpgen.runtime.startup.tls_environment import find_invalid_tls_settings
from mcpgen.runtime.startup.values import is_set
from mcpgen.runtime.state.keys import check_shared_keys, find_asking_handlers
from mcpgen.runtime.upstream.http.proxies import read_proxies

if TYPE_CHECKING:
    from mcpgen.runtime.package import ServerPackage
    from mcpgen.runtime.startup.live_check import LiveOutcome

SET, MISSING, NOT_SET, NOT_NEEDED, INVALID = "set", "missing", "not set", "not needed", "invalid"
SET_IN_FILE = "set (file)"  # in the file that `<SETTING>_FILE` names


@dataclass(frozen=True, slots=True)
class SettingStatus:
    """One setting, its state and the tools that need it, without its value."""

    name: str
    state: str  # SET, SET_IN_FILE, MISSING, NOT_SET, NOT_NEEDED (an alternative is set) or INVALID
    usage: Usage
    description: str


@dataclass(frozen=True, slots=True)
class UnmetNeed:
    """Tools that cannot be called until the settings of one of the `ways` are set."""

    ways: Need  # without the settings that are set
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnconfirmedOrigin:
    """Tools whose calls are rejected: their origin is not confirmed to receive credentials."""

    origin: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallersObstacle:
    """Tools that no caller can use; `reason` states why their credentials cannot be provided."""

    reason: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EnvironmentReport:
    """Result of `--check-env`."""

    program: str
    tools: int  # number of tools that send requests
    settings: tuple[SettingStatus, ...]
    problems: tuple[str, ...]  # errors that prevent the start of the server or break a handler
    unmet: tuple[UnmetNeed, ...]
    unconfirmed: tuple[UnconfirmedOrigin, ...] = ()
    has_others: bool = False  # further settings, which have their defaults
    warnings: tuple[str, ...] = ()
    live: LiveOutcome | None = field(default=None)
    obstacles: tuple[CallersObstacle, ...] = ()

    @property
    def blocked(self) -> int:
        """Number of tools that cannot be called because a setting or a confirmation is missing."""
        lists = [it.tools for it in self.unmet] + [it.tools for it in self.unconfirmed]
        lists += [it.tools for it in self.obstacles]
        return len(set().union(*lists))

    @property
    def exit_code(self) -> int:
        """1 if the server does not start, most tools cannot be called, or the live call failed."""
        has_failed = self.live is not None and not self.live.is_ok
        return int(bool(self.problems) or 2 * self.blocked > self.tools or has_failed)

    def to_json(self) -> dict[str, Any]:
        """Return the report as `--json` prints it."""
        return {
            "server": self.program,
            "tools": self.tools,
            "blocked_tools": self.blocked,
            "settings": [
                {
                    "name": setting.name,
                    "state": setting.state,
                    "needed_by": setting.usage.needed_by,
                    "alternative_for": setting.usage.alternative_for,
                    "description": setting.description,
                }
                for setting in self.settings
            ],
            "unmet": [
                {"tools": list(need.tools), "set_one_of": [list(way) for way in need.ways]}
                for need in self.unmet
            ],
            "unconfirmed": [
                {"origin": it.origin, "tools": list(it.tools)} for it in self.unconfirmed
            ],
            "obstacles": [{"reason": it.reason, "tools": list(it.tools)} for it in self.obstacles],
            "problems": list(self.problems),
            "warnings": list(self.warnings),
            "live": self.live.to_json() if self.live is not None else None,
            "exit_code": self.exit_code,
        }

    def to_lines(self) -> Iterator[str]:
        """Yield the report as text: a table of the settings, then the problems."""
        yield from _format_table(self.settings) if self.settings else ["It reads no settings."]
        if self.has_others:
            yield "All other settings have their defaults; `--help` lists them."
        yield ""
        for warning in self.warnings:
            yield f"warning: {warning}"
        for problem in self.problems:
            yield f"error: {problem}"
        for need in self.unmet:
            yield from _format_unmet_need(need, self.tools)
        for unconfirmed in self.unconfirmed:
            yield (
                f"{_format_blocked(unconfirmed.tools, self.tools)}: they would send credentials to"
                f" {unconfirmed.origin}, which is missing from `credential_origins` in mcpgen.yaml."
            )
        for obstacle in self.obstacles:
            yield f"{_format_blocked(obstacle.tools, self.tools)}: {obstacle.reason}."
        if not (self.problems or self.unmet or self.unconfirmed or self.obstacles):
            yield f"{self.program} is configured" + (
                f": every setting that its {self.tools:,} tools need is set." if self.tools else "."
            )
        if self.live is not None:
            yield from self.live.to_lines()


def check_environment(
    package: ServerPackage,
    environ: Mapping[str, str],
    *,
    is_shared: bool = False,
    is_http: bool = False,
) -> EnvironmentReport:
    """Compare the environment with the needs of the package's tools, without any request.

    `is_shared` states that several processes serve the same clients, `is_http` that the server
    is checked for HTTP.
    """
    contract = package.contract
    resolved = ResolvedEnvironment(contract, environ)
    environ = resolved.environ
    tools = _list_tool_needs(package)
    settings = contract.get("environment", ())
    parts = {setting["name"]: setting.get("part", "") for setting in settings}
    present = frozenset(name for name, part in parts.items() if is_set(name, part, environ))
    invalid = [*resolved.problems, *find_invalid_tls_settings(environ)]
    invalid += find_invalid_settings(contract, environ)
    invalid += _find_invalid_proxies(package, environ)
    invalid += find_authorization_problems(contract, environ)
    invalid += _find_unknown_toolsets(package, environ)
    invalid += find_forwarded_tokens(contract, environ)
    if is_http:
        invalid += find_connect_problems(contract, environ)
    try:
        check_shared_keys(package, environ, is_shared=is_shared)
    except ConfigurationError as error:
        invalid.append(error)
    unmet = _group_unmet_needs(tools, present)
    missing = {name for need in unmet for way in need.ways for name in way}
    invalid_names = {error.setting.removesuffix(SUFFIX) for error in resolved.problems}
    invalid_names |= {error.setting for error in invalid}

    def determine_state(name: str, usage: Usage) -> str:
        if name in invalid_names:
            return INVALID
        if name in resolved.from_files:
            return SET_IN_FILE
        if name in present:
            return SET
        if name in missing:
            return MISSING
        return NOT_NEEDED if usage.alternative_for else NOT_SET

    usages = count_usages(tools)
    statuses = []
    for setting in settings:
        usage = usages.get(setting["name"], Usage(len(tools)))
        state = determine_state(setting["name"], usage)
        statuses.append(
            SettingStatus(setting["name"], state, usage, setting.get("description", ""))
        )
    prefix, declared = contract.get("env_prefix", ""), set(parts)
    others = list(list_applicable(prefix, declared)) if prefix else []
    stated = [row for row in others if is_set(prefix + row.name, "", environ)]
    stated += [row for row in others if prefix + row.name in invalid_names and row not in stated]
    for row in stated:
        state = determine_state(prefix + row.name, Usage(len(tools)))
        state = SET if state == NOT_SET else state
        statuses.append(SettingStatus(prefix + row.name, state, Usage(len(tools)), row.description))
    return EnvironmentReport(
        program=package.program,
        tools=len(tools),
        settings=tuple(statuses),
        has_others=len(others) > len(stated),
        warnings=tuple(find_misspelt(contract, environ)) if prefix else (),
        problems=tuple(dict.fromkeys(map(str, (*find_missing_extras(contract), *invalid))))
        + tuple(_report_missing_encryption(package)),
        unmet=unmet,
        unconfirmed=() if invalid else _group_unconfirmed_origins(package, environ),
        obstacles=_find_obstacles(package, environ, is_http=is_http),
    )


def _find_obstacles(
    package: ServerPackage, environ: Mapping[str, str], *, is_http: bool
) -> tuple[CallersObstacle, ...]:
    """Group the tools whose callers cannot bring their credentials by the reason."""
    if "credentials" not in package.contract:
        return ()
    security = {
        name: tool["request"].get("security", ())
        for name, tool in package.read_tool_contracts().items()
        if "request" in tool
    }
    blocked = find_blocked_tools(package.contract, security, environ, is_http=is_http)
    return tuple(CallersObstacle(reason, tuple(tools)) for reason, tools in blocked.items())


def _find_invalid_proxies(
    package: ServerPackage, environ: Mapping[str, str]
) -> list[ConfigurationError]:
    try:
        read_proxies(package.contract, environ)
    except ConfigurationError as error:
        return [error]
    return []


def _list_tool_needs(package: ServerPackage) -> list[ToolNeeds]:
    """Return the needs of each tool that sends requests."""
    requests = RequestNeeds(package.contract)
    found = [
        requests.of(name, tool["request"])
        for name, tool in package.read_tool_contracts().items()
        if "request" in tool
    ]
    known = {name for tool in found for need in tool.needs for way in need for name in way}
    # Required settings that neither `security` nor the base URL reads.
    others: tuple[Need, ...] = tuple(
        ((setting["name"],),)
        for setting in package.contract.get("environment", ())
        if setting.get("required") and setting["name"] not in known
    )
    return [ToolNeeds(tool.tool, (*tool.needs, *others), tool.usable) for tool in found]


def _group_unmet_needs(
    tools: Sequence[ToolNeeds], present: frozenset[str]
) -> tuple[UnmetNeed, ...]:
    """Group the tools that cannot be called by their missing settings, the largest group first."""
    lacking: dict[Need, list[str]] = {}
    for tool in tools:
        for need in tool.needs:
            ways: Need = tuple(tuple(name for name in way if name not in present) for way in need)
            if all(ways):
                lacking.setdefault(ways, []).append(tool.tool)
    unmet = [UnmetNeed(ways, tuple(names)) for ways, names in lacking.items()]
    return tuple(sorted(unmet, key=lambda need: (-len(need.tools), need.ways)))


def _group_unconfirmed_origins(
    package: ServerPackage, environ: Mapping[str, str]
) -> tuple[UnconfirmedOrigin, ...]:
    """Group the tools whose destination is not confirmed by origin."""
    from msgspec import convert

    from mcpgen.runtime.upstream.client import ApiClient  # slow to import
    from mcpgen.runtime.upstream.request.rules import RequestRules

    client = ApiClient(package.contract, environ)
    found: dict[str, list[str]] = {}
    for name, tool in package.read_tool_contracts().items():
        origin = ""
        if "request" in tool:
            origin = client.find_unconfirmed_origin(convert(tool["request"], RequestRules))
        if origin:
            found.setdefault(origin, []).append(name)
    return tuple(UnconfirmedOrigin(origin, tuple(found[origin])) for origin in sorted(found))


def _find_unknown_toolsets(
    package: ServerPackage, environ: Mapping[str, str]
) -> list[ConfigurationError]:
    name = f"{package.contract.get('env_prefix', '')}TOOLSET"
    chosen = environ.get(name, "")
    if chosen.strip():
        try:
            package.list_toolsets(chosen.split(","))
        except UnknownToolsetError as error:
            return [ConfigurationError(f"{name}: {error}", setting=name)]
    return []


def _report_missing_encryption(package: ServerPackage) -> Iterator[str]:
    """Report the modules in `handlers/` that need mcpgen[seal] to ask clients for input."""
    if not is_installed("seal"):
        for module in find_asking_handlers(package):
            yield (
                f"mcpgen[seal] is not installed, and {module} asks clients for input, which"
                " fails on MCP 2026-07-28: run `pip install 'mcpgen[seal]'`"
            )


def _format_table(settings: Sequence[SettingStatus]) -> Iterator[str]:
    rows = [("SETTING", "STATE", "USE", "DESCRIPTION")]
    rows += [
        (setting.name, setting.state, setting.usage.describe_counts(), setting.description)
        for setting in settings
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for *cells, description in rows:
        padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        yield "  ".join((*padded, description)).rstrip()


def _format_unmet_need(need: UnmetNeed, total: int) -> Iterator[str]:
    blocked = _format_blocked(need.tools, total)
    if not need.ways:
        yield f"{blocked}: the server has no setting for the credential that they need."
    elif len(need.ways) == 1:
        (way,) = need.ways
        yield f"{blocked} until {_join_names(way)} {'is' if len(way) == 1 else 'are'} set."
    else:
        yield f"{blocked} until one of these is set:"
        for way in need.ways:
            yield f"  {_join_names(way)}"


def _format_blocked(tools: Sequence[str], total: int) -> str:
    return f"{len(tools):,} of {total:,} tool{'' if total == 1 else 's'} cannot be called"


def _join_names(way: Way) -> str:
    return " and ".join(way)
