"""Tests of `ws merge-evidence`: evidence from shards is merged into one workspace."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from mcpgen.factory.workspace import merge_evidence as merging
from mcpgen.pipeline.project.evidence import list_inputs
from mcpgen.pipeline.project.input_hashes import ProjectFiles, hash_inputs
from tests.support.paths import REPOSITORY
from tests.support.workspaces import Ws, ended, rules

pytestmark = pytest.mark.slow

Put = Callable[..., Path]
MONOREPO = REPOSITORY / "docs/how-to/monorepo.md"
AUTHOR = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
CHECKS = ("lint", "tests")
FILE = "servers/ant/.mcpgen/evidence/lint.json"
EARLY, LATE = "2026-11-24T08:00:00Z", "2026-11-24T09:00:00Z"


@pytest.fixture
def put(workspace: Path) -> Put:
    """Return a function that writes evidence of a server, current unless `inputs` is given."""

    def write(root: Path, server: str = "servers/ant", check: str = "lint", **members: Any) -> Path:
        inputs = hash_inputs(ProjectFiles(workspace / "servers/ant"), list_inputs(check))
        evidence = {"check": check, "inputs": inputs, "outcome": "passed", "result": "fine"}
        file = root / server / ".mcpgen/evidence" / f"{check}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({**evidence, **members}))
        return file

    return write


def result(workspace: Path, server: str = "servers/ant", check: str = "lint") -> str | None:
    file = workspace / server / ".mcpgen/evidence" / f"{check}.json"
    return str(json.loads(file.read_text())["result"]) if file.exists() else None


def upload(clone: Path, artifact: Path) -> Path:
    """Copy the files that the workflow in docs/how-to/monorepo.md uploads as an artifact."""
    for pattern in ("mcpgen-workspace.yaml", "servers/*/.mcpgen/evidence/*.json"):
        assert pattern in MONOREPO.read_text()
        for file in clone.glob(pattern):
            place = artifact / file.relative_to(clone)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
    return artifact


def test_three_shards_in_three_clones_make_one_state(
    ws: Ws, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = workspace / "mcpgen-workspace.yaml"
    settings.write_text(settings.read_text().replace("tools, owner]", "tests]"))
    assert ws("generate", "--jobs", "1")[0] == 0
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Start"]):
        subprocess.run(["git", *AUTHOR, *command], cwd=workspace, check=True)
    clones = [tmp_path / f"clone-{index}" for index in (1, 2, 3)]
    served = []
    for index, clone in enumerate(clones, 1):
        subprocess.run(["git", "clone", "-q", str(workspace), str(clone)], check=True)
        monkeypatch.chdir(clone)
        for command in ("lint", "test"):
            code, report = ws(command, "--shard", f"{index}/3")
            assert code == 0
        served += [*ended(report)]
    monkeypatch.chdir(workspace)
    assert sorted(served) == ["servers/ant", "servers/bee", "servers/cat"]
    assert {row["tests"] for row in ws("list")[1]["servers"]} == {"unknown"}

    clones[2] = upload(clones[2], tmp_path / "artifact-3")
    code, report = ws("merge-evidence", *map(str, clones))

    assert (code, report["findings"]) == (0, [])
    assert [(it["server"], it["check"], it["current"]) for it in report["evidence"]] == [
        (f"servers/{name}", check, True) for name in ("ant", "bee", "cat") for check in CHECKS
    ]
    shown = [row["tests"] for row in ws("list")[1]["servers"]]
    assert all("passed" in each for each in shown)
    assert report["root_files"] == ["README.md"]
    inventory = (workspace / "README.md").read_text()
    assert inventory.count(" passed") == 3
    assert "Tests: " in (workspace / "servers/bee/README.md").read_text()
    assert ws("check")[0] == 0

    code, report = ws("merge-evidence", *map(str, clones))
    assert (code, {it["folder"] for it in report["evidence"]}) == (0, {None})


def test_current_evidence_wins_over_stale_and_then_the_newest(
    ws: Ws, workspace: Path, tmp_path: Path, put: Put
) -> None:
    put(workspace, time=LATE, inputs={"document": "old"}, result="own, stale")
    put(tmp_path / "a", time=EARLY, result="current")
    put(tmp_path / "b", time=LATE, inputs={"document": "other"}, result="stale")
    assert ws("merge-evidence", str(tmp_path / "a"), str(tmp_path / "b"))[0] == 0
    assert result(workspace) == "current"

    put(tmp_path / "c", time=LATE, result="newer")
    put(tmp_path / "d", result="of an earlier version, without a time")
    assert ws("merge-evidence", str(tmp_path / "c"), str(tmp_path / "d"))[0] == 0
    assert result(workspace) == "newer"


def test_times_are_compared_as_moments(ws: Ws, workspace: Path, tmp_path: Path, put: Put) -> None:
    put(workspace, time="2026-11-24T09:00:00+02:00", result="at 7 in UTC")
    put(tmp_path / "a", time=EARLY, result="at 8 in UTC")
    assert ws("merge-evidence", str(tmp_path / "a"))[0] == 0
    assert result(workspace) == "at 8 in UTC"


def test_stale_evidence_is_better_than_none_and_named_stale(
    ws: Ws, workspace: Path, tmp_path: Path, put: Put
) -> None:
    put(tmp_path / "a", inputs={"document": "other"}, result="stale")
    code, report = ws("merge-evidence", str(tmp_path / "a"))
    assert (code, report["evidence"][0]["current"]) == (0, False)
    assert result(workspace) == "stale"


def test_a_conflict_is_reported_and_the_failure_taken_in_any_order(
    ws: Ws, workspace: Path, tmp_path: Path, put: Put
) -> None:
    folders = [str(tmp_path / name) for name in "abc"]
    put(tmp_path / "a", time=EARLY, result="passed")
    put(tmp_path / "b", time=EARLY, outcome="failed", result="failed")
    put(tmp_path / "c", time=EARLY, result="passed in another way")
    for order in permutations(folders):
        code, report = ws("merge-evidence", *order)
        assert (code, rules(report)) == (1, [("evidence-conflict", FILE)])
        assert result(workspace) == "failed"
        (workspace / FILE).unlink()


def test_a_failure_wins_over_a_success_of_the_workspace_itself(
    ws: Ws, workspace: Path, tmp_path: Path, put: Put
) -> None:
    put(workspace, time=EARLY, result="passed")
    put(tmp_path / "a", time=EARLY, outcome="failed", result="failed")
    assert ws("merge-evidence", str(tmp_path / "a"))[0] == 1
    assert result(workspace) == "failed"


def test_the_same_evidence_in_several_folders_is_no_conflict(
    ws: Ws, workspace: Path, tmp_path: Path, put: Put
) -> None:
    for name in "ab":
        put(tmp_path / name, time=EARLY)
    assert ws("merge-evidence", *(str(tmp_path / name) for name in "aab"))[0] == 0
    assert result(workspace) == "fine"


def test_an_unknown_server_is_reported_and_the_others_are_merged(
    ws: Ws, workspace: Path, tmp_path: Path, put: Put
) -> None:
    put(tmp_path / "a", "servers/dog")
    put(tmp_path / "a", "ant")  # without the folder that the workspace has it in
    put(tmp_path / "a", "servers/bee", result="merged")
    code, report = ws("merge-evidence", str(tmp_path / "a"))
    assert (code, {rule for rule, _ in rules(report)}) == (1, {"unknown-server"})
    assert [it["help"] for it in report["findings"]] == [
        "copy it with the path that the server has in the workspace: `servers/ant`",
        "did you mean `servers/cat`?",
    ]
    assert (result(workspace, "servers/bee"), result(workspace)) == ("merged", None)
    assert not (workspace / "ant").exists()


DAMAGED: dict[str, bytes] = {
    "lint.json": b'{"check": "lint", "inputs": {}',
    "tests.json": b"[" * 100_000,
    "validate.json": b'{"check": "lint", "inputs": {}}',
    "bundle.json": b'{"check": "bundle"}',
    "live.json": b'{"check": "live", "inputs": {}, "time": "yesterday"}',
    "source.json": b'{"check": "source", "inputs": {}, "time": "2026-11-24T08:00:00"}',
    "..json": b'{"check": ".", "inputs": {}}',
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_evidence_is_skipped(
    ws: Ws, workspace: Path, tmp_path: Path, put: Put, name: str
) -> None:
    put(tmp_path / "a", "servers/bee", result="merged")
    damaged = put(tmp_path / "a", check="other").with_name(name)
    damaged.write_bytes(DAMAGED[name])
    code, report = ws("merge-evidence", str(tmp_path / "a"))
    assert (code, rules(report)) == (1, [("evidence-damaged", None)])
    assert f"servers/ant/.mcpgen/evidence/{name} of " in report["findings"][0]["message"]
    assert result(workspace, "servers/bee") == "merged"
    assert not (workspace / "servers/ant/.mcpgen/evidence" / name).exists()


def test_links_and_devices_are_not_read(ws: Ws, workspace: Path, tmp_path: Path, put: Put) -> None:
    outside = put(tmp_path / "outside", "secret")
    for server in ("servers/ant", "servers/bee", "servers/cat"):
        put(tmp_path / "a", server, "other").unlink()
    evidence = tmp_path / "a/servers/ant/.mcpgen/evidence"
    (evidence / "lint.json").symlink_to(outside)
    os.mkfifo(evidence / "tests.json")
    (tmp_path / "a/servers/bee/.mcpgen/evidence").rmdir()
    (tmp_path / "a/servers/bee/.mcpgen/evidence").symlink_to(outside.parent)
    put(tmp_path / "real", "dog", check="lint")
    (tmp_path / "a/linked").symlink_to(tmp_path / "real/dog")

    code, report = ws("merge-evidence", str(tmp_path / "a"))

    assert (code, [it["rule"] for it in report["findings"]]) == (
        1,
        ["evidence-damaged", "evidence-damaged", "evidence-damaged", "nothing-to-merge"],
    )
    assert report["evidence"] == []


def test_nothing_is_written_outside_of_the_workspace(
    ws: Ws, workspace: Path, tmp_path: Path, put: Put
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace / "servers/ant/.mcpgen/evidence").symlink_to(outside)
    put(tmp_path / "a", "servers/ant")
    put(tmp_path / "a", "servers/bee", result="merged")
    code, report = ws("merge-evidence", str(tmp_path / "a"))
    assert (code, rules(report)) == (1, [("evidence-damaged", None)])
    assert [*outside.iterdir()] == []
    assert result(workspace, "servers/bee") == "merged"


def test_a_full_disk_leaves_all_evidence_as_it_was(
    ws: Ws, workspace: Path, tmp_path: Path, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(workspace, time=EARLY, result="before")
    for server in ("ant", "bee", "cat"):
        put(tmp_path / "a", f"servers/{server}", time=LATE, result="after")
    real = merging.write_atomically

    def fill_the_disk(place: Path, content: bytes) -> None:
        if "cat" in place.parts:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(place))
        real(place, content)

    monkeypatch.setattr(merging, "write_atomically", fill_the_disk)
    code, report = ws("merge-evidence", str(tmp_path / "a"))
    assert (code, [rule for rule, _ in rules(report)]) == (1, ["no-space"])
    assert [result(workspace, f"servers/{name}") for name in ("ant", "bee", "cat")] == [
        "before", None, None,
    ]  # fmt: skip


def test_a_dry_run_writes_nothing(ws: Ws, workspace: Path, tmp_path: Path, put: Put) -> None:
    put(tmp_path / "a")
    code, report = ws("merge-evidence", str(tmp_path / "a"), "--dry-run")
    assert (code, report["written"], report["evidence"][0]["check"]) == (0, False, "lint")
    assert result(workspace) is None


def test_pins_are_no_evidence(ws: Ws, workspace: Path, tmp_path: Path, put: Put) -> None:
    put(tmp_path / "a").with_name("pins.json").write_text('{"version": 1, "servers": {}}')
    assert ws("merge-evidence", str(tmp_path / "a"))[0] == 0
    assert not (workspace / "servers/ant/.mcpgen/evidence/pins.json").exists()


def test_a_missing_folder_is_a_usage_error_and_an_empty_one_a_finding(
    ws: Ws, tmp_path: Path
) -> None:
    assert ws("merge-evidence", str(tmp_path / "missing"))[0] == 2
    (tmp_path / "empty").mkdir()
    code, report = ws("merge-evidence", str(tmp_path / "empty"))
    assert (code, rules(report)) == (1, [("nothing-to-merge", None)])
