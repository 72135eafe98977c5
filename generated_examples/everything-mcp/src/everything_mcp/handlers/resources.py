"""Resources: text, binary content, and a URI template."""

import json

from mcpgen.runtime import Context, Features

from everything_mcp.handlers.media import RED_DOT

features = Features()


@features.resource("test://static-text", mime_type="text/plain")
def static_text(ctx: Context) -> str:
    """A text that never changes."""
    return "This is the content of the static text resource."


@features.resource("test://static-binary", mime_type="image/png", size=len(RED_DOT))
def static_binary(ctx: Context) -> bytes:
    """A picture that never changes."""
    return RED_DOT


@features.resource("test://template/{id}/data", mime_type="application/json")
def template_data(ctx: Context, *, id: str) -> str | None:
    """The data of one item, by its id; ids are short."""
    if len(id) > 20:
        return None  # there is no such resource, and the client is told so
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@features.completion(template="test://template/{id}/data", argument="id")
def complete_id(ctx: Context, value: str, arguments: dict[str, str]) -> list[str]:
    """Suggest ids that begin as what was typed."""
    return [known for known in ("100", "101", "123", "200") if known.startswith(value)]
