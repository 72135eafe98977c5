"""Tests of overrides: frames are counted before they cost money, logs are cut, jobs are polled."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream, Reply

from renderfarm_mcp.handlers.jobs import count_frames
from renderfarm_mcp.handlers.progress import condense

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"RENDERFARM_TEAM_TOKEN": "token-of-the-mock"}
SCENE = {"kind": "render", "source_id": "src_7fk2m0"}


def call(
    tool: str, arguments: dict[str, Any], *replies: tuple[str, dict[str, Any]]
) -> tuple[dict[str, Any], MockUpstream]:
    """Call a tool in memory, with a user who accepts; return the result, and the mock API."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    for operation, reply in replies:
        upstream.reply_with(Reply.from_json(reply), operation)

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("renderfarm_mcp")
        async with Client.in_memory(
            package,
            SETTINGS,
            send=upstream.send,
            answers={"elicitation/create": lambda asked: {"action": "accept", "content": {}}},
        ) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run()), upstream


@pytest.mark.parametrize(
    ("frames", "count"),
    [
        ("57", 1),
        ("1-120", 120),
        ("1-240x10", 24),
        ("1-10,5-12", 12),
        ("1-240x10,57", 25),
        ("9-1", 0),
        ("1-3x0", 3),
    ],
)
def test_each_frame_counts_once(frames: str, count: int) -> None:
    assert count_frames(frames) == count


@pytest.mark.parametrize(("frames", "is_sent"), [("1-10000", True), ("1-10001", False)])
def test_a_job_has_10000_frames_at_most(frames: str, *, is_sent: bool) -> None:
    result, upstream = call("submit_job", {"name": "All", "task": {**SCENE, "frames": frames}})
    assert bool(upstream.requests) == is_sent
    if not is_sent:
        assert result["isError"] is True
        assert "10,001 frames" in result["content"][0]["text"]


@pytest.mark.parametrize(("frames", "is_sent"), [("1-240", True), ("1-24000", False)])
def test_each_job_of_a_batch_is_checked(frames: str, *, is_sent: bool) -> None:
    film = {"kind": "transcode", "source_id": "src_7fk2m0", "preset": "web-hd"}
    jobs = [{"name": "Film", "task": film}, {"name": "All", "task": {**SCENE, "frames": frames}}]
    _, upstream = call("submit_batch", {"name": "Trailer", "jobs": jobs})
    assert bool(upstream.requests) == is_sent


def test_a_client_without_tasks_gets_the_job_as_it_waits() -> None:
    result, upstream = call("submit_job", {"name": "One", "task": {**SCENE, "frames": "1"}})
    assert [request.operation for request in upstream.requests] == ["POST /jobs"]
    assert result["structuredContent"]["state"] == "queued"


def test_the_key_of_the_studio_is_sent_with_sources() -> None:
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))

    async def run() -> None:
        settings = {**SETTINGS, "RENDERFARM_SOURCE_KEY": "key-of-the-studio"}
        package = ServerPackage.load("renderfarm_mcp")
        async with Client.in_memory(package, settings, send=upstream.send) as client:
            await client.call_tool("register_source", {"name": "A", "url": "https://a.example/b"})

    asyncio.run(run())
    body = json.loads(upstream.requests[0].body)
    assert body == {"name": "A", "url": "https://a.example/b", "access_key": "key-of-the-studio"}


@pytest.mark.parametrize(("max_credits", "is_submitted"), [(100, True), (20, False)])
def test_a_draft_is_submitted_if_it_is_cheap_enough(
    max_credits: int, *, is_submitted: bool
) -> None:
    arguments = {"source_id": "src_7fk2m0", "frames": "1-240x10", "max_credits": max_credits}
    result, upstream = call("draft_scene", arguments)
    assert result["structuredContent"]["estimated_credits"] == 84.5
    sent = [request.operation for request in upstream.requests]
    assert sent[:2] == ["GET /sources/{source_id}", "POST /estimates"]
    assert (sent[2:] == ["POST /jobs"]) == is_submitted
    if is_submitted:
        assert json.loads(upstream.requests[2].body)["queue"] == "draft"


LOG = (
    "Reading lighthouse-4.blend\n"
    "\x1b[32mFrame 57: sample 1/128\x1b[0m\n"
    "Frame 57: sample 2/128\n"
    "Frame 57: sample 128/128\n"
    "Writing  10 %\rWriting  50 %\rWriting 100 %\n"
    "ERROR texture sea.exr is missing\n"
    "ERROR texture sea.exr is missing\n"
)


def test_progress_bars_are_reduced_to_their_last_state() -> None:
    assert condense(LOG).splitlines() == [
        "Reading lighthouse-4.blend",
        "Frame 57: sample 128/128 (2 similar lines before)",
        "Writing 100 %",
        "ERROR texture sea.exr is missing",
        "ERROR texture sea.exr is missing",
    ]


def test_the_tail_of_a_log_is_condensed() -> None:
    result, _ = call(
        "tail_log", {"job_id": "job_01hx5p"}, ("GET /jobs/{job_id}/log", {"text": LOG})
    )
    assert "sample 2/128" not in result["content"][0]["text"]
    assert "sample 128/128" in result["content"][0]["text"]
