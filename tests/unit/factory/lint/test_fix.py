"""Tests of fixes of findings by entries in mcpgen.yaml."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from mcpgen.diagnostics import Problems
from mcpgen.factory.lint.fix import Fix, find_fixes, shorten_name
from mcpgen.factory.lint.load import load_package
from mcpgen.factory.lint.run import lint
from mcpgen.factory.lint.settings import parse_targets
from mcpgen.factory.packages import find_package
from mcpgen.pipeline.commands.generate import generate
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import GenerateOptions, Options, Outcome
from tests.support.paths import EXAMPLES

DOCUMENT = """
openapi: 3.1.0
info: {title: Shop, version: '1'}
servers: [{url: 'https://shop.example'}]
paths:
  /pets:
    get:
      operationId: listAllOfThePetsThatAreCurrentlyForSaleInTheShop
      parameters:
        - name: price
          in: query
          schema: {type: array, items: {anyOf: [{type: integer}, {type: boolean}]}}
      responses: {'200': {description: ok}}
    post:
      operationId: addPet
      parameters: [PARAMETERS]
      responses: {'200': {description: ok}}
"""


def make_project(tmp_path: Path, parameters: str = "") -> Path:
    document = tmp_path / "openapi.yaml"
    document.write_text(DOCUMENT.replace("PARAMETERS", parameters))
    target = tmp_path / "shop-mcp"
    report = new(str(document), target, Options(cache=tmp_path / "cache"), lambda _: None)
    assert report.outcome is Outcome.DONE
    return target


def fixes_of(target: Path, *targets: str, budget: int | None = None) -> tuple[Fix, ...]:
    report = lint(load_package(find_package(target)), parse_targets(targets, budget))
    return find_fixes(target, report, Problems(), lambda _: None)


def apply(target: Path, *fixes: Fix) -> dict[str, object]:
    """Write the fixes, generate, and return the entries of the operations."""
    from mcpgen.emit.manifest_entries import set_values

    manifest = target / "mcpgen.yaml"
    manifest.write_bytes(set_values(manifest.read_bytes(), {it.keys: it.value for it in fixes}))
    assert generate(target, GenerateOptions(), lambda _: None).outcome is Outcome.DONE
    found = yaml.safe_load(manifest.read_bytes())
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    hidden = ", ".join(
        f"{{name: p{number}, in: query, schema: {{type: string}},"
        f" deprecated: {str(number > 18).lower()}}}"
        for number in range(23)
    )
    return make_project(tmp_path_factory.mktemp("made"), hidden)


@pytest.fixture
def project(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / made.name))


def test_a_tool_is_renamed_and_keeps_its_name_as_an_alias(project: Path) -> None:
    manifest = project / "mcpgen.yaml"
    long = "list_all_pets_currently_for_sale_in_the_whole_online_shop_for_you"[:60]
    key = "listAllOfThePetsThatAreCurrentlyForSaleInTheShop"
    manifest.write_text(
        manifest.read_text() + f"\noperations:\n  {key}:  # mine\n    name: {long}\n"
    )
    assert generate(project, GenerateOptions(), lambda _: None).outcome is Outcome.DONE
    found = fixes_of(project, "cursor")
    named = {fix.keys[-1]: fix.value for fix in found}
    assert named["aliases"] == [long]
    assert len(f"shop.{named['name']}") <= 60
    entries = apply(project, *found)["operations"]
    assert isinstance(entries, dict)
    assert entries[key]["aliases"] == [long]
    assert "# mine" in manifest.read_text()
    assert not [fix for fix in fixes_of(project, "cursor") if fix.keys[-1] == "name"]


def test_optional_arguments_that_break_a_client_are_hidden(project: Path) -> None:
    found = [fix for fix in fixes_of(project, "gemini") if fix.keys[-1] == "hidden"]
    assert "price" in [fix.keys[-2] for fix in found]
    apply(project, *found)
    assert not [fix for fix in fixes_of(project, "gemini") if fix.keys[-2:] == ("price", "hidden")]


def test_what_a_client_accepts_with_a_loss_is_not_hidden(project: Path) -> None:
    assert not [fix for fix in fixes_of(project, "cursor") if fix.keys[-2:] == ("price", "hidden")]


def test_deprecated_arguments_are_hidden_down_to_the_limit(project: Path) -> None:
    found = [fix.keys[-2] for fix in fixes_of(project) if fix.keys[-1] == "hidden"]
    assert found == ["p19", "p20", "p21"]


@pytest.fixture
def petstore(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES / "petstore-mcp", tmp_path / "petstore-mcp"))


def test_a_list_over_the_budget_is_replaced_by_search_tools(petstore: Path) -> None:
    project = petstore
    cost = load_package(find_package(project)).token_cost
    assert cost > 1000
    (fix,) = [it for it in fixes_of(project, budget=cost - 1) if it.keys == ("budget",)]
    assert fix.value == (cost - 1) // 1000 * 1000
    apply(project, fix)
    assert load_package(find_package(project)).has_search
    assert not [it for it in fixes_of(project, budget=cost - 1) if it.keys == ("budget",)]


def test_a_clean_project_is_not_even_planned(petstore: Path) -> None:
    (petstore / "openapi.yaml").unlink()
    assert fixes_of(petstore, "junie", budget=10**6) == ()


@pytest.mark.parametrize(
    ("name", "limit", "taken", "shorter"),
    [
        ("list_all_of_the_pets", 20, set(), "list_pets"),
        ("list_big_red_pets", 13, set(), "list_red_pets"),
        ("list_big_red_pets", 13, {"list_red_pets"}, "list_pets"),
        ("list_big_red_pets", 8, set(), ""),
        ("pets", 3, set(), ""),
        ("list_big_pets", 12, {"list_pets"}, ""),
    ],
)
def test_names_lose_words_but_not_the_first_and_the_last(
    name: str, limit: int, taken: set[str], shorter: str
) -> None:
    assert shorten_name(name, limit, taken) == shorter
