"""Polygons in GeoJSON (RFC 7946, section 3.1.6)."""

from itertools import pairwise

from mcpgen.runtime import ToolError

from fleet_telemetry_mcp._generated.models import Polygon

MOST_LATITUDE = 90


def close_rings(area: Polygon) -> Polygon:
    """Return a polygon whose rings end where they begin.

    Models list the corners of an area once. Wayfleet takes the open ring and closes it at the
    place 0, 0, so that an area reaches to Africa.

    Raises:
        ToolError: a ring encloses nothing, or latitude and longitude are exchanged.
    """
    return {**area, "coordinates": [close_ring(ring) for ring in area["coordinates"]]}


def close_ring(ring: list[list[float]]) -> list[list[float]]:
    """Return a ring that ends where it begins."""
    for longitude, latitude in ring:
        if abs(latitude) > MOST_LATITUDE:
            raise ToolError(f"{latitude} is no latitude: write {[latitude, longitude]}")
    closed = ring if ring[0] == ring[-1] else [*ring, ring[0]]
    if not compute_area(closed):
        raise ToolError("the corners are on one line: an area needs three that are not")
    return closed


def compute_area(ring: list[list[float]]) -> float:
    """Return twice the area of a closed ring in square degrees; negative if it is clockwise."""
    x, y = ring[0]
    moved = [(east - x, north - y) for east, north in ring]
    return sum(a * d - c * b for (a, b), (c, d) in pairwise(moved))
