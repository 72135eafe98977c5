"""Hand-written overrides of personal data: answers say what, and not who."""

import re
from typing import TypeVar

from mcpgen.runtime import Context, after

from surveys_mcp._generated.calls import (
    GetSurveysSurveyIdResponsesCall,
    GetSurveysSurveyIdResponsesResponseIdCall,
)
from surveys_mcp._generated.models import ListResponsesResult, Response

T = TypeVar("T")
EMAIL = re.compile(r"\b([A-Za-z0-9])[A-Za-z0-9._%+-]*@([A-Za-z0-9.-]+\.[A-Za-z]{2,})\b")
PHONE = re.compile(r"(?<![\w-])(?:\+|00|0)[1-9](?:[ ()/-]?[0-9]){6,13}(?![\w-])")


@after("GET /surveys/{survey_id}/responses", call=GetSurveysSurveyIdResponsesCall.__call__)
async def mask_responses(ctx: Context, result: ListResponsesResult) -> ListResponsesResult:
    """Mask addresses and phone numbers in a page of responses."""
    return mask(result)


@after(
    "GET /surveys/{survey_id}/responses/{response_id}",
    call=GetSurveysSurveyIdResponsesResponseIdCall.__call__,
)
async def mask_response(ctx: Context, result: Response) -> Response:
    """Mask addresses and phone numbers in a response."""
    return mask(result)


@after("GET /exports/{export_id}/file")
async def mask_file(ctx: Context, result: object) -> object:
    """Mask addresses and phone numbers in the file of an export."""
    return mask(result)


def mask(value: T) -> T:
    """Return a value with the mail addresses and phone numbers in all of its texts masked.

    A mail address keeps its first letter and its host, so that readers can tell people apart.
    """
    if isinstance(value, dict):
        return type(value)({name: mask(member) for name, member in value.items()})
    if isinstance(value, list):
        return type(value)(mask(item) for item in value)
    if isinstance(value, str):
        return type(value)(PHONE.sub("***", EMAIL.sub(r"\1***@\2", value)))
    return value
