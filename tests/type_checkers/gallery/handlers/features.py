"""Tools, resources, prompts and completions that are written by hand, and what they ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from mcpgen.runtime import (
    ABSENT,
    Absent,
    Annotations,
    Audio,
    ClientCannotError,
    Completion,
    Content,
    Context,
    Elicited,
    EmbeddedResource,
    Features,
    Image,
    ModelMessage,
    PromptMessage,
    PromptResult,
    ResourceContents,
    ResourceLink,
    ResourceNotFoundError,
    ResourceResult,
    Text,
    ToolError,
    ToolResult,
    ToolUse,
    ToolUseResult,
    ask_form,
    ask_model,
    ask_roots,
    ask_url,
    sampled_content,
)

features = Features(
    logs=True, subscriptions=True, changing=["tools"], extensions={"com.example/x": {}}
)

FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}}


class Frame(TypedDict, total=False):
    """What a picture hangs in."""

    wood: str
    width_mm: float


@dataclass
class Offer:
    """What somebody pays."""

    buyer: str
    euros: int


@features.tool()
def plain(ctx: Context) -> str:
    """Answer with text."""
    return "plain"


@features.tool(
    "frame_picture",
    title="Frame a picture",
    description="Put a picture into a frame.",
    annotations={"destructiveHint": False},
    meta={"com.example/cost": 1},
)
async def frame(
    ctx: Context,
    *,
    picture_id: Annotated[int, Meta(ge=1)],
    wood: Literal["oak", "elm"] = "oak",
    like: Frame | Absent = ABSENT,
    tags: Sequence[str] = (),
) -> Frame:
    """Answer with data that has a type."""
    ctx.log("info", {"picture": picture_id}, logger="frames")
    if isinstance(like, Absent):
        return {"wood": wood}
    return {**like, "wood": wood}


@features.tool(input_schema={"type": "object"}, output_schema={"type": "object"})
async def anything(ctx: Context) -> dict[str, object]:
    """Answer with data without a type."""
    return {"a": [1, 2, None]}


@features.tool()
async def rows(ctx: Context, *, filters: dict[str, object] | None = None) -> list[dict[str, Any]]:
    """Answer with rows."""
    return [dict(filters or {})]


@features.tool()
async def mapping(ctx: Context) -> Mapping[str, object]:
    """Answer with a mapping."""
    return {"a": 1}


@features.tool()
async def nothing(ctx: Context) -> None:
    """Answer with nothing."""


@features.tool()
async def best_offer(ctx: Context, *, offers: list[Offer]) -> Offer | None:
    """Answer with a dataclass."""
    return max(offers, key=lambda offer: offer.euros, default=None)


@features.tool()
def picture(ctx: Context) -> Image:
    """Answer with a picture."""
    return Image(b"", "image/png", Annotations(audience=("user",)))


@features.tool()
def blocks(ctx: Context) -> list[Content]:
    """Answer with blocks of several kinds."""
    return [
        Text("text"),
        Audio(b"", "audio/wav"),
        EmbeddedResource("gallery://a", "text/plain", text="a"),
        ResourceLink("gallery://hours", "hours"),
    ]


@features.tool()
def result(ctx: Context) -> ToolResult:
    """Answer with a whole result."""
    return ToolResult((Text("no"),), {"ok": False}, is_error=True)


@features.tool()
async def ask(ctx: Context) -> str:
    """Ask the client whatever a client can be asked."""
    answer: Elicited = await ctx.elicit("Go on?", FORM, key="go")
    if not answer.is_accepted:
        raise ToolError("You did not want to.")
    await ctx.elicit_url("Sign in.", "https://gallery.example/sign-in", "e-1")
    ctx.finish_elicitation("e-1")
    try:
        roots = await ctx.list_roots()
    except ClientCannotError:
        roots = []
    several = await ctx.ask(
        {
            "form": ask_form("Go on?", FORM),
            "model": ask_model("Write a poem.", max_tokens=10, systemPrompt="Be brief."),
            "roots": ask_roots(),
            "url": ask_url("Pay.", "https://gallery.example/pay", "e-2"),
        }
    )
    said: list[ModelMessage] = [("user", Text("Which picture?"))]
    blocks = sampled_content(await ctx.sample(said, max_tokens=10, tools=[]))
    uses = [block for block in blocks if isinstance(block, ToolUse)]
    said.append(("user", tuple(ToolUseResult(use.id, (Text("none"),)) for use in uses)))
    ctx.state["asked"] = [root["uri"] for root in roots]
    ctx.announce_change("tools")
    return f"{answer.content.get('ok')} {sorted(several)}"


@features.resource("gallery://motto", mime_type="text/plain")
def motto(ctx: Context) -> str:
    """What stands above the door."""
    return "Look."


@features.resource("gallery://pictures/{picture_id}/thumbnail", mime_type="image/png")
async def thumbnail(ctx: Context, *, picture_id: int) -> bytes | None:
    """A small picture."""
    if picture_id < 1:
        raise ResourceNotFoundError(f"gallery://pictures/{picture_id}/thumbnail")
    return None


@features.resource("gallery://rooms")
def rooms(ctx: Context) -> ResourceResult:
    """Several contents."""
    return ResourceResult((ResourceContents("gallery://rooms/1", "text/plain", text="1"),))


@features.prompt(title="Describe a picture")
def describe(ctx: Context, *, title: str, style: str = "brief") -> PromptResult:
    """Describe a picture."""
    return PromptResult((PromptMessage("user", Text(f"Describe {title}, {style}.")),))


@features.prompt()
async def greet(ctx: Context) -> str:
    """Greet a visitor."""
    return "Good day."


@features.completion(prompt="describe", argument="style")
async def styles(ctx: Context, value: str, arguments: dict[str, str]) -> list[str]:
    """Complete a style."""
    return [style for style in ("brief", "long") if style.startswith(value)]


@features.completion(template="gallery://pictures/{picture_id}/thumbnail", argument="picture_id")
def ids(ctx: Context, value: str, arguments: Mapping[str, str]) -> Completion:
    """Complete an id."""
    return Completion((f"{value}1",), total=1)
