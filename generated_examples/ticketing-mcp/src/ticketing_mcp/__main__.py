"""Starts the server: `ticketing-mcp`, or `python -m ticketing_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("ticketing_mcp"))


if __name__ == "__main__":
    main()
