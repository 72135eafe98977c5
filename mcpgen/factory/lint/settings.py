"""Criteria of a lint run: the portable profile, the limits of clients, a budget."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from mcpgen.diagnostics import Problems, RejectedError, did_you_mean
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.ir.clients import Client, read_clients

PORTABLE: Final = "portable"
STRICT: Final = "strict"
ALL: Final = "all"
DEFAULT_BUDGET: Final = 10_000
"""Tokens of the list of a server that has no manifest."""


class UnknownTargetError(ValueError):
    """A target that is no known client; `help` names similar ones."""

    def __init__(self, name: str, help: str) -> None:
        super().__init__(f"unknown client `{name}`")
        self.help = help


class Settings(Struct, frozen=True, kw_only=True):
    """Criteria of a run."""

    is_portable: bool = True  # the portable profile
    is_strict: bool = False  # no composition anywhere
    clients: Mapping[str, Client] = field(default_factory=dict)  # whose limits are rules
    budget: int = DEFAULT_BUDGET  # tokens of `tools/list`


def parse_targets(targets: Collection[str], budget: int | None = None) -> Settings:
    """Return the settings for the values of `--targets`; none means the portable profile.

    "portable" is the profile, "strict" the profile without any composition, "all" the profile and
    all known clients, but not model APIs, to which clients send other schemas. The limits of named
    clients and APIs replace the numbers of the profile.

    Raises:
        UnknownTargetError: a name is none of these.
    """
    known = read_clients()
    names = {name.strip() for text in targets for name in text.split(",")} - {""}
    profiles = {PORTABLE, STRICT, ALL}
    for name in sorted(names - profiles - known.keys()):
        every = [*sorted(profiles), *known]
        there_are = f"there are {', '.join(f'`{each}`' for each in every)}"
        raise UnknownTargetError(name, did_you_mean(name, every, there_are))
    chosen = {name: client for name, client in known.items() if ALL in names and not client.is_api}
    return Settings(
        is_portable=not names or bool(names & profiles),
        is_strict=STRICT in names,
        clients=chosen | {name: known[name] for name in sorted(names - profiles)},
        budget=DEFAULT_BUDGET if budget is None else budget,
    )


def choose_settings(
    package: GeneratedPackage | None, targets: Collection[str] = (), budget: int | None = None
) -> Settings:
    """Return the settings of these options; a missing one is taken from the package's manifest.

    `mcpgen check` reports a manifest that cannot be read.

    Raises:
        UnknownTargetError: a target is unknown.
    """
    manifest_targets, manifest_budget = _read_manifest_settings(package)
    return parse_targets(targets or manifest_targets, budget or manifest_budget)


def _read_manifest_settings(package: GeneratedPackage | None) -> tuple[Sequence[str], int | None]:
    """Return `targets` and `budget` of the manifest of a project; none for another server."""
    from mcpgen.pipeline.project.read_inputs import read_intent

    if package is None:
        return (), None
    try:
        manifest = read_intent(package.directory, Problems()).manifest
    except RejectedError:
        return (), None
    return manifest.targets, manifest.budget
