"""Starts the server: `calendar-mcp`, or `python -m calendar_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("calendar_mcp"))


if __name__ == "__main__":
    main()
