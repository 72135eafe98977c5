"""Handlers that do not fit their operations. A comment marks each line that pyright must reject."""

from collections.abc import Mapping
from typing import Any

from gallery_mcp._generated.calls import GetPicturesPictureIdCall, PostPicturesCall
from gallery_mcp._generated.models import NewPicture, Picture

from mcpgen.runtime import ABSENT, Absent, Context, Features, after, before, override

features = Features()


@override("GET /pictures/{pictureId}")  # rejected: the argument is an integer
async def other_argument(
    ctx: Context,
    call_next: GetPicturesPictureIdCall,
    *,
    picture_id: str,
    accept_language: str | Absent = ABSENT,
) -> Picture:
    return {"id": 1, "title": picture_id}


@override("GET /pictures/{pictureId}")  # rejected: the operation does not return a string
async def other_result(
    ctx: Context,
    call_next: GetPicturesPictureIdCall,
    *,
    picture_id: int,
    accept_language: str | Absent = ABSENT,
) -> str:
    return "picture"


@before("POST /pictures", call=PostPicturesCall.__call__)  # rejected: there is no such argument
async def unknown_argument(ctx: Context, *, picture: NewPicture) -> None: ...


@after("POST /pictures", call=PostPicturesCall.__call__)  # rejected: the result is a picture
async def other_type(ctx: Context, result: list[Picture]) -> list[Picture]:
    return result


@before("POST /pictures")  # rejected: it is not async
def blocking(ctx: Context, arguments: Mapping[str, Any]) -> None: ...


@features.tool()
async def wrong_key(ctx: Context, *, picture: Picture) -> str:
    await ctx.elicit("Go on?")  # rejected: the schema is missing
    return picture["name"]  # rejected: there is no such key
