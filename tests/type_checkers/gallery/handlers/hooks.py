"""Hooks before and after generated tools, loose and checked against one operation."""

from collections.abc import Mapping
from typing import Any

from gallery_mcp._generated.calls import (
    GetPicturesPictureIdCall,
    GetPicturesPictureIdNotesCall,
    GetStatisticsCall,
    PatchPicturesPictureIdCall,
    PostOwnersSearchCall,
    PostPicturesCall,
    WorkflowHangPictureCall,
)
from gallery_mcp._generated.models import ChangePictureBody, Filter, NewPicture, Picture
from gallery_mcp._generated.workflows import HangPictureResult

from mcpgen.runtime import (
    ABSENT,
    Absent,
    CallNext,
    Context,
    ToolError,
    after,
    before,
    override,
)


@before("DELETE /pictures/{pictureId}", "PATCH /pictures/{pictureId}")
async def refuse_the_first(ctx: Context, arguments: Mapping[str, Any]) -> None:
    """Keep one picture as it is."""
    if arguments["picture_id"] == 1:
        raise ToolError("The first picture stays.")


@before("POST /pictures", call=PostPicturesCall.__call__)
async def require_a_year(ctx: Context, *, body: NewPicture) -> None:
    """Check a body with its own type."""
    if body.get("year") is None:
        raise ToolError(f"{body['title']} needs a year.")


@before("GET /pictures/{pictureId}", call=GetPicturesPictureIdCall.__call__)
async def require_a_language(
    ctx: Context, *, accept_language: str | Absent = ABSENT, **others: object
) -> None:
    """Look at one argument and leave the others."""
    if isinstance(accept_language, str) and not accept_language.isascii():
        raise ToolError("That is not a language.")


@after("GET /pictures", "GET /pictures/{pictureId}")
async def count(ctx: Context, result: Any) -> Any:
    """Pass the results of two operations on."""
    ctx.report_progress(1, total=1)
    return result


@after("GET /pictures/{pictureId}", call=GetPicturesPictureIdCall.__call__)
async def name_unknown_owners(ctx: Context, result: Picture) -> Picture:
    """Change a result with its own type."""
    owner = result.get("owner")
    if owner and owner["kind"] == "museum":
        result["title"] = f"{result['title']} ({owner['city']})"
    return {**result, "state": "on display"}


@after("workflow:hang_picture", call=WorkflowHangPictureCall.__call__)
async def name_the_picture(ctx: Context, result: HangPictureResult) -> HangPictureResult:
    """Change the result of a workflow, whose keys are those that clients see."""
    return {**result, "title": f"{result.get('title')} ({result.get('id')})"}


@override("GET /statistics")
async def statistics(ctx: Context, call_next: GetStatisticsCall) -> object:
    """Answer twice as often as the API."""
    await call_next(ctx)
    return await call_next(ctx)


@override("GET /pictures/{pictureId}/notes")
async def notes(
    ctx: Context, call_next: GetPicturesPictureIdNotesCall, *, picture_id: int
) -> object:
    """Replace the generated handler: ask another address instead."""
    return await ctx.api.request(
        "GET",
        "/pictures/{pictureId}/notes",
        path_params={"pictureId": picture_id},
        returns=object,
    )


@override("PATCH /pictures/{pictureId}")
async def change_picture(
    ctx: Context, call_next: PatchPicturesPictureIdCall, *, picture_id: int, body: ChangePictureBody
) -> Picture:
    """Call another tool of this server, then the API."""
    known = await ctx.call_tool("get_picture", {"picture_id": picture_id})
    if known["title"] == body.get("title"):
        picture: Picture = known
        return picture
    return await call_next(ctx, picture_id=picture_id, body=body)


@override("POST /owners/search")
async def search_owners(ctx: Context, call_next: CallNext[..., object], *, body: Filter) -> object:
    """Use the type for every operation in place of the one of this operation."""
    call: PostOwnersSearchCall = call_next
    return await call(ctx, body={"not": body})
