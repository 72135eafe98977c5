"""A tool that the API does not have: it converts printed coordinates to degrees for other tools."""

import re

from mcpgen.runtime import Context, Features, ToolError

features = Features()


@features.tool(
    title="Convert printed coordinates to degrees",
    annotations={
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
)
def to_degrees(ctx: Context, *, ra: str, dec: str) -> dict[str, float]:
    """Convert right ascension and declination as they are printed to decimal degrees.

    Use it before a search if the user gives hours and minutes. Nothing is sent to the archive.

    Args:
        ra: Hours, minutes and seconds: `05h34m31.9s`, `05:34:31.9` or `5 34 31.9`.
        dec: Degrees, minutes and seconds: `+22d00m52s`, `+22:00:52` or `22 0 52`.
    """
    hours, degrees = parse(ra, "ra", 24), parse(dec, "dec", 90)
    sign = -1 if dec.strip().startswith(("-", "−")) else 1
    return {"ra": round(hours * 15, 5), "dec": sign * round(degrees, 5)}


def parse(text: str, name: str, most: int) -> float:
    """Return an angle without its sign, in the unit of its first number.

    Raises:
        ToolError: it is not three numbers, or out of range.
    """
    numbers = re.fullmatch(
        r"[+−-]?(\d{1,2})[hd°: ]+(\d{1,2})[m': ]+(\d{1,2}(?:\.\d*)?)[s\"]?", text.strip()
    )
    if numbers is None:
        raise ToolError(f"`{name}` must be three numbers, such as 05:34:31.9")
    first, minutes, seconds = map(float, numbers.groups())
    value = first + minutes / 60 + seconds / 3600
    if value > most or max(minutes, seconds) >= 60:
        raise ToolError(
            f"`{name}` is out of range: at most {most}, with minutes and seconds below 60"
        )
    return value
