"""A small API and its changes, projects made of it, and edits of their users."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mcpgen.pipeline.commands.generate import generate as generate_package
from mcpgen.pipeline.commands.new import new as new_package
from mcpgen.pipeline.options import CheckReport, GenerateOptions, Options, Report

HEAD = """\
openapi: 3.1.0
info: {title: Pet Shop API, version: "1", description: Pets.}
servers: [{url: "https://pets.example/v1"}]
paths:
"""
PETS = """\
  /pets/{petId}:
    get:
      operationId: getPet
      tags: [pets]
      summary: Fetch one pet
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      responses:
        "200":
          description: The pet.
          content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}
"""
ORDERS = """\
  /orders:
    get:
      operationId: listOrders
      tags: [orders]
      summary: List orders
      responses: {"204": {description: Nothing.}}
"""
USERS = """\
  /users:
    get:
      operationId: listUsers
      tags: [users]
      summary: List users
      responses: {"204": {description: Nothing.}}
"""
SCHEMAS = """\
components:
  schemas:
    Pet: {type: object, required: [id], properties: {id: {type: integer}, name: {type: string}}}
"""
DOCUMENT = HEAD + PETS + ORDERS + SCHEMAS
CHANGED_DOCUMENT = HEAD + PETS.replace("Fetch one", "Get a") + USERS + SCHEMAS

GENERATED = "src/pet_shop_mcp/_generated"
HANDLERS = "src/pet_shop_mcp/handlers/__init__.py"
FOREIGN = (f"{GENERATED}/notes.txt", "notes.md", "tests/generated/mine.csv", "data/deep/x.bin")


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")


def git(folder: Path, *arguments: str, code: int = 0) -> str:
    """Run git without the user's settings; return its output."""
    settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "gc.auto=0"]
    done = subprocess.run(
        ["git", *settings, *arguments],
        cwd=folder,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def silent(_: str) -> None:
    """Ignore progress."""


def new(target: Path, cache: Path, document: str = DOCUMENT) -> Path:
    """Make a project at `target`."""
    source = target.with_name(f"{target.name}.yaml")
    source.write_text(document)
    options = Options(external_validator=False, cache=cache)
    report = new_package(str(source), target, options, silent)
    assert report.outcome == "done", list(report.problems)
    return target


def generate(target: Path, cache: Path, **asked: bool) -> Report:
    """Run `generate` on a project."""
    options = GenerateOptions(external_validator=False, cache=cache, **asked)
    return generate_package(target, options, silent)


def codes(report: Report | CheckReport) -> list[str]:
    """Return the rules of the problems in a report."""
    return [problem.code for problem in report.problems]


def replace(path: Path, old: str, new_text: str) -> None:
    """Replace text in a file, which must contain it."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new_text))


def edit(project: Path) -> None:
    """Edit a project as its users may: change, delete and add files."""
    replace(project / "README.md", "## Run it\n", "## Run it\n\nMine: ask Ada first.\n")
    replace(project / "pyproject.toml", ',<0.7"]', ',<0.7", "httpx>=0.28"]  # mine')
    (project / HANDLERS).write_text("# mine\n")
    (project / "Dockerfile").unlink()
    (project / "tests/test_custom.py").unlink()
    for path in FOREIGN:
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text("mine\n")


def assert_edits_are_there(project: Path) -> None:
    """Check that everything that `edit` did is still there."""
    assert "Mine: ask Ada first.\n" in (project / "README.md").read_text()
    assert '"httpx>=0.28"]  # mine' in (project / "pyproject.toml").read_text()
    for path in (HANDLERS, *FOREIGN):
        assert (project / path).read_text().endswith("mine\n")
    assert not (project / "Dockerfile").exists()
    assert not (project / "tests/test_custom.py").exists()


def tree(project: Path) -> dict[str, bytes]:
    """Return every file of a project, except git's and the copies in `.mcpgen/rescued`."""
    return {
        relative: path.read_bytes()
        for path in sorted(project.rglob("*"))
        if path.is_file()
        and not (relative := path.relative_to(project).as_posix()).startswith(
            (".git/", ".mcpgen/rescued/")
        )
        and "__pycache__" not in relative
    }


def tree_hash(project: Path) -> str:
    """Return the hash of a project's paths and bytes."""
    digest = hashlib.sha256()
    for path, content in tree(project).items():
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def times(project: Path) -> dict[Path, int]:
    """Return the modification time of each file."""
    return {path: path.stat().st_mtime_ns for path in project.rglob("*") if path.is_file()}
