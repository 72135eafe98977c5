"""Static evaluation of workflow conditions, for steps without a response."""

from __future__ import annotations

from mcpgen.absent import ABSENT
from mcpgen.ir.workflow import (
    Comparison,
    Condition,
    Criterion,
    Junction,
    Literal,
    Negation,
    ResponseValue,
    Truth,
)
from mcpgen.jsonschema.values import compare


def needs_answer(criterion: Criterion) -> bool:
    """Whether a condition is false without a response."""
    return _without_answer(criterion.condition) is False


def _without_answer(condition: Condition) -> bool | None:
    """Evaluate a condition without a response; None if that is undecidable."""
    match condition:
        case Truth(value=ResponseValue()):
            return False
        case Comparison(left=ResponseValue(), operator=operator, right=Literal(value=plain)):
            return compare(ABSENT, operator, plain)
        case Comparison(left=Literal(value=plain), operator=operator, right=ResponseValue()):
            return compare(plain, operator, ABSENT)
        case Negation(condition=inner):
            found = _without_answer(inner)
            return None if found is None else not found
        case Junction(word=word, conditions=parts):
            decisive = word == "or"  # one true of an "or" decides it, and one false of an "and"
            found_parts = [_without_answer(part) for part in parts]
            if decisive in found_parts:
                return decisive
            return None if None in found_parts else not decisive
        case _:
            return None
