"""Tests of overrides whose document changes: messages of `generate` and `check` until fixed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpgen.diagnostics import Diagnostic
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.override import OverrideReport, ack
from mcpgen.pipeline.options import CheckReport, GenerateOptions, Report
from tests.support.projects import DOCUMENT, silent

pytestmark = pytest.mark.slow

PACKAGE = "src/pet_shop_mcp"
HANDLERS = f"{PACKAGE}/handlers/pets.py"
GENERATED = f"{PACKAGE}/_generated/tools/pets.py"
GET_PET = "GET /pets/{petId}"
PET_ID = "{name: petId, in: path, required: true, schema: {type: integer}}"

Regenerate = Callable[..., Report]


@pytest.fixture
def accept(project: Path, cache: Path) -> Callable[..., OverrideReport]:
    options = GenerateOptions(external_validator=False, cache=cache)
    return lambda name=GET_PET: ack(project, name, options, silent)


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def change(project: Path, *replacements: tuple[str, str]) -> None:
    """Change the vendored document, as `mcpgen pull` would."""
    text = DOCUMENT
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    (project / "openapi.yaml").write_text(text)


def told(report: Report | CheckReport | OverrideReport) -> list[Diagnostic]:
    return list(report.problems)


def take_argument(project: Path, parameter: str) -> None:
    """Add a parameter to the override, as the new version of the API requires."""
    text = (project / HANDLERS).read_text()
    (project / HANDLERS).write_text(text.replace("pet_id: int", f"pet_id: int, {parameter}"))


def test_a_stub_calls_the_generated_function_and_is_recorded(
    project, take_over, regenerate
) -> None:
    report = take_over()
    assert (report.outcome, report.function) == ("done", "handlers/pets.py:get_pet")
    assert (
        (project / HANDLERS).read_text()
        == '''\
"""Hand-written overrides of the `pets` tools."""

from mcpgen.runtime import Context, override

from pet_shop_mcp._generated.calls import GetPetsPetIdCall
from pet_shop_mcp._generated.models import Pet


@override("GET /pets/{petId}")
async def get_pet(ctx: Context, call_next: GetPetsPetIdCall, *, pet_id: int) -> Pet:
    """Fetch one pet: `GET /pets/{petId}`."""
    return await call_next(ctx, pet_id=pet_id)
'''
    )
    assert check(project).outcome == "done"
    before = tree(project)
    again = regenerate()
    assert (again.outcome, again.written, tree(project)) == ("done", (), before)


@pytest.mark.parametrize("name", [GET_PET, "get_pet", "getPet"])
def test_an_operation_is_found_by_key_tool_and_operation_id(take_over, name) -> None:
    assert take_over(name, dry_run=True).operation == GET_PET


def test_a_dry_run_writes_nothing(project, take_over) -> None:
    before = tree(project)
    report = take_over(dry_run=True)
    assert HANDLERS in report.written
    assert "call_next" in report.text
    assert tree(project) == before


def test_an_unknown_operation_is_rejected_with_a_suggestion(project, take_over) -> None:
    before = tree(project)
    report = take_over("get_pets")
    (problem,) = told(report)
    assert (report.outcome, problem.code) == ("usage", "unknown-operation")
    assert problem.help == "did you mean `get_pet`?"
    assert tree(project) == before


def test_a_second_stub_reports_the_existing_one(project, take_over) -> None:
    take_over()
    before = tree(project)
    report = take_over()
    assert (report.outcome, str(report.at)) == ("done", f"{HANDLERS}:9:11")
    assert tree(project) == before


@pytest.mark.parametrize(
    "text",
    [
        '"""Mine."""\n\nfrom mcpgen.runtime import Context\n\nget_pet = 1\n',
        "x=1   # not formatted\n",
        "import os\nX = os.sep\nfrom mcpgen.runtime import Context, override",
    ],
)
def test_existing_code_of_a_module_is_kept_when_a_stub_is_added(project, take_over, text) -> None:
    (project / HANDLERS).write_text(text)
    take_over()
    joined = (project / HANDLERS).read_text()
    kept = [line for line in text.splitlines() if not line.startswith("from mcpgen")]
    assert [line for line in joined.splitlines() if line in kept and line] == list(
        filter(None, kept)
    )
    compile(joined, HANDLERS, "exec")
    assert joined.count("import Context") == 1 or "import Context, override" in joined
    assert check(project).outcome == "done"


def test_a_module_with_a_syntax_error_is_not_changed(project, take_over) -> None:
    (project / HANDLERS).write_text("from mcpgen.runtime import override\n@override('GET")
    before = tree(project)
    report = take_over()
    assert (report.outcome, told(report)[0].code) == ("findings", "handler-unreadable")
    assert tree(project) == before


def test_a_renamed_operation_id_does_not_affect_the_override(
    project, take_over, regenerate
) -> None:
    take_over()
    change(project, ("operationId: getPet", "operationId: fetchPet"))
    regenerate()
    assert check(project).outcome == "done"
    assert "get_pet" in (project / GENERATED).read_text()


def test_a_renamed_tag_or_another_order_does_not_affect_the_override(
    project, take_over, regenerate
) -> None:
    take_over()
    before = (project / HANDLERS).read_bytes()
    change(project, ("tags: [pets]", "tags: [animals]"))
    report = regenerate()
    assert report.outcome == "done"
    assert (project / HANDLERS).read_bytes() == before
    assert check(project).outcome == "done"
    imported(project)


def test_another_name_of_a_parameter_in_the_path_changes_nothing(
    project, take_over, regenerate
) -> None:
    with (project / "mcpgen.yaml").open("a") as manifest:
        manifest.write("operations:\n  GET /pets/{petId}: {name: find_pet}\n")
    regenerate()
    take_over()
    before = (project / GENERATED).read_bytes()
    change(project, ("  /pets/{petId}:", "  /pets/{id}:"), ("name: petId", "name: id"))
    report = regenerate()
    assert (report.outcome, told(report)) == ("done", [])
    assert (project / GENERATED).read_bytes() == before
    assert check(project).outcome == "done"
    imported(project)


def imported(project: Path) -> None:
    """Import the handlers in a process, as a server does when it starts."""
    code = (
        "from mcpgen.runtime.package import ServerPackage\n"
        "ServerPackage.load('pet_shop_mcp').load_hot({})"
    )
    subprocess.run([sys.executable, "-c", code], cwd=project / "src", check=True, timeout=60)


def test_a_moved_path_is_reported_with_the_operation_of_the_same_id(
    project, take_over, regenerate
) -> None:
    take_over()
    change(
        project,
        ("  /pets/{petId}:", "  /animals/{animalId}:"),
        ("name: petId", "name: animalId"),
    )
    report = regenerate()
    removed = told(report)[-1]
    assert (report.outcome, removed.code) == ("findings", "override-of-removed-operation")
    assert removed.message == "override of removed operation `GET /pets/{petId}`"
    assert removed.help.startswith("if it is `GET /animals/{animalId}` now, name that;")
    assert str(removed.at) == f"{HANDLERS}:9:11"
    checked = check(project)
    assert (checked.outcome, told(checked)) == ("findings", [removed])


def test_a_moved_path_with_another_id_is_matched_by_its_end(project, take_over, regenerate) -> None:
    take_over()
    change(
        project,
        ("  /pets/{petId}:", "  /v2/pets/{id}:"),
        ("name: petId", "name: id"),
        ("operationId: getPet", "operationId: fetchIt"),
    )
    assert "if it is `GET /v2/pets/{id}` now" in told(regenerate())[-1].help


def test_an_operation_of_another_method_is_never_suggested(project, take_over, regenerate) -> None:
    take_over()
    change(project, ("    get:\n      operationId: getPet", "    post:\n      operationId: getPet"))
    removed = told(regenerate())[-1]
    assert removed.code == "override-of-removed-operation"
    assert removed.help == (
        "remove the override, or make it a tool of its own with `@features.tool()`"
    )


def test_an_override_of_a_removed_operation_is_reported_until_it_is_deleted(
    project, take_over, regenerate
) -> None:
    take_over()
    before = (project / HANDLERS).read_bytes()
    start, end = DOCUMENT.index("  /pets/"), DOCUMENT.index("  /orders")
    change(project, (DOCUMENT[start:end], ""))
    report = regenerate()
    assert (report.outcome, GENERATED in report.deleted) == ("findings", True)
    assert (project / HANDLERS).read_bytes() == before
    assert check(project).outcome == "findings"
    (project / HANDLERS).unlink()
    assert regenerate().outcome == "done"
    assert check(project).outcome == "done"
    assert not (project / ".mcpgen/overridden.json").exists()


def test_a_changed_operation_is_reported_until_it_is_acknowledged(
    project, take_over, accept, regenerate
) -> None:
    take_over()
    change(
        project,
        (
            PET_ID,
            f"{PET_ID}, {{name: depth, in: query, required: true, schema: {{type: integer}}}}",
        ),
    )
    report = regenerate()
    changed = told(report)[-1]
    assert (report.outcome, changed.code) == ("done", "overridden-operation-changed")
    assert "input `depth`" in changed.message
    assert changed.help == f'`mcpgen ack "{GET_PET}"` once the override is right for it'
    checked = check(project)
    assert (checked.outcome, told(checked)) == ("findings", [changed])
    assert accept().written
    (misfit,) = told(check(project))
    assert (misfit.code, misfit.at.file, "depth" in misfit.why) == (
        "handler-broken",
        HANDLERS,
        True,
    )
    take_argument(project, "depth: int")
    assert check(project).outcome == "done"
    assert accept().written == ()


def test_a_changed_summary_of_an_operation_is_ignored(project, take_over, regenerate) -> None:
    take_over()
    change(project, ("summary: Fetch one pet", "summary: Give a pet back"))
    regenerate()
    assert check(project).outcome == "done"


def test_only_overridden_operations_can_be_acknowledged(accept) -> None:
    report = accept()
    assert (report.outcome, told(report)[0].code) == ("usage", "not-overridden")


def test_a_handler_tool_that_the_document_also_defines_is_reported(project, regenerate) -> None:
    (project / HANDLERS).write_text(
        "from mcpgen.runtime import Context, Features\n\nfeatures = Features()\n\n\n"
        '@features.tool()\ndef find_pet(ctx: Context) -> str:\n    """Find."""\n    return ""\n'
    )
    assert check(project).outcome == "done"
    change(project, ("operationId: listOrders", "operationId: findPet"), ("/orders", "/found"))
    report = regenerate()
    twice = told(report)[-1]
    assert (report.outcome, twice.code, str(twice.at)) == (
        "findings",
        "tool-defined-twice",
        f"{HANDLERS}:6:2",
    )
    assert twice.message == "the tool `find_pet` is defined twice: here, and by `GET /found`"
    assert told(check(project)) == [twice]


def test_a_changed_generated_body_is_reported_for_an_ejected_override(
    project, take_over, accept, regenerate
) -> None:
    take_over(replaces=True)
    assert "return await ctx.api.request(" in (project / HANDLERS).read_text()
    assert check(project).outcome == "done"
    change(
        project,
        (PET_ID, f"{PET_ID}, {{name: deep, in: query, schema: {{type: boolean}}}}"),
    )
    codes = {problem.code: problem for problem in told(regenerate())}
    assert 'query={"deep": deep}' in codes["ejected-body-changed"].why
    assert check(project).outcome == "findings"
    accept()
    take_argument(project, "deep: object = None")
    assert check(project).outcome == "done"


def test_an_edit_of_a_generated_handler_moves_to_its_override(
    project, take_over, regenerate
) -> None:
    generated = project / GENERATED
    pristine = generated.read_text()
    edited = pristine.replace("\n    return await", "\n    log(pet_id)\n    return await").replace(
        "from mcpgen.runtime import", "from math import log\n\nfrom mcpgen.runtime import"
    )
    generated.write_text(edited)
    refused = regenerate()
    assert refused.outcome == "conflict"
    assert "`mcpgen override get_pet` moves the edit to `handlers/`" in told(refused)[-1].help
    report = take_over()
    assert (report.outcome, [problem.code for problem in told(report)]) == ("done", ["edit-moved"])
    written = (project / HANDLERS).read_text()
    assert "from math import log\n" in written
    assert "    log(pet_id)\n    return await ctx.api.request(" in written
    assert generated.read_text() == pristine
    assert check(project).outcome == "done"
    assert regenerate().outcome == "done"


def test_edits_outside_the_handler_are_kept_and_reported(project, take_over) -> None:
    generated = project / GENERATED
    edited = generated.read_text().replace("\n    return await", "\n    helper()\n    return await")
    generated.write_text(edited + "\n\ndef helper() -> None: ...\n")
    (note,) = told(take_over())
    assert note.message.endswith("has other edits still")
    assert "def helper()" in generated.read_text()
    assert "    helper()" not in generated.read_text()
    assert check(project).outcome == "conflict"


@pytest.mark.parametrize(
    ("edit", "codes"),
    [
        (lambda text: text + "def (", ["hand-edit", "handler-missing"]),
        (lambda text: text.replace("get_pet", "pet"), ["handler-missing"]),
        (lambda text: text + "# \udcff", ["hand-edit", "handler-missing"]),
    ],
    ids=["no Python", "no handler", "no UTF-8"],
)
def test_a_damaged_generated_module_is_not_changed(project, take_over, edit, codes) -> None:
    edited = edit((project / GENERATED).read_text())
    (project / GENERATED).write_text(edited, errors="surrogateescape")
    before = tree(project)
    report = take_over()
    assert (report.outcome, sorted(problem.code for problem in told(report))) == ("findings", codes)
    assert tree(project) == before


def test_unrecorded_unknown_and_duplicate_overrides_are_reported(
    project, take_over, regenerate
) -> None:
    take_over()
    written = (project / HANDLERS).read_text()
    (project / HANDLERS).unlink()
    regenerate()
    assert not (project / ".mcpgen/overridden.json").exists()
    (project / HANDLERS).write_text(written)
    assert {problem.code for problem in told(check(project))} == {"stale"}
    regenerate()
    assert check(project).outcome == "done"
    (project / HANDLERS).write_text(written.replace("/pets/", "/pet/") + written)
    codes = [problem.code for problem in told(regenerate())]
    assert codes == ["override-of-unknown-operation"]
    (project / HANDLERS).write_text(written + written.partition("import Pet\n")[2])
    assert [problem.code for problem in told(regenerate())] == ["overridden-twice"]


def test_recorded_overrides_survive_a_temporarily_broken_module(
    project, take_over, regenerate
) -> None:
    take_over()
    written = (project / HANDLERS).read_text()
    remembered = (project / ".mcpgen/overridden.json").read_bytes()
    (project / HANDLERS).write_text(written + "def (")
    report = regenerate()
    assert (report.outcome, told(report)[0].code) == ("findings", "handler-unreadable")
    assert (project / ".mcpgen/overridden.json").read_bytes() == remembered
    assert check(project).outcome == "findings"
    (project / HANDLERS).write_text(written)
    assert check(project).outcome == "done"


@pytest.mark.parametrize("content", [None, b"{", b"<<<<<<< yours\n=======\n>>>>>>> theirs\n"])
def test_a_lost_record_of_overrides_is_reported_once(
    project, take_over, regenerate, content: bytes | None
) -> None:
    take_over()
    change(project, (PET_ID, PET_ID.replace("integer", "string")))
    remembered = project / ".mcpgen/overridden.json"
    if content is None:
        remembered.unlink()
    else:
        remembered.write_bytes(content)
    (lost,) = [each for each in told(regenerate(force=True)) if each.code == "overridden-lost"]
    assert "made anew" in lost.why
    assert told(regenerate()) == []


def test_a_clone_without_the_record_of_overrides_is_reported(project, take_over) -> None:
    take_over()
    (project / ".mcpgen/overridden.json").unlink()
    report = check(project)
    (lost,) = told(report)
    assert (report.outcome, lost.code) == ("findings", "overridden-lost")
    assert lost.help.startswith("take it back from version control")


@pytest.mark.parametrize("content", [None, "["])
def test_an_override_without_a_listing_is_rejected(project, take_over, content) -> None:
    listing = project / "src/pet_shop_mcp/_generated/listing.json"
    listing.unlink()
    if content:
        listing.write_text(content)
    report = take_over()
    (problem,) = told(report)
    assert (report.outcome, problem.code) == ("findings", "surface-lost")
    assert str(problem.at) == "src/pet_shop_mcp/_generated/listing.json"


def test_recorded_overrides_survive_a_merge_conflict(project, take_over, regenerate) -> None:
    take_over()
    change(project, (PET_ID, PET_ID.replace("integer", "string")))
    remembered = project / ".mcpgen/overridden.json"
    [entry] = remembered.read_text().splitlines()[1:-1]
    other = entry.replace("/pets/", "/cats/")
    sides = f"{{\n<<<<<<< HEAD\n{entry}\n=======\n{other},\n>>>>>>> theirs\n}}\n"
    remembered.write_text(sides)
    codes = [problem.code for problem in told(regenerate(force=True))]
    assert "overridden-operation-changed" in codes
    assert "overridden-lost" not in codes


def test_override_completes_an_interrupted_run_first(
    project, take_over, regenerate, monkeypatch
) -> None:
    change(project, ("Fetch one pet", "Give a pet back"))

    def cut(self: Path, target: Path) -> Path:
        if self.parent.name == "stage" and target.name != "journal.json":
            raise KeyboardInterrupt
        return replace(self, target)

    replace = Path.replace
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", cut)
        with pytest.raises(KeyboardInterrupt):
            regenerate()
    assert check(project).outcome == "interrupted"
    assert take_over().outcome == "done"
    assert told(check(project)) == []


def test_the_type_checker_finds_an_override_of_an_outdated_signature(
    project, take_over, regenerate
) -> None:
    take_over()
    (project / "tests/test_custom.py").unlink()
    assert types(project) == ""
    change(project, (PET_ID, PET_ID.replace("integer", "string")))
    regenerate()
    found = types(project)
    assert f"{HANDLERS}:9: error: " in found  # the signature
    assert 'expected "str"' in found  # what it does with it


HOOKS = """\
from mcpgen.runtime import Context, after, before

from pet_shop_mcp._generated.calls import GetPetsPetIdCall
from pet_shop_mcp._generated.models import Pet


@before("GET /pets/{petId}", call=GetPetsPetIdCall.__call__)
async def look(ctx: Context, *, pet_id: int, **others: object) -> None:
    print(pet_id + 1)


@after("GET /pets/{petId}", call=GetPetsPetIdCall.__call__)
async def name_it(ctx: Context, result: Pet) -> Pet:
    result["name"] = "Rex"
    return result
"""


WRONG = (
    ("pet_id: int", "pet_id: str", 7, 'expected "TypedBefore'),
    ("*, pet_id: int, **others: object", "*, id: int", 7, 'expected "TypedBefore'),
    ("pet_id + 1", 'pet_id + "1"', 9, "operand types"),
    ("result: Pet) -> Pet", "result: int) -> int", 12, 'expected "Callable[[Context, Pet]'),
    ('"name"', '"nmae"', 14, 'no key "nmae"'),
    ('"Rex"', "7", 14, 'expected "str"'),
    ("return result", "return None", 15, "Incompatible return value"),
)


def test_the_type_checker_reports_invalid_and_outdated_hooks(project, regenerate) -> None:
    (project / "tests/test_custom.py").unlink()
    (project / HANDLERS).write_text(HOOKS)
    regenerate()
    for number, (right, wrong, _, _) in enumerate(WRONG):
        (project / HANDLERS).with_name(f"wrong_{number}.py").write_text(HOOKS.replace(right, wrong))
    found = types(project).splitlines()
    assert not [line for line in found if line.startswith(HANDLERS)]
    for number, (_, _, at, said) in enumerate(WRONG):
        path = f"{PACKAGE}/handlers/wrong_{number}.py"
        assert [line for line in found if line.startswith(f"{path}:{at}: error: ") and said in line]
        (project / path).unlink()
    change(project, (PET_ID, PET_ID.replace("integer", "string")))
    regenerate()
    assert f"{HANDLERS}:7: error: " in types(project)


@pytest.mark.parametrize(
    ("hook", "changed", "heard"),
    [
        ("before", "input", True),
        ("before", "output", False),
        ("after", "input", False),
        ("after", "output", True),
    ],
)
def test_a_hook_is_reported_only_for_changes_that_affect_it(
    project, regenerate, accept, hook: str, changed: str, heard: bool
) -> None:
    (project / HANDLERS).write_text(
        f"from mcpgen.runtime import {hook}\n\n\n@{hook}({GET_PET!r})\n"
        "async def look(ctx, given):\n    return given\n"
    )
    assert [problem.message for problem in told(check(project))] == [
        f"the hook of `{GET_PET}` is new since the project was generated"
    ]
    regenerate()
    assert told(check(project)) == []
    number, text = "id: {type: integer}", "id: {type: string}"
    change(
        project,
        (PET_ID, PET_ID.replace("integer", "string")) if changed == "input" else (number, text),
    )
    regenerate()
    found = [problem.message for problem in told(check(project))]
    assert [message.partition(" since")[0] for message in found] == (
        [f"`{GET_PET}` changed"] if heard else []
    )
    assert accept().outcome == "done"
    assert told(check(project)) == []


def types(project: Path) -> str:
    """Run the strict type check of the project; return its output."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", f"{PACKAGE}/handlers"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return done.stdout + done.stderr


def test_check_imports_neither_the_handlers_nor_the_slow_libraries(project, take_over) -> None:
    take_over()
    code = (
        "import sys; from pathlib import Path; from mcpgen.pipeline.commands.check import check\n"
        "report = check(Path())\n"
        "assert report.outcome == 'done', list(report.problems)\n"
        "slow = {'copier', 'datamodel_code_generator', 'jinja2', 'mcpgen.runtime'}\n"
        "assert not {*slow, 'pet_shop_mcp'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=project, check=True, timeout=60)


def test_a_pulled_change_can_be_acknowledged_only_after_generate(
    project: Path, take_over, regenerate, accept
) -> None:
    take_over()
    change(project, ("{type: integer}}]", "{type: integer, minimum: 1}}]"))
    before = tree(project)
    early = accept()
    assert early.outcome == "findings"
    (problem,) = told(early)
    assert (
        problem.message == "the change of openapi.yaml is not generated yet, so it is not accepted"
    )
    assert f"mcpgen generate {project}" in problem.help
    assert tree(project) == before

    assert regenerate().outcome == "done"
    assert accept().written
    assert told(check(project)) == []


def test_an_operation_that_was_pulled_is_unknown_until_it_is_generated(
    project: Path, take_over, accept
) -> None:
    take_over()
    change(project, ("  /orders:", "  /carts:"))
    (problem,) = told(accept("GET /carts"))
    assert problem.code == "unknown-operation"
    assert "changed after it was generated" in problem.why
    assert problem.help == f"run `mcpgen generate {project}` first"
