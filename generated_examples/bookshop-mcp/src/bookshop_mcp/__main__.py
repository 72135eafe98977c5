"""Starts the server: `bookshop-mcp`, or `python -m bookshop_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("bookshop_mcp"))


if __name__ == "__main__":
    main()
