"""Tests that each change of a document appears with its level in the changelog.

tests/unit/changelog/test_compare.py tests the rules one by one.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mcpgen.pipeline.commands.changelog import changelog
from mcpgen.pipeline.commands.pull import Pull, PullResult, pull
from mcpgen.pipeline.options import GenerateOptions
from mcpgen.plan.tools import annotations
from tests.regeneration import projects

HEAD = """\
openapi: 3.1.0
info: {title: Pet Shop API, version: "1", description: Pets.}
servers: [{url: "https://pets.example/v1"}]
"""
LIST = """\
  /pets:
    get:
      operationId: listPets
      tags: [pets]
      summary: List pets
      description: As many as fit.
      security: [{sso: [read]}]
      parameters:
        - {name: shop, in: query, required: true, schema: {type: string}}
        - {name: limit, in: query, schema: {type: integer, maximum: 50}}
        - {name: state, in: query, schema: {type: string, enum: [sold, free]}}
        - {name: name, in: query, schema: {type: string}}
      responses:
        "200":
          description: Pets.
          content:
            application/json:
              schema: {type: object, properties: {id: {type: integer}, name: {type: string}}}
"""
COUNT = """\
  /count:
    get: {operationId: countPets, responses: {"204": {description: None.}}}
"""
FIND = """\
  /count:
    post: {operationId: findPets, responses: {"204": {description: None.}}}
    get:"""
SECURITY = """\
components:
  securitySchemes:
    sso:
      type: oauth2
      flows:
        clientCredentials:
          tokenUrl: https://pets.example/token
          scopes: {read: Read., write: Write.}
"""
DOCUMENT = f"{HEAD}paths:\n{LIST}{COUNT}{SECURITY}"
LIMIT = "{name: limit, in: query, schema: {type: integer, maximum: 50}}"
NAME = "{name: name, in: query, schema: {type: string}}"
SHOP = "{name: shop, in: query, required: true, schema: {type: string}}"

CASES = [
    # (name, old and new text of the document, rule, level)
    ("tool removed", (COUNT, ""), "tool-removed", "major"),
    ("input removed", (f"        - {NAME}\n", ""), "input-removed", "major"),
    (
        "input newly required",
        ("limit, in: query,", "limit, in: query, required: true,"),
        "input-required",
        "major",
    ),
    (
        "input type changed",
        (LIMIT, LIMIT.replace("integer, maximum: 50", "boolean")),
        "input-type-changed",
        "major",
    ),
    ("enum narrowed", ("[sold, free]", "[sold]"), "input-enum-narrowed", "major"),
    ("constraint narrowed", ("maximum: 50", "maximum: 49"), "input-constraint-narrowed", "major"),
    ("output field removed", (", name: {type: string}}}", "}}"), "output-removed", "major"),
    (
        "output type changed",
        ("{id: {type: integer}", "{id: {type: string}"),
        "output-type-changed",
        "major",
    ),
    ("auth scope added", ("[{sso: [read]}]", "[{sso: [read, write]}]"), "scope-added", "major"),
    (
        "texts tell of another effect",
        ("operationId: countPets", "operationId: countPets, summary: Reset the count"),
        "read-only-hint",
        "major",
    ),
    (
        "tool added",
        (COUNT, COUNT + COUNT.replace("ount", "heck")),
        "tool-added",
        "minor",
    ),
    (
        "optional input added",
        (f"- {NAME}", f"- {NAME}\n        - {NAME.replace('name: name', 'name: more')}"),
        "input-added",
        "minor",
    ),
    ("input made optional", (SHOP, SHOP.replace("true", "false")), "input-optional", "minor"),
    ("enum widened", ("[sold, free]", "[sold, free, ill]"), "input-enum-widened", "minor"),
    ("constraint widened", ("maximum: 50", "maximum: 51"), "input-constraint-widened", "minor"),
    ("output field added", ("{id: {", "{at: {type: string}, id: {"), "output-added", "minor"),
    ("title", ("summary: List pets", "summary: All pets"), "title", "patch"),
    ("description", ("As many as fit.", "Not too many."), "description", "patch"),
    ("instructions", ("description: Pets.}", "description: All pets.}"), "instructions", "patch"),
    ("operationId", ("listPets", "findPets"), "operation-renamed", "none"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    return projects.new(tmp_path_factory.mktemp("graded") / "server", cache, DOCUMENT)


def fetched(server: Path, document: str, folder: Path, cache: Path) -> Pull:
    source = folder / "newer.yaml"
    source.write_text(document)
    options = GenerateOptions(external_validator=False, cache=cache)
    return pull(server, str(source), options, projects.silent)


@pytest.mark.parametrize(
    ("change", "rule", "level"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_document_change_has_the_expected_level(
    server: Path, tmp_path: Path, cache: Path, change: tuple[str, str], rule: str, level: str
) -> None:
    old, new = change
    assert DOCUMENT.count(old) == 1
    changelog = fetched(server, DOCUMENT.replace(old, new), tmp_path, cache).changelog
    assert changelog is not None
    assert (changelog.level.word, rule) in [
        (each.level.word, each.rule) for each in changelog.changes
    ]


@pytest.mark.parametrize(
    ("entry", "rule", "level"),
    [
        ("{name: tally}", "tool-renamed", "major"),
        ("{name: tally, aliases: [count_pets]}", "tool-renamed-aliased", "minor"),
        ("{annotations: {readOnlyHint: false}}", "read-only-hint", "major"),
        (
            "{annotations: {readOnlyHint: false, destructiveHint: true}}",
            "destructive-hint",
            "major",
        ),
        ("{expose: off}", "tool-removed", "major"),
    ],
)
def test_a_manifest_change_has_the_expected_level(
    server: Path, tmp_path: Path, cache: Path, entry: str, rule: str, level: str
) -> None:
    changed = shutil.copytree(server, tmp_path / "server")
    with (changed / "mcpgen.yaml").open("a") as manifest:
        manifest.write(f'operations: {{"GET /count": {entry}}}\n')
    options = GenerateOptions(external_validator=False, cache=cache)
    found = changelog(changed, str(server), options, projects.silent).changelog
    assert found is not None
    assert (level, rule) in [(each.level.word, each.rule) for each in found.changes]


def test_a_hint_that_a_newer_version_decides_is_a_change(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = DOCUMENT.replace("operationId: countPets", "operationId: resetPets")
    with monkeypatch.context() as older:  # its rules used only the method
        older.setattr(annotations, "find_danger", lambda _: None)
        made = projects.new(tmp_path / "server", cache, document)
    lock = json.loads((made / "mcpgen.lock").read_bytes())
    (made / "mcpgen.lock").write_text(json.dumps({**lock, "mcpgen": "0.1.0"}))
    report = projects.generate(made, cache)
    assert report.changelog is not None
    found = {(each.rule, each.level.word, each.tool) for each in report.changelog.changes}
    assert found == {
        ("read-only-hint", "major", "reset_pets"),
        ("destructive-hint", "major", "reset_pets"),
        ("other-hint", "patch", "reset_pets"),
    }


def test_trust_in_the_document_is_a_change_of_hints(
    server: Path, tmp_path: Path, cache: Path
) -> None:
    changed = shutil.copytree(server, tmp_path / "server")
    (changed / "openapi.yaml").write_text(DOCUMENT.replace("  /count:\n    get:", FIND))
    before = projects.generate(changed, cache)
    assert before.outcome == "done", list(before.problems)
    manifest = changed / "mcpgen.yaml"
    manifest.write_text(manifest.read_text().replace("server:\n", "server:\n  trust: own\n"))
    report = projects.generate(changed, cache)
    assert report.changelog is not None, list(report.problems)
    assert report.changelog.level.word == "major"
    assert {each.rule for each in report.changelog.changes} >= {"read-only-hint"}


def test_reordering_and_respelling_are_not_changes(
    server: Path, tmp_path: Path, cache: Path
) -> None:
    spelled = LIST.replace("[pets]", '["pets"]')
    changelog = fetched(server, f"{SECURITY}paths:\n{COUNT}{spelled}{HEAD}", tmp_path, cache)
    assert changelog.result is PullResult.CHANGED
    assert changelog.changelog is not None
    assert changelog.changelog.changes == ()


def test_the_changelog_has_the_highest_level_of_its_changes(
    server: Path, tmp_path: Path, cache: Path
) -> None:
    many = DOCUMENT
    for old, new in (("As many as fit.", "All."), ("maximum: 50", "maximum: 49"), (COUNT, "")):
        many = many.replace(old, new)
    changelog = fetched(server, many, tmp_path, cache).changelog
    assert changelog is not None
    assert {each.level.word for each in changelog.changes} == {"major", "patch"}
    assert changelog.level.word == "major"
