"""Hand-written overrides of the `search` tools."""

from mcpgen.runtime import ABSENT, Absent, Context, ToolError, override

from reonomy_mcp._generated.calls import PostSearchSummariesCall
from reonomy_mcp._generated.models import Box, Search, SummaryPage

LARGEST_BOX_DEGREES = 1.0  # from side to side: about 90 km in the north, 100 km in the south


@override("POST /search/summaries")
async def search_properties(
    ctx: Context,
    call_next: PostSearchSummariesCall,
    *,
    body: Search,
    limit: int,
    search_token: str | Absent = ABSENT,
) -> SummaryPage:
    """Search properties: `POST /search/summaries`.

    Without a place, or with a box as large as a state, it would page through a plan's whole quota.
    """
    settings = body["settings"]
    if not settings.get("locations") and "bounding_box" not in settings:
        raise ToolError("say where to search: give `locations` or `bounding_box`")
    if "bounding_box" in settings and is_too_large(settings["bounding_box"]):
        raise ToolError(
            f"the box is wider or higher than {LARGEST_BOX_DEGREES} degree: search smaller ones, "
            "or `locations`"
        )
    return await call_next(ctx, body=body, limit=limit, search_token=search_token)


def is_too_large(box: Box) -> bool:
    """Whether a side of the box is longer than a search may be wide."""
    top_left, bottom_right = box["top_left"], box["bottom_right"]
    sides = (bottom_right["lon"] - top_left["lon"], top_left["lat"] - bottom_right["lat"])
    return any(abs(side) > LARGEST_BOX_DEGREES for side in sides)
