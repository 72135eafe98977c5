"""Hand-written overrides of the `orders` tools."""

from collections.abc import Sequence

from mcpgen.runtime import Context, override

from stockroom_mcp._generated.calls import PostOrdersCall
from stockroom_mcp._generated.models import Line, NewOrder


@override("POST /orders")
async def enter_order(ctx: Context, call_next: PostOrdersCall, *, body: NewOrder) -> object:
    """Enter an order: `POST /orders`.

    Customers name an article twice when they go through a list. The warehouse refuses such an order
    with a fault that only names the database.
    """
    return await call_next(ctx, body={**body, "lines": add_up(body["lines"])})


def add_up(lines: Sequence[Line]) -> list[Line]:
    """Return one line for each article, in the order of their first lines, with all notes."""
    added: dict[str, Line] = {}
    for line in lines:
        first = added.get(line["sku"])
        if first is None:
            added[line["sku"]] = line.copy()
            continue
        first["quantity"] += line["quantity"]
        notes = [note for note in (first.get("note"), line.get("note")) if note]
        if notes:
            first["note"] = "; ".join(notes)
    return list(added.values())
