"""Tests of one server from `mcpgen new` over the user's edits to eight changes of its API.

Every step runs the command line in a git repository. `story/` has the diff of each step;
`--update` rewrites it, to be reviewed like any other diff.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mcpgen.cli.app import run
from mcpgen.factory.test.run import run_suite
from mcpgen.pipeline.project.evidence import EVIDENCE_FOLDER
from tests.regeneration import projects
from tests.regeneration.projects import git, needs_git

EXPECTED = Path(__file__).parent / "story"
HEAD = """\
openapi: 3.1.0
info: {title: Pet Shop, version: "1", description: Pets and orders.}
servers: [{url: "https://pets.example/v1"}]
"""
PET = """\
  /pets/{petId}:
    get:
      operationId: getPet
      tags: [pets]
      summary: Fetch one pet
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      responses:
        "200":
          description: The pet.
          content:
            application/json:
              schema: {$ref: "#/components/schemas/Pet"}
              example: {id: 42, name: Rex}
"""
ORDERS = """\
  /orders:
    get:
      operationId: listOrders
      tags: [store]
      summary: List orders
      parameters:
        - name: status
          in: query
          schema: {type: string, enum: [placed, paid, sent]}
      responses: {"204": {description: Nothing.}}
"""
ORDER = """\
  /orders/{orderId}:
    delete:
      operationId: cancelOrder
      tags: [store]
      summary: Cancel an order
      parameters: [{name: orderId, in: path, required: true, schema: {type: integer}}]
      responses: {"204": {description: It is cancelled.}}
"""
STOCK = """\
  /stock:
    get:
      operationId: getStock
      tags: [store]
      summary: Count the pets
      responses: {"204": {description: Nothing.}}
"""
SCHEMAS = """\
components:
  schemas:
    Pet: {type: object, required: [id], properties: {id: {type: integer}, name: {type: string}}}
"""
REQUIRED = ORDERS.replace("in: query", "in: query\n          required: true")
NARROWED = REQUIRED.replace("placed, paid, sent", "placed, paid")
RENAMED = PET.replace("getPet", "fetchPet")
MOVED = RENAMED.replace("[pets]", "[animals]")
DESCRIBED = MOVED.replace("Fetch one pet", "Fetch a pet by its number")


def document(*paths: str) -> str:
    return "".join((HEAD, "paths:\n", *paths, SCHEMAS))


FIRST = document(PET, STOCK, ORDERS)
REORDERED = "".join((SCHEMAS, "paths:\n", NARROWED, ORDER, RENAMED, HEAD))


class Step(NamedTuple):
    """A change of the API's document, and its level for the clients of its tools."""

    name: str
    document: str
    level: str


STEPS = (
    Step("01-operation-added", document(PET, STOCK, ORDERS, ORDER), "minor"),
    Step("02-operation-removed", document(PET, ORDERS, ORDER), "major"),
    Step("03-operation-renamed", document(RENAMED, ORDERS, ORDER), "none"),
    Step("04-argument-required", document(RENAMED, REQUIRED, ORDER), "major"),
    Step("05-enum-narrowed", document(RENAMED, NARROWED, ORDER), "major"),
    Step("06-all-reordered", REORDERED, "none"),
    Step("07-tag-moved", REORDERED.replace(RENAMED, MOVED), "none"),
    Step("08-description-only", REORDERED.replace(RENAMED, DESCRIBED), "patch"),
)
MOST_CHANGED_LINES = 220  # a tool is in the skills of the API and of its tag, too
BLOBS = re.compile(r"^index .*\n", re.MULTILINE)
HASH = re.compile(r"\b[0-9a-f]{64}\b")

HANDLERS = Path("src/pet_shop_mcp/handlers")
EXTRA = '''\
"""A tool beside those of the API."""

from mcpgen.runtime import Context, Features

features = Features()


@features.tool()
def greet(ctx: Context, *, name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"
'''
USERS_TEST = '''\
"""The loud override, and the tool beside the API's."""

from importlib.resources import files


def test_both_are_there() -> None:
    handlers = files("pet_shop_mcp") / "handlers"
    assert ".upper()" in (handlers / "pets.py").read_text()
    assert "Hello, " in (handlers / "greeting.py").read_text()
'''


@needs_git
def test_a_server_is_regenerated_from_eight_successive_documents(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    updates: bool,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    project = tmp_path / "shop"
    api = tmp_path / "api.yaml"
    api.write_text(FIRST)
    assert run(["new", str(api), str(project), "--defaults", "--ci"]) == 0
    monkeypatch.chdir(project)
    make_it_ones_own(project)
    git(project, "init", "-q", "-b", "main")
    commit(project, "new, and made our own")
    owned = users_text(project)
    assert_it_works(project, capsys)

    for step in STEPS:
        api.write_text(step.document)
        pulled = asked(capsys, "pull", "--json")
        assert (pulled["outcome"], pulled["tools"]["level"]) == ("changed", step.level), step.name
        assert run(["generate", "--ci"]) == 0, step.name
        assert users_text(project) == owned, step.name
        assert_it_works(project, capsys)
        assert_expected(step.name, difference(project), updates=updates)
        commit(project, step.name)


def make_it_ones_own(project: Path) -> None:
    projects.replace(project / "README.md", "## Run it\n", "## Run it\n\nMine: ask Ada first.\n")
    projects.replace(project / "pyproject.toml", ',<0.7"]', ',<0.7", "httpx>=0.28"]  # mine')
    projects.replace(project / "pyproject.toml", "line-length = 100", "line-length = 96  # mine")
    assert run(["override", "get_pet"]) == 0
    projects.replace(
        project / HANDLERS / "pets.py",
        "    return await call_next(ctx, pet_id=pet_id)\n",
        "    pet = await call_next(ctx, pet_id=pet_id)\n"
        '    pet["name"] = pet.get("name", "").upper()\n'
        "    return pet\n",
    )
    (project / HANDLERS / "greeting.py").write_text(EXTRA)
    (project / "tests/test_mine.py").write_text(USERS_TEST)
    assert run(["generate", "--ci"]) == 0


def users_text(project: Path) -> dict[str, str]:
    """Return the user's text: whole files, and the user's lines of merged files."""
    whole = [*sorted(HANDLERS.glob("*.py")), Path("tests/test_mine.py"), Path("mcpgen.yaml")]
    found = {path.as_posix(): (project / path).read_text() for path in whole}
    for name in ("README.md", "pyproject.toml"):
        lines = (project / name).read_text().splitlines()
        found[name] = "\n".join(line for line in lines if "mine" in line.lower())
    return found


def assert_it_works(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check"]) == 0
    suite = run_suite(project)
    assert suite.passed, suite.output
    overridden = asked(capsys, "call", "get_pet", "--mock", "--json", '{"pet_id": 42}')
    assert overridden["result"]["structuredContent"] == {"id": 42, "name": "REX"}
    assert [request["method"] for request in overridden["requests"]] == ["GET"]
    extra = asked(capsys, "call", "greet", "--mock", "--json", '{"name": "Ada"}')
    assert extra["result"]["content"][0]["text"] == "Hello, Ada!"


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    code = run(words)
    out, err = capsys.readouterr()
    assert code == 0, out + err
    answer: dict[str, Any] = json.loads(out)
    return answer


def commit(project: Path, message: str) -> None:
    git(project, "add", "-A")
    git(project, "commit", "-qm", message)


def difference(project: Path) -> str:
    """Return the diff of uncommitted changes, without hashes and evidence."""
    git(project, "add", "-A")
    but_evidence = (".", f":(exclude){EVIDENCE_FOLDER}")
    shown = git(project, "diff", "--cached", "--no-color", "--no-ext-diff", "-U1", *but_evidence)
    return HASH.sub("(hash)", BLOBS.sub("", shown))


def assert_expected(name: str, diff: str, *, updates: bool) -> None:
    changed = [line for line in diff.splitlines() if line[:1] in "+-"]
    assert len(changed) <= MOST_CHANGED_LINES, f"{name} changes {len(changed)} lines"
    expected = EXPECTED / f"{name}.diff"
    if updates:
        expected.write_text(diff)
    assert diff == expected.read_text(), "if it is right: --update, and read what changed"


def test_every_expected_diff_belongs_to_a_step() -> None:
    assert [path.stem for path in sorted(EXPECTED.iterdir())] == [step.name for step in STEPS]
