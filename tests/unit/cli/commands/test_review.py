"""Tests of `mcpgen review` and `mcpgen ws review` in git repositories."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli.app import run
from mcpgen.factory import waivers as waivers_module
from tests.support.paths import EXAMPLES

GENERATED = "src/petstore_mcp/_generated"
EVIDENCE = ".mcpgen/evidence"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime(2026, 11, 24, 23, 59, tzinfo=UTC)
    monkeypatch.setattr(waivers_module, "read_clock", lambda: moment)


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "x")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """Copy the petstore's server into a repository, and commit it."""
    root = tmp_path / "repository"
    target = Path(shutil.copytree(EXAMPLES / "petstore-mcp", root / "servers" / "petstore"))
    git(root, "init", "--quiet", "--initial-branch=main")
    commit(root)
    return target


def review(capsys: Capture, server: Path, *options: str, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["review", str(server), "--json", *options]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def edit_json(path: Path, edit: Callable[[Any], None]) -> None:
    value = json.loads(path.read_bytes())
    edit(value)
    path.write_text(json.dumps(value))


def commit_as_before(server: Path, edit: Callable[[], None]) -> str:
    """Commit an edited state of the server, and restore the unedited one in the work tree."""
    files = {it: it.read_bytes() for it in server.rglob("*") if it.is_file()}
    edit()
    made = commit(server)
    for path in server.rglob("*"):
        if path.is_file() and path not in files:
            path.unlink()
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return made


def rename_tools(server: Path, names: dict[str, str]) -> None:
    """Rename generated tools, or remove those with the new name ""."""
    for path in (server / GENERATED / "tools").glob("*.json"):

        def rename(value: dict[str, Any]) -> None:
            value["tools"] = {
                names.get(name, name): it
                for name, it in value["tools"].items()
                if names.get(name, name)
            }

        edit_json(path, rename)

    def rename_listed(value: list[dict[str, Any]]) -> None:
        for tool in value:
            tool["name"] = names.get(tool["name"], tool["name"])
        value[:] = [tool for tool in value if tool["name"]]

    edit_json(server / GENERATED / "listing.json", rename_listed)


def rules_of(report: dict[str, Any], *, fails: bool = True) -> list[str]:
    return [it["rule"] for it in report["findings"] if it["fails"] is fails]


def waive(server: Path, rule: str, expires: str = "2027-01-01", tool: str = "") -> None:
    text = f'{{rule: {rule}, tool: "{tool}", reason: R, owner: "@me", expires: {expires}}}'
    (server / "waivers.yaml").write_text(f"version: 1\nwaivers:\n  - {text}\n")


# Changes


def test_a_server_without_changes_has_nothing_to_resolve(server: Path, capsys: Capture) -> None:
    report = review(capsys, server)
    assert (report["since"], report["changes"], rules_of(report)) == ("HEAD", [], [])
    assert report["commit"] == git(server, "rev-parse", "HEAD")
    assert report["before"] == report["now"]
    assert report["now"]["tools"] == 14
    assert report["now"]["kill_rate"] == 1.0


def test_tools_that_were_added_removed_and_renamed_are_named(server: Path, capsys: Capture) -> None:
    names = {"get_pet": "fetch_pet", "delete_user": ""}
    commit_as_before(server, lambda: rename_tools(server, names))
    report = review(capsys, server)
    assert report["tools_renamed"] == ["fetch_pet"]
    assert report["tools_added"] == ["delete_user"]
    assert report["tools_removed"] == []
    assert (report["before"]["tools"], report["now"]["tools"]) == (13, 14)
    assert report["before"]["tokens"] < report["now"]["tokens"]
    assert report["level"] == "major"


def test_a_breaking_change_fails_only_if_asked_and_not_waived(
    server: Path, capsys: Capture
) -> None:
    commit_as_before(server, lambda: rename_tools(server, {"get_pet": "fetch_pet"}))
    assert review(capsys, server)["outcome"] == "done"
    report = review(capsys, server, "--fail-on", "major", code=1)
    assert [it["rule"] for it in report["changes"] if it["fails"]] == ["tool-renamed"]
    waive(server, "tool-renamed", tool="fetch_*")
    report = review(capsys, server, "--fail-on", "major")
    (renamed,) = (it for it in report["changes"] if it["rule"] == "tool-renamed")
    assert renamed["waived"]["owner"] == "@me"
    assert report["waivers"][0]["findings"] == 1
    waive(server, "tool-renamed", tool="get_*")
    report = review(capsys, server, "--fail-on", "major", code=1)
    assert "waiver-unused" in rules_of(report, fails=False)


def test_a_new_server_is_reviewed_as_new(server: Path, capsys: Capture) -> None:
    copy = Path(shutil.copytree(server, server.parent / "copy"))
    report = review(capsys, copy)
    assert report["new"] is True
    assert len(report["tools_added"]) == 14
    assert report["before"]["tools"] is None


def test_changes_of_the_base_after_the_branch_left_it_do_not_count(
    server: Path, capsys: Capture
) -> None:
    git(server, "checkout", "--quiet", "-b", "topic")
    commit(server)
    git(server, "checkout", "--quiet", "main")
    commit_as_before(server, lambda: rename_tools(server, {"get_pet": "fetch_pet"}))
    git(server, "checkout", "--quiet", "--force", "topic")
    assert review(capsys, server, "--against", "main")["changes"] == []


def test_scores_are_compared_with_those_of_the_revision(server: Path, capsys: Capture) -> None:
    def lower(value: dict[str, Any]) -> None:
        value["revisions"]["2025-11-25"] |= {"score": 59, "verdict": "FAIL"}

    commit_as_before(server, lambda: edit_json(server / EVIDENCE / "validate.json", lower))
    page = server / "review.md"
    report = review(capsys, server, "--markdown", str(page))
    assert report["before"]["scores"]["2025-11-25"]["score"] == 59
    assert report["now"]["scores"]["2025-11-25"]["score"] == 100
    row = "| score 2025-11-25 | 59 FAIL (97 % exercised) | 100 PASS (97 % exercised) | +41 |"
    assert row in page.read_text()


def test_damaged_evidence_is_no_evidence(server: Path, capsys: Capture) -> None:
    def spoil() -> None:
        (server / EVIDENCE / "validate.json").write_text('{"revisions": {"| x": {"score": "1"}}}')
        (server / EVIDENCE / "tests.json").write_text("[" * 100_000)

    commit_as_before(server, spoil)
    before = review(capsys, server)["before"]
    assert (before["scores"], before["tests"]) == ({}, "")
    spoil()
    report = review(capsys, server)
    assert {it["subject"] for it in report["not_verified"]} == {"tests", "validation", "kill rate"}


# Findings


def test_stale_evidence_is_listed_as_not_verified(server: Path, capsys: Capture) -> None:
    (server / "src/petstore_mcp/handlers/own.py").write_text("# own\n")
    report = review(capsys, server)
    claims = {it["subject"]: it for it in report["not_verified"]}
    reason = "not verified: the tests ran on other inputs (own code or tests)"
    assert claims["tests"]["reason"] == reason
    assert claims["validation"]["command"].startswith("mcpgen validate ")
    assert (report["now"]["scores"], report["now"]["kill_rate"]) == ({}, None)
    shutil.rmtree(server / ".mcpgen" / "evidence")
    report = review(capsys, server)
    claims = {it["subject"]: it for it in report["not_verified"]}
    assert claims["tests"]["reason"] == "not verified: there is no evidence"


def test_violations_and_failed_tests_come_from_evidence(server: Path, capsys: Capture) -> None:
    def violate(value: dict[str, Any]) -> None:
        value["revisions"]["2025-11-25"]["findings"] = ["id-echo", "no-null-id"]

    def fail(value: dict[str, Any]) -> None:
        value |= {"outcome": "failed", "result": "449 passed, 1 failed"}

    edit_json(server / EVIDENCE / "validate.json", violate)
    edit_json(server / EVIDENCE / "tests.json", fail)
    report = review(capsys, server, code=1)
    assert set(rules_of(report)) == {"id-echo", "tests-failed"}
    assert "no-null-id" in rules_of(report, fails=False)  # a SHOULD, as in `validate`
    waive(server, "id-echo")
    report = review(capsys, server, code=1)
    assert rules_of(report) == ["tests-failed"]
    (finding,) = (it for it in report["findings"] if it["rule"] == "id-echo")
    assert finding["waived"]["reason"] == "R"


def test_a_hand_edit_exits_with_4(server: Path, capsys: Capture) -> None:
    path = server / GENERATED / "tools" / "pets.py"
    path.write_text(f"{path.read_text()}# edited\n")
    report = review(capsys, server, code=4)
    assert "hand-edit" in rules_of(report)


def test_an_operation_that_changed_under_its_override_is_a_finding(
    server: Path, capsys: Capture
) -> None:
    assert run(["override", "GET /pets/{petId}", str(server), "-q"]) == 0
    commit(server)
    assert "overridden-operation-changed" not in rules_of(review(capsys, server))
    document = server / "openapi.yaml"
    text = document.read_text()
    old = "operationId: getPet\n"
    assert text.count(old) == 1
    added = "parameters: [{name: depth, in: query, required: true, schema: {type: integer}}]"
    document.write_text(text.replace(old, f"{old}      {added}\n"))
    assert run(["generate", str(server), "-q"]) == 0
    report = review(capsys, server, code=1)
    assert "overridden-operation-changed" in rules_of(report)
    assert any(it["rule"] == "input-added-required" for it in report["changes"])


def test_an_expired_waiver_fails_of_whatever_rule(server: Path, capsys: Capture) -> None:
    waive(server, "process-ended", "2026-11-23")  # of `audit`, which did not run
    assert rules_of(review(capsys, server, code=1)) == ["waiver-expired"]
    waive(server, "process-ended")
    assert rules_of(review(capsys, server), fails=False).count("waiver-unused") == 0


def test_waivers_that_the_revision_does_not_have_are_marked_as_new(
    server: Path, capsys: Capture
) -> None:
    def news(report: dict[str, Any]) -> list[bool]:
        return [it["new"] for it in report["waivers"]]

    waive(server, "tool-renamed")
    assert news(review(capsys, server)) == [True]
    commit(server)
    assert news(review(capsys, server)) == [False]
    waive(server, "tool-renamed", "2027-01-02")  # extended
    assert news(review(capsys, server)) == [True]
    (server / "waivers.yaml").write_text("[")
    commit(server)
    waive(server, "tool-renamed")
    assert news(review(capsys, server)) == [True]


def test_invalid_waivers_exit_with_3(server: Path, capsys: Capture) -> None:
    waive(server, "tool-renames")
    report = review(capsys, server, code=3)
    assert [it["rule"] for it in report["findings"]] == ["waivers"]


def test_sarif_has_paths_in_the_repository(server: Path, capsys: Capture, tmp_path: Path) -> None:
    commit_as_before(server, lambda: rename_tools(server, {"get_pet": "fetch_pet"}))
    waive(server, "tool-renamed")
    path = tmp_path / "review.sarif"
    review(capsys, server, "--sarif", str(path))
    root = server.parents[1]
    results = json.loads(path.read_text())["runs"][0]["results"]
    places = [
        it["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for it in results
        if "locations" in it
    ]
    assert places
    assert all((root / place).is_file() for place in places)
    (renamed,) = (it for it in results if it["ruleId"] == "tool-renamed")
    assert renamed["suppressions"][0]["status"] == "accepted"


def test_a_review_without_json_prints_what_matters(server: Path, capsys: Capture) -> None:
    commit_as_before(server, lambda: rename_tools(server, {"get_pet": "fetch_pet"}))
    assert run(["review", str(server), "--fail-on", "major"]) == 1
    printed = capsys.readouterr().out
    assert "1 renamed; 1 major since HEAD" in printed
    assert "fetch_pet: is called `get_pet` now" in printed
    assert "1 change to resolve" in printed.splitlines()[-1]


# Revisions


def test_an_unknown_revision_is_a_usage_error(server: Path, capsys: Capture) -> None:
    report = review(capsys, server, "--against", "nowhere", code=2)
    assert "`nowhere` is not a git revision" in report["findings"][0]["message"]
    report = review(capsys, server, "--against", "--upload-pack=x", code=2)
    assert report["outcome"] == "usage"


def test_a_revision_behind_a_shallow_clone_is_a_usage_error(
    server: Path, capsys: Capture, tmp_path: Path
) -> None:
    first = git(server, "rev-parse", "HEAD")
    commit(server)
    root = server.parents[1]
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{root}", "clone")
    copy = tmp_path / "clone" / "servers" / "petstore"
    assert review(capsys, copy)["changes"] == []
    for revision in (first, "HEAD~1", "origin/other"):
        report = review(capsys, copy, "--against", revision, code=2)
        assert "fetch-depth: 0" in report["findings"][0]["help"]


def test_a_revision_without_common_history_is_compared_itself(
    server: Path, capsys: Capture, tmp_path: Path
) -> None:
    root = server.parents[1]
    git(root, "checkout", "--quiet", "-b", "base")
    commit_as_before(server, lambda: rename_tools(server, {"get_pet": "fetch_pet"}))
    git(root, "checkout", "--quiet", "--force", "main")
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{root}", "clone")
    copy = tmp_path / "clone"
    git(copy, "fetch", "--quiet", "--depth=1", "origin", "base:base")
    report = review(capsys, copy / "servers" / "petstore", "--against", "base")
    assert report["tools_renamed"] == ["fetch_pet"]


def test_without_git_the_last_generate_is_compared(
    petstore: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = review(capsys, petstore)
    assert (report["since"], report["commit"]) == ("the last `generate`", "")
    assert report["before"]["tools"] is None
    report = review(capsys, petstore, "--against", "main", code=2)
    assert "in no git repository" in report["findings"][0]["message"]
    monkeypatch.setenv("PATH", "")
    assert review(capsys, petstore)["since"] == "the last `generate`"


def test_a_repository_without_a_commit_is_like_none(petstore: Path, capsys: Capture) -> None:
    git(petstore, "init", "--quiet")
    assert review(capsys, petstore)["since"] == "the last `generate`"


def test_a_folder_without_a_server_is_a_usage_error(tmp_path: Path, capsys: Capture) -> None:
    assert run(["review", str(tmp_path)]) == 2
    assert "contains no generated package" in capsys.readouterr().err


# Workspaces


@pytest.fixture
def workspace(server: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a workspace of three servers, and commit it."""
    root = server.parents[1]
    for name in ("one", "two"):
        shutil.copytree(server, server.parent / name)
    (root / "mcpgen-workspace.yaml").write_text(
        'version: 1\nmcpgen: ">=0"\nservers: ["servers/*"]\n'
    )
    commit(root)
    monkeypatch.chdir(root)
    return root


def review_workspace(capsys: Capture, *options: str, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["ws", "review", "--json", "-j", "1", *options]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def servers_of(report: dict[str, Any]) -> list[str]:
    return [it["server"] for it in report["servers"]]


def test_only_changed_servers_are_reviewed(workspace: Path, capsys: Capture) -> None:
    report = review_workspace(capsys)
    assert (servers_of(report), report["unchanged"]) == ([], 3)
    servers = workspace / "servers"
    base = git(workspace, "rev-parse", "HEAD")
    commit_as_before(servers / "one", lambda: rename_tools(servers / "one", {"get_pet": "fetch"}))
    for path in (servers / "two").rglob("*.py"):
        path.touch()  # a new time alone is no change
    report = review_workspace(capsys)  # not committed
    assert (servers_of(report), report["unchanged"]) == (["servers/one"], 2)
    waive(servers / "two", "tool-renamed", "2026-01-01")  # not even added
    report = review_workspace(capsys, code=1)
    assert servers_of(report) == ["servers/two", "servers/one"]  # what fails comes first
    assert [it["exit_code"] for it in report["servers"]] == [1, 0]
    assert report["servers"][0]["findings"][0]["file"] == "servers/two/waivers.yaml"
    assert review_workspace(capsys, "servers/one")["unchanged"] == 0
    assert servers_of(review_workspace(capsys, "petstore")) == []
    commit(workspace)
    assert servers_of(review_workspace(capsys)) == []
    report = review_workspace(capsys, "--against", base, code=1)
    assert servers_of(report) == ["servers/two"]  # the other one is as it was
    git(workspace, "checkout", "--quiet", "-b", "topic")


def test_removed_servers_and_other_files_are_counted(workspace: Path, capsys: Capture) -> None:
    shutil.rmtree(workspace / "servers" / "one")
    (workspace / "NOTES").write_text("new")
    page = workspace / "review.md"
    git(workspace, "config", "core.excludesFile", "")
    report = review_workspace(capsys, "--markdown", str(page))
    assert (report["removed"], report["other_files"], report["unchanged"]) == (
        ["servers/one"],
        1,
        2,
    )
    assert "## Removed servers (1)\n\n- `servers/one`" in page.read_text()


def test_a_server_whose_shared_document_changed_is_reviewed(
    workspace: Path, capsys: Capture
) -> None:
    lock = workspace / "servers" / "one" / "mcpgen.lock"
    text = lock.read_text()
    assert '"openapi.yaml"' in text
    lock.write_text(text.replace('"openapi.yaml"', '"../../shared.yaml"'))
    (workspace / "shared.yaml").write_text("a: 1")
    commit(workspace)
    (workspace / "shared.yaml").write_text("a: 2")
    report = review_workspace(capsys, code=1)
    assert servers_of(report) == ["servers/one"]


def test_a_server_that_cannot_be_reviewed_leaves_the_others(
    workspace: Path, capsys: Capture
) -> None:
    (workspace / "servers" / "one" / "waivers.yaml").write_text("waivers: 1")
    waive(workspace / "servers" / "two", "tool-renamed")
    page = workspace / "review.md"
    report = review_workspace(capsys, "--markdown", str(page), code=3)
    assert servers_of(report) == ["servers/one", "servers/two"]
    assert "since" not in report["servers"][0]
    assert "| `servers/one` | **no review**:" in page.read_text()


def test_a_workspace_without_git_is_reviewed_whole(
    petstore: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = petstore.parent
    (root / "mcpgen-workspace.yaml").write_text('version: 1\nmcpgen: ">=0"\nservers: ["*"]\n')
    monkeypatch.chdir(root)
    report = review_workspace(capsys)
    assert (report["since"], servers_of(report)) == ("the last `generate`", ["petstore-mcp"])
    report = review_workspace(capsys, "--against", "main", code=2)
    assert "in no git repository" in report["findings"][0]["message"]
