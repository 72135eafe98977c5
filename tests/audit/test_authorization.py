"""Tests of the authorization part of an audit, with and without a token."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

from mcpgen.factory.audit.findings import AUTHORIZATION, VALIDATION, list_findings
from mcpgen.factory.audit.html import format_html
from mcpgen.factory.audit.parts import Part, list_parts
from mcpgen.factory.audit.report import format_audit
from mcpgen.factory.audit.run import Audit, AuditSettings, audit
from mcpgen.factory.robustness.intensity import INTENSITIES
from mcpgen.factory.wire.targets import Target
from tests.validate.broken import authorization
from tests.validate.examine import serve
from tests.validate.servers.http import HttpServer

pytestmark = pytest.mark.slow

SETTINGS = AuditSettings(
    transports=("http",),
    intensity=msgspec.structs.replace(INTENSITIES["low"], max_messages=30),
    seed=1,
    revisions=("2025-11-25",),
)


def examine(server: type[HttpServer], *, has_token: bool) -> Audit:
    async def run() -> Audit:
        async with serve(server.__module__, server, "http") as target:
            bare = Target(url=target.url)
            return await audit(target if has_token else bare, SETTINGS)

    return asyncio.run(run())


def parts_of(result: Audit) -> dict[str, Part]:
    return {part.id: part for part in list_parts(result, list_findings(result))}


def test_without_a_token_challenge_and_metadata_are_still_examined() -> None:
    result = examine(authorization.Protected, has_token=False)
    assert result.validation.trouble_kind == "unauthorized"
    parts = parts_of(result)
    assert {name: part.grade for name, part in parts.items()} == {
        "validation": "NOT RUN",
        "authorization": "PASS",
        "lint": "NOT RUN",
        "robustness": "NOT RUN",
    }
    facts = dict(result.authorization.facts)
    assert facts["WWW-Authenticate"].startswith("Bearer resource_metadata=")
    assert facts["challenge: scope"] == "mcp"
    assert facts["metadata: authorization_servers"] == "https://auth.example.com"
    passed = {it.requirement.id for it in result.authorization.results if not it.outcome.message}
    assert {"token-required", "invalid-token-refused", "resource-metadata"} <= passed
    gaps = {what for what, _ in parts["authorization"].gaps}
    assert {"challenge-scope", "no-offline-access"} <= gaps  # depend on the revision


@pytest.mark.parametrize(
    ("server", "rule"),
    [
        (authorization.NoAuthorizationServers, "resource-metadata"),
        (authorization.MetadataOfAnotherServer, "resource-metadata-of-server"),
        (authorization.AnyToken, "invalid-token-refused"),
        (authorization.InvalidTokenWith400, "invalid-token-status"),
    ],
)
def test_faults_of_authorization_are_found_without_a_token(
    server: type[HttpServer], rule: str
) -> None:
    result = examine(server, has_token=False)
    found = [it for it in list_findings(result) if it.severity == "error"]
    assert [(it.part, it.rule) for it in found] == [(AUTHORIZATION, rule)]
    assert found[0].evidence
    assert parts_of(result)["authorization"].grade == "FAIL"


def test_a_server_of_2025_03_26_is_not_blamed_for_its_own_authorization_server() -> None:
    result = examine(authorization.NoResourceMetadata, has_token=False)
    assert [it.rule for it in list_findings(result) if it.severity == "error"] == []
    gaps = dict(parts_of(result)["authorization"].gaps)
    assert gaps["resource-metadata"] == "a server of 2025-03-26 is its own authorization server"


def test_with_a_token_the_results_are_those_of_the_validation_and_the_token_is_not_shown() -> None:
    result = examine(authorization.OfflineAccess, has_token=True)
    findings = list_findings(result)
    parts = list_parts(result, findings)
    grades = {part.id: part.grade for part in parts}
    assert grades["authorization"] == "PASS"  # a requirement of 2026-07-28 alone
    assert grades["validation"] == "PASS"
    checked = {it.requirement.id for it in result.authorization.results}
    assert {"token-in-query-refused", "challenge-scope"} <= checked
    assert {it.part for it in findings} <= {"lint"}
    page = format_html(result, parts, findings)
    shown = json.dumps(format_audit(result, parts, findings))
    assert authorization.TOKEN not in page + shown


def test_violations_of_authorization_are_listed_once() -> None:
    result = examine(authorization.NoScopeInChallenge, has_token=True)
    found = [(it.part, it.rule) for it in list_findings(result) if it.part != "lint"]
    assert found == [(AUTHORIZATION, "challenge-scope")]
    assert parts_of(result)["authorization"].grade == "WARN"
    assert parts_of(result)[VALIDATION].grade == "PASS"


def test_a_server_without_authorization_is_reported_as_open() -> None:
    part = parts_of(examine(HttpServer, has_token=False))["authorization"]
    assert (part.grade, part.summary) == ("PASS", "the server serves requests without credentials")


def test_the_bounds_of_a_run_leave_gaps() -> None:
    result = examine(HttpServer, has_token=False)
    part = parts_of(result)["robustness"]
    assert part.summary.startswith("~")
    assert "the run is limited to 30 messages" in dict(part.gaps).values()
