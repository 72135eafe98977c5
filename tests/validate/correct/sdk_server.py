"""A small server on an SDK in Python: `sdk_server.py MODULE CLASS [--port N]`.

Run by the interpreter of the SDK's environment. `MODULE CLASS` are `mcp.server.fastmcp FastMCP`,
`mcp.server.mcpserver MCPServer` or `fastmcp FastMCP`.
"""

import importlib
import sys

from typing_extensions import TypedDict  # which pydantic requires

make_server = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
server = make_server("sdk-server")


class Sum(TypedDict):
    """A sum."""

    sum: int


@server.tool(annotations={"readOnlyHint": True})
def add(a: int, b: int) -> Sum:
    """Add two integers."""
    return {"sum": a + b}


@server.tool(annotations={"readOnlyHint": True})
def find_city(region: str, limit: int = 1) -> str:
    """Find the largest cities of a region."""
    return f"the {limit} largest cities of {region}"


@server.resource("memo://hello", mime_type="text/plain")
def hello() -> str:
    """A text."""
    return "hello"


@server.resource("memo://numbers/{number}")
def numbers(number: str) -> str:
    """A number."""
    return number


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Greet {name}."


if __name__ == "__main__":
    quiet = {"show_banner": False} if sys.argv[1] == "fastmcp" else {}
    if "--port" in sys.argv:
        port = int(sys.argv[sys.argv.index("--port") + 1])
        if sys.argv[1] == "mcp.server.fastmcp":
            server.settings.port = port
            server.run("streamable-http")
        else:
            server.run("streamable-http", port=port, **quiet)
    else:
        server.run("stdio", **quiet)
