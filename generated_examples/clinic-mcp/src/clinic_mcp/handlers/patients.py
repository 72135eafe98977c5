"""Hand-written overrides of the `patients` tools."""

from mcpgen.runtime import Context, ToolError, override

from clinic_mcp._generated.calls import GetPatientIdCall, PatchPatientIdCall
from clinic_mcp._generated.models import JsonPatchItem, Patient
from clinic_mcp.handlers.versions import make_etag

FIXED_MEMBERS = {"id", "identifier", "meta", "resourceType"}
SHOWN_CHARACTERS = 3


@override("PATCH /Patient/{id}")
async def change_patient(
    ctx: Context,
    call_next: PatchPatientIdCall,
    *,
    id_: str,
    if_match: str,
    body: list[JsonPatchItem],
) -> Patient:
    """Change parts of a patient's record: `PATCH /Patient/{id}`.

    The clinic lets everybody change the numbers by which it recognises a patient. A wrong one
    leads to the values of somebody else, so that a person corrects them.
    """
    for change in body:
        for pointer in (change["path"], change.get("from", "/")):
            member = pointer.split("/")[1]
            if member in FIXED_MEMBERS and change["op"] != "test":
                raise ToolError(f"the registration desk corrects `/{member}`: nothing changed")
    return await call_next(ctx, id_=id_, if_match=make_etag(if_match), body=body)


@override("GET /Patient/{id}")
async def get_patient(ctx: Context, call_next: GetPatientIdCall, *, id_: str) -> Patient:
    """Fetch a patient: `GET /Patient/{id}`.

    The end of a number tells whether it is the one on a card, and is of no use to anybody else.
    """
    patient = await call_next(ctx, id_=id_)
    for identifier in patient.get("identifier", []):
        identifier["value"] = mask(identifier["value"])
    return patient


def mask(number: str) -> str:
    """Return a number of which only the last characters are readable, if it is long enough."""
    hidden = max(len(number) - SHOWN_CHARACTERS, SHOWN_CHARACTERS)
    return "*" * min(hidden, len(number)) + number[hidden:]
