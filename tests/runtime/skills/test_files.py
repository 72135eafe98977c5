"""Tests of skill files: generated ones, the owner's, and files that are not served."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpgen.contract.skills import MAX_FILES
from mcpgen.runtime.errors import ProtocolError
from tests.support.skills import FRONTMATTER, SKILL, make_package, open_files

OWN = "---\nname: {name}\ndescription: {about}\n---\n\n# Own\n"


def write_skill(folder: Path, name: str, about: str = "Own words.", **files: str) -> Path:
    directory = folder / name
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text(OWN.format(name=name, about=about), "utf-8")
    for path, content in files.items():
        (directory / path).write_text(content, "utf-8")
    return directory


def entries(folder: Path, package: dict[str, bytes] | None = None) -> dict[str, dict[str, object]]:
    import json

    files = open_files(make_package() if package is None else package, str(folder))
    found = map(json.loads, files.list_entries())
    return {entry["frontmatter"]["name"]: entry for entry in found}


@pytest.mark.requirement("K011", "K012")
def test_resources_have_the_name_and_description_of_the_front_matter() -> None:
    import json

    listed = [json.loads(line) for line in open_files(make_package()).list_resources()]
    assert listed[0] == {
        "uri": "skill://pets/SKILL.md",
        **FRONTMATTER["pets"],
        "mimeType": "text/markdown",
        "size": len(SKILL),
    }
    assert [it["uri"] for it in listed] == ["skill://pets/SKILL.md", "skill://shop/SKILL.md"]


def test_skills_of_the_owner_come_after_generated_ones(tmp_path: Path) -> None:
    directory = write_skill(tmp_path, "cats", "Care for cats.", **{"a b.txt": "x"})
    found = entries(tmp_path)
    assert list(found) == ["pets", "shop", "cats"]
    assert found["cats"]["frontmatter"] == {"name": "cats", "description": "Care for cats."}
    resources = found["cats"]["resources"]
    assert isinstance(resources, list)
    assert [it["uri"] for it in resources] == ["skill://cats/SKILL.md", "skill://cats/a%20b.txt"]
    package = {
        **make_package(),
        **{f"skills/cats/{it.name}": it.read_bytes() for it in directory.iterdir()},
    }
    assert open_files(package, str(tmp_path)).read("skill://cats/a%20b.txt") == ("text/plain", b"x")


@pytest.mark.requirement("K015")
def test_a_skill_of_the_owner_replaces_a_generated_one(tmp_path: Path) -> None:
    write_skill(tmp_path, "pets", "My own words.")
    found = entries(tmp_path)
    assert list(found) == ["pets", "shop"]
    assert found["pets"]["frontmatter"] == {"name": "pets", "description": "My own words."}


@pytest.mark.requirement("K004", "K005", "K007", "K008", "K021")
def test_an_invalid_skill_is_left_out_and_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_skill(tmp_path, "good")
    (tmp_path / "no-skill").mkdir()
    (write_skill(tmp_path, "plain") / "SKILL.md").write_text("# No front matter\n", "utf-8")
    (write_skill(tmp_path, "renamed")).rename(tmp_path / "other")
    write_skill(tmp_path, "Upper")
    write_skill(tmp_path, "unclear", "yes")
    large = write_skill(tmp_path, "large")
    for number in range(MAX_FILES):
        (large / f"{number}.txt").write_text("x", "utf-8")
    assert list(entries(tmp_path, {})) == ["good"]
    logged = capsys.readouterr().err
    for name in ("plain", "other", "Upper", "unclear", "large"):
        assert f"skills/{name} is not served" in logged
    assert "513 files" in logged


def test_hidden_files_and_links_are_no_part_of_a_skill(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("x", "utf-8")
    skills = tmp_path / "skills"
    directory = write_skill(skills, "cats", **{".hidden": "x", "seen.md": "x"})
    (directory / "link.txt").symlink_to(secret)
    (directory / "folder").symlink_to(tmp_path)
    (skills / "linked").symlink_to(directory)
    resources = entries(skills, {})["cats"]["resources"]
    assert isinstance(resources, list)
    assert [it["uri"] for it in resources] == ["skill://cats/SKILL.md", "skill://cats/seen.md"]


@pytest.mark.requirement("K036")
def test_a_file_of_the_owner_that_changed_is_refused(tmp_path: Path) -> None:
    write_skill(tmp_path, "cats")
    files = open_files({"skills/cats/SKILL.md": b"changed"}, str(tmp_path))
    with pytest.raises(ProtocolError, match="restart the server") as caught:
        files.read("skill://cats/SKILL.md")
    assert caught.value.code == -32603


@pytest.mark.parametrize("content", [b"", b"[", b"{}", b"[7]", b'[{"uri": 7}]'])
def test_a_damaged_index_is_an_internal_error(content: bytes) -> None:
    with pytest.raises(ProtocolError, match="damaged") as caught:
        open_files({"_generated/skills.json": content})
    assert caught.value.code == -32603
