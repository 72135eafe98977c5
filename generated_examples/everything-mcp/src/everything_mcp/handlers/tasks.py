"""Tools that become tasks: the client gets an id at once, and asks for the result later.

`ctx.task.begin()` marks where the long work starts. A client without the extension
`io.modelcontextprotocol/tasks` does not notice: it waits for the result as in any other call.
"""

import asyncio

from mcpgen.runtime import Context, Features, ProtocolError, ToolError, ask_form

from everything_mcp.handlers.asking_the_client import ASK_NAME

features = Features()

CONFIRM = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean"}},
    "required": ["confirm"],
}
INTERNAL_ERROR = -32603


@features.tool()
async def greet(ctx: Context, *, name: str) -> str:
    """Greet somebody, which takes no time and is no task."""
    return f"Hello, {name}!"


@features.tool(task="auto")
async def slow_compute(ctx: Context, *, seconds: float, label: str = "") -> str:
    """Compute for some seconds, and report how far it is."""
    if seconds > 0:
        await ctx.task.begin("Computing", poll_seconds=0.5)
        for done in range(1, 11):
            await asyncio.sleep(seconds / 10)
            ctx.report_progress(done * 10, 100, f"{done * 10} % done")
    return f"Computed {label or 'something'} in {seconds:g} seconds"


@features.tool(task="required")
async def failing_job(ctx: Context) -> str:
    """Fail after a second, as a tool does."""
    await ctx.task.begin("Trying")
    await asyncio.sleep(1)
    raise ToolError("The job failed, as it always does.")


@features.tool(task="auto")
async def protocol_error_job(ctx: Context) -> str:
    """Fail with an error of the protocol."""
    await ctx.task.begin()
    raise ProtocolError(INTERNAL_ERROR, "the job broke")


@features.tool(task="auto")
async def confirm_delete(ctx: Context, *, filename: str) -> str:
    """Ask during a task, and pretend to delete a file."""
    await ctx.task.begin("Waiting for a confirmation")
    answer = await ctx.elicit(f"Delete {filename}?", CONFIRM, key="confirmation")
    is_confirmed = answer.is_accepted and answer.content["confirm"]
    return f"{filename} was {'deleted' if is_confirmed else 'kept'}"


@features.tool(task="auto")
async def multi_input(ctx: Context) -> str:
    """Ask two things at once during a task."""
    await ctx.task.begin()
    answers = await ctx.ask(
        {
            "user_name": ask_form("What is your name?", ASK_NAME),
            "confirmation": ask_form("Go on?", CONFIRM),
        }
    )
    name = answers["user_name"].get("content", {}).get("name", "nobody")
    return f"{name} answered {len(answers)} questions"


@features.tool(task="required")
async def test_tool_with_task(ctx: Context) -> str:
    """Ask first, and become a task with the answer."""
    answer = await ctx.elicit("What is your name?", ASK_NAME, key="user_name")
    await ctx.task.begin("Writing a long letter")
    await asyncio.sleep(0.1)
    return f"A letter for {answer.content.get('name', 'nobody')}"
