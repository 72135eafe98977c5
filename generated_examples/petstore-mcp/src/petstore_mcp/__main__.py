"""Starts the server: `petstore-mcp`, or `python -m petstore_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("petstore_mcp"))


if __name__ == "__main__":
    main()
