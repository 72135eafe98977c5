"""Hand-written overrides of the `discounts` tools."""

from mcpgen.runtime import Context, ToolError, override

from storefront_mcp._generated.calls import PostDiscountsCall
from storefront_mcp._generated.models import CreateDiscountBody, Discount

NEEDS = {"percent": "percent", "amount": "amount", "free_shipping": ""}


@override("POST /discounts")
async def create_discount(
    ctx: Context, call_next: PostDiscountsCall, *, body: CreateDiscountBody
) -> Discount:
    """Create a discount code: `POST /discounts`.

    Storefront accepts a code that takes nothing off, and customers then complain.
    """
    needed = NEEDS[body["kind"]]
    given = [name for name in ("percent", "amount") if name in body]
    if needed and needed not in given:
        raise ToolError(f"a code of kind {body['kind']} needs {needed}: nothing was created")
    if surplus := [name for name in given if name != needed]:
        raise ToolError(f"a code of kind {body['kind']} has no {surplus[0]}: nothing was created")
    return await call_next(ctx, body=body)
