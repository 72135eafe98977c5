"""Tests of the deterministic stages of Glama's score, with the examples of its specification."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.factory.lint.glama import (
    WEIGHTS,
    find_tier,
    grade_server,
    grade_tool,
    rate_tool_count,
    read_signals,
)
from mcpgen.factory.lint.listing import Listing
from tests.unit.factory.lint.conftest import make_arguments, make_tool

TEXT = {"type": "string"}


def cost_of(schema: Any) -> tuple[int, int, int, int]:
    signals = read_signals({"name": "a", "inputSchema": schema})
    return (
        signals.required_fields,
        signals.schema_depth,
        signals.union_choices,
        signals.invocation_cost,
    )


def required(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": sorted(properties)}


def scalars(count: int) -> dict[str, Any]:
    return required(**{f"a{number}": TEXT for number in range(count)})


UNION = {"anyOf": [scalars(1), scalars(1), required()]}
PANEL = required(query=required(a=TEXT, b=TEXT, filter=UNION))


@pytest.mark.parametrize(
    ("schema", "cost"),
    [
        (None, (0, 0, 0, 0)),
        ({"type": "object"}, (0, 0, 0, 0)),
        (scalars(4), (4, 1, 0, 4)),
        (scalars(8), (8, 1, 0, 8)),
        (required(body=scalars(8)), (9, 2, 0, 11)),
        (PANEL, (5, 3, 2, 13)),
        (required(list={"type": "array", "items": scalars(1)}), (2, 2, 0, 4)),
        (required(maybe={"anyOf": [TEXT, {"type": "null"}]}), (1, 1, 0, 1)),
        (required(kind={"enum": ["a", "b"]}), (1, 1, 0, 1)),
        ({"type": "object", "properties": {"deep": PANEL}}, (0, 1, 0, 0)),
        ({**required(a={"$ref": "#/$defs/A"}), "$defs": {"A": scalars(2)}}, (3, 2, 0, 5)),
    ],
)
def test_the_cost_of_a_call_is_measured_over_what_is_required(schema: Any, cost: Any) -> None:
    assert cost_of(schema) == cost


def test_a_recursive_schema_has_a_finite_cost() -> None:
    node = required(next={"$ref": "#/$defs/Node"})
    assert cost_of({**required(a={"$ref": "#/$defs/Node"}), "$defs": {"Node": node}})[0] == 2


def test_a_schema_that_branches_everywhere_is_measured_quickly() -> None:
    levels = {
        f"L{level}": required(
            **{f"a{number}": {"$ref": f"#/$defs/L{level + 1}"} for number in range(9)}
        )
        for level in range(12)
    }
    schema = {**levels["L0"], "$defs": {**levels, "L12": scalars(1)}}
    assert cost_of(schema)[1] <= 10


@pytest.mark.parametrize(
    ("score", "tier"),
    [
        (3.5, "A"),
        (3.4, "B"),
        (3.0, "B"),
        (2.9, "C"),
        (2.0, "C"),
        (1.9, "D"),
        (1.0, "D"),
        (0.9, "F"),
    ],
)
def test_scores_map_to_letters(score: float, tier: str) -> None:
    assert find_tier(score) == tier


@pytest.mark.parametrize(
    ("count", "rating"),
    [(1, 2), (2, 3), (3, 5), (15, 5), (16, 3), (25, 3), (26, 2), (49, 2), (50, 1)],
)
def test_the_number_of_tools_is_rated(count: int, rating: int) -> None:
    assert rate_tool_count(count) == rating


@pytest.mark.parametrize(
    ("tool", "highest", "flags"),
    [
        (make_tool(description=None), 1.0, ("No Description",)),
        (make_tool(description="  "), 1.0, ("No Description",)),
        (make_tool(description=" GET_PET "), 4.3, ("Tautological Description",)),
        (make_tool(description="pets", title="Pets"), 4.3, ("Tautological Description",)),
        (make_tool(description="get pet"), 5.0, ()),
    ],
)
def test_hard_gates_cap_the_score(tool: Any, highest: float, flags: tuple[str, ...]) -> None:
    grade = grade_tool(tool)
    assert (grade.highest, grade.flags) == (highest, flags)


def test_weights_add_up_to_one() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1)


def test_signals_describe_the_arguments() -> None:
    schema = {**make_arguments(a={"description": "x"}, b={"description": " "}), "required": ["a"]}
    signals = read_signals(make_tool(inputSchema=schema, title="Get a pet now"))
    assert (signals.parameters, signals.required_parameters) == (2, 1)
    assert signals.description_coverage == 50
    assert signals.title_is_meaningful
    assert not signals.has_output_schema
    assert len(signals.input_hash) == 16
    assert signals.input_hash != read_signals(make_tool(title="Get a pet")).input_hash


def test_one_tool_without_description_lowers_the_server() -> None:
    tools = [make_tool(f"t{number}") for number in range(4)]
    good = grade_server(Listing(server="a", tools=tools))
    bad = grade_server(Listing(server="a", tools=[*tools[:3], make_tool("t3", description="")]))
    assert good is not None
    assert bad is not None
    assert (good.description_quality, good.coherence, good.overall, good.tier) == (5, 5, 5, "A")
    # 0.6 * (3 * 5 + 1) / 4 + 0.4 * 1, and 0.7 and 0.3 of the two scores
    assert (bad.description_quality, bad.coherence, bad.overall) == (2.8, 5, 3.5)


def test_a_server_without_tools_has_no_grade() -> None:
    assert grade_server(Listing(server="a", tools=[])) is None


@pytest.mark.parametrize(("cheap", "dear", "count"), [(4, 8, 1), (4, 7, 0), (1, 4, 0)])
def test_much_cheaper_siblings_are_candidates(cheap: int, dear: int, count: int) -> None:
    tools = [
        make_tool("cheap", inputSchema=scalars(cheap)),
        make_tool("dear", inputSchema=scalars(dear)),
    ]
    grade = grade_server(Listing(server="a", tools=tools))
    assert grade is not None
    found = [(each.tool, each.cheaper) for each in grade.candidates]
    assert found == [("dear", "cheap")] * count


def test_the_dearest_qualifying_sibling_is_the_candidate() -> None:
    tools = [make_tool(f"t{cost}", inputSchema=scalars(cost)) for cost in (0, 3, 10)]
    grade = grade_server(Listing(server="a", tools=tools))
    assert grade is not None
    assert [(each.tool, each.cheaper) for each in grade.candidates] == [("t10", "t3")]
