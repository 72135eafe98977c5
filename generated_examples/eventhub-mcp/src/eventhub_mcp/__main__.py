"""Starts the server: `eventhub-mcp`, or `python -m eventhub_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("eventhub_mcp"))


if __name__ == "__main__":
    main()
