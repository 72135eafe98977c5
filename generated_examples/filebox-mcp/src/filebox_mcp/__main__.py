"""Starts the server: `filebox-mcp`, or `python -m filebox_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("filebox_mcp"))


if __name__ == "__main__":
    main()
