"""Tests of the marked blocks in a workspace's root files: text around them is unchanged."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from mcpgen.cli.app import run
from mcpgen.factory.workspace.root_files import Block, MarkersError, with_block
from mcpgen.pipeline.project import disk as replacing
from mcpgen.pipeline.project.workspace import format_table

BLOCK = Block("README.md", "<!-- a -->", "<!-- /a -->", "one\ntwo")


def test_generate_writes_the_root_files_that_check_requires(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ws", "check", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    written = [".gitattributes", ".github/CODEOWNERS", "README.md"]
    assert [(each["rule"], each["file"]) for each in found] == [("stale", file) for file in written]

    assert run(["ws", "generate", "--jobs", "1"]) == 0
    assert run(["ws", "check"]) == 0

    assert (workspace / "README.md").read_text() == (
        "# Shop\n\n"
        "<!-- mcpgen:servers -->\n"
        "| server | api | tools | owner |\n"
        "| --- | --- | --- | --- |\n"
        "| servers/ant | Pet Shop API | 2 | &#64;shop/platform |\n"
        "| servers/bee | Pet Shop API | 2 | &#64;shop/platform |\n"
        "| servers/cat | Pet Shop API | 2 | &#64;shop/cats cat&#64;shop.example |\n"
        "<!-- /mcpgen:servers -->\n"
        "\nOurs.\n"
    )
    assert (workspace / ".github/CODEOWNERS").read_text() == (
        "# mcpgen:owners\n"
        "/servers/ant/ @shop/platform\n"
        "/servers/bee/ @shop/platform\n"
        "/servers/cat/ @shop/cats cat@shop.example\n"
        "# /mcpgen:owners\n"
    )
    assert (workspace / ".gitattributes").read_text() == (
        "# mcpgen:generated\n"
        "/servers/*/.copier-answers.yml linguist-generated\n"
        "/servers/*/.mcpgen/** linguist-generated\n"
        "/servers/*/mcpgen.lock linguist-generated\n"
        "/servers/*/src/*/_generated/** linguist-generated\n"
        "/servers/*/tests/generated/** linguist-generated\n"
        "# /mcpgen:generated\n"
    )


@pytest.mark.parametrize("command", ["generate", "check"])
@pytest.mark.parametrize(
    "readme",
    [
        "# No markers\n",
        "<!-- mcpgen:servers -->\n",
        "<!-- /mcpgen:servers -->\n<!-- mcpgen:servers -->\n",
        "<!-- mcpgen:servers -->\n<!-- mcpgen:servers -->\n<!-- /mcpgen:servers -->\n",
    ],
)
def test_a_file_without_markers_is_reported_and_not_changed(
    workspace: Path, capsys: pytest.CaptureFixture[str], readme: str, command: str
) -> None:
    assert run(["ws", "generate", "--jobs", "1"]) == 0
    (workspace / "README.md").write_text(readme)
    capsys.readouterr()

    assert run(["ws", command, "--json", "--jobs", "1"]) == 1

    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["rule"], finding["file"]) == ("no-markers", "README.md")
    assert "<!-- mcpgen:servers -->\n<!-- /mcpgen:servers -->" in finding["help"]
    assert (workspace / "README.md").read_text() == readme


def test_a_link_out_of_the_workspace_is_not_followed(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = workspace.parent / "README.md"
    (workspace / "README.md").rename(outside)
    (workspace / "README.md").symlink_to(outside)
    before = outside.read_bytes()

    assert run(["ws", "generate", "--jobs", "1"]) == 1

    assert outside.read_bytes() == before
    assert "outside the workspace" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b"<!-- a -->\none\ntwo\n<!-- /a -->\n"),
        (b"x<!-- a -->old<!-- /a -->y", b"x<!-- a -->\none\ntwo\n<!-- /a -->y"),
        (
            b"\xff\r\n<!-- a -->\r\n<!-- /a -->\r\nz",
            b"\xff\r\n<!-- a -->\r\none\r\ntwo\r\n<!-- /a -->\r\nz",
        ),
    ],
)
def test_the_text_around_a_block_is_kept_byte_for_byte(before: bytes | None, after: bytes) -> None:
    assert with_block(before, BLOCK) == after
    assert with_block(after, BLOCK) == after


def test_a_file_with_invalid_markers_is_rejected() -> None:
    with pytest.raises(MarkersError, match="once each"):
        with_block(b"<!-- /a --> <!-- a -->", BLOCK)


def test_a_cell_of_the_inventory_is_escaped() -> None:
    table = format_table(["api"], [["a|b <i>\n# c"]])
    assert table.splitlines()[2] == "| a\\|b &lt;i> \\# c |"


@pytest.mark.parametrize("pattern", ["my servers/*", "./my servers//*", "my servers/*/"])
def test_gitattributes_match_folder_names_with_spaces(workspace: Path, pattern: str) -> None:
    (workspace / "servers").rename(workspace / "my servers")
    for own in workspace.glob("my servers/*/.gitattributes"):
        own.unlink()
    settings = workspace / "mcpgen-workspace.yaml"
    text = settings.read_text().replace("servers/*", pattern).replace("servers/c*", "*")
    settings.write_text(text)
    run(["ws", "generate", "--jobs", "1"])

    subprocess.run(["git", "init", "-q"], check=True, cwd=workspace)
    asked = ["git", "check-attr", "linguist-generated", "--", "my servers/ant/mcpgen.lock"]
    told = subprocess.run(asked, check=True, capture_output=True, text=True, cwd=workspace)
    assert told.stdout.endswith(" set\n")
    assert told.stderr == ""


def test_an_unwritable_root_is_reported(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(replacing.tempfile, "mkstemp", refuse)
    assert run(["ws", "generate", "--jobs", "1", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {finding["rule"] for finding in findings} == {"no-permission"}
    assert run(["ws", "upgrade", "--to", "0.*", "--json"]) == 1
    assert (workspace / "README.md").read_text().count("Ours.") == 1
