"""Hand-written overrides of the `fleet` tools."""

from mcpgen.runtime import Context, override

from fleet_telemetry_mcp._generated.calls import QueryPositionsWithinCall
from fleet_telemetry_mcp._generated.models import FindVehiclesWithinBody, FindVehiclesWithinResult
from fleet_telemetry_mcp.handlers.polygons import close_rings


@override("QUERY /positions/within")
async def find_vehicles_within(
    ctx: Context, call_next: QueryPositionsWithinCall, *, body: FindVehiclesWithinBody
) -> FindVehiclesWithinResult:
    """Find the vehicles in an area: `QUERY /positions/within`."""
    return await call_next(ctx, body={**body, "area": close_rings(body["area"])})
