from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from mcpgen.factory.packages import NoPackageError
from mcpgen.factory.test.mutation import equivalence
from mcpgen.factory.test.mutation.campaign import (
    OPERATORS,
    Bench,
    UnsoundSuiteError,
    choose_mutants,
    list_mutants,
    run_campaign,
)
from mcpgen.factory.test.mutation.mutants import GONE, JsonChange, Mutant, PackageFiles, TextChange
from tests.support.paths import EXAMPLES

PETSTORE = EXAMPLES / "petstore-mcp"
# No operation of the examples has the features that these operators remove.
NOT_IN_EXAMPLES = {"escaped-reserved", "lost-alias", "lost-encoding", "wire-name"}


@pytest.fixture(scope="module")
def mutants() -> list[Mutant]:
    return list_mutants(PackageFiles.read(PETSTORE))


def one(mutants: list[Mutant], operator: str, tool: str, what: str = "") -> Mutant:
    return next(
        mutant
        for mutant in mutants
        if (mutant.operator, mutant.tool) == (operator, tool) and what in mutant.what
    )


def tree(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_a_change_of_text_replaces_a_span_counted_in_characters() -> None:
    assert TextChange("f.py", 2, 4, "x").apply("éabcd".encode()) == "éaxd".encode()


@pytest.mark.parametrize(
    ("tokens", "value", "expected"),
    [
        (("a", "1"), 9, {"a": [1, 9], "b/c": {}}),
        (("a", "0"), GONE, {"a": [2], "b/c": {}}),
        (("b/c",), GONE, {"a": [1, 2]}),
    ],
)
def test_a_change_of_json_replaces_or_removes_one_value(
    tokens: tuple[str, ...], value: object, expected: object
) -> None:
    before = json.dumps({"a": [1, 2], "b/c": {}}).encode()

    assert json.loads(JsonChange("f.json", tokens, value).apply(before)) == expected


def test_the_mutants_of_a_package_are_unique_and_reproducible(
    mutants: list[Mutant],
) -> None:
    again = list_mutants(PackageFiles.read(PETSTORE))

    assert again == mutants
    assert len({mutant.id for mutant in mutants}) == len(mutants)


def test_every_mutant_changes_the_file_that_it_names(mutants: list[Mutant]) -> None:
    package = PackageFiles.read(PETSTORE)
    for mutant in mutants:
        for file, content in mutant.files(package.originals).items():
            assert content != package.originals[file], mutant.id
        assert mutant.place.partition("#")[0].partition(":")[0] in package.originals


def test_every_mutant_of_a_handler_is_valid_python(mutants: list[Mutant]) -> None:
    package = PackageFiles.read(PETSTORE)
    for mutant in mutants:
        for file, content in mutant.files(package.originals).items():
            if file.endswith(".py"):
                compile(content, file, "exec")


def test_every_operator_creates_a_mutant_in_the_examples() -> None:
    made = {
        mutant.operator
        for name in ("bookshop-mcp", "petstore-mcp")
        for mutant in list_mutants(PackageFiles.read(EXAMPLES / name))
    }

    assert made <= set(OPERATORS)
    unused = {name for name in set(OPERATORS) - made if not name.startswith("dropped-")}
    assert unused <= NOT_IN_EXAMPLES


def test_choose_mutants_covers_every_operator_before_it_repeats_one(
    mutants: list[Mutant],
) -> None:
    operators = {mutant.operator for mutant in mutants}

    picked = choose_mutants(mutants, len(operators))

    assert {mutant.operator for mutant in picked} == operators
    assert choose_mutants(list(reversed(mutants)), 30) == list(
        reversed(choose_mutants(mutants, 30))
    )
    assert choose_mutants(mutants, 0) == mutants


def test_a_mutant_is_killed_by_a_call_and_restored_afterwards(
    mutants: list[Mutant],
) -> None:
    bench = Bench(PETSTORE)

    assert bench.failure() == ""
    verdict = bench.judge(one(mutants, "dropped-parameter", "list_pets", "limit"))
    assert (verdict.outcome, verdict.is_call) == ("killed", True)
    assert verdict.killer.startswith("list_pets: ")
    assert bench.failure() == ""


@pytest.mark.parametrize(
    ("operator", "tool"),
    [
        ("wrong-verb", "get_pet"),
        ("unencoded-path", "get_order"),
        ("ignored-status", "create_pet"),
        ("lost-body", "create_pet"),
        ("flipped-style", "get_pet"),
        ("wrong-media-type", "create_pet"),
        ("no-credential", "get_pet"),
        ("wrong-credential", "get_pet"),
        ("credential-place", ""),
    ],
)
def test_mutants_of_the_request_are_killed(mutants: list[Mutant], operator: str, tool: str) -> None:
    assert Bench(PETSTORE).judge(one(mutants, operator, tool)).outcome == "killed"


def test_an_equivalent_mutant_is_not_run(mutants: list[Mutant]) -> None:
    verdict = Bench(PETSTORE).judge(one(mutants, "flipped-explode", "get_pet"))

    assert verdict.outcome == "equivalent"
    assert verdict.mutant.equivalent in equivalence.RULES


def test_a_campaign_leaves_the_project_unchanged() -> None:
    before = tree(PETSTORE)

    campaign = run_campaign(PETSTORE, most=4, jobs=1, progress=lambda _: None)

    assert tree(PETSTORE) == before
    assert len(campaign.verdicts) == 4
    assert campaign.score is not None


def test_a_campaign_with_a_failing_suite_is_an_error(petstore_copy: Path) -> None:
    handlers = petstore_copy / "src/petstore_mcp/_generated/tools/pets.py"
    handlers.write_text(handlers.read_text().replace('"DELETE"', '"GET"'))

    with pytest.raises(UnsoundSuiteError, match="delete_pet"):
        run_campaign(petstore_copy, most=1, jobs=1, progress=lambda _: None)


def test_a_campaign_without_generated_cases_is_an_error() -> None:
    with pytest.raises(NoPackageError, match="no generated test cases"):
        run_campaign(EXAMPLES / "everything-mcp", most=1, jobs=1, progress=lambda _: None)


# Equivalence


@pytest.mark.parametrize(
    ("schema", "tokens", "keyword", "rule"),
    [
        ({"type": "object"}, (), "type", "arguments"),
        ({"properties": {"a": {"minLength": 0}}}, ("properties", "a"), "minLength", "no-bound"),
        ({"properties": {"a": {"minimum": 0}}}, ("properties", "a"), "minimum", ""),
        ({"properties": {"a": {"format": "int32"}}}, ("properties", "a"), "format",
         "annotation-format"),
        ({"properties": {"a": {"format": "uuid"}}}, ("properties", "a"), "format", ""),
        ({"properties": {"a": {"enum": ["x"], "type": "string"}}}, ("properties", "a"), "type",
         "implied"),
        ({"properties": {"a": {"enum": ["x", 1], "type": "string"}}}, ("properties", "a"), "type",
         ""),
        ({"properties": {"a": {"type": "string", "maximum": 3}}}, ("properties", "a"), "maximum",
         "other-type"),
        ({"properties": {"a": {"type": "integer", "maximum": 3}}}, ("properties", "a"), "maximum",
         ""),
        ({"$defs": {"A": {"type": "string"}}}, ("$defs", "A"), "type", "unused"),
        ({"$defs": {"A": {"type": "string"}}, "items": {"$ref": "#/$defs/A"}}, ("$defs", "A"),
         "type", ""),
    ],
)  # fmt: skip
def test_removing_a_keyword_is_equivalent_only_under_a_rule(
    schema: dict[str, object], tokens: tuple[str, ...], keyword: str, rule: str
) -> None:
    assert equivalence.of_keyword(schema, tokens, keyword) == rule


@pytest.mark.parametrize(
    ("schema", "style", "rule"),
    [
        ({"type": "integer"}, "form", "scalar"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "form", "scalar"),
        ({"$ref": "#/$defs/Text"}, "form", "scalar"),
        ({"type": "array"}, "form", ""),
        ({}, "form", ""),
        ({"type": "array"}, "simple", "array-in-simple"),
        ({"type": "object"}, "simple", ""),
        ({"type": "object"}, "deepObject", "brackets"),
    ],
)
def test_flipping_explode_is_equivalent_only_under_a_rule(
    schema: dict[str, object], style: str, rule: str
) -> None:
    listed = {"properties": {"a": schema}, "$defs": {"Text": {"type": "string"}}}
    contract = {"listing": {"inputSchema": listed}}

    assert equivalence.of_explode(contract, {"argument": "a", "style": style}) == rule
