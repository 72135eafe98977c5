"""Tests that the generator survives expensive documents, resource limits and full disks."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpgen.cli import app
from tests.fuzz.documents import run_apart
from tests.support.attack.documents import api_document, operation
from tests.support.attack.server import SLOWER
from tests.support.paths import REPOSITORY, SPECS

GOAL_SECONDS = 10.0 - 5.0  # without the external validator, which has 5 s of its own
_LEVELS = 30
PETSTORE = SPECS / "petstore.yaml"


def _document(schemas: dict[str, Any], **others: Any) -> dict[str, Any]:
    first = {"$ref": f"#/components/schemas/{next(iter(schemas))}"}
    body = {"requestBody": {"content": {"application/json": {"schema": first}}}}
    call = operation("call", schema=first, **body, **others)
    return api_document({"/call": {"post": call}}, {"schemas": schemas})


def _doubling(level_of: Callable[[dict[str, str]], dict[str, Any]]) -> dict[str, Any]:
    """Return schemas that refer to the next one twice each, so that 2^30 paths lead to the last."""
    schemas: dict[str, Any] = {
        f"S{level}": level_of({"$ref": f"#/components/schemas/S{level + 1}"})
        for level in range(_LEVELS)
    }
    schemas[f"S{_LEVELS}"] = {"type": "object", "properties": {"a": {"type": "string"}}}
    return _document(schemas)


def _contradiction() -> dict[str, Any]:
    """Return a schema with 4^12 combinations of branches, none of which has a valid value."""
    schemas: dict[str, Any] = {}
    for level in range(12):
        following = {"$ref": f"#/components/schemas/S{level + 1}"}
        schemas[f"S{level}"] = {
            "anyOf": [
                {"type": "object", "required": [name], "properties": {name: following}}
                for name in "abcd"
            ]
        }
    schemas["S12"] = {"type": "string", "enum": ["a"], "minLength": 5}
    return _document(schemas)


def _alternatives() -> dict[str, Any]:
    """Return a schema with 5,000 different branches."""
    branches = [
        {"type": "object", "properties": {f"p{number}": {"type": "string"}, "k": {"const": number}}}
        for number in range(5000)
    ]
    return _document({"S": {"anyOf": branches}})


def _conditions() -> dict[str, Any]:
    """Return a schema with an `if` in both branches of an `if`, nested 12 levels deep."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
    for level in range(12):
        schema = {"if": {"required": [f"a{level}"]}, "then": schema, "else": schema}
    return _document({"S": schema})


def _many_parameters() -> dict[str, Any]:
    names = [f"p{number}" for number in range(4000)]
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]
    return _document({"S": {"type": "object"}}, parameters=parameters)


def _long_names() -> dict[str, Any]:
    document = _document({"S": {"type": "object"}}, tags=["A" * 200_000])
    document["paths"]["/call"]["post"]["operationId"] = "aB" * 100_000
    return document


def _media_types() -> dict[str, Any]:
    """Return a body with 3,000 media types that have different schemas."""
    document = _document({"S": {"type": "object"}})
    document["paths"]["/call"]["post"]["requestBody"]["content"] = {
        f"application/x{number}+json": {"schema": {"required": [f"p{number}"]}}
        for number in range(3000)
    }
    return document


def _with_schemes(
    count: int, scheme: dict[str, Any], security_of: Callable[[list[str]], list[Any]]
) -> dict[str, Any]:
    names = [f"s{number}" for number in range(count)]
    document = _document({"S": {"type": "object"}}, security=security_of(names))
    document["components"]["securitySchemes"] = {
        name: {key: name if key == "name" else value for key, value in scheme.items()}
        for name in names
    }
    return document


_API_KEY = {"type": "apiKey", "in": "header", "name": ""}
_FLOWS = {"clientCredentials": {"tokenUrl": "https://token.example.com/", "scopes": {}}}
_OAUTH = {"type": "oauth2", "flows": _FLOWS}


def _long_patterns() -> dict[str, Any]:
    """Return patterns with 200 alternatives and more characters than a sample may have."""
    pattern = f"({'|' * 200}){'0041' * 150}"
    members = {f"p{number}": {"type": "string", "pattern": pattern} for number in range(500)}
    return _document({"S": {"type": "object", "properties": members}})


def _many_tags() -> dict[str, Any]:
    return api_document(
        {
            f"/{number}": {"get": operation(f"op{number}", tags=[f"t{number}"])}
            for number in range(2000)
        }
    )


def _chain() -> dict[str, Any]:
    """Return 6,000 schemas, each of which refers to the next one."""
    references = [{"$ref": f"#/components/schemas/S{number + 1}"} for number in range(6000)]
    schemas = {
        f"S{number}": {"type": "object", "properties": {"a": {"type": "string"}, "next": it}}
        for number, it in enumerate(references)
    }
    return _document({**schemas, "S6000": {"type": "object"}})


def _mutual_recursion() -> dict[str, Any]:
    """Return 60 schemas, each of which refers to all of them."""
    references = {f"p{n}": {"$ref": f"#/components/schemas/S{n}"} for n in range(60)}
    paths = {
        f"/{name}": {"get": operation(f"op{name}", schema=reference)}
        for name, reference in references.items()
    }
    schema = {"type": "object", "properties": references}
    return api_document(paths, {"schemas": {f"S{number}": schema for number in range(60)}})


DOCUMENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "anyOf": lambda: _doubling(lambda next_: {"anyOf": [next_, next_]}),
    "allOf": lambda: _doubling(lambda next_: {"allOf": [next_, next_]}),
    "properties": lambda: _doubling(
        lambda next_: {
            "type": "object",
            "required": ["a", "b"],
            "properties": {"a": next_, "b": next_},
        }
    ),
    "prefixItems": lambda: _doubling(
        lambda next_: {"type": "array", "minItems": 2, "prefixItems": [next_, next_]}
    ),
    "contradiction": _contradiction,
    "alternatives": _alternatives,
    "conditions": _conditions,
    "parameters": _many_parameters,
    "names": _long_names,
    "media types": _media_types,
    "schemes of one requirement": lambda: _with_schemes(
        5000, _API_KEY, lambda names: [{key: [] for key in names}]
    ),
    "requirements": lambda: _with_schemes(
        5000, _API_KEY, lambda names: [{name: []} for name in names]
    ),
    "ways to authorize": lambda: _with_schemes(
        24, _OAUTH, lambda names: [{key: [] for key in names}]
    ),
    "patterns": _long_patterns,
    "tags": _many_tags,
    "chain": _chain,
    "mutual recursion": _mutual_recursion,
}


@pytest.mark.parametrize("kind", sorted(DOCUMENTS))
def test_an_expensive_document_is_generated_in_time(kind: str, tmp_path: Path) -> None:
    source, target = tmp_path / "api.json", tmp_path / "server"
    source.write_text(json.dumps(DOCUMENTS[kind]()))
    command = ["new", str(source), str(target), "--name", "a", "--defaults"]
    code, output, cpu_seconds = run_apart(command, tmp_path, judge=False)
    assert code in (0, 1, 3), output
    assert target.exists() == (code == 0)
    assert cpu_seconds < GOAL_SECONDS * SLOWER / 2, f"{cpu_seconds:.1f} s"


def _run(
    *arguments: str, folder: Path, limit: tuple[int, int] | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process with a resource limit."""

    def apply_limit() -> None:
        if limit is not None:
            resource.setrlimit(limit[0], (limit[1], limit[1]))

    return subprocess.run(
        [sys.executable, "-m", "mcpgen", *arguments, "--ci"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=apply_limit,
        env={
            **os.environ,
            "PYTHONPATH": str(REPOSITORY),
            # Python 3.11 keeps bytecode that such a limit has cut, and other tests would read it.
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": str(folder / "cache"),
            **environ,
        },
    )


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _check_fault(done: subprocess.CompletedProcess[str], code: str) -> None:
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"error[{code}]: " in done.stderr
    assert "help: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ((resource.RLIMIT_FSIZE, 0), "no-temporary-folder"),
        ((resource.RLIMIT_FSIZE, 512), "file-size-limit"),
        ((resource.RLIMIT_FSIZE, 8192), "file-size-limit"),
        ((resource.RLIMIT_NOFILE, 12), "open-files-limit"),
    ],
    ids=["no file", "small files", "no long file", "few open files"],
)
def test_a_process_limit_is_reported_by_name(
    limit: tuple[int, int], code: str, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = _run(
        "new", str(PETSTORE), "server", "--defaults", "--no-models",
        folder=tmp_path, limit=limit, TMPDIR=str(temporary),
    )  # fmt: skip
    _check_fault(done, code)
    assert not (tmp_path / "server").exists()
    assert list(temporary.iterdir()) == []


@pytest.fixture(scope="module")
def unchanged_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(PETSTORE, folder / "petstore.yaml")
    done = _run("new", "petstore.yaml", "server", "--defaults", "--no-models", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def project(unchanged_project: Path, tmp_path: Path) -> Path:
    return shutil.copytree(unchanged_project, tmp_path / "copy")


@pytest.mark.parametrize(
    "command", [("generate", "server", "--force"), ("pull", "server", "changed.yaml")], ids=str
)
def test_a_file_size_limit_keeps_the_existing_project_unchanged(
    command: tuple[str, ...], project: Path
) -> None:
    text = PETSTORE.read_text()
    (project / "changed.yaml").write_text(text.replace("summary: ", "summary: Changed "))
    before = _contents(project / "server")
    if command[0] == "generate":
        changed = "src/petstore_mcp/_generated/__init__.py"
        (project / "server" / changed).unlink()
        before.pop(changed)
    done = _run(*command, folder=project, limit=(resource.RLIMIT_FSIZE, 512))
    _check_fault(done, "file-size-limit")
    assert _contents(project / "server") == before


@pytest.mark.parametrize(
    "command", [("override", "get_pet", "server"), ("ws", "init"), ("test", "server")], ids=str
)
def test_other_commands_report_the_limit_too(command: tuple[str, ...], project: Path) -> None:
    before = _contents(project / "server")
    done = _run(*command, folder=project, limit=(resource.RLIMIT_FSIZE, 300))
    _check_fault(done, "file-size-limit")
    assert {path: _contents(project / "server")[path] for path in before} == before


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    disk = folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_reported_and_leaves_no_files(tmp_path: Path) -> None:
    with _small_disk(tmp_path) as disk:
        command = ("new", str(PETSTORE), str(disk / "server"), "--defaults", "--no-models")
        done = _run(*command, folder=tmp_path)
        _check_fault(done, "no-space")
        assert str(disk) in done.stderr
        assert list(disk.iterdir()) == []


def test_a_full_disk_for_temporary_files_is_reported(tmp_path: Path) -> None:
    with _small_disk(tmp_path) as disk:
        command = ("new", str(PETSTORE), "server", "--defaults", "--no-models")
        done = _run(*command, folder=tmp_path, TMPDIR=str(disk))
        _check_fault(done, "no-space")
        assert "TMPDIR" in done.stderr
        assert list(disk.iterdir()) == []
        assert not (tmp_path / "server").exists()


@pytest.mark.parametrize("number", [5, 13, 23, 27, 28, 30, 36, 122])
def test_an_operating_system_error_is_not_reported_as_a_bug(
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("mcpgen.emit.format.subprocess.run", fail)
    command = ["new", str(PETSTORE), str(tmp_path / "server"), "--defaults", "--no-models"]
    code = app.run(command)
    shown = capsys.readouterr()
    if number == 36 and os.strerror(number) != "File name too long":
        pytest.skip("another system numbers its errors differently")
    assert code == 1, shown.err
    assert "error[" in shown.err
    assert "error[bug]" not in shown.err
    assert not (tmp_path / "server").exists()
