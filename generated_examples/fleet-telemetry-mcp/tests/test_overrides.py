"""Tests of overrides: closed areas, short series, private trips, and commands with consent."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream, Reply

from fleet_telemetry_mcp.handlers.telemetry import MOST_POINTS, choose_step

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"FLEET_TELEMETRY_API_KEY": "key-of-the-mock"}
ACCEPT = {"action": "accept", "content": {}}
BUSY = {"status": 429, "headers": {"Retry-After": "0"}, "body": {"message": "too many"}}
OPEN_RING = [[9.68, 47.55], [9.69, 47.55], [9.69, 47.56]]
CLOSED_RING = [*OPEN_RING, OPEN_RING[0]]


def call(
    tool: str, arguments: dict[str, Any], *answers: dict[str, Any], user: Any = ACCEPT
) -> tuple[dict[str, Any], MockUpstream]:
    """Call a tool in memory, with the first answers of the mock; return the result and the mock."""
    upstream, left = MockUpstream(json.loads(UPSTREAM.read_bytes())), list(answers)

    async def send(request: Any) -> Any:
        if left:
            upstream.reply_with(Reply.from_json(left.pop(0)))
        return await upstream.send(request)

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("fleet_telemetry_mcp")
        elicited = {"elicitation/create": lambda asked: user}
        async with Client.in_memory(package, SETTINGS, send=send, answers=elicited) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run()), upstream


def polygon(*rings: list[list[float]]) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


@pytest.mark.parametrize("ring", [OPEN_RING, CLOSED_RING])
@pytest.mark.parametrize(
    ("tool", "more"), [("create_geofence", {"name": "Depot"}), ("find_vehicles_within", {})]
)
def test_rings_end_where_they_begin(
    tool: str, more: dict[str, Any], ring: list[list[float]]
) -> None:
    result, upstream = call(tool, {**more, "area": polygon(ring, ring[::-1])})
    assert not result.get("isError"), result
    sent = json.loads(upstream.requests[0].body)["area"]["coordinates"]
    assert sent[0] == CLOSED_RING
    assert sent[1][0] == sent[1][-1] == ring[-1]


@pytest.mark.parametrize(
    ("ring", "text"),
    [
        ([[47.55, 109.68], [47.55, 109.69], [47.56, 109.69]], "write [109.68, 47.55]"),
        ([[9.68, 47.55], [9.69, 47.55], [9.7, 47.55]], "on one line"),
        ([[9.68, 47.55], [9.69, 47.56], [9.68, 47.55]], "on one line"),
    ],
)
def test_what_is_no_area_is_refused(ring: list[list[float]], text: str) -> None:
    result, upstream = call("create_geofence", {"name": "Depot", "area": polygon(ring)})
    assert result["isError"] is True
    assert text in result["content"][0]["text"]
    assert not upstream.requests


def series(begin: str, end: str, **more: Any) -> tuple[dict[str, Any], MockUpstream]:
    given = {"vehicle_id": "veh_204", "signals": ["speed_kmh"], "from": begin, "to": end}
    return call("get_series", {**given, **more})


@pytest.mark.parametrize(
    ("end", "step"),
    [
        ("2028-03-09T00:05:00Z", 1),
        ("2028-03-09T00:05:01Z", 5),
        ("2028-03-10T00:00:00Z", 300),
        ("2028-06-09T00:00:00Z", 43_200),
        ("2028-03-09T06:00:00+01:00", 60),
    ],
)
def test_a_series_has_a_step_that_fits_its_period(end: str, step: int) -> None:
    result, upstream = series("2028-03-09T00:00:00Z", end)
    assert not result.get("isError"), result
    [request] = upstream.requests
    assert request.method == "QUERY"
    assert json.loads(request.body)["step_seconds"] == step


def test_the_step_of_the_caller_is_sent_as_it_is() -> None:
    _, upstream = series("2028-03-09T00:00:00Z", "2028-03-10T00:00:00Z", step_seconds=7)
    assert json.loads(upstream.requests[0].body)["step_seconds"] == 7


@pytest.mark.parametrize(
    "end", ["2028-03-09T00:00:00Z", "2028-03-08T00:00:00Z", "2028-06-10T00:00:00Z"]
)
def test_what_is_no_period_is_refused(end: str) -> None:
    result, upstream = series("2028-03-09T00:00:00Z", end)
    assert result["isError"] is True
    assert "no period" in result["content"][0]["text"]
    assert not upstream.requests


@pytest.mark.parametrize("hours", range(1, 92 * 24, 31))
def test_no_series_has_more_points_than_a_model_reads(hours: int) -> None:
    begin = datetime(2028, 3, 9, tzinfo=UTC)
    step = choose_step(begin.isoformat(), (begin + timedelta(hours=hours)).isoformat())
    assert MOST_POINTS / 4 <= hours * 3600 / step <= MOST_POINTS


TRIP = {
    "id": "trp_1",
    "vehicle_id": "veh_204",
    "started_at": "2028-03-09T06:00:00Z",
    "from_address": "Bregenzer Strasse 4, Lindau",
    "to_address": "Hafen 1, Bregenz",
    "is_private": False,
}
PRIVATE = {**TRIP, "id": "trp_2", "is_private": True}


def test_private_trips_have_no_addresses() -> None:
    answer = {"body": {"trips": [TRIP, PRIVATE], "next_cursor": None}}
    result, _ = call("list_trips", {"vehicle_id": "veh_204"}, answer)
    business, private = result["structuredContent"]["trips"]
    assert business == TRIP
    assert private.keys() == TRIP.keys() - {"from_address", "to_address"}


@pytest.mark.parametrize(("trip", "is_shown"), [(TRIP, True), (PRIVATE, False)])
def test_private_trips_have_no_track(trip: dict[str, Any], is_shown: bool) -> None:
    line = {"type": "LineString", "coordinates": [[9.68, 47.55], [9.74, 47.5]]}
    answer = {
        "headers": {"Content-Type": "application/geo+json"},
        "body": {"type": "Feature", "geometry": line, "properties": trip},
    }
    result, _ = call("get_track", {"trip_id": trip["id"]}, answer)
    assert bool(result.get("isError")) == (not is_shown)
    assert ("47.5" in json.dumps(result)) == is_shown


@pytest.mark.parametrize(("user", "sent"), [(ACCEPT, 1), ({"action": "decline"}, 0)])
def test_a_command_needs_consent(user: Any, sent: int) -> None:
    answer = {"status": 202, "body": {"id": "cmd_3301", "command": "unlock", "state": "waiting"}}
    arguments = {"vehicle_id": "veh_204", "command": "unlock"}
    _, upstream = call("send_command", arguments, answer, user=user)
    assert len(upstream.requests) == sent


def test_no_vehicle_is_stopped() -> None:
    result, upstream = call("send_command", {"vehicle_id": "veh_204", "command": "immobilize"})
    assert result["isError"] is True
    assert not upstream.requests


def test_a_read_waits_until_the_next_request_is_possible() -> None:
    result, upstream = call("list_positions", {}, BUSY, BUSY, {"body": {"positions": []}})
    assert result["structuredContent"] == {"positions": []}
    assert len(upstream.requests) == 3


def test_a_command_is_not_repeated() -> None:
    result, upstream = call("send_command", {"vehicle_id": "veh_204", "command": "lock"}, BUSY)
    assert result["isError"] is True
    assert len(upstream.requests) == 1


def test_the_part_of_the_map_is_one_parameter() -> None:
    _, upstream = call("list_positions", {"bbox": [9.6, 47.5, 9.8, 47.6]})
    assert upstream.requests[0].url.endswith("/positions?bbox=9.6,47.5,9.8,47.6")


def test_a_change_names_the_version_and_null_empties_a_member() -> None:
    arguments = {"vehicle_id": "veh_204", "if_match": '"5f3c"', "driver_id": None}
    _, upstream = call("change_vehicle", arguments)
    [request] = upstream.requests
    headers = {name.lower(): value for name, value in request.headers}
    assert headers["if-match"] == '"5f3c"'
    assert headers["content-type"] == "application/merge-patch+json"
    assert json.loads(request.body) == {"driver_id": None}
