"""Hand-written overrides of the `books` tools."""

from collections import defaultdict
from decimal import Decimal

from mcpgen.runtime import Context, ToolError, override

from ledger_mcp._generated.calls import PostBooksTransactionsCall
from ledger_mcp._generated.models import EnterTransactionBody, Entry, Transaction


@override("POST /books/transactions")
async def enter_transaction(
    ctx: Context, call_next: PostBooksTransactionsCall, *, body: EnterTransactionBody
) -> Transaction:
    """Enter a transaction into the books: `POST /books/transactions`.

    Kontor only says that sides differ. A model corrects an entry if it knows by how much, and adds
    a balancing one if it does not. Drafts are what a person can still look through.
    """
    for currency, difference in find_differences(body["entries"]).items():
        larger = "debits" if difference > 0 else "credits"
        raise ToolError(
            f"the {larger} are {abs(difference)} {currency} more than the other side: correct an"
            " entry, and do not add one that no receipt has; nothing was entered"
        )
    return await call_next(ctx, body={**body, "state": body.get("state", "draft")})


def find_differences(entries: list[Entry]) -> dict[str, Decimal]:
    """Return debits minus credits, of the currencies in which they differ."""
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    for entry in entries:
        amount = Decimal(entry["amount"])
        sums[entry["currency"]] += amount if entry["side"] == "debit" else -amount
    return {currency: difference for currency, difference in sums.items() if difference}
