"""Starts the server: `harbor-mcp`, or `python -m harbor_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("harbor_mcp"))


if __name__ == "__main__":
    main()
