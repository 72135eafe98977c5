"""Starts the server: `stockroom-mcp`, or `python -m stockroom_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("stockroom_mcp"))


if __name__ == "__main__":
    main()
