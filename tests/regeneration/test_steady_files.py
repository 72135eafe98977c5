"""Tests of what changes leave alone: files of other tags, the user's code, imported names."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from mcpgen.pipeline.commands.check import check
from tests.regeneration import projects

TOOLS = f"{projects.GENERATED}/tools"
MODELS = f"{projects.GENERATED}/models.py"
CALLS = f"{projects.GENERATED}/calls.py"
PET_OF_AN_ORDER = projects.ORDERS.replace(
    '{"204": {description: Nothing.}}',
    '{"200": {description: Pet., content:'
    ' {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}}',
)
HOOKS = '''\
"""Mine."""

from mcpgen.runtime import Context, before

from pet_shop_mcp._generated.calls import GetPetsPetIdCall
from pet_shop_mcp._generated.models import Pet


@before("GET /pets/{petId}", call=GetPetsPetIdCall.__call__)
async def look(ctx: Context, *, pet_id: int) -> None:
    """Look."""
    assert Pet(id=pet_id)
'''


def test_using_a_schema_in_a_second_tag_does_not_change_files_of_the_first(
    project: Path, cache: Path
) -> None:
    document = projects.HEAD + projects.PETS + PET_OF_AN_ORDER + projects.SCHEMAS
    (project / "openapi.yaml").write_text(document)
    report = projects.generate(project, cache)
    assert report.outcome == "done", list(report.problems)
    assert {path for path in report.written if path.startswith(projects.GENERATED)} == {
        f"{projects.GENERATED}/listing.json",
        f"{TOOLS}/orders.json",
        f"{TOOLS}/orders.py",
    }
    assert report.deleted == ()


def test_a_project_with_a_folder_of_models_keeps_its_code(project: Path, cache: Path) -> None:
    """Up to 0.4 there was a module of models for each tag, and a type for each operation."""
    hooks = project / "src/pet_shop_mcp/handlers/hooks.py"
    hooks.write_text(HOOKS)
    lock = json.loads((project / "mcpgen.lock").read_bytes())
    models = (project / MODELS).read_text()
    (project / MODELS).unlink()
    del lock["files"][MODELS]
    for path, text in (
        ("models/__init__.py", "from pet_shop_mcp._generated.models.pets import Pet\n"),
        ("models/pets.py", models),
        ("calls.py", "class GetPetsPetIdCall: ...\nclass GetOrdersCall: ...\n"),
    ):
        file = project / projects.GENERATED / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        entry = {"class": "generated", "sha256": digest}
        lock["files"][f"{projects.GENERATED}/{path}"] = entry
    (project / "mcpgen.lock").write_text(json.dumps(lock))

    report = projects.generate(project, cache)

    assert report.outcome == "done", list(report.problems)
    assert hooks.read_text() == HOOKS
    assert (project / MODELS).read_text() == models
    assert not (project / projects.GENERATED / "models").exists()
    assert declared(project) == ["GetPetsPetIdCall"]
    assert projects.codes(check(project)) == []


def declared(project: Path) -> list[str]:
    path = project / CALLS
    lines = path.read_text().splitlines() if path.exists() else []
    return [line[6:-11] for line in lines if line.startswith("class ")]


def test_a_call_type_exists_while_user_code_refers_to_it(project: Path, cache: Path) -> None:
    assert declared(project) == []
    handlers, test = project / "src/pet_shop_mcp/handlers/hooks.py", project / "tests/test_look.py"
    handlers.write_text(HOOKS)
    assert projects.codes(check(project)) == ["stale"]
    assert CALLS in projects.generate(project, cache).written
    assert projects.generate(project, cache).written == ()
    assert projects.codes(check(project)) == []

    handlers.write_text(f"{HOOKS}\n\nfrom pet_shop_mcp._generated.calls import GetOrdersCall\n")
    (problem,) = check(project).problems
    assert (problem.code, problem.help) == (
        "handler-broken",
        "run `mcpgen generate`, which declares the types of calls that your code names",
    )
    assert projects.generate(project, cache).written == (CALLS, "mcpgen.lock")
    assert projects.codes(check(project)) == []
    handlers.write_text(HOOKS)

    test.write_text("from pet_shop_mcp._generated import calls\nOrders = calls.GetOrdersCall\n")
    assert projects.generate(project, cache).outcome == "done"
    assert declared(project) == ["GetOrdersCall", "GetPetsPetIdCall"]

    handlers.unlink()
    test.unlink()
    assert CALLS in projects.generate(project, cache).deleted
    assert projects.codes(check(project)) == []
