"""Hand-written overrides of the `payments` tools."""

from decimal import Decimal

from mcpgen.runtime import Context, ToolError, after, override

from ledger_mcp._generated.calls import GetBeneficiariesCall, PostPaymentsCall
from ledger_mcp._generated.models import ListBeneficiariesResult, OrderPaymentBody, Payment
from ledger_mcp.handlers.masks import mask_iban

CEILING = "2000.00"  # as in mcpgen.yaml, which sends it to Kontor


@override("POST /payments")
async def order_payment(
    ctx: Context, call_next: PostPaymentsCall, *, body: OrderPaymentBody
) -> Payment:
    """Order a payment: `POST /payments`.

    A payment above the ceiling is refused before the user is asked: a question that can only be
    answered with no teaches people to answer with yes.
    """
    ceiling = ctx.api.setting("LEDGER_PAYMENT_CEILING", CEILING)
    if Decimal(body["amount"]) > Decimal(ceiling):
        raise ToolError(
            f"{body['amount']} {body['currency']} is above {ceiling}, the most that a payment may be"
            " here: the user has to order it on the website; do not split it"
        )
    return await call_next(ctx, body=body)


@after("GET /beneficiaries", call=GetBeneficiariesCall.__call__)
async def mask_beneficiaries(
    ctx: Context, result: ListBeneficiariesResult
) -> ListBeneficiariesResult:
    for beneficiary in result["beneficiaries"]:
        beneficiary["iban"] = mask_iban(beneficiary["iban"])
    return result
