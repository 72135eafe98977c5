"""Hand-written overrides of the `events` tools."""

from datetime import date, datetime
from typing import Literal

from mcpgen.runtime import Context, ToolError, override

from calendar_mcp._generated.calls import PostCalendarsCalendarIdEventsCall
from calendar_mcp._generated.models import CreateEventBody, Event, Moment


@override("POST /calendars/{calendar_id}/events")
async def create_event(
    ctx: Context,
    call_next: PostCalendarsCalendarIdEventsCall,
    *,
    calendar_id: str,
    body: CreateEventBody,
    notify: Literal["all", "external", "none"],
) -> Event:
    """Create an event: `POST /calendars/{calendar_id}/events`.

    Daybook takes an end before the start for one on the next day, and guests get an invitation for
    a whole day. Such times are rejected before anything is sent.
    """
    start, end = parse(body["start"], "start"), parse(body["end"], "end")
    if isinstance(start, datetime) != isinstance(end, datetime):
        raise ToolError("`start` and `end` must both be times, or both be dates")
    if end <= start:
        raise ToolError("`end` must be after `start`; the end of an all-day event is the next day")
    return await call_next(ctx, calendar_id=calendar_id, body=body, notify=notify)


def parse(moment: Moment, name: str) -> date:
    """Return the time of a moment, or its date if it has no time.

    Raises:
        ToolError: it is neither.
    """
    try:
        if "date_time" not in moment:
            return date.fromisoformat(moment.get("date", ""))
        return datetime.fromisoformat(moment["date_time"])
    except ValueError:
        raise ToolError(f"`{name}` is neither a time nor a date") from None
