"""Hand-written overrides of the `bookings` tools."""

from mcpgen.runtime import Context, ToolError, override

from travel_mcp._generated.calls import PostBookingsCall
from travel_mcp._generated.models import BookHeldSeatsBody, Booking, Hold


@override("POST /bookings")
async def book_held_seats(
    ctx: Context, call_next: PostBookingsCall, *, idempotency_key: str, body: BookHeldSeatsBody
) -> Booking:
    """Book held seats: `POST /bookings`, if they still cost what the user agreed to.

    Wayside compares `max_price` with the price of the connection, without fees for seats. The hold
    has what is charged in the end.
    """
    hold: Hold = await ctx.call_tool("get_hold", {"hold_id": body["hold_id"]})
    if hold["price"] > body["max_price"]:
        raise ToolError(
            f"the seats cost {hold['price']} {hold['currency']} (smallest unit), and `max_price` is"
            f" {body['max_price']}: ask the user, or give them back with `release_hold`"
        )
    return await call_next(ctx, idempotency_key=idempotency_key, body=body)
