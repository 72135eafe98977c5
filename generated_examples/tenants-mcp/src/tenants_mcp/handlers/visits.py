"""Hand-written overrides of the `visits` tools."""

from datetime import datetime, timedelta

from mcpgen.runtime import Context, ToolError, override

from tenants_mcp._generated.calls import PostVisitsCall
from tenants_mcp._generated.models import NewVisit, Visit

LONGEST_VISIT = timedelta(hours=12)


@override("POST /visits")
async def plan_visit(ctx: Context, call_next: PostVisitsCall, *, body: NewVisit) -> Visit:
    """Plan a visit: `POST /visits`.

    Models compute the end of a visit in UTC and its beginning in the time of the place. Fieldnote
    takes a visit that ends before it begins, and shows it in no calendar.
    """
    length = datetime.fromisoformat(body["ends_at"]) - datetime.fromisoformat(body["starts_at"])
    if not timedelta(0) < length <= LONGEST_VISIT:
        hours = length / timedelta(hours=1)
        raise ToolError(
            f"the visit would take {hours:g} hours: give starts_at and ends_at with the offset of"
            " the same place, and at most 12 hours between them"
        )
    return await call_next(ctx, body=body)
