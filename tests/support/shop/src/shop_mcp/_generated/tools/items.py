"""Handlers of the `items` tools; what clients see of them is in items.json."""

from typing import Any, Literal

from mcpgen.runtime import ABSENT, Absent, Context, ToolGroup

tools = ToolGroup.load(__name__, "items.json")


@tools.handler("add_item")
async def add_item(
    ctx: Context,
    *,
    body: dict[str, Any],
    idempotency_key: str | Absent = ABSENT,
) -> dict[str, Any]:
    """Add an item: `POST /items`."""
    return await ctx.api.request(
        "POST",
        "/items",
        headers={"Idempotency-Key": idempotency_key},
        body=body,
        returns=dict[str, Any],
    )


@tools.handler("delete_item")
async def delete_item(ctx: Context, *, item_id: int) -> None:
    """Take an item away: `DELETE /items/{itemId}`."""
    await ctx.api.request(
        "DELETE",
        "/items/{itemId}",
        path_params={"itemId": item_id},
        returns=None,
    )


@tools.handler("get_item")
async def get_item(
    ctx: Context,
    *,
    item_id: int,
    fields: list[str] | Absent = ABSENT,
    x_trace: str | Absent = ABSENT,
    theme: Literal["dark", "light"] | Absent = ABSENT,
) -> dict[str, Any]:
    """Fetch one item: `GET /items/{itemId}`."""
    return await ctx.api.request(
        "GET",
        "/items/{itemId}",
        path_params={"itemId": item_id},
        query={"fields": fields},
        headers={"X-Trace": x_trace},
        cookies={"theme": theme},
        returns=dict[str, Any],
    )


@tools.handler("list_items")
async def list_items(
    ctx: Context,
    *,
    limit: int | Absent = ABSENT,
    tags: list[str] | Absent = ABSENT,
    filter: dict[str, Any] | Absent = ABSENT,
    is_sold: bool | Absent = ABSENT,
    page: int | Absent = ABSENT,
) -> list[dict[str, Any]]:
    """List items: `GET /items`."""
    return await ctx.api.request(
        "GET",
        "/items",
        query={
            "limit": limit,
            "tag[]": tags,
            "filter": filter,
            "isSold": is_sold,
            "page": page,
        },
        returns=list[dict[str, Any]],
    )


@tools.handler("measure")
async def measure(ctx: Context, *, corner: list[float], area: dict[str, Any]) -> object:
    """Measure a part of a map: `GET /maps/{corner}/{area}`."""
    return await ctx.api.request(
        "GET",
        "/maps/{corner}/{area}",
        path_params={"corner": corner, "area": area},
        returns=object,
    )


@tools.handler("replace_item")
async def replace_item(
    ctx: Context,
    *,
    item_id: int,
    body: dict[str, Any],
    content_type: str | Absent = ABSENT,
) -> dict[str, Any]:
    """Put another item in the place of one: `PUT /items/{itemId}`."""
    return await ctx.api.request(
        "PUT",
        "/items/{itemId}",
        path_params={"itemId": item_id},
        body=body,
        content_type=content_type,
        returns=dict[str, Any],
    )
