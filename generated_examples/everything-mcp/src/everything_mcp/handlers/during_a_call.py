"""Tools that send notifications before they return: progress, log messages, keep-alive."""

import asyncio

from mcpgen.runtime import Context, Features

features = Features(logs=True)  # clients are told that there may be log messages

A_MOMENT = 0.05


@features.tool()
async def test_tool_with_progress(ctx: Context) -> str:
    """Report progress, which reaches a client that asked for it."""
    for done in (0, 50, 100):
        ctx.report_progress(done, total=100, message=f"{done} of 100 done")
        await asyncio.sleep(A_MOMENT)
    return "All 100 done"


@features.tool()
async def test_tool_with_logging(ctx: Context) -> str:
    """Write to the client's log; it decides from which level on it wants to know."""
    ctx.log("info", "Tool execution started")
    await asyncio.sleep(A_MOMENT)
    ctx.log("info", "Tool processing data")
    await asyncio.sleep(A_MOMENT)
    ctx.log("info", "Tool execution completed")
    return "Logged three messages"


@features.tool()
def test_logging_tool(ctx: Context) -> str:
    """Log data rather than text, under the name of a logger."""
    ctx.log("warning", {"disk": "almost full", "percent": 97}, logger="storage")
    return "Logged a warning"


@features.tool()
async def test_reconnection(ctx: Context) -> str:
    """Take so long that the client's connection is better freed until the answer is there."""
    ctx.release_connection()
    await asyncio.sleep(A_MOMENT)
    return "The client came back for this"
