"""Tests of `mcpgen bundle`: the content of bundles, and what is rejected."""

from __future__ import annotations

import io
import json
import os
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcpgen.cli.app import run
from mcpgen.diagnostics import Problems
from mcpgen.factory.bundle.describe import describe_server
from mcpgen.factory.lint.load import load_package
from mcpgen.factory.packages import find_package
from tests.support.paths import EXAMPLES

WITH_SETTINGS = ["bookshop", "chatdesk", "competitor-research", "search-console", "twilio"]


def copy(name: str, folder: Path) -> Path:
    project = folder / f"{name}-mcp"
    shutil.copytree(EXAMPLES / f"{name}-mcp", project)
    return project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copy("petstore", tmp_path)


def read_tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def bundle(project: Path, *options: str, code: int = 0) -> Path:
    assert run(["bundle", str(project), *options]) == code
    return project / "dist"


def report(
    capsys: pytest.CaptureFixture[str], project: Path, *options: str, code: int = 0
) -> dict[str, Any]:
    assert run(["bundle", str(project), "--json", *options]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def rules(found: dict[str, Any]) -> list[str]:
    return [it["rule"] for it in found["findings"] if it["severity"] == "error"]


def read_json(path: Path) -> Any:
    return json.loads(path.read_bytes())


def read_manifest(dist: Path) -> dict[str, Any]:
    [path] = dist.glob("*.mcpb")
    with zipfile.ZipFile(path) as archive:
        manifest: dict[str, Any] = json.loads(archive.read("manifest.json"))
    return manifest


@pytest.fixture
def narrow_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_bundles_have_the_same_bytes_and_modes_everywhere(
    tmp_path: Path, narrow_umask: None
) -> None:
    first = bundle(copy("petstore", tmp_path / "a"))
    other = copy("petstore", tmp_path / "a deeper" / "place")
    for number, path in enumerate(sorted(other.rglob("*"), reverse=True)):
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
        if path.is_file():
            path.chmod(0o600 if number % 2 else 0o755)
    second = bundle(other)

    assert read_tree(first) == read_tree(second)
    assert len(read_tree(first)) > 40
    for dist in (first, second):
        modes = {path.stat().st_mode & 0o777 for path in dist.rglob("*") if path.is_file()}
        assert modes == {0o644}
        plugin = dist / "plugin" / "petstore-mcp"
        folders = [plugin, *(path for path in plugin.rglob("*") if path.is_dir())]
        assert {path.stat().st_mode & 0o777 for path in folders} == {0o755}


def test_a_bundle_names_no_path_of_this_machine(project: Path, tmp_path: Path) -> None:
    for path, content in read_tree(bundle(project)).items():
        assert str(tmp_path).encode() not in content, path
        assert b".venv" not in content or path.endswith("README.md"), path


def test_an_mcpb_is_an_archive_with_fixed_times_and_modes(project: Path) -> None:
    [path] = bundle(project, "--format", "mcpb").glob("*")
    assert path.name == "petstore-mcp-0.1.0.mcpb"
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        entries = archive.infolist()
    names = [entry.filename for entry in entries]
    assert names == ["manifest.json", *sorted(names[1:])]
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {entry.external_attr >> 16 for entry in entries} == {0o100644}
    assert "src/petstore_mcp/_generated/contract.json" in names


@pytest.mark.parametrize("name", WITH_SETTINGS)
def test_settings_are_those_of_the_registry_entry(name: str, tmp_path: Path) -> None:
    dist = bundle(copy(name, tmp_path))
    entry = read_json(dist / "server-json" / "server.json")
    expected = {
        it["name"]: (it["isRequired"], it["isSecret"])
        for it in entry["packages"][0]["environmentVariables"]
    }
    manifest = read_manifest(dist)
    plugin = dist / "claude-plugin" / f"{name}-mcp"
    claude = read_json(plugin / ".claude-plugin" / "plugin.json")["userConfig"]
    configured = {
        key.upper(): (it["required"], it.get("sensitive", False)) for key, it in claude.items()
    }
    catalogue = yaml.safe_load((dist / "docker" / f"{name}-mcp" / "server.yaml").read_text())

    assert configured == expected
    assert manifest["user_config"] == claude
    secrets = {it["env"] for it in catalogue["config"]["secrets"]}
    assert secrets == {variable for variable, (_, is_secret) in expected.items() if is_secret}
    plain = {it["name"] for it in catalogue["config"]["env"]}
    files = {key.upper() for key, it in claude.items() if it["type"] == "file"}
    assert plain == expected.keys() - secrets - files


@pytest.mark.parametrize("name", WITH_SETTINGS)
def test_each_reference_to_a_setting_has_a_value_without_the_user(
    name: str, tmp_path: Path
) -> None:
    dist = bundle(copy(name, tmp_path), "--format", "mcpb,claude-plugin")
    manifest = read_manifest(dist)
    config = manifest["user_config"]
    env = manifest["server"]["mcp_config"]["env"]
    assert env == {key.upper(): f"${{user_config.{key}}}" for key in config}
    assert all("default" in it or it["required"] for it in config.values())
    servers = read_json(dist / "claude-plugin" / f"{name}-mcp" / ".mcp.json")["mcpServers"]
    assert env.items() <= servers[name]["env"].items()


def test_bounds_and_defaults_of_numbers_are_stated(project: Path) -> None:
    config = read_manifest(bundle(project))["user_config"]
    timeout = config["petstore_timeout_seconds"]
    assert (timeout["type"], timeout["default"]) == ("number", 60)
    assert (timeout["min"], timeout["max"]) == (0.1, 3600)
    assert config["petstore_allow_private"]["type"] == "boolean"
    assert config["petstore_api_key"]["sensitive"] is True


def test_all_formats_have_the_same_tools(project: Path) -> None:
    dist = bundle(project)
    listed = [tool["name"] for tool in find_package(project).read_tools()]
    catalogue = read_json(dist / "docker" / "petstore-mcp" / "tools.json")
    assert [it["name"] for it in read_manifest(dist)["tools"]] == listed
    assert [it["name"] for it in catalogue] == listed
    arguments = [it for tool in catalogue for it in tool["arguments"]]
    assert arguments
    assert all(it["desc"] and isinstance(it["type"], str) for it in arguments)


def test_of_a_server_with_search_tools_these_are_listed(tmp_path: Path) -> None:
    manifest = read_manifest(bundle(copy("chatdesk", tmp_path), "--format", "mcpb"))
    assert len(manifest["tools"]) < 10
    assert manifest["tools_generated"] is True


def test_hand_written_tools_are_listed_if_the_server_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = copy("bookshop", tmp_path)
    read = report(capsys, project)
    assert "hand-written-tools" in [it["rule"] for it in read["findings"]]
    assert read_manifest(project / "dist")["tools_generated"] is True
    started = report(capsys, project, "--start")
    assert "hand-written-tools" not in [it["rule"] for it in started["findings"]]
    assert {*started["tools"]} - {*read["tools"]} == {"to_isbn13"}
    assert read_manifest(project / "dist")["tools_generated"] is False


def test_a_server_that_does_not_start_is_reported(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "src" / "petstore_mcp" / "handlers" / "mine.py").write_text(
        "# Features\nraise OSError\n"
    )
    assert rules(report(capsys, project, "--start", code=1)) == ["no-tools-listed"]
    assert not (project / "dist").exists()


def test_skills_are_in_both_plugins_and_own_ones_win(project: Path) -> None:
    generated = project / "src" / "petstore_mcp" / "_generated" / "skills"
    shutil.rmtree(generated)
    own = project / "src" / "petstore_mcp" / "skills"
    for folder, text in ((generated / "pets", "generated"), (generated / "orders", "generated")):
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text)
        (folder / "more.md").write_text(text)
    (own / "pets" / "references").mkdir(parents=True)
    (own / "pets" / "SKILL.md").write_text("mine")
    (own / "pets" / "references" / "a.md").write_text("mine")
    (own / "pets" / ".notes").write_text("hidden")
    (own / "unfinished").mkdir()
    dist = bundle(project)
    for kind in ("plugin", "claude-plugin"):
        assert read_tree(dist / kind / "petstore-mcp" / "skills") == {
            "orders/SKILL.md": b"generated",
            "orders/more.md": b"generated",
            "pets/SKILL.md": b"mine",
            "pets/references/a.md": b"mine",
        }


def test_hidden_and_compiled_files_are_left_out(project: Path) -> None:
    (project / ".env").write_text("PETSTORE_API_KEY=sk-not-in-a-bundle\n")
    source = project / "src" / "petstore_mcp"
    (source / ".env").write_text("x")
    (source / "__pycache__").mkdir(exist_ok=True)
    (source / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"x")
    (project / "LICENSE").write_text("mine")
    (project / "LICENSES").mkdir()
    files = read_tree(bundle(project) / "plugin" / "petstore-mcp")
    assert files["LICENSE"] == b"mine"
    assert not [path for path in files if ".env" in path or path.endswith(".pyc")]
    assert not [path for path, content in files.items() if b"not-in-a-bundle" in content]


@pytest.mark.parametrize("place", ["environment", ".env"])
def test_a_file_with_the_value_of_a_secret_is_rejected(
    project: Path,
    place: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = "sk-live-4711-0815"
    (project / "src" / "petstore_mcp" / "handlers" / "mine.py").write_text(f"KEY = '{secret}'\n")
    assert rules(report(capsys, project, "--dry-run")) == []
    if place == "environment":
        monkeypatch.setenv("PETSTORE_API_KEY", secret)
    else:
        (project / ".env").write_text(f"export PETSTORE_API_KEY='{secret}'\n")
    assert run(["bundle", str(project), "--json"]) == 3
    printed = capsys.readouterr().out
    assert rules(json.loads(printed)) == ["secret-in-bundle"]
    assert secret not in printed
    assert not (project / "dist").exists()


def test_a_symbolic_link_is_rejected(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "src" / "petstore_mcp" / "data.json").symlink_to("/etc/hosts")
    assert rules(report(capsys, project, code=3)) == ["linked-file"]
    assert not (project / "dist").exists()


def edit_entry(project: Path, **members: Any) -> None:
    path = project / "server.json"
    path.write_text(json.dumps(read_json(path) | members))


def test_faults_of_the_metadata_are_rejected(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit_entry(project, name="no namespace", description="x" * 101, title="y" * 101, packages=[])
    found = report(capsys, project, code=3)
    assert rules(found) == ["mcp-name", *["bundle-metadata"] * 3]
    edit_entry(project, packages=[{"registryType": "pypi", "identifier": "other"}])
    assert rules(report(capsys, project, code=3)).count("bundle-metadata") == 4
    for name in ("server.json", "pyproject.toml"):
        (project / name).write_text('{"name": 1}')
        assert rules(report(capsys, project, code=3)) == ["bundle-metadata"]
    (project / "pyproject.toml").unlink()
    assert rules(report(capsys, project, code=3)) == ["bundle-metadata"]


def test_a_package_without_a_version_is_rejected(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "src" / "petstore_mcp" / "__init__.py").write_text("")
    assert rules(report(capsys, project, code=3)) == ["bundle-metadata"]


def test_versions_are_those_of_the_package(project: Path) -> None:
    (project / "src" / "petstore_mcp" / "__init__.py").write_text('__version__ = "2.5.0"\n')
    dist = bundle(project)
    entry = read_json(dist / "server-json" / "server.json")
    assert (entry["version"], entry["packages"][0]["version"]) == ("2.5.0", "2.5.0")
    assert read_manifest(dist)["version"] == "2.5.0"
    for kind, name in (("plugin", "plugin.json"), ("claude-plugin", ".claude-plugin/plugin.json")):
        assert read_json(dist / kind / "petstore-mcp" / name)["version"] == "2.5.0"


def test_a_public_url_becomes_a_remote_once(project: Path) -> None:
    url = "https://mcp.petstore.dev/mcp"
    headers = [{"name": "X-Tenant", "isRequired": True}]
    edit_entry(project, remotes=[{"type": "streamable-http", "url": url, "headers": headers}])
    path = bundle(project, "--public-url", url) / "server-json" / "server.json"
    assert [it["url"] for it in read_json(path)["remotes"]] == [url]
    assert read_json(path)["remotes"][0]["headers"] == headers
    bundle(project, "--public-url", "https://mcp.petstore.dev/other")
    assert len(read_json(path)["remotes"]) == 2


@pytest.mark.parametrize(
    "url", ["http://a.dev/mcp", "https://127.0.0.1/mcp", "https://u:p@a.dev/", "mcp", "https://["]
)
def test_a_url_that_others_cannot_use_is_rejected(
    project: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rules(report(capsys, project, "--public-url", url, code=3)) == ["public-url"]


def test_owner_repository_and_license_come_from_pyproject(project: Path) -> None:
    path = project / "pyproject.toml"
    stated = (
        'license = "MIT"\nkeywords = ["pets"]\nauthors = [{name = "Ann", email = "ann@a.dev"}]\n'
        'urls = {Repository = "https://github.com/ann/petstore", Homepage = "https://a.dev"}\n'
    )
    path.write_text(path.read_text().replace("[project]\n", f"[project]\n{stated}", 1))
    commit = "0123456789abcdef0123456789abcdef01234567"
    dist = bundle(project, "--source-commit", commit)
    manifest = read_manifest(dist)
    assert manifest["author"] == {"name": "Ann", "email": "ann@a.dev"}
    assert manifest["license"] == "MIT"
    assert manifest["repository"]["url"] == "https://github.com/ann/petstore"
    catalogue = yaml.safe_load((dist / "docker" / "petstore-mcp" / "server.yaml").read_text())
    assert catalogue["source"] == {
        "project": "https://github.com/ann/petstore",
        "commit": commit,
    }
    entry = read_json(dist / "server-json" / "server.json")
    assert entry["repository"] == {"url": "https://github.com/ann/petstore", "source": "github"}


def test_a_short_commit_is_rejected(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rules(report(capsys, project, "--source-commit", "abc123", code=3)) == ["source-commit"]


def test_notes_name_what_to_state_before_publishing(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(capsys, project)
    assert [it["rule"] for it in found["findings"]] == [
        "example-namespace",
        "missing-author",
        "missing-license",
        "missing-repository",
        "runtime-not-vendored",
    ]


def test_the_report_has_the_bundles(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, project)
    assert found["written"] is True
    formats = [it["format"] for it in found["bundles"]]
    assert formats == ["mcpb", "plugin", "claude-plugin", "docker", "server-json"]
    assert found["bundles"][3]["files"] == ["server.yaml", "tools.json"]
    assert found["tools"] == [tool["name"] for tool in find_package(project).read_tools()]


def test_a_dry_run_writes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(capsys, project, "--dry-run")["written"] is False
    assert not (project / "dist").exists()


def test_bundles_replace_earlier_ones_as_a_whole(project: Path) -> None:
    dist = bundle(project)
    before = read_tree(dist)
    (dist / "plugin" / "petstore-mcp" / "stale.txt").write_text("x")
    (dist / "petstore-mcp-0.1.0.mcpb").write_text("x")
    (dist / "petstore_mcp-0.1.0-py3-none-any.whl").write_text("of a build")
    assert read_tree(bundle(project)) == before | {
        "petstore_mcp-0.1.0-py3-none-any.whl": b"of a build"
    }


def test_a_disk_that_refuses_in_the_middle_changes_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dist = bundle(project)
    before = read_tree(dist)
    (project / "src" / "petstore_mcp" / "handlers" / "new.py").write_text("X = 1\n")
    rename = Path.rename

    def refuse(path: Path, target: Path) -> Path:
        if path.name == "new-3":
            raise OSError(28, "No space left on device", str(target))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse)
    assert run(["bundle", str(project)]) != 0
    assert read_tree(dist) == before
    assert not [path for path in dist.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--format", "dokcer"], "did you mean `docker`?"),
        (["--format", ""], "one of all, mcpb"),
        (["--out", "."], "belongs to the package"),
        (["--out", "src/petstore_mcp/bundles"], "belongs to the package"),
        (["--out", "README.md"], "is not a folder"),
        (["--out", "README.md/bundles"], "where bundles need a folder"),
    ],
)
def test_wrong_usage_is_explained(
    project: Path,
    options: list[str],
    expected: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(project)
    before = read_tree(project)
    assert run(["bundle", *options]) == 2
    assert expected in capsys.readouterr().err
    assert read_tree(project) == before


def test_a_file_in_place_of_a_folder_is_kept(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "dist").mkdir()
    (project / "dist" / "docker").write_text("mine")
    assert run(["bundle", str(project)]) == 2
    assert "where bundles need a folder" in capsys.readouterr().err
    assert read_tree(project / "dist") == {"docker": b"mine"}


def test_a_remote_server_needs_no_package(project: Path) -> None:
    path = project / "server.json"
    entry = read_json(path)
    del entry["packages"]
    path.write_text(json.dumps(entry))
    dist = bundle(project, "--public-url", "https://mcp.petstore.dev/mcp")
    assert "packages" not in read_json(dist / "server-json" / "server.json")


def test_a_folder_without_a_package_is_wrong_usage(tmp_path: Path) -> None:
    assert run(["bundle", str(tmp_path)]) == 2


def test_the_catalogue_quotes_texts_as_prettier_does(project: Path) -> None:
    edit_entry(project, title="the MCP pet Server: all", description='A "shop": pets & more')
    dist = bundle(project, "--format", "docker")
    text = (dist / "docker" / "petstore-mcp" / "server.yaml").read_text()
    assert "\n  description: 'A \"shop\": pets & more'\n" in text
    assert '\n      value: "{{petstore-mcp.petstore_base_url}}"\n' in text
    assert yaml.safe_load(text)["about"]["title"] == "The Pet : All"


def test_limits_of_the_manifest_are_the_defaults(project: Path) -> None:
    path = project / "src" / "petstore_mcp" / "_generated" / "contract.json"
    path.write_text(json.dumps(read_json(path) | {"limits": {"timeout_seconds": 7.5}}))
    package = find_package(project)
    description = describe_server(package, load_package(package), Problems())
    [timeout] = [it for it in description.settings if it.name == "PETSTORE_TIMEOUT_SECONDS"]
    assert timeout.default == 7.5
