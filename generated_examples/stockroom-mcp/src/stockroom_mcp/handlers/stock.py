"""Hand-written overrides of the `stock` tools."""

from mcpgen.runtime import Context, ToolError, override

from stockroom_mcp._generated.calls import PostMovementsCall
from stockroom_mcp._generated.models import NewMovement


@override("POST /movements")
async def record_movement(
    ctx: Context, call_next: PostMovementsCall, *, body: NewMovement
) -> object:
    """Record that stock was moved: `POST /movements`.

    The warehouse accepts a movement from a place to itself, and then counts the stock twice.
    """
    if body["from"] == body["to"]:
        raise ToolError(f"from and to are the same place, {body['to']}: nothing was moved")
    return await call_next(ctx, body=body)
