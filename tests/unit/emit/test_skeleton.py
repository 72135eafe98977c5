"""Tests of the files of a project other than its code."""

from __future__ import annotations

import json
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from mcpgen.diagnostics import Problems
from mcpgen.emit.skeleton import AnswerRefusedError, render_skeleton
from mcpgen.ir.file_set import Owner
from mcpgen.ir.manifest import Manifest, SelectRule, ServerEntry, SourceEntry
from mcpgen.ir.templates import template_root
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.manifest.manifest import read_manifest
from mcpgen.render.skeleton_facts import skeleton_facts
from mcpgen.runtime.startup.option_values import DEFAULT_PORT
from mcpgen.text.identifiers import Identifier
from tests.support.plans import server_plan, with_text

PACKAGE = Identifier("petstore_mcp")
HOSTILE = (
    "\"\"\"'''</x>{{ 7 * 7 }}{% raw %}\\\n"
    "# head\r\nRUN evil\n]]\n<!-- /mcpgen:tools -->\x00\u202e| a |`b`\u2028END=1"
)


def skeleton(plan: ServerPlan | None = None, **answers: str) -> dict[str, str]:
    facts = skeleton_facts(plan or server_plan(), "openapi.yaml")
    answers = {"name": "petstore"} | answers
    files = render_skeleton(template_root() / "skeleton", PACKAGE, facts, answers)
    return {file.path: file.content.decode() for file in files}


def test_the_skeleton_has_the_expected_files_and_owners() -> None:
    facts = skeleton_facts(server_plan(), "openapi.yaml")
    files = render_skeleton(template_root() / "skeleton", PACKAGE, facts, {"name": "petstore"})
    assert {file.path: file.owner for file in files} == {
        ".copier-answers.yml": Owner.GENERATED,
        ".dockerignore": Owner.MERGED,
        ".env.example": Owner.MERGED,
        ".gitattributes": Owner.MERGED,
        ".gitignore": Owner.MERGED,
        "Dockerfile": Owner.MERGED,
        "README.md": Owner.MERGED,
        "mcpgen.yaml": Owner.OWNED,
        "pyproject.toml": Owner.MERGED,
        "server.json": Owner.MERGED,
        "src/petstore_mcp/__init__.py": Owner.MERGED,
        "src/petstore_mcp/__main__.py": Owner.MERGED,
        "src/petstore_mcp/asgi.py": Owner.MERGED,
        "src/petstore_mcp/handlers/__init__.py": Owner.OWNED,
        "tests/test_custom.py": Owner.OWNED,
    }


def test_ci_files_are_written_on_request() -> None:
    files = skeleton(github_workflow="yes", pre_commit="yes", python_version="3.12")

    pinned = f"mcpgen[cli]=={version('mcpgen')}"
    job = yaml.safe_load(files[".github/workflows/mcpgen.yml"])["jobs"]["check"]
    assert job["steps"][1]["with"] == {"python-version": "3.12"}
    assert [step["run"] for step in job["steps"][2:4]] == [
        f'pip install "{pinned}"',
        "mcpgen check",
    ]
    [repository] = yaml.safe_load(files[".pre-commit-config.yaml"])["repos"]
    [hook] = repository["hooks"]
    assert (hook["entry"], hook["additional_dependencies"]) == ("mcpgen check", [pinned])
    answers = yaml.safe_load(files[".copier-answers.yml"])
    assert (answers["github_workflow"], answers["pre_commit"]) == ("yes", "yes")


def test_the_project_metadata_is_installable() -> None:
    project = tomllib.loads(skeleton()["pyproject.toml"])
    assert project["project"]["name"] == "petstore-mcp"
    assert project["project"]["dependencies"] == ["mcpgen>=0.6,<0.7"]
    assert project["project"]["scripts"] == {"petstore-mcp": "petstore_mcp.__main__:main"}
    assert project["tool"]["hatch"]["version"]["path"] == "src/petstore_mcp/__init__.py"


def test_the_registry_entry_respects_the_limits_of_the_registry() -> None:
    long = with_text(server_plan(), "A very long text. " * 30)
    entry = json.loads(skeleton(long, namespace="io.github.someone")["server.json"])
    assert entry["name"] == "io.github.someone/petstore-mcp"
    assert len(entry["description"]) <= 100
    assert len(entry["title"]) <= 100
    [package] = entry["packages"]
    assert package["transport"] == {"type": "stdio"}
    assert [each["name"] for each in package["environmentVariables"]] == [
        "PETSTORE_API_KEY",
        "PETSTORE_BASE_URL",
        "PETSTORE_MAX_RESULT_TOKENS",
        "PETSTORE_LOG_LEVEL",
    ]


def test_the_readme_names_the_registry_entry_and_lists_the_tools() -> None:
    files = skeleton()
    name = json.loads(files["server.json"])["name"]
    assert f"<!-- mcp-name: {name} -->" in files["README.md"]
    table = files["README.md"].partition("<!-- mcpgen:tools -->")[2].partition("<!-- /mcpgen")[0]
    assert "| `get_pet` | `GET /pets/{petId}` | Fetch one pet |" in table


def test_the_environment_example_has_a_line_for_each_variable() -> None:
    lines = skeleton()[".env.example"].splitlines()
    assert "PETSTORE_API_KEY=" in lines
    assert "# The key. Optional, secret." in lines


def test_optional_settings_are_comments_with_the_defaults_of_the_server() -> None:
    plan = replace(server_plan(), limits={"max_calls": 7})
    text = skeleton(plan)[".env.example"]
    assert "# PETSTORE_MAX_CALLS=7\n" in text
    assert "# PETSTORE_LOG_FORMAT=text\n" in text
    assert text.index("PETSTORE_API_KEY=") < text.index("PETSTORE_LOG_FORMAT=")
    settings = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert settings == ["PETSTORE_API_KEY=", "PETSTORE_BASE_URL="]


def test_the_readme_names_the_settings_of_each_group_in_one_row() -> None:
    readme = skeleton()["README.md"]
    (row,) = [line for line in readme.splitlines() if line.startswith("| Logs and telemetry |")]
    assert "`LOG_LEVEL`" in row
    assert "begin with `PETSTORE_`" in readme


def test_the_registry_entry_has_defaults_and_choices_of_optional_settings() -> None:
    [package] = json.loads(skeleton()["server.json"])["packages"]
    tokens, level = package["environmentVariables"][-2:]
    assert (tokens["default"], tokens["format"]) == ("25000", "number")
    assert level["choices"] == ["debug", "info", "warning", "error"]
    assert not level["isRequired"]


def test_the_container_runs_the_server_as_an_unprivileged_user() -> None:
    lines = skeleton(python_version="3.12")["Dockerfile"].splitlines()
    assert lines[0] == "FROM python:3.12-slim AS build"
    assert "USER 10001" in lines
    assert 'ENTRYPOINT ["/server/bin/petstore-mcp"]' in lines


def test_the_container_exposes_its_port_and_checks_its_health() -> None:
    dockerfile = skeleton()["Dockerfile"]
    assert f"\nEXPOSE {DEFAULT_PORT}\n" in dockerfile
    check = '["/server/bin/python", "-m", "mcpgen.runtime.healthcheck"]'
    assert f"\nHEALTHCHECK --start-period=10s --timeout=5s CMD {check}\n" in dockerfile


def test_the_container_installs_the_dependencies_before_it_copies_the_sources() -> None:
    lines = skeleton()["Dockerfile"].splitlines()
    copied = [line for line in lines if line.startswith("COPY ") and "--from" not in line]
    assert copied == ["COPY pyproject.toml ./", "COPY . ."]


def test_the_manifest_is_parsed_back_unchanged() -> None:
    facts = skeleton_facts(
        replace(server_plan(), has_models=False),
        "openapi/a: b.yaml",
        include=("GET /a*", '"\n'),
        exclude=("DELETE *",),
    )
    files = render_skeleton(template_root() / "skeleton", PACKAGE, facts, {"name": "petstore"})
    [content] = [file.content for file in files if file.path == "mcpgen.yaml"]
    assert read_manifest(content, Problems()).manifest == Manifest(
        server=ServerEntry(name="petstore"),
        sources=(SourceEntry(document="openapi/a: b.yaml"),),
        select=(
            SelectRule(exclude="DELETE *"),
            SelectRule(include="GET /a*"),
            SelectRule(include='"\n'),
        ),
        models=False,
    )


def test_a_name_that_yaml_would_parse_as_null_is_quoted() -> None:
    assert yaml.safe_load(skeleton(name="null")["mcpgen.yaml"])["server"] == {"name": "null"}


def test_hostile_text_adds_no_key_no_line_and_no_instruction() -> None:
    plain, hostile = skeleton(), skeleton(with_text(server_plan(), HOSTILE))
    for path in (".copier-answers.yml", ".dockerignore", ".gitignore", "Dockerfile", "mcpgen.yaml"):
        assert hostile[path] == plain[path]
    project, expected = (tomllib.loads(each["pyproject.toml"]) for each in (hostile, plain))
    project["project"].pop("description")
    expected["project"].pop("description")
    assert project == expected
    assert settings(hostile[".env.example"]) == settings(plain[".env.example"])
    assert json.loads(hostile["server.json"]).keys() == json.loads(plain["server.json"]).keys()
    assert hostile["README.md"].count("<!-- /mcpgen:tools -->") == 1
    assert len(hostile["README.md"].splitlines()) == len(plain["README.md"].splitlines())
    assert "49" not in hostile["README.md"]


def settings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"namespce": "x"}, "did you mean `namespace`"),
        ({"facts": "x"}, "no question `facts`"),
        ({"package": "os"}, "no question `package`"),
        ({"namespace": "no spaces allowed"}, "reverse"),
        ({"name": "Not A Name"}, "lower-case words"),
        ({"python_version": "2.7"}, "2.7"),
    ],
)
def test_an_invalid_answer_is_rejected(answers: dict[str, str], said: str) -> None:
    with pytest.raises(AnswerRefusedError, match=said):
        skeleton(**answers)


def test_facts_that_are_not_escaped_are_rejected() -> None:
    with pytest.raises(TypeError, match="title"):
        render_skeleton(
            template_root() / "skeleton",
            PACKAGE,
            {"title": "raw"},  # type: ignore[dict-item]  # that is the point
            {"name": "petstore"},
        )


def test_the_users_copier_settings_are_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = skeleton()
    settings_file = tmp_path / "settings.yml"
    settings_file.write_text("defaults:\n  namespace: com.evil\n  python_version: '3.11'\n")
    monkeypatch.setenv("COPIER_SETTINGS_PATH", str(settings_file))
    monkeypatch.chdir(tmp_path)
    assert skeleton() == reference
