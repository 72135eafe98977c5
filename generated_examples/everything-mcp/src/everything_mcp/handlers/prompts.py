"""Prompts: plain text, arguments with completions, embedded content, and one that asks the user."""

from mcpgen.runtime import (
    Completion,
    Context,
    EmbeddedResource,
    Features,
    Image,
    PromptMessage,
    Text,
)

from everything_mcp.handlers.media import RED_DOT

features = Features()

WORDS = ("paris", "park", "party", "pear", "peru")


@features.prompt()
def test_simple_prompt(ctx: Context) -> str:
    """A prompt that is always the same."""
    return "This is a simple prompt for testing."


@features.prompt()
def test_prompt_with_arguments(ctx: Context, *, arg1: str, arg2: str) -> str:
    """A prompt that is filled in.

    Args:
        arg1: First test argument
        arg2: Second test argument
    """
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@features.completion(prompt="test_prompt_with_arguments", argument="arg1")
def complete_arg1(ctx: Context, value: str, arguments: dict[str, str]) -> Completion:
    """Suggest words that begin as what was typed."""
    return Completion(tuple(word for word in WORDS if word.startswith(value)))


@features.completion(prompt="test_prompt_with_arguments", argument="arg2")
def complete_arg2(ctx: Context, value: str, arguments: dict[str, str]) -> list[str]:
    """Suggest what goes with the argument that was chosen before."""
    return [f"{arguments['arg1']} too"] if "arg1" in arguments else []


@features.prompt()
def test_prompt_with_embedded_resource(ctx: Context, *, resourceUri: str) -> list[PromptMessage]:
    """A prompt about a resource, which comes with it.

    Args:
        resourceUri: URI of the resource to embed
    """
    text = "Embedded resource content for testing."
    return [
        PromptMessage("user", EmbeddedResource(resourceUri, "text/plain", text=text)),
        PromptMessage("user", Text("Please process the embedded resource above.")),
    ]


@features.prompt()
def test_prompt_with_image(ctx: Context) -> list[PromptMessage]:
    """A prompt about a picture."""
    return [
        PromptMessage("user", Image(RED_DOT, "image/png")),
        PromptMessage("user", Text("Please analyze the image above.")),
    ]


@features.prompt()
async def test_input_required_result_prompt(ctx: Context) -> str:
    """A prompt that asks the user before it is there."""
    answer = await ctx.elicit(
        "What context should the prompt use?",
        {
            "type": "object",
            "properties": {"context": {"type": "string"}},
            "required": ["context"],
        },
        key="user_context",
    )
    return f"Use this context: {answer.content.get('context', 'none')}"
