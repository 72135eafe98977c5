"""Hand-written overrides of the `geofences` tools."""

from mcpgen.runtime import Context, override

from fleet_telemetry_mcp._generated.calls import PostGeofencesCall
from fleet_telemetry_mcp._generated.models import CreateGeofenceBody, Geofence
from fleet_telemetry_mcp.handlers.polygons import close_rings


@override("POST /geofences")
async def create_geofence(
    ctx: Context, call_next: PostGeofencesCall, *, body: CreateGeofenceBody
) -> Geofence:
    """Create a geofence: `POST /geofences`."""
    return await call_next(ctx, body={**body, "area": close_rings(body["area"])})
