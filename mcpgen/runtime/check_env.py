"""`--check-env`: which settings a server has, which tools need them, and whether they are valid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcpgen.runtime.auth.values import is_set
from mcpgen.runtime.errors import ConfigurationError, UnknownToolsetError
from mcpgen.runtime.extras import ASKING_METHODS, is_installed, missing_extras
from mcpgen.runtime.needs import Need, NeedsOfRequests, ToolNeeds, Usage, Way, usage_of
from mcpgen.runtime.startup_checks import invalid_settings

if TYPE_CHECKING:
    from mcpgen.runtime.live_check import LiveOutcome
    from mcpgen.runtime.package import ServerPackage

SET, MISSING, NOT_SET, NOT_NEEDED, INVALID = "set", "missing", "not set", "not needed", "invalid"
_ASKS = re.compile(rf"\bctx\.(?:{'|'.join(ASKING_METHODS)})\(".encode())


@dataclass(frozen=True, slots=True)
class SettingStatus:
    """One setting: its state, and the tools that need it. Its value is nowhere."""

    name: str
    state: str  # SET, MISSING, NOT_SET, NOT_NEEDED (another one is set in its place) or INVALID
    usage: Usage
    description: str


@dataclass(frozen=True, slots=True)
class UnmetNeed:
    """Tools that cannot be called until the settings of one of the `ways` are set."""

    ways: Need  # without the settings that are set
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EnvironmentReport:
    """What `--check-env` found."""

    program: str
    tools: int  # that send requests
    settings: tuple[SettingStatus, ...]
    problems: tuple[str, ...]  # for which the server does not start, or a handler fails
    unmet: tuple[UnmetNeed, ...]
    live: LiveOutcome | None = field(default=None)

    @property
    def blocked(self) -> int:
        """The number of tools that cannot be called for want of a setting."""
        return len({tool for need in self.unmet for tool in need.tools})

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
            "problems": list(self.problems),
            "live": self.live.to_json() if self.live is not None else None,
            "exit_code": self.exit_code,
        }

    def lines(self) -> Iterator[str]:
        """Yield the report as text: a table of the settings, then what is to be done."""
        yield from _table(self.settings) if self.settings else ["It reads no settings."]
        yield ""
        for problem in self.problems:
            yield f"error: {problem}"
        for need in self.unmet:
            yield from _unmet_lines(need, self.tools)
        if not self.problems and not self.unmet:
            yield f"{self.program} is configured" + (
                f": every setting that its {self.tools:,} tools need is set." if self.tools else "."
            )
        if self.live is not None:
            yield from self.live.lines()


def check_environment(package: ServerPackage, environ: Mapping[str, str]) -> EnvironmentReport:
    """Compare the environment with what the tools of a package need; nothing is sent."""
    contract = package.contract
    tools = _needs_of_tools(package)
    settings = contract.get("environment", ())
    parts = {setting["name"]: setting.get("part", "") for setting in settings}
    present = frozenset(name for name, part in parts.items() if is_set(name, part, environ))
    invalid = invalid_settings(contract, environ)
    invalid += _unknown_toolsets(package, environ)
    unmet = _unmet_needs(tools, present)
    missing = {name for need in unmet for way in need.ways for name in way}
    invalid_names = {error.setting for error in invalid}

    def state_of(name: str, usage: Usage) -> str:
        if name in invalid_names:
            return INVALID
        if name in present:
            return SET
        if name in missing:
            return MISSING
        return NOT_NEEDED if usage.alternative_for else NOT_SET

    statuses = []
    for setting in settings:
        usage = usage_of(setting["name"], tools)
        state = state_of(setting["name"], usage)
        statuses.append(
            SettingStatus(setting["name"], state, usage, setting.get("description", ""))
        )
    return EnvironmentReport(
        program=package.program,
        tools=len(tools),
        settings=tuple(statuses),
        problems=tuple(map(str, (*missing_extras(contract), *invalid)))
        + tuple(_handlers_without_extra(package)),
        unmet=unmet,
    )


def _needs_of_tools(package: ServerPackage) -> list[ToolNeeds]:
    """Return the needs of each tool that sends requests."""
    requests = NeedsOfRequests(package.contract)
    found = [
        requests.of(name, tool["request"])
        for name, tool in package.tool_contracts().items()
        if "request" in tool
    ]
    known = {name for tool in found for need in tool.needs for way in need for name in way}
    # A setting that is read otherwise than by `security` and the base URL.
    others: tuple[Need, ...] = tuple(
        ((setting["name"],),)
        for setting in package.contract.get("environment", ())
        if setting.get("required") and setting["name"] not in known
    )
    return [ToolNeeds(tool.tool, (*tool.needs, *others), tool.usable) for tool in found]


def _unmet_needs(tools: Sequence[ToolNeeds], present: frozenset[str]) -> tuple[UnmetNeed, ...]:
    """Group the tools that cannot be called by what they lack, the largest group first."""
    lacking: dict[Need, list[str]] = {}
    for tool in tools:
        for need in tool.needs:
            ways: Need = tuple(tuple(name for name in way if name not in present) for way in need)
            if all(ways):
                lacking.setdefault(ways, []).append(tool.tool)
    unmet = [UnmetNeed(ways, tuple(names)) for ways, names in lacking.items()]
    return tuple(sorted(unmet, key=lambda need: (-len(need.tools), need.ways)))


def _unknown_toolsets(
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


def _handlers_without_extra(package: ServerPackage) -> Iterator[str]:
    """Report the modules of `handlers/` that ask clients for input where nothing can encrypt it."""
    if not is_installed("seal"):
        for module, source in package.handler_sources().items():
            if _ASKS.search(source):
                yield (
                    f"mcpgen[seal] is not installed, and {module} asks clients for input, which"
                    " fails on MCP 2026-07-28: run `pip install 'mcpgen[seal]'`"
                )


def _table(settings: Sequence[SettingStatus]) -> Iterator[str]:
    rows = [("SETTING", "STATE", "USE", "DESCRIPTION")]
    rows += [
        (setting.name, setting.state, setting.usage.counted(), setting.description)
        for setting in settings
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for *cells, description in rows:
        padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        yield "  ".join((*padded, description)).rstrip()


def _unmet_lines(need: UnmetNeed, total: int) -> Iterator[str]:
    number = len(need.tools)
    blocked = f"{number:,} of {total:,} tool{'' if total == 1 else 's'} cannot be called"
    if not need.ways:
        yield f"{blocked}: the server has no setting for the credential that they need."
    elif len(need.ways) == 1:
        yield f"{blocked} until {_joined(need.ways[0])} {_is_or_are(need.ways[0])} set."
    else:
        yield f"{blocked} until one of these is set:"
        for way in need.ways:
            yield f"  {_joined(way)}"


def _joined(way: Way) -> str:
    return " and ".join(way)


def _is_or_are(way: Way) -> str:
    return "is" if len(way) == 1 else "are"
