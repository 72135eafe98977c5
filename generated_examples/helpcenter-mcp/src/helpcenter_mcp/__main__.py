"""Starts the server: `helpcenter-mcp`, or `python -m helpcenter_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("helpcenter_mcp"))


if __name__ == "__main__":
    main()
