"""Hand-written overrides of the `appointments` tools."""

from mcpgen.runtime import Context, override

from clinic_mcp._generated.calls import PatchAppointmentIdCall
from clinic_mcp._generated.models import Appointment, JsonPatchItem
from clinic_mcp.handlers.versions import make_etag


@override("PATCH /Appointment/{id}")
async def change_appointment(
    ctx: Context,
    call_next: PatchAppointmentIdCall,
    *,
    id_: str,
    if_match: str,
    body: list[JsonPatchItem],
) -> Appointment:
    """Move or cancel an appointment: `PATCH /Appointment/{id}`."""
    return await call_next(ctx, id_=id_, if_match=make_etag(if_match), body=body)
