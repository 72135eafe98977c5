"""Hand-written overrides of the `trips` tools: private trips stay private."""

from mcpgen.runtime import Context, ToolError, after

from fleet_telemetry_mcp._generated.calls import GetTripsTripIdTrackCall
from fleet_telemetry_mcp._generated.calls import GetVehiclesVehicleIdTripsCall as TripsCall
from fleet_telemetry_mcp._generated.models import GetTrackResult, ListTripsResult


@after("GET /vehicles/{vehicle_id}/trips", call=TripsCall.__call__)
async def hide_addresses(ctx: Context, result: ListTripsResult) -> ListTripsResult:
    """Leave out where a private trip began and ended: that it took place is enough for a log."""
    for trip in result["trips"]:
        if trip["is_private"]:
            trip.pop("from_address", None)
            trip.pop("to_address", None)
    return result


@after("GET /trips/{trip_id}/track", call=GetTripsTripIdTrackCall.__call__)
async def refuse_private_track(ctx: Context, result: GetTrackResult) -> GetTrackResult:
    if result["properties"]["is_private"]:
        raise ToolError("the driver marked this trip as private: its track is not shown to anybody")
    return result
