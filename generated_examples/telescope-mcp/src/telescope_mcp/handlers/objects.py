"""Hand-written overrides of the `objects` tools."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from statistics import fmean
from typing import Literal

from mcpgen.runtime import ABSENT, Absent, Context, override

from telescope_mcp._generated.calls import GetObjectsObjectIdLightCurveCall
from telescope_mcp._generated.models import GetLightCurveResult, Point


@override("GET /objects/{object_id}/light-curve")
async def get_light_curve(
    ctx: Context,
    call_next: GetObjectsObjectIdLightCurveCall,
    *,
    object_id: str,
    filter_: Literal["u", "g", "r", "i", "z", "halpha"],
    from_: str | Absent = ABSENT,
) -> GetLightCurveResult:
    """Fetch how bright an object was over time: `GET /objects/{object_id}/light-curve`.

    A variable star is measured a hundred times in a night. One point for each night keeps years of
    measurements within what a model can read.
    """
    curve = await call_next(ctx, object_id=object_id, filter_=filter_, from_=from_)
    nights: defaultdict[date, list[Point]] = defaultdict(list)
    for point in curve["points"]:
        nights[find_night(point["at"])].append(point)
    curve["points"] = [average(points) for _, points in sorted(nights.items())]
    return curve


def find_night(at: str) -> date:
    """Return the date on which the night of a time began; nights last from noon to noon, UTC."""
    return (datetime.fromisoformat(at) - timedelta(hours=12)).date()


def average(points: Sequence[Point]) -> Point:
    """Return the mean of the measurements of one night, at the time of its first one."""
    mean = Point(at=points[0]["at"], magnitude=round(fmean(it["magnitude"] for it in points), 3))
    errors = [it["error"] for it in points if "error" in it]
    if errors:
        mean["error"] = round(sum(error**2 for error in errors) ** 0.5 / len(errors), 3)
    return mean
