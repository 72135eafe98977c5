"""Starts the server: `gitforge-mcp`, or `python -m gitforge_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("gitforge_mcp"))


if __name__ == "__main__":
    main()
