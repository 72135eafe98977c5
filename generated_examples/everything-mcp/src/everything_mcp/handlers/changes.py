"""Notifications to clients: changed lists, and updates of resources that they subscribe to."""

from mcpgen.runtime import Context, Features

features = Features(subscriptions=True, changing=("tools", "prompts", "resources"))

WATCHED = "test://watched-resource"


@features.resource(WATCHED, mime_type="text/plain")
def watched_resource(ctx: Context) -> str:
    """A resource that clients subscribe to."""
    return "Watched resource content"


@features.tool()
def test_trigger_resource_update(ctx: Context) -> str:
    """Tell whoever watches the resource that it changed."""
    ctx.announce_change("resource", WATCHED)
    return "Announced"


@features.tool()
def test_trigger_tool_change(ctx: Context) -> str:
    """Tell clients to read the list of tools again, as after a deployment."""
    ctx.announce_change("tools")
    return "Announced"


@features.tool()
def test_trigger_prompt_change(ctx: Context) -> str:
    """Tell clients to read the list of prompts again."""
    ctx.announce_change("prompts")
    return "Announced"


@features.tool()
def test_trigger_resource_list_change(ctx: Context) -> str:
    """Tell clients to read the list of resources again."""
    ctx.announce_change("resources")
    return "Announced"
