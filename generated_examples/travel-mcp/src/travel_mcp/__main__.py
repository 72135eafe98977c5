"""Starts the server: `travel-mcp`, or `python -m travel_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("travel_mcp"))


if __name__ == "__main__":
    main()
