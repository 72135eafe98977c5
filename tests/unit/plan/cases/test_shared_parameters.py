"""Results that the operations of an API share, and the notes of bounds that mattered for them."""

from __future__ import annotations

from msgspec.structs import replace

from mcpgen.ir.api import Parameter
from mcpgen.jsonschema.shared_bounds import SharedBounds
from mcpgen.plan.cases.shared_parameters import ParameterResults
from tests.support.plans import parameter


def test_a_result_is_made_once_for_each_parameter_and_detail() -> None:
    results: ParameterResults[int] = ParameterResults(SharedBounds())
    made: list[str] = []

    def make(it: Parameter, detail: str) -> int:
        return results.get(it, detail, lambda: made.append(f"{it.name} {detail}") or len(made))

    pet, same_text = parameter("pet", "query"), parameter("pet", "query")
    assert [make(it, detail) for it in (pet, same_text) for detail in "abab"] == [
        *(1, 2, 1, 2),
        *(3, 4, 3, 4),
    ]
    for number in range(100):  # one that is no longer used elsewhere keeps its identity
        assert make(replace(pet, name=f"{number}"), "a") == 5 + number


def test_a_bound_that_mattered_is_noted_wherever_the_result_is_used() -> None:
    bounds = SharedBounds()
    results: ParameterResults[str] = ParameterResults(bounds)
    easy, hard = parameter("easy", "query"), parameter("hard", "query")

    def make_hard() -> str:
        bounds.has_mattered = True
        return "hard"

    for _ in range(2):
        bounds.has_mattered = False
        assert results.get(easy, "", lambda: "easy") == "easy"
        assert not bounds.has_mattered
        assert results.get(hard, "", make_hard) == "hard"
        assert bounds.has_mattered
        assert results.get(easy, "", lambda: "easy") == "easy"
        assert bounds.has_mattered
