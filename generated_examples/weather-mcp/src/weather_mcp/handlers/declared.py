"""Hand-written overrides of its declared tools."""

from collections.abc import Iterator
from datetime import date, timedelta

from mcpgen.runtime import Context, ToolError, override

from weather_mcp._generated.calls import GetGetPastDaysCall
from weather_mcp._generated.models import GetPastDaysResult

DAYS_OF_A_REQUEST = 92
MOST_DAYS = 366


@override("tool:get_past_days")
async def get_past_days(
    ctx: Context, call_next: GetGetPastDaysCall, *, station: str, from_: str, until: str
) -> GetPastDaysResult:
    """Fetch what a station measured on past days, at most a year: `tool:get_past_days`.

    The network returns at most 92 days for a request, and silently leaves out the rest.
    """
    first, last = date.fromisoformat(from_), date.fromisoformat(until)
    if last < first:
        raise ToolError("`until` must not be before `from`")
    if (last - first).days >= MOST_DAYS:
        raise ToolError(f"at most {MOST_DAYS} days: ask for one year after the other")
    result: GetPastDaysResult = {"days": []}
    for begin, end in split(first, last):
        part = await call_next(ctx, station=station, from_=begin.isoformat(), until=end.isoformat())
        result["days"] += part["days"]
    return result


def split(first: date, last: date) -> Iterator[tuple[date, date]]:
    """Yield the first and the last day of each request."""
    while first <= last:
        end = min(last, first + timedelta(days=DAYS_OF_A_REQUEST - 1))
        yield first, end
        first = end + timedelta(days=1)
