"""Hand-written overrides of the `progress` tools."""

import re

from mcpgen.runtime import ABSENT, Absent, Context, override

from renderfarm_mcp._generated.calls import GetJobsJobIdLogCall

COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
COUNTER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@override("GET /jobs/{job_id}/log")
async def tail_log(
    ctx: Context,
    call_next: GetJobsJobIdLogCall,
    *,
    job_id: str,
    lines: int,
    attempt: int | Absent = ABSENT,
) -> object:
    """Read the end of the log of a job as text: `GET /jobs/{job_id}/log`.

    Renderers write hundreds of lines that differ in a counter. Only the last one of each run of
    them is of use to a model.
    """
    log = await call_next(ctx, job_id=job_id, lines=lines, attempt=attempt)
    return condense(log) if isinstance(log, str) else log


def condense(log: str) -> str:
    """Reduce each progress bar to its last state, and remove colours.

    A line that returns to its beginning shows its last text. Of lines in a row that differ only in
    numbers, the last one stays, with the count of the others.
    """
    shown: list[str] = []
    shape, repeated = "", 0
    for line in log.split("\n"):
        text = COLOUR.sub("", line).rstrip("\r").rpartition("\r")[2]
        before, shape = shape, COUNTER.sub("0", text)
        repeated = repeated + 1 if shown and shape == before and shape != text else 0
        if repeated:
            shown[-1] = f"{text} ({repeated} similar lines before)"
        else:
            shown.append(text)
    return "\n".join(shown)
