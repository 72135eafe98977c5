"""Tests of the cache of test cases: no result depends on it, whatever changes between runs."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mcpgen.diagnostics import Diagnostic, Problems
from mcpgen.ir.api import DeclaredRequest, InputRef
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan
from mcpgen.jsonschema import samples, schemas
from mcpgen.openapi.lower.lower import lower
from mcpgen.openapi.resolve.resolve import resolve
from mcpgen.openapi.source.load import load
from mcpgen.pipeline import case_cache
from mcpgen.pipeline.case_cache import CaseCache, MadeCases, ToolCases
from mcpgen.pipeline.commands.generate import generate
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import GenerateOptions, Options
from mcpgen.plan.cases import CaseContext, CaseKeys, CaseMaking, prepare_tool
from mcpgen.plan.plan import plan_tools
from tests.support.paths import SPECS
from tests.support.plans import AT
from tests.support.policies import first_policy
from tests.support.projects import silent

OBJECT = {"type": "object", "required": ["inside"]}
CHOICES = [{"type": "string", "pattern": f"^{letter}+$"} for letter in "abcdefgh"]


def plan_document(source: Path) -> ServerPlan:
    problems = Problems()
    api = lower(resolve(load(str(source), problems), problems), problems)
    return plan_tools(api, first_policy("thing", models=False), problems)


def plan_things(folder: Path, paths: dict[str, Any], named: dict[str, Any]) -> ServerPlan:
    """Plan one tool per path: a `post` with a body of this schema."""
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Things", "version": "1"},
        "servers": [{"url": "https://things.example"}],
        "paths": {
            path: {
                "post": {
                    "operationId": path.strip("/"),
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": schema}},
                    },
                    "responses": {"200": {"description": "Done."}},
                }
            }
            for path, schema in paths.items()
        },
        "components": {"schemas": named},
    }
    source = folder / "things.json"
    source.write_bytes(msgspec.json.encode(document))
    return plan_document(source)


def refer(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def describe(made: MadeCases) -> tuple[list[bytes], list[Diagnostic]]:
    return made.blocks, [*made.problems]


class Runs:
    """Runs with a shared cache, each compared with a run without cache."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cache = CaseCache(folder / "cache", folder / "project")
        self._none = CaseCache(folder / "none", folder / "project")
        self.made: list[str] = []
        make = CaseMaking.entry

        def note(making: CaseMaking, tool: ToolPlan) -> Any:
            self.made.append(tool.name)
            return make(making, tool)

        monkeypatch.setattr(CaseMaking, "entry", note)

    def run(self, plan: ServerPlan) -> list[str]:
        """Make the cases; return the tools whose cases were not in the cache."""
        expected = describe(ToolCases(plan, self._none).make(plan.tools))
        self.made.clear()
        found = ToolCases(plan, self.cache).make(plan.tools)
        is_same = describe(found) == expected
        assert is_same
        self.cache.write([found])
        return [*self.made]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(tmp_path, monkeypatch)


def with_schemas(plan: ServerPlan, **changed: Any) -> ServerPlan:
    return replace(plan, api=replace(plan.api, schemas={**plan.api.schemas, **changed}))


def with_tool(plan: ServerPlan, change: Callable[[ToolPlan], ToolPlan]) -> ServerPlan:
    """Return a plan with its first tool changed."""
    first = plan.tools[0]
    groups = (
        replace(group, tools=tuple(change(it) if it is first else it for it in group.tools))
        for group in plan.groups
    )
    return replace(plan, groups=tuple(groups))


@pytest.mark.parametrize("name", ["petstore", "bookshop"])
def test_the_cases_of_our_documents_come_from_the_cache(runs: Runs, name: str) -> None:
    plan = plan_document(SPECS / f"{name}.yaml")
    assert set(runs.run(plan)) == {tool.name for tool in plan.tools}
    again = plan_document(SPECS / f"{name}.yaml")
    assert len(runs.run(again)) <= len(plan.tools) // 10


def test_a_change_of_any_schema_reaches_all_cases_made_from_it(runs: Runs) -> None:
    plan = plan_document(SPECS / "petstore.yaml")
    runs.run(plan)
    remade = [
        runs.run(with_schemas(plan, **{schema: {"enum": [f"changed {schema}"]}}))
        for schema in plan.api.schemas
    ]
    assert any(0 < len(tools) < len(plan.tools) for tools in remade)


def test_a_schema_is_followed_through_others(runs: Runs, tmp_path: Path) -> None:
    named = {
        "Outer": OBJECT | {"properties": {"inside": refer("Inner")}},
        "Inner": OBJECT | {"properties": {"inside": refer('It\'s "quoted"')}},
        'It\'s "quoted"': {"type": "integer"},
        "Other": {"type": "integer"},
    }
    plan = plan_things(tmp_path, {"/a": refer("Outer"), "/b": refer("Other")}, named)
    assert len(runs.run(plan)) == 2
    assert runs.run(plan) == []
    [last] = [name for name in plan.api.schemas if "quoted" in name]
    assert runs.run(with_schemas(plan, **{last: {"type": "boolean"}})) == ["a"]


def test_a_text_that_looks_like_a_reference_hides_none(runs: Runs, tmp_path: Path) -> None:
    named = {
        "Outer": OBJECT
        | {"properties": {"inside": {"title": 'A "$ref":"without an end', **refer("Inner")}}},
        "Inner": {"type": "integer"},
    }
    plan = plan_things(tmp_path, {"/a": refer("Outer")}, named)
    runs.run(plan)
    assert runs.run(with_schemas(plan, Inner={"type": "boolean"})) == ["a"]


def test_a_schema_with_an_identifier_may_be_used_by_all(runs: Runs, tmp_path: Path) -> None:
    named = {"Other": {"$id": "https://things.example/other", "type": "integer"}}
    plan = with_schemas(plan_things(tmp_path, {"/a": {"type": "integer"}}, named), **named)
    runs.run(plan)
    other = {"$id": "https://things.example/other", "type": "boolean"}
    assert runs.run(with_schemas(plan, Other=other)) == ["a"]


CHANGES: dict[str, Callable[[ServerPlan], ServerPlan]] = {
    "a limit of the server": lambda plan: replace(plan, limits={"max_attempts": 7}),
    "a security scheme": lambda plan: replace(
        plan,
        api=replace(
            plan.api,
            security_schemes=tuple(
                replace(scheme, openid_connect_url="https://things.example/openid")
                for scheme in plan.api.security_schemes
            ),
        ),
    ),
    "a name of a variable": lambda plan: replace(
        plan,
        environment=tuple(replace(it, name=f"{it.name}_X") for it in plan.environment),
    ),
    "a part of a credential": lambda plan: replace(
        plan, environment=tuple(replace(it, part="client_id") for it in plan.environment)
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_what_all_cases_depend_on_is_part_of_their_keys(
    runs: Runs, change: Callable[[ServerPlan], ServerPlan]
) -> None:
    plan = plan_document(SPECS / "bookshop.yaml")
    runs.run(plan)
    changed = change(plan)
    before = describe(ToolCases(plan, runs.cache).make(plan.tools))
    is_same = describe(ToolCases(changed, runs.cache).make(changed.tools)) == before
    assert not is_same
    assert len(runs.run(changed)) == len(plan.tools)


def test_every_field_of_a_tool_is_part_of_its_key() -> None:
    plan = plan_document(SPECS / "bookshop.yaml")
    keys = CaseKeys(CaseContext.of(plan), plan.api.schemas)
    tool = prepare_tool(next(it for it in plan.tools if it.operation.parameters))
    known = {keys.of(tool)}
    for holder in (tool, tool.operation, tool.operation.parameters[0], tool.operation.responses[0]):
        for name in holder.__struct_fields__:
            if name == "operation":
                continue  # all fields of which are changed below
            changed: Any = replace(holder, **{name: "changed" if name != "at" else AT})
            if name == "at":
                assert changed.at.pointer != holder.at.pointer
            if isinstance(holder, ToolPlan):
                key = keys.of(changed)
            elif holder is tool.operation:
                key = keys.of(replace(tool, operation=changed))
            else:
                field = "parameters" if holder in tool.operation.parameters else "responses"
                operation = replace(tool.operation, **{field: (changed,)})
                key = keys.of(replace(tool, operation=operation))
            assert key not in known, f"{type(holder).__name__}.{name}"
            known.add(key)


def test_a_reference_to_an_input_and_a_constant_have_different_keys() -> None:
    plan = plan_document(SPECS / "petstore.yaml")
    keys = CaseKeys(CaseContext.of(plan), plan.api.schemas)
    found = set()
    for body in (InputRef("name"), {"input": "name"}):
        declared = DeclaredRequest("find", {("query", "q"): "name"}, {}, {"body": body})
        operation = replace(plan.tools[0].operation, declared=declared)
        found.add(keys.of(prepare_tool(replace(plan.tools[0], operation=operation))))
    assert len(found) == 2


def test_a_tool_that_changed_is_made_again(runs: Runs) -> None:
    plan = plan_document(SPECS / "petstore.yaml")
    runs.run(plan)
    name = plan.tools[0].name
    assert runs.run(with_tool(plan, lambda tool: replace(tool, title="New title"))) == [name]


def test_names_of_earlier_releases_decide_no_case(runs: Runs) -> None:
    """`new` has no published names and the next run has all of them; both must share the cache."""
    plan = plan_document(SPECS / "petstore.yaml")
    runs.run(plan)

    def publish(tool: ToolPlan) -> ToolPlan:
        published = frozenset(argument.name for argument in tool.arguments)
        return replace(tool, operation=replace(tool.operation, published_arguments=published))

    assert runs.run(with_tool(plan, publish)) == []


@pytest.mark.parametrize("part", ["code_digest", "version"])
def test_other_code_makes_its_own_cases(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    plan = plan_document(SPECS / "petstore.yaml")
    runs.run(plan)
    case_cache._describe_code.cache_clear()
    if part == "code_digest":
        monkeypatch.setattr(case_cache, "code_digest", lambda: "other code")
    else:
        monkeypatch.setattr(case_cache.importlib.metadata, "version", lambda _: "99")
    try:
        assert len(runs.run(plan)) == len(plan.tools)
    finally:
        case_cache._describe_code.cache_clear()


@pytest.mark.parametrize("damage", ["changed", "cut", "empty", "other", "folder"])
def test_a_damaged_file_is_ignored(runs: Runs, tmp_path: Path, damage: str) -> None:
    plan = plan_document(SPECS / "petstore.yaml")
    runs.run(plan)
    assert runs.run(plan) == []
    [path] = (tmp_path / "cache" / "cases").iterdir()
    content = path.read_bytes()
    other = msgspec.msgpack.encode(["no", "entries"])
    path.write_bytes(
        {
            "changed": content.replace(b'"arguments"', b'"argumentz"', 1),
            "cut": content[:-10],
            "empty": b"",
            "other": hashlib.sha256(other).digest() + other,
            "folder": b"",
        }[damage]
    )
    if damage == "folder":
        path.unlink()
        path.mkdir()
    assert len(runs.run(plan)) == len(plan.tools)
    assert runs.run(plan) == ([] if damage != "folder" else [tool.name for tool in plan.tools])


def test_the_file_has_the_last_entries_only(runs: Runs, tmp_path: Path) -> None:
    both = plan_things(tmp_path, {"/a": {"type": "integer"}, "/b": {"type": "string"}}, {})
    one = plan_things(tmp_path, {"/b": {"type": "string"}}, {})
    runs.run(both)
    assert len(runs.cache.read()) == 2
    assert runs.run(one) == []
    assert len(runs.cache.read()) == 1
    assert len([*(tmp_path / "cache" / "cases").iterdir()]) == 1


# Bounds that all samples share


def test_a_tool_that_shares_bounds_on_time_is_made_again(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shared steps suffice for one of two hard schemas: without the first, for the second."""
    first = {"type": "object", "required": ["a"], "properties": {"a": {"anyOf": CHOICES}}}
    second = {"type": "object", "required": ["b"], "properties": {"b": {"anyOf": CHOICES}}}
    easy = {"type": "integer"}
    paths = {"/a": first, "/b": second, "/c": easy}
    both = plan_things(tmp_path, paths, {})
    one = plan_things(tmp_path, {path: paths[path] for path in ("/b", "/c")}, {})
    monkeypatch.setattr(samples, "_CHEAP_STEPS", 1)
    monkeypatch.setattr(samples, "_MAX_EXPENSIVE_STEPS", 6)
    assert runs.run(both) == ["a", "b", "c"]
    assert b"too many steps" in b"".join(ToolCases(both, runs.cache).make(both.tools).blocks)
    assert runs.run(both) == ["a", "b"]
    assert runs.run(one) == ["b"]


def test_a_sample_that_took_long_is_not_reproducible_where_it_is_used_again() -> None:
    named = schemas.Schemas({})
    sampling = samples.Samples(named, "request")
    hard = {"type": "array", "minItems": 900, "items": {"type": "array", "minItems": 2}}
    for _ in range(2):
        named.bounds.has_mattered = False
        sampling.sample(hard, "example")
        assert named.bounds.has_mattered
    named.bounds.has_mattered = False
    sampling.sample({"type": "integer"})
    assert not named.bounds.has_mattered


@pytest.mark.parametrize(
    ("schema", "value", "is_shared"),
    [
        ({"type": "string"}, "text", False),
        ({"$ref": "#/$defs/Flat"}, {"a": 1}, False),
        ({"$ref": "#/$defs/Tree"}, {"inside": {}}, True),
        ({"type": "array", "uniqueItems": True}, [*range(20_000)], True),
    ],
)
def test_evaluations_with_shared_bounds_are_noted(
    schema: dict[str, Any], value: Any, is_shared: bool
) -> None:
    named = schemas.Schemas(
        {
            "Flat": {"type": "object", "properties": {"a": {"type": "integer"}}},
            "Tree": {"type": "object", "properties": {"inside": {"$ref": "#/$defs/Tree"}}},
        }
    )
    for _ in range(2):  # whether compiled now or before
        named.bounds.has_mattered = False
        named.checker(schema)(value)
        assert named.bounds.has_mattered is is_shared


_PRINT_KEYS = """
import sys
from pathlib import Path
from mcpgen.plan.cases import CaseContext, CaseKeys, prepare_tool
from tests.unit.pipeline.test_case_cache import plan_document
plan = plan_document(Path(sys.argv[1]))
keys = CaseKeys(CaseContext.of(plan), plan.api.schemas)
print(*[keys.of(prepare_tool(tool)) for tool in plan.tools])
"""


def test_keys_are_the_same_in_each_process() -> None:
    """Otherwise, sets would be spelled in the order of their hashes, which differs by process."""
    found = {
        subprocess.run(
            [sys.executable, "-c", _PRINT_KEYS, str(SPECS / "bookshop.yaml")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=SPECS.parent,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


# Whole projects

DOCUMENT = """\
openapi: 3.1.0
info: {title: Pet Shop API, version: "1"}
servers: [{url: "https://pets.example/v1"}]
security: [{key: []}]
paths:
  /pets:
    post:
      operationId: addPet
      tags: [pets]
      summary: Add a pet
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}
      responses: {"201": {description: Added.}}
    get:
      operationId: listPets
      tags: [pets]
      parameters: [{name: shop, in: query, required: true, schema: {type: string}}]
      responses:
        "200":
          description: All of them.
          content: {application/json: {schema: {$ref: "#/components/schemas/Never"}}}
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
  schemas:
    Pet:
      type: object
      required: [tag]
      properties: {tag: {$ref: "#/components/schemas/Tag"}}
    Tag: {type: string, maxLength: 4}
    Never: {type: string, pattern: '^(?=x)y$'}
"""
SHOP = 'operations: {"GET /pets": {parameters: {shop: {fixed: main}}}}'
EDITS = (
    {"openapi.yaml": [("{type: string, maxLength: 4}", "{type: integer, maximum: 9}")]},
    {"openapi.yaml": [("Add a pet", "Add one pet"), ("title: Pet Shop API", "title: Pets")]},
    {"openapi.yaml": [("(?=x)y", "(?=x)z")], "mcpgen.yaml": [("", f"{SHOP}\n")]},
    {
        "openapi.yaml": [("in: header, name: X-Key", "in: query, name: key")],
        "mcpgen.yaml": [("fixed: main", "from_environment: PET_SHOP_SHOP")],
    },
)


def edit(path: Path, changes: list[tuple[str, str]]) -> None:
    """Replace texts of a file; a text with nothing to replace is appended."""
    text = path.read_text()
    for old, new_text in changes:
        assert old in text
        text = text.replace(old, new_text) if old else f"{text}\n{new_text}"
    path.write_text(text)


def read_tree(project: Path) -> dict[str, bytes]:
    return {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in sorted(project.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
def test_projects_are_the_same_with_a_cache_and_without(tmp_path: Path) -> None:
    source, project, cache = tmp_path / "a.yaml", tmp_path / "project", tmp_path / "cache"
    source.write_text(DOCUMENT)
    options = Options(external_validator=False, models=False, cache=cache)
    assert new(str(source), project, options, silent).outcome == "done"
    for number, changes in enumerate(EDITS):
        for path, of_file in changes.items():
            edit(project / path, of_file)
        before = read_tree(project)
        results = []
        for folder in (cache, tmp_path / f"empty-{number}"):
            for name in read_tree(project).keys() - before.keys():
                (project / name).unlink()
            for name, content in before.items():
                (project / name).write_bytes(content)
            asked = GenerateOptions(external_validator=False, cache=folder)
            report = generate(project, asked, silent)
            assert report.outcome == "done", [*report.problems]
            results.append((read_tree(project), [*report.problems], report.written))
        is_same = results[0] == results[1]
        assert is_same, changes
        assert "untested" in [problem.code for problem in results[0][1]]
        assert [each for each in results[0][2] if each.startswith("tests/generated/")]
