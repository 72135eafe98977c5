"""Tests of `--vendor-runtime`: the project contains the wheel of mcpgen and needs no registry."""

from __future__ import annotations

import base64
import csv
import hashlib
import subprocess
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
import yaml

from mcpgen.cli.app import run as mcpgen
from mcpgen.emit.runtime_wheel import make_runtime_wheel
from tests.support.paths import SPECS
from tests.support.wheel import copy_project, make_environment, mcpgen_wheel, run, shell_variables

DOCUMENT = str(SPECS / "bookshop.yaml")
WRITE_WHEEL = (
    "import pathlib, sys; from mcpgen.emit.runtime_wheel import make_runtime_wheel;"
    " pathlib.Path(sys.argv[1]).write_bytes(make_runtime_wheel().content)"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a project with the option; tests copy it."""
    project = tmp_path_factory.mktemp("vendored") / "shop-mcp"
    command = ["new", DOCUMENT, str(project), "--name", "shop", "--defaults", "--no-models", "-q"]
    answers = ["--data", "github_workflow=yes", "--data", "pre_commit=yes"]
    assert mcpgen([*command, *answers, "--vendor-runtime"]) == 0
    return project


@pytest.fixture
def project(made: Path, tmp_path: Path) -> Path:
    return copy_project(made, tmp_path / "shop-mcp")


def wheel_of(project: Path) -> Path:
    [wheel] = (project / "vendor").iterdir()
    return wheel


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel, without its metadata folder."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        return {name: archive.read(name) for name in names}


def metadata(wheel: Path) -> dict[str, bytes]:
    """Return the metadata files of a wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" in name]
        return {name.partition(".dist-info/")[2]: archive.read(name) for name in names}


def fields(files: dict[str, bytes], name: str) -> list[str]:
    """Return the values of a metadata field, in order."""
    return message_from_bytes(files["METADATA"]).get_all(name, [])


def test_the_vendored_wheel_has_the_files_of_the_built_wheel(made: Path) -> None:
    assert contents(wheel_of(made)) == contents(mcpgen_wheel())


def test_the_vendored_wheel_has_the_metadata_of_the_built_wheel(made: Path) -> None:
    ours, theirs = metadata(wheel_of(made)), metadata(mcpgen_wheel())

    assert ours.keys() == theirs.keys()
    for name in ("entry_points.txt", "licenses/LICENSE"):
        assert ours[name] == theirs[name]
    for field in ("Name", "Version", "Requires-Python", "Requires-Dist", "Provides-Extra"):
        assert fields(ours, field) == fields(theirs, field) != []


def test_record_lists_every_file_with_its_hash(made: Path) -> None:
    with zipfile.ZipFile(wheel_of(made)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    record = next(name for name in files if name.endswith("/RECORD"))
    table = csv.reader(files[record].decode().splitlines())
    rows = {name: (digest, size) for name, digest, size in table}

    assert rows.keys() == files.keys()
    assert rows.pop(record) == ("", "")
    for name, row in rows.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).decode()
        assert row == (f"sha256={digest.rstrip('=')}", str(len(files[name])))


def test_wheel_has_the_same_bytes_from_an_editable_and_from_an_installed_mcpgen(
    made: Path, tmp_path: Path
) -> None:
    scripts = make_environment(tmp_path / "environment", "mcpgen")
    again = tmp_path / "again.whl"

    python = str(scripts / "python")
    run(python, "-c", WRITE_WHEEL, str(again), env=shell_variables(scripts), cwd=tmp_path)

    assert again.read_bytes() == wheel_of(made).read_bytes()


def test_a_project_installs_with_only_its_vendored_wheel(project: Path, tmp_path: Path) -> None:
    requirement = project / "pyproject.toml"
    requirement.write_text(requirement.read_text().replace('"mcpgen>=', '"mcpgen[seal]>='))
    scripts = make_environment(
        tmp_path / "environment", str(wheel_of(project)), str(project), offers_mcpgen=False
    )
    variables = shell_variables(scripts)

    version = run(str(scripts / "shop-mcp"), "--version", env=variables, cwd=tmp_path)
    check = "import importlib.metadata as m, cryptography; print(m.requires('mcpgen'))"
    required = run(str(scripts / "python"), "-c", check, env=variables, cwd=tmp_path)

    assert version.startswith("shop-mcp ")
    assert "aiohttp" in required
    assert "extra == 'cli'" in required


def test_files_of_the_project_install_from_the_wheel(project: Path) -> None:
    dockerfile = (project / "Dockerfile").read_text()
    assert "COPY vendor vendor\n" in dockerfile
    assert "install --no-cache-dir vendor/*.whl -r requirements.txt" in dockerfile
    readme = (project / "README.md").read_text()
    assert "pip install vendor/*.whl -e .\n" in readme
    assert "pip install vendor/*.whl -e '.[test]'\n" in readme
    assert "vendor/*.whl binary" in (project / ".gitattributes").read_text()
    workflow = yaml.safe_load((project / ".github/workflows/mcpgen.yml").read_text())
    commands = [step.get("run", "") for step in workflow["jobs"]["check"]["steps"]]
    assert 'pip install "$(echo vendor/mcpgen-*.whl)[cli]"' in commands
    assert any(it.startswith('pip install vendor/*.whl -e ".[test]" ') for it in commands)
    [hook] = yaml.safe_load((project / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert hook["language"] == "system"


def test_the_wheel_name_occurs_only_in_the_lock_file(project: Path) -> None:
    name = wheel_of(project).name
    naming = [
        path.name
        for path in project.rglob("*")
        if path.is_file() and name.encode() in path.read_bytes()
    ]
    assert naming == ["mcpgen.lock"]


def test_later_runs_keep_the_wheel_and_replace_an_older_one(project: Path) -> None:
    wheel = wheel_of(project)
    content = wheel.read_bytes()
    assert mcpgen(["check", str(project), "-q"]) == 0
    older = wheel.with_name("mcpgen-0.3.0-py3-none-any.whl")
    wheel.rename(older)
    lock = project / "mcpgen.lock"
    lock.write_text(lock.read_text().replace(wheel.name, older.name))

    assert mcpgen(["generate", str(project), "-q"]) == 0

    assert wheel_of(project) == wheel
    assert wheel.read_bytes() == content
    assert mcpgen(["check", str(project), "-q"]) == 0


def test_an_existing_project_adds_and_removes_the_vendored_wheel(tmp_path: Path) -> None:
    project = tmp_path / "shop-mcp"
    command = ["new", DOCUMENT, str(project), "--name", "shop", "--defaults", "--no-models", "-q"]
    assert mcpgen(command) == 0
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    assert mcpgen(["generate", str(project), "-q"]) == 0  # which is then known to be current

    assert mcpgen(["generate", str(project), "--vendor-runtime", "-q"]) == 0
    assert wheel_of(project).read_bytes() == make_runtime_wheel().content
    assert "COPY vendor vendor" in (project / "Dockerfile").read_text()
    assert mcpgen(["generate", str(project), "-q"]) == 0
    assert wheel_of(project).is_file()

    assert mcpgen(["generate", str(project), "--no-vendor-runtime", "-q"]) == 0
    after = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    assert after == before


def test_other_wheels_in_the_vendor_folder_are_kept(project: Path) -> None:
    other = project / "vendor" / "company_tools-1.0-py3-none-any.whl"
    other.write_bytes(b"PK")

    assert mcpgen(["generate", str(project), "--no-vendor-runtime", "-q"]) == 0

    assert wheel_of(project) == other


def test_wheel_with_converted_line_ends_is_reported_and_restored(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = wheel_of(project)
    content = wheel.read_bytes()
    wheel.write_bytes(content.replace(b"\n", b"\r\n"))

    assert mcpgen(["check", str(project)]) == 4
    assert f"vendor/{wheel.name} was edited by hand" in capsys.readouterr().err
    assert mcpgen(["generate", str(project), "--diff"]) == 4
    shown = capsys.readouterr()
    assert f"Binary files vendor/{wheel.name} " in shown.out + shown.err
    assert len(shown.out + shown.err) < 5000

    assert mcpgen(["generate", str(project), "--force", "-q"]) == 0
    assert wheel.read_bytes() == content


def test_git_checks_out_the_wheel_unchanged(project: Path, tmp_path: Path) -> None:
    content = wheel_of(project).read_bytes()
    clone = tmp_path / "clone"
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "core.autocrlf=true")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "All")):
        subprocess.run([*git, *command], cwd=project, check=True, capture_output=True)
    subprocess.run([*git, "clone", "-q", str(project), str(clone)], check=True)

    assert wheel_of(clone).read_bytes() == content


def test_a_server_without_a_document_can_vendor_the_wheel(tmp_path: Path) -> None:
    project = tmp_path / "notes-mcp"

    assert mcpgen(["new", "--empty", "notes", str(project), "--vendor-runtime", "-q"]) == 0

    assert wheel_of(project).is_file()
