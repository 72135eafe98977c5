"""Hand-written overrides of the `employees` tools."""

from mcpgen.runtime import Context, override

from payroll_internal_mcp._generated.calls import GetEmployeesNumberCall
from payroll_internal_mcp._generated.models import Employee

SHOWN_DIGITS = 4


@override("GET /employees/{number}")
async def get_employee(ctx: Context, call_next: GetEmployeesNumberCall, *, number: str) -> Employee:
    """Fetch an employee: `GET /employees/{number}`.

    The last digits are enough to tell whether a number is the right one, and of no use to anybody
    who reads the conversation later.
    """
    employee = await call_next(ctx, number=number)
    if "iban" in employee:
        employee["iban"] = mask(employee["iban"])
    if "taxNumber" in employee:
        employee["taxNumber"] = mask(employee["taxNumber"])
    return employee


def mask(number: str) -> str:
    """Return a number of which only the last digits are readable, if it is long enough to hide."""
    hidden = max(len(number) - SHOWN_DIGITS, SHOWN_DIGITS)
    return "*" * min(hidden, len(number)) + number[hidden:]
