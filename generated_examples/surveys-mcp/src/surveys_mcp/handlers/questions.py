"""Hand-written overrides of the `questions` tools."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from mcpgen.runtime import Context, ToolError, override

from surveys_mcp._generated.calls import PutSurveysSurveyIdQuestionsQuestionIdConditionCall
from surveys_mcp._generated.models import ListQuestionsResult, Question, SetConditionBody


@override("PUT /surveys/{survey_id}/questions/{question_id}/condition")
async def set_condition(
    ctx: Context,
    call_next: PutSurveysSurveyIdQuestionsQuestionIdConditionCall,
    *,
    survey_id: str,
    question_id: str,
    body: SetConditionBody,
) -> Question:
    """State when a question is shown.

    `PUT /surveys/{survey_id}/questions/{question_id}/condition`. Surveys stores a condition that
    can never hold, and nobody sees the question.
    """
    found = await ctx.call_tool("list_questions", {"survey_id": survey_id})
    order = [question["id"] for question in cast("ListQuestionsResult", found)["questions"]]
    if question_id not in order:
        raise ToolError(f"{survey_id} has no question {question_id}")
    earlier = order[: order.index(question_id)]
    for comparison in iterate_comparisons(body["shown_if"]):
        check(comparison, earlier)
    return await call_next(ctx, survey_id=survey_id, question_id=question_id, body=body)


def iterate_comparisons(condition: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the comparisons in a condition, in their order."""
    if "is" in condition:
        yield condition
    for part in (*condition.get("all", ()), *condition.get("any", ())):
        yield from iterate_comparisons(part)
    if "not" in condition:
        yield from iterate_comparisons(condition["not"])


def check(comparison: Mapping[str, Any], earlier: list[str]) -> None:
    """Check that a comparison can hold.

    Raises:
        ToolError: its question does not come earlier, or it lacks a value.
    """
    question = comparison["question"]
    if question not in earlier:
        raise ToolError(f"{question} does not come before the question; nothing was changed")
    if comparison["is"] != "answered" and "value" not in comparison:
        raise ToolError(f"the comparison with {question} needs a value; nothing was changed")
