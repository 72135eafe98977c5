"""Hand-written overrides of the `telemetry` tools."""

from datetime import datetime, timedelta

from mcpgen.runtime import Context, ToolError, override

from fleet_telemetry_mcp._generated.calls import QueryVehiclesVehicleIdSeriesCall
from fleet_telemetry_mcp._generated.models import GetSeriesBody, GetSeriesResult

LONGEST_PERIOD = timedelta(days=92)
MOST_POINTS = 300
STEPS = (1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400)


@override("QUERY /vehicles/{vehicle_id}/series")
async def get_series(
    ctx: Context,
    call_next: QueryVehiclesVehicleIdSeriesCall,
    *,
    vehicle_id: str,
    body: GetSeriesBody,
) -> GetSeriesResult:
    """Read what sensors of a vehicle measured: `QUERY /vehicles/{vehicle_id}/series`.

    Without a step, Wayfleet sends each second: 86,400 points a day, of which a model reads none.
    """
    step = body.get("step_seconds") or choose_step(body["from"], body["to"])
    return await call_next(ctx, vehicle_id=vehicle_id, body={**body, "step_seconds": step})


def choose_step(begin: str, end: str) -> int:
    """Return the least of `STEPS`, in seconds, that gives at most `MOST_POINTS` points.

    Raises:
        ToolError: the period is empty or longer than `LONGEST_PERIOD`.
    """
    period = datetime.fromisoformat(end) - datetime.fromisoformat(begin)
    if not timedelta(0) < period <= LONGEST_PERIOD:
        raise ToolError(f"from {begin} to {end} is no period of at most {LONGEST_PERIOD.days} days")
    return next(step for step in STEPS if period <= timedelta(seconds=step * MOST_POINTS))
