"""Hand-written overrides of the `absences` tools."""

from mcpgen.runtime import Context, ToolError, override

from payroll_internal_mcp._generated.calls import PostEmployeesNumberAbsencesCall
from payroll_internal_mcp._generated.models import Absence, RequestAbsenceBody


@override("POST /employees/{number}/absences")
async def request_absence(
    ctx: Context,
    call_next: PostEmployeesNumberAbsencesCall,
    *,
    number: str,
    body: RequestAbsenceBody,
) -> Absence:
    """Request leave for an employee: `POST /employees/{number}/absences`.

    The payroll exchanges days in the wrong order, and sends a mail about weeks that nobody meant.
    """
    first, last = body["firstDay"], body["lastDay"]
    if last < first:
        raise ToolError(f"lastDay {last} is before firstDay {first}: nothing was requested")
    if body.get("halfDay") and first != last:
        raise ToolError("halfDay is for a single day: give the same firstDay and lastDay")
    return await call_next(ctx, number=number, body=body)
