"""Tools that return each kind of content, structured content, and an error."""

from typing import TypedDict

from mcpgen.runtime import (
    Audio,
    Content,
    Context,
    EmbeddedResource,
    Features,
    Image,
    ResourceLink,
    Text,
    ToolError,
)

from everything_mcp.handlers.media import RED_DOT, SILENCE

features = Features()


@features.tool()
def test_simple_text(ctx: Context) -> str:
    """Answer with plain text, which is all that most tools need."""
    return "This is a simple text response for testing."


@features.tool()
def test_image_content(ctx: Context) -> Image:
    """Answer with a picture."""
    return Image(RED_DOT, "image/png")


@features.tool()
def test_audio_content(ctx: Context) -> Audio:
    """Answer with a sound. Clients from before 2025-03-26 know none, and get text instead."""
    return Audio(SILENCE, "audio/wav")


@features.tool()
def test_embedded_resource(ctx: Context) -> EmbeddedResource:
    """Answer with a resource and all that is in it."""
    return EmbeddedResource(
        "test://embedded-resource", "text/plain", text="This is an embedded resource content."
    )


@features.tool()
def test_resource_link(ctx: Context) -> ResourceLink:
    """Answer with a link to a resource, which the client reads if it wants to."""
    return ResourceLink("test://static-text", "static-text", mime_type="text/plain")


@features.tool()
def test_multiple_content_types(ctx: Context) -> list[Content]:
    """Answer with several blocks of different kinds."""
    return [
        Text("Multiple content types test:"),
        Image(RED_DOT, "image/png"),
        EmbeddedResource(
            "test://mixed-content-resource",
            "application/json",
            text='{"test":"data","value":123}',
        ),
    ]


class Weather(TypedDict):
    """What the weather is like."""

    city: str
    celsius: float
    conditions: list[str]


@features.tool(title="Weather", annotations={"readOnlyHint": True})
def test_structured_content(ctx: Context, *, city: str = "Oslo") -> Weather:
    """Answer with data; the output schema comes from the return type.

    Args:
        city: Where to look out of the window.
    """
    return {"city": city, "celsius": 21.5, "conditions": ["sunny", "windy"]}


@features.tool()
def test_error_handling(ctx: Context) -> str:
    """Fail in a way that the model can read and act on."""
    raise ToolError("This tool intentionally returns an error for testing")
