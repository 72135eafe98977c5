"""Starts the server: `everything-mcp`, or `python -m everything_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("everything_mcp"))


if __name__ == "__main__":
    main()
