"""Hand-written overrides of the `jobs` and `batches` tools."""

from collections.abc import Iterable

from mcpgen.runtime import Context, ToolError, before

from renderfarm_mcp._generated.calls import PostBatchesCall, PostJobsCall
from renderfarm_mcp._generated.models import (
    SubmitBatchBody,
    SubmitJobBody,
    TaskVariant1,
    TaskVariant2,
)

MOST_FRAMES = 10_000


@before("POST /jobs", call=PostJobsCall.__call__)
async def limit_job(ctx: Context, *, body: SubmitJobBody, **others: object) -> None:
    """Refuse a job that renders more frames than anybody means to pay for."""
    limit_frames([body["task"]])


@before("POST /batches", call=PostBatchesCall.__call__)
async def limit_batch(ctx: Context, *, body: SubmitBatchBody, **others: object) -> None:
    """Refuse a batch of which a job renders more frames than anybody means to pay for."""
    limit_frames(job["task"] for job in body["jobs"])


def limit_frames(tasks: Iterable[TaskVariant1 | TaskVariant2]) -> None:
    """Check that each task has at most 10,000 frames.

    Raises:
        ToolError: one has more. A missing step (`1-24000` for `1-24000x24`) is found this way.
    """
    for task in tasks:
        if task["kind"] != "render":
            continue
        count = count_frames(task["frames"])
        if count > MOST_FRAMES:
            raise ToolError(
                f"`{task['frames']}` are {count:,} frames: {MOST_FRAMES:,} at most. "
                "Leave some out by a step, such as `1-24000x24`, or submit a batch of parts."
            )


def count_frames(frames: str) -> int:
    """Count the frames of a text such as `1-240x10,57`, each frame once."""
    return len({number for part in frames.split(",") for number in list_frames(part)})


def list_frames(part: str) -> range:
    """Return the frames of a number or a range; a range that runs backwards has none."""
    ends, _, step = part.partition("x")
    first, _, last = ends.partition("-")
    return range(int(first), int(last or first) + 1, max(1, int(step or 1)))
