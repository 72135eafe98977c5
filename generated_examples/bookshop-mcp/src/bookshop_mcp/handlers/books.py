"""Hand-written overrides of the `books` tools."""

from mcpgen.runtime import ABSENT, Absent, Context, override

from bookshop_mcp._generated.calls import GetBooksIsbnCall
from bookshop_mcp._generated.models import Book

LONGEST_DESCRIPTION = 600


@override("GET /books/{isbn}")
async def get_book(
    ctx: Context, call_next: GetBooksIsbnCall, *, isbn: str, accept_language: str | Absent = ABSENT
) -> Book:
    """Fetch one book: `GET /books/{isbn}`, with as much of its description as a model needs."""
    book = await call_next(ctx, isbn=isbn, accept_language=accept_language)
    description = book.get("description", "")
    if len(description) > LONGEST_DESCRIPTION:
        book["description"] = description[: LONGEST_DESCRIPTION - 1] + "…"
    return book
