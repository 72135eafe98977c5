"""Starts the server: `search-console-mcp`, or `python -m search_console_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("search_console_mcp"))


if __name__ == "__main__":
    main()
