"""A tool that asks the client's model, which can call tools of this server (sampling)."""

from mcpgen.runtime import (
    Context,
    Features,
    ModelMessage,
    Text,
    ToolError,
    ToolUse,
    ToolUseResult,
    sampled_content,
)

features = Features()

MOST_ROUNDS = 5
INHABITANTS = {"Lyon": 522_000, "Nice": 348_000}
LOOK_UP = {
    "name": "look_up",
    "description": "Say how many people live in a city.",
    "inputSchema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}


@features.tool()
async def test_sampling_with_tools(ctx: Context, *, question: str) -> str:
    """Let the client's model answer a question about cities with what it looks up here.

    Args:
        question: What the model is asked.
    """
    said: list[ModelMessage] = [("user", Text(question))]
    for _ in range(MOST_ROUNDS):
        answer = sampled_content(await ctx.sample(said, tools=[LOOK_UP]))
        uses = [block for block in answer if isinstance(block, ToolUse)]
        if not uses:
            return "".join(block.text for block in answer if isinstance(block, Text))
        said += [("assistant", answer), ("user", tuple(map(looked_up, uses)))]
    raise ToolError(f"The model had no answer after {MOST_ROUNDS} rounds.")


def looked_up(use: ToolUse) -> ToolUseResult:
    """Give what the model wants to know; what it got wrong it is told, and may mend."""
    city = use.input.get("city")
    if use.name != LOOK_UP["name"] or city not in INHABITANTS:
        said = f"`{LOOK_UP['name']}` takes as `city` one of {', '.join(INHABITANTS)}."
        return ToolUseResult(use.id, (Text(said),), is_error=True)
    return ToolUseResult(use.id, (Text(f"{INHABITANTS[city]:,} people live in {city}."),))
