"""Tests of the status of a server: stages from evidence and the hashes of its inputs."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpgen.factory.status.examine import examine_server, is_in_order
from mcpgen.factory.status.model import ClientCell, NeedKind, Score, StageName, State
from mcpgen.factory.validate.requirements import read_requirements
from mcpgen.pipeline.project.input_hashes import ProjectFiles
from tests.unit.factory.status.conftest import (
    EVIDENCE,
    NOW,
    damage,
    edit,
    examine,
    proof_of,
    record,
)

CHECKED = {
    "source": "drift",
    "lint": "linted",
    "tests": "tested",
    "validate": "conformant",
    "live": "live",
    "bundle": "packaged",
    "published": "published",
}
Edit = Callable[[Path], object]


def state_of(target: Path, check: str) -> tuple[State, tuple[str, ...]]:
    """Return the state of a check, and the inputs that changed."""
    status = examine(target)
    proof = status.drift if check == "source" else proof_of(status, CHECKED[check])
    return proof.state, proof.changed


def list_needs(target: Path) -> list[tuple[str, str]]:
    return [(it.kind.value, it.command) for it in examine(target).needs]


def test_a_server_with_evidence_of_everything_has_reached_all_stages(server: Path) -> None:
    status = examine(server)
    assert [stage.name for stage in status.stages] == list(StageName)
    assert {stage.proof.state for stage in status.stages} == {State.PASSED}
    assert {stage.proof.command for stage in status.stages} == {""}
    assert status.reached is StageName.PUBLISHED
    assert status.needs == ()
    assert is_in_order(status, is_strict=True)
    assert (status.server, status.name, status.owners) == (
        "servers/petshop",
        "pet-shop-mcp",
        ("@shop",),
    )
    assert (status.api, status.version, status.source) == ("Pet Shop API", "0.1.0", "petshop.yaml")
    assert (status.tools, status.published) == (2, "0.1.0")
    assert status.tokens
    assert status.kill_rate == 0.98
    assert status.scores == {"2026-07-28": Score(100, 0.95, "PASS", True)}
    assert status.clients == {"cursor": ClientCell("dropped", 1, ("dropped: x",))}
    lint = proof_of(status, "linted")
    assert lint.evidence == ".mcpgen/evidence/lint.json"
    assert (lint.time, lint.summary) == ("2026-11-21T12:00:00Z", "1 note")


@pytest.mark.parametrize("check", CHECKED)
def test_missing_evidence_is_unknown(server: Path, check: str) -> None:
    (server / f".mcpgen/evidence/{check}.json").unlink()
    status = examine(server)
    proof = status.drift if check == "source" else proof_of(status, CHECKED[check])
    assert proof.state is State.UNKNOWN
    assert proof.evidence == ""
    assert proof.command.endswith(" servers/petshop")
    assert is_in_order(status)
    assert is_in_order(status, is_strict=True) is (check in ("live", "published"))


@pytest.mark.parametrize("check", CHECKED)
@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"outcome": "passed"}',
        '{"outcome": 1, "result": "", "inputs": {}}',
        '{"outcome": "passed", "result": "", "inputs": []}',
        '{"outcome": "passed", "result": "", "inputs": {}, "time": 3}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_damaged_evidence_is_unknown_and_said_so(server: Path, check: str, content: str) -> None:
    file = server / f".mcpgen/evidence/{check}.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    status = examine(server)
    proof = status.drift if check == "source" else proof_of(status, CHECKED[check])
    assert proof.state is State.UNKNOWN
    assert proof.summary.startswith("damaged evidence: ")
    assert proof.evidence == f".mcpgen/evidence/{check}.json"
    assert proof.command


@pytest.mark.parametrize(
    ("check", "members"),
    [
        ("source", {"level": None}),
        ("source", {"written": "yes"}),
        ("lint", {"findings": [{"rule": 1}]}),
        ("lint", {"client_effects": {"cursor": "ok"}}),
        ("tests", {"mutation": {"score": "all"}}),
        ("validate", {"revisions": {"2026-07-28": {}}}),
        ("published", {"version": ["1"]}),
    ],
)
def test_members_of_other_types_are_damage(
    server: Path, check: str, members: dict[str, Any]
) -> None:
    damage(server, check, **members)
    assert state_of(server, check)[0] is State.UNKNOWN


def test_evidence_of_an_earlier_version_has_no_age(server: Path) -> None:
    file = server / ".mcpgen/evidence/lint.json"
    found = json.loads(file.read_text())
    del found["time"], found["earlier"], found["client_effects"]
    file.write_text(json.dumps({**found, "findings": {"note": 1}}))
    status = examine(server)
    assert proof_of(status, "linted").state is State.PASSED
    assert proof_of(status, "linted").time == ""
    assert status.clients == {}


def test_a_time_that_is_none_counts_as_unknown(server: Path) -> None:
    damage(server, "lint", time="yesterday")
    assert proof_of(examine(server), "linted").time == ""


@pytest.mark.parametrize("check", ["lint", "tests", "validate", "live"])
def test_a_failed_check_fails_its_stage(server: Path, check: str) -> None:
    record(server, check, outcome="failed", result="2 failed")
    status = examine(server)
    proof = proof_of(status, CHECKED[check])
    assert (proof.state, proof.summary) == (State.FAILED, "2 failed")
    assert proof.command
    assert not is_in_order(status)
    (need,) = status.needs
    assert (need.kind, need.command) == (NeedKind.FAILING, proof.command)
    assert need.evidence == f".mcpgen/evidence/{check}.json"
    assert "2 failed" in need.message


@pytest.mark.parametrize(
    ("path", "changed", "checks"),
    [
        ("openapi.yaml", "document", {"source", "lint", "tests", "validate", "live"}),
        ("mcpgen.yaml", "manifest", {"lint", "tests", "validate", "live"}),
        (".gitignore", "", set()),
        ("src/pet_shop_mcp/handlers/own.py", "own", {"lint", "tests", "validate", "live"}),
        ("tests/test_own.py", "own", {"lint", "tests", "validate", "live"}),
        ("pyproject.toml", "package", {"bundle"}),
        ("README.md", "", set()),
    ],
)
def test_a_stage_is_stale_when_its_inputs_change(
    server: Path, path: str, changed: str, checks: set[str]
) -> None:
    edit(server, path)
    stale = {check for check in CHECKED if state_of(server, check)[0] is State.STALE}
    assert stale - {"bundle"} == checks - {"bundle"}
    assert ("bundle" in stale) is (path.startswith("src/") or "bundle" in checks)
    for check in checks:
        assert changed in state_of(server, check)[1]
    assert is_in_order(examine(server)) is not bool(stale)


def test_figures_of_stale_evidence_are_not_shown(server: Path) -> None:
    edit(server, "src/pet_shop_mcp/handlers/own.py")
    status = examine(server)
    assert (status.scores, status.clients, status.kill_rate) == ({}, {}, None)
    assert status.reached is StageName.GENERATED


def test_a_failed_check_is_stale_once_its_inputs_change(server: Path) -> None:
    record(server, "tests", outcome="failed", result="2 failed")
    edit(server, "src/pet_shop_mcp/handlers/own.py")
    assert state_of(server, "tests") == (State.STALE, ("own",))


def test_an_optional_stage_is_skipped_on_the_way_to_the_next(server: Path) -> None:
    (server / ".mcpgen/evidence/live.json").unlink()
    assert examine(server).reached is StageName.PUBLISHED
    (server / ".mcpgen/evidence/bundle.json").unlink()
    assert examine(server).reached is StageName.CONFORMANT


# The stage `generated`


@pytest.mark.parametrize(
    ("change", "kind", "changed"),
    [
        pytest.param(lambda it: edit(it, "openapi.yaml"), "regenerate", "document", id="document"),
        pytest.param(lambda it: edit(it, "mcpgen.yaml"), "regenerate", "manifest", id="manifest"),
        pytest.param(
            lambda it: edit(it, ".copier-answers.yml"), "regenerate", "answers", id="answers"
        ),
        pytest.param(
            lambda it: (it / "tests/generated/cases.json").unlink(),
            "regenerate",
            "files",
            id="deleted",
        ),
    ],
)
def test_changed_inputs_and_deleted_files_ask_for_generation(
    server: Path, change: Edit, kind: str, changed: str
) -> None:
    change(server)
    status = examine(server)
    proof = proof_of(status, "generated")
    assert (proof.state, proof.changed) == (State.STALE, (changed,))
    assert status.needs[0].kind == kind
    assert status.needs[0].command == "mcpgen generate servers/petshop"
    assert status.reached is StageName.DECLARED


def set_version(server: Path) -> None:
    lock = server / "mcpgen.lock"
    text = lock.read_text()
    lock.write_text(text.replace('"mcpgen": "', '"mcpgen": "0.0.'))
    assert lock.read_text() != text


def test_another_version_of_mcpgen_asks_for_generation(server: Path) -> None:
    set_version(server)
    proof = proof_of(examine(server), "generated")
    assert (proof.state, proof.changed) == (State.STALE, ("mcpgen",))


def leave_offer(server: Path) -> None:
    edit(server, ".mcpgen/conflicts/README.md")


@pytest.mark.parametrize(
    ("change", "summary"),
    [
        pytest.param(
            lambda it: edit(it, "src/pet_shop_mcp/_generated/contract.json"),
            "edited by hand: src/pet_shop_mcp/_generated/contract.json",
            id="edited",
        ),
        pytest.param(
            lambda it: edit(it, ".gitignore", "<<<<<<< ours\n"),
            "unresolved conflict: .gitignore",
            id="markers",
        ),
        pytest.param(leave_offer, "unresolved conflict: .mcpgen/conflicts/README.md", id="offer"),
        pytest.param(
            lambda it: edit(it, "mcpgen.lock", "<<<<<<< ours\n"), "conflict markers", id="lock"
        ),
        pytest.param(
            lambda it: edit(it, ".mcpgen/journal.json", "{}"),
            "an earlier run was interrupted",
            id="interrupted",
        ),
    ],
)
def test_edits_and_conflicts_fail(server: Path, change: Edit, summary: str) -> None:
    change(server)
    status = examine(server)
    proof = proof_of(status, "generated")
    assert proof.state is State.FAILED
    assert summary in proof.summary
    assert status.needs[0].kind is NeedKind.CONFLICT
    assert status.needs[0].command == "mcpgen generate servers/petshop"
    assert not is_in_order(status)


def test_text_that_looks_like_a_marker_inside_of_a_line_is_no_conflict(server: Path) -> None:
    edit(server, ".gitignore", "# a <<<<<<< b\n")
    assert proof_of(examine(server), "generated").state is State.PASSED


@pytest.mark.parametrize(
    ("content", "summary"),
    [
        (None, "no mcpgen.lock"),
        ("{}", "mcpgen.lock is not what mcpgen writes"),
        ('{"lock_version": 99, "mcpgen": "9.0"}', "mcpgen.lock was written by mcpgen 9.0"),
    ],
)
def test_a_lock_that_cannot_be_read_is_unknown(
    server: Path, content: str | None, summary: str
) -> None:
    (server / "mcpgen.lock").unlink()
    if content is not None:
        (server / "mcpgen.lock").write_text(content)
    status = examine(server)
    proof = proof_of(status, "generated")
    assert proof.state is State.UNKNOWN
    assert proof.summary.startswith(summary)
    assert status.drift.state is State.UNKNOWN
    assert status.needs


def test_a_folder_without_a_manifest_is_not_declared(server: Path) -> None:
    (server / "mcpgen.yaml").unlink()
    status = examine(server)
    assert proof_of(status, "declared").state is State.UNKNOWN
    assert status.reached is None


def test_an_empty_folder_is_unknown(tmp_path: Path) -> None:
    status = examine(tmp_path)
    assert {stage.proof.state for stage in status.stages} == {State.UNKNOWN}
    assert status.name == tmp_path.name
    assert (status.tools, status.tokens, status.version) == (None, None, "")


# Drift


def test_a_changed_source_is_drift(server: Path) -> None:
    record(server, "source", outcome="changed", result="changed, tools: minor", level="minor")
    status = examine(server)
    assert (status.drift.state, status.drift.changed) == (State.STALE, ("source",))
    assert status.drift.time == "2026-11-21T12:00:00Z"
    (need,) = status.needs
    assert (need.kind, need.command) == (NeedKind.REGENERATE, "mcpgen pull servers/petshop")
    assert "petshop.yaml has changed (level minor)" in need.message
    assert not is_in_order(status)


def test_a_breaking_change_of_the_source_waits_for_approval(server: Path) -> None:
    record(server, "source", outcome="changed", level="major")
    (need,) = examine(server).needs
    assert (need.kind, need.command) == (NeedKind.BREAKING, "mcpgen pull servers/petshop")
    assert need.evidence == ".mcpgen/evidence/source.json"


def test_a_source_whose_tools_could_not_be_compared_is_drift_too(server: Path) -> None:
    record(server, "source", outcome="changed", level="")
    (need,) = examine(server).needs
    assert need.kind is NeedKind.REGENERATE
    assert "could not be compared" in need.message


def test_a_pulled_breaking_change_waits_for_approval_until_it_is_generated(server: Path) -> None:
    edit(server, "openapi.yaml")
    result = "changed, tools: major"
    record(server, "source", outcome="changed", result=result, level="major", written=True)
    status = examine(server)
    assert status.drift.state is State.PASSED
    assert status.drift.summary == f"as pulled ({result})"
    assert (status.needs[0].kind, status.needs[0].command) == (
        NeedKind.BREAKING,
        "mcpgen generate servers/petshop",
    )


def test_a_comparison_with_another_origin_is_stale(server: Path) -> None:
    record(server, "source", source="other.yaml")
    assert state_of(server, "source") == (State.STALE, ("origin",))
    assert ("stale", "mcpgen pull --dry-run servers/petshop") in list_needs(server)


def test_a_document_without_an_origin_has_unknown_drift(server: Path) -> None:
    lock = server / "mcpgen.lock"
    lock.write_text(lock.read_text().replace('"source": "petshop.yaml"', '"source": ""'))
    drift = examine(server).drift
    assert (drift.state, drift.summary) == (State.UNKNOWN, "no recorded origin")
    assert drift.command == "mcpgen pull servers/petshop SOURCE"


def test_a_server_without_a_document_has_no_drift(server: Path) -> None:
    lock = server / "mcpgen.lock"
    lock.write_text(json.dumps({**json.loads(lock.read_text()), "documents": {}}))
    drift = examine(server).drift
    assert (drift.state, drift.summary) == (State.PASSED, "has no document")


# Publication


def test_another_version_in_the_registry_is_stale_but_in_order(server: Path) -> None:
    record(server, "published", outcome="failed", version="0.0.9")
    status = examine(server)
    proof = proof_of(status, "published")
    assert (proof.state, proof.changed) == (State.STALE, ("version",))
    assert proof.summary == "0.0.9 in registry.example, 0.1.0 here"
    assert is_in_order(status, is_strict=True)
    assert status.published == "0.0.9"
    (need,) = status.needs
    assert need.kind is NeedKind.READY


def test_a_server_that_is_not_in_the_registry_is_ready_to_publish(server: Path) -> None:
    record(server, "published", outcome="failed", version="", result="not in registry.example")
    status = examine(server)
    assert proof_of(status, "published").state is State.UNKNOWN
    (need,) = status.needs
    assert (need.kind, need.message) == (NeedKind.READY, "not in registry.example")


def test_a_server_is_not_ready_to_publish_before_all_else_has_passed(server: Path) -> None:
    (server / ".mcpgen/evidence/published.json").unlink()
    assert list_needs(server) == [
        ("ready to publish", "mcpgen bundle --check-published servers/petshop")
    ]
    (server / ".mcpgen/evidence/bundle.json").unlink()
    assert list_needs(server) == [("unknown", "mcpgen bundle servers/petshop")]


# Needs and commands


def test_needs_are_listed_the_most_urgent_first(server: Path) -> None:
    record(server, "lint", outcome="failed", result="1 error")
    record(server, "source", outcome="changed", level="major")
    (server / ".mcpgen/evidence/validate.json").unlink()
    damage(server, "tests", inputs={})
    assert [kind for kind, _ in list_needs(server)] == [
        "failing",
        "breaking",
        "stale",
        "unknown",
    ]


def test_a_live_run_that_was_never_made_is_no_need(server: Path) -> None:
    (server / ".mcpgen/evidence/live.json").unlink()
    assert list_needs(server) == []


def test_commands_quote_the_path_of_the_server(server: Path, tmp_path: Path) -> None:
    (server / ".mcpgen/evidence/lint.json").unlink()
    spaced = examine_server(server, "my servers/it's", (), NOW)
    assert spaced.needs[0].command == """mcpgen lint 'my servers/it'"'"'s'"""
    here = examine_server(server, ".", (), NOW)
    assert here.needs[0].command == "mcpgen lint"


# Waivers

WAIVER = "version: 1\nwaivers:\n  - {rule: %s, reason: Soon., owner: '@me', expires: %s%s}\n"
ERROR = {"rule": "array-items", "severity": "error", "tool": "get_pet"}
NOTE = EVIDENCE["lint"]["findings"][0]


def waive(server: Path, rule: str, expires: str = "2026-11-24", more: str = "") -> None:
    (server / "waivers.yaml").write_text(WAIVER % (rule, expires, more))


def fail_lint(server: Path, *findings: dict[str, str], more: int = 0) -> None:
    found = [*findings, NOTE]
    record(server, "lint", outcome="failed", result="errors", findings=found, more_findings=more)


def test_waived_findings_do_not_fail_and_stay_visible(server: Path) -> None:
    fail_lint(server, ERROR)
    assert state_of(server, "lint")[0] is State.FAILED
    waive(server, "array-items")
    status = examine(server)
    proof = proof_of(status, "linted")
    assert (proof.state, proof.summary, proof.command) == (State.PASSED, "errors; 1 waived", "")
    assert is_in_order(status)
    (waiver,) = status.waivers
    assert (waiver.rule, waiver.owner, waiver.is_expired, waiver.findings) == (
        "array-items",
        "@me",
        False,
        1,
    )
    (need,) = status.needs
    assert need.kind is NeedKind.WAIVED
    assert need.message == "1 finding of `array-items`, waived until 2026-11-24 by @me: Soon."


def test_a_finding_that_is_not_waived_fails(server: Path) -> None:
    fail_lint(server, ERROR, {**ERROR, "tool": "list_pets"})
    waive(server, "array-items", more=", tool: get_pet")
    assert proof_of(examine(server), "linted").state is State.FAILED


def test_findings_that_are_not_recorded_cannot_be_waived(server: Path) -> None:
    record(server, "lint", outcome="failed", result="errors", findings=[ERROR], more_findings=1)
    waive(server, "array-items")
    assert proof_of(examine(server), "linted").state is State.FAILED
    fail_lint(server, ERROR, more=1)  # the rest are notes, since the worst come first
    assert proof_of(examine(server), "linted").state is State.PASSED


@pytest.mark.parametrize("fails", [True, False])
def test_an_expired_waiver_fails_the_stage(server: Path, fails: bool) -> None:
    if fails:
        fail_lint(server, ERROR)
    waive(server, "array-items", "2026-11-23")
    status = examine(server)
    proof = proof_of(status, "linted")
    assert proof.state is State.FAILED
    assert "expired waiver: array-items" in proof.summary
    assert proof.command == "mcpgen lint servers/petshop"
    assert NeedKind.WAIVER_EXPIRED in {need.kind for need in status.needs}
    assert proof_of(status, "conformant").state is State.PASSED


MUSTS = [it.id for it in read_requirements().requirement if it.level == "must"]


@pytest.mark.parametrize(
    ("findings", "state"),
    [(MUSTS[:1], State.PASSED), (MUSTS[:2], State.FAILED), ([], State.FAILED)],
)
def test_waived_requirements_do_not_fail(server: Path, findings: list[str], state: State) -> None:
    (passed,) = EVIDENCE["validate"]["revisions"].values()
    failed = {**passed, "score": 59, "verdict": "FAIL", "findings": findings}
    revisions = {"2025-11-25": passed, "2026-07-28": failed}
    record(server, "validate", outcome="failed", revisions=revisions)
    waive(server, MUSTS[0])
    assert proof_of(examine(server), "conformant").state is state


def test_an_invalid_file_of_waivers_is_a_need(server: Path) -> None:
    (server / "waivers.yaml").write_text("version: 1\nwaivers: 3\n")
    status = examine(server)
    (need,) = status.needs
    assert (need.kind, need.message) == (NeedKind.FAILING, "waivers.yaml is invalid")
    assert not is_in_order(status)


# No side effects


def test_nothing_is_written_or_started_and_no_connection_made(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(socket, "socket", refuse)
    before = {path: path.stat().st_mtime_ns for path in sorted(server.rglob("*"))}
    assert examine(server).needs == ()
    assert {path: path.stat().st_mtime_ns for path in sorted(server.rglob("*"))} == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read all files")
def test_a_file_without_permission_makes_the_server_unknown(server: Path) -> None:
    (server / "mcpgen.lock").chmod(0)
    check_unreadable(server)


def test_a_file_that_cannot_be_read_makes_the_server_unknown(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: ProjectFiles, path: str) -> bytes:
        raise PermissionError(13, "Permission denied", str(self.target / path))

    monkeypatch.setattr(ProjectFiles, "read", refuse)
    check_unreadable(server)


def check_unreadable(server: Path) -> None:
    status = examine(server)
    assert {stage.proof.state for stage in status.stages} == {State.UNKNOWN}
    (need,) = status.needs
    assert need.kind is NeedKind.FAILING
    assert need.message.startswith("cannot read ")
    assert need.message.endswith(": Permission denied")
    assert str(server) not in need.message


def test_line_ends_of_a_checkout_change_nothing(server: Path) -> None:
    for path in server.rglob("*"):
        if path.is_file() and path.suffix in {".py", ".json", ".yaml", ".toml", ".lock"}:
            content = path.read_bytes()
            if b"\r" not in content:
                path.write_bytes(content.replace(b"\n", b"\r\n"))
    assert examine(server).needs == ()


def test_caches_of_tools_change_nothing(server: Path) -> None:
    edit(server, "src/pet_shop_mcp/_generated/__pycache__/models.pyc")
    edit(server, "tests/__pycache__/test_custom.pyc")
    edit(server, "src/pet_shop_mcp.egg-info/PKG-INFO")
    assert examine(server).needs == ()
    shutil.rmtree(server / ".mcpgen/evidence")
    assert examine(server).reached is StageName.GENERATED
