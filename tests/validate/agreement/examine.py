"""Examine one server with the official suite and with the validator, revision by revision."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mcpgen.factory.validate.official import SCENARIOS
from mcpgen.factory.validate.probe import ProbeOptions
from mcpgen.factory.validate.run import Result, validate
from mcpgen.factory.validate.verdicts import Verdict
from mcpgen.factory.wire.targets import Target
from mcpgen.jsonschema.types import JsonObject
from tests.support.official_suite import SuiteCheck, read_checks, run_suite
from tests.validate.agreement.compare import Compared, compare

_SCENARIO_MS: Final = "50000"  # of one scenario, which takes a second on an idle machine
SUITE_REVISIONS: Final = ("2025-06-18", "2025-11-25", "2026-07-28")
_FINDINGS: Final = {Verdict.FAIL, Verdict.ERROR}


@dataclass(frozen=True, slots=True)
class Examined:
    """The results of both for the revisions that the server supports according to the validator."""

    server: str
    results: dict[str, list[Result]] = field(default_factory=dict)
    compared: dict[str, list[Compared]] = field(default_factory=dict)
    unsupported: dict[str, str] = field(default_factory=dict)

    def findings(self, revision: str) -> list[Result]:
        """Return the findings of the validator for a revision."""
        return [it for it in self.results[revision] if it.outcome.verdict in _FINDINGS]


async def examine_both(server: str, url: str, *, is_fixture: bool) -> Examined:
    """Run the suite and the validator on a server.

    A fixture offers all that the suite asks for by name; of another server, only the scenarios that
    apply to any are run.
    """
    validation = await validate(
        Target(url=url),
        transports=("http",),
        options=ProbeOptions(allow_writes=True),
    )
    assert not validation.trouble, validation.trouble
    examined = Examined(server, unsupported=dict(validation.unsupported))
    for revision in validation.revisions:
        found = [it for it in validation.results if it.revision == revision]
        examined.results[revision] = found
        if revision in SUITE_REVISIONS:
            capabilities = validation.capabilities[revision]
            scenarios = None if is_fixture else find_scenarios(revision, capabilities)
            checks = await run_scenarios(url, revision, scenarios)
            examined.compared[revision] = compare(checks, found)
    return examined


def find_scenarios(revision: str, capabilities: JsonObject) -> list[str]:
    """Return the names of scenarios that apply to any server with these capabilities."""
    return [
        it.name
        for it in SCENARIOS
        if revision in it.revisions and (not it.capability or it.capability in capabilities)
    ]


async def run_scenarios(
    url: str, revision: str, scenarios: Sequence[str] | None
) -> list[SuiteCheck]:
    """Run some scenarios of a revision, or all of them; return their checks."""
    selections = (
        [["--suite", "all"]] if scenarios is None else [["--scenario", it] for it in scenarios]
    )
    checks: list[SuiteCheck] = []
    for selection in selections:
        with tempfile.TemporaryDirectory() as folder:
            options = [*selection, "--spec-version", revision, "--timeout", _SCENARIO_MS]
            await run_suite(url, options, Path(folder))
            checks += read_checks(Path(folder))
    late = [it.scenario for it in checks if it.id == "scenario-timeout"]
    assert checks, "the suite made no check"
    assert not late, f"the suite did not complete {late}"
    return checks
