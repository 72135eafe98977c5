"""Hand-written overrides of refunds."""

from decimal import Decimal
from typing import cast

from mcpgen.runtime import Context, ToolError, override

from storefront_mcp._generated.calls import PostOrdersOrderIdRefundsCall
from storefront_mcp._generated.models import Money, Order, Refund, RefundOrderBody


@override("POST /orders/{order_id}/refunds")
async def refund_order(
    ctx: Context,
    call_next: PostOrdersOrderIdRefundsCall,
    *,
    order_id: str,
    body: RefundOrderBody,
) -> Refund:
    """Refund an order: `POST /orders/{order_id}/refunds`.

    Storefront refunds whatever it is told, also more than was paid.
    """
    order = cast("Order", await ctx.call_tool("get_order", {"order_id": order_id}))
    check(body["amount"], order)
    return await call_next(ctx, order_id=order_id, body=body)


def check(wanted: Money, order: Order) -> None:
    """Compare a refund with what is left of an order.

    Raises:
        ToolError: it has another currency, is nothing, or is more than is left.
    """
    total, refunded = order["total"], order.get("refunded")
    if wanted["currency"] != total["currency"]:
        raise ToolError(f"the order was paid in {total['currency']}: nothing was refunded")
    left = Decimal(total["amount"]) - Decimal(refunded["amount"] if refunded else 0)
    if not 0 < Decimal(wanted["amount"]) <= left:
        raise ToolError(
            f"{wanted['amount']} cannot be refunded: {left} {total['currency']} of"
            f" {total['amount']} are left; nothing was refunded"
        )
