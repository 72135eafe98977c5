"""A small server of every feature, for tests that hold whole conversations."""

from __future__ import annotations

from mcpgen.contract.limits import Limits
from mcpgen.runtime.content import (
    EmbeddedResource,
    Image,
    JsonObject,
    PromptMessage,
    ResourceContents,
    Text,
    ToolResult,
)
from mcpgen.runtime.errors import ToolError, UnknownToolError
from mcpgen.runtime.handlers.context import Context
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.handlers.features import Features
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.transports.memory import MemoryConnection

features = Features(logs=True, subscriptions=True, changing=("tools", "prompts", "resources"))
COVER = b"\x89PNG"


@features.tool()
def find_book(ctx: Context, *, title: str) -> str:
    """Find a book."""
    return f"{title} is on shelf 3"


@features.tool()
def show_cover(ctx: Context) -> Image:
    """Show a cover."""
    return Image(COVER, "image/png")


@features.tool()
def open_book(ctx: Context) -> EmbeddedResource:
    """Open a book."""
    return EmbeddedResource("book://3", "text/plain", text="Call me Ishmael.")


@features.tool()
def lend_book(ctx: Context) -> str:
    """Lend a book that is not there."""
    raise ToolError("somebody else has it")


@features.tool()
def sort_shelf(ctx: Context) -> str:
    """Sort, and say how it goes."""
    ctx.report_progress(1, total=2)
    ctx.log("notice", {"dust": True}, logger="shelf")
    return "sorted"


@features.tool()
async def ask_reader(ctx: Context) -> str:
    """Ask the reader."""
    answer = await ctx.elicit("Which one?", {"type": "object", "properties": {}})
    return answer.action


@features.tool()
async def ask_model(ctx: Context) -> str:
    """Ask the model."""
    return str((await ctx.sample("Which one?", max_tokens=9))["model"])


@features.tool()
async def ask_folders(ctx: Context) -> str:
    """Ask for folders."""
    return ",".join(root["uri"] for root in await ctx.list_roots())


@features.resource("book://1", name="first", mime_type="text/plain")
def first_book(ctx: Context) -> str:
    """The first book."""
    return "It was a dark night."


@features.resource("book://2", name="second", mime_type="image/png")
def second_book(ctx: Context) -> bytes:
    """A book of pictures."""
    return COVER


@features.resource("shelf://{number}", name="shelf", mime_type="text/plain")
def shelf(ctx: Context, *, number: int) -> ResourceContents | None:
    """A shelf by its number."""
    uri = f"shelf://{number}"
    return ResourceContents(uri, "text/plain", text="two books") if number < 9 else None


@features.prompt()
def recommend(ctx: Context, *, genre: str, mood: str = "") -> list[PromptMessage]:
    """Recommend a book.

    Args:
        genre: What kind.
    """
    return [PromptMessage("user", Text(f"A {mood or 'good'} {genre}, please"))]


@features.completion(prompt="recommend", argument="genre")
def complete_genre(ctx: Context, value: str, arguments: dict[str, str]) -> list[str]:
    """Complete a genre."""
    return [genre for genre in ("poetry", "prose") if genre.startswith(value)]


class NoTools:
    """There are no generated tools."""

    async def call(self, name: str, arguments: JsonObject, context: Context) -> ToolResult:
        raise UnknownToolError(name)

    async def aclose(self) -> None:
        pass


def definition() -> ServerDefinition:
    bare = ServerDefinition({"name": "bookshelf", "version": "1"}, tools=PreparedList("tools", []))
    return features.extend(bare, [])


def make_dispatcher() -> Dispatcher:
    return Dispatcher(NoTools(), features, limits=Limits({"client_timeout_seconds": 5}))


def connect() -> MemoryConnection:
    """A connection to a bookshelf of its own."""
    return MemoryConnection(definition(), make_dispatcher())
