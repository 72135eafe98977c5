"""A tool that the API does not have: it converts printed ISBNs to the 13 digits of other tools."""

from mcpgen.runtime import Context, Features, ToolError

features = Features()


@features.tool(
    title="Bring an ISBN to 13 digits",
    annotations={"readOnlyHint": True, "openWorldHint": False},
)
def to_isbn13(ctx: Context, *, isbn: str) -> str:
    """Give an ISBN as the 13 digits by which the shop knows its books.

    Args:
        isbn: As it is printed, of 10 or 13 digits, with or without hyphens.
    """
    digits = isbn.replace("-", "").replace(" ", "").upper()
    if not digits[:-1].isdecimal() or len(digits) not in {10, 13}:
        raise ToolError("an ISBN has 10 or 13 digits; the last of 10 may be an X")
    if len(digits) == 13:
        return digits
    first = f"978{digits[:9]}"
    total = sum(int(digit) * (3 if at % 2 else 1) for at, digit in enumerate(first))
    return f"{first}{-total % 10}"
