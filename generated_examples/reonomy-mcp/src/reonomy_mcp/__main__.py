"""Starts the server: `reonomy-mcp`, or `python -m reonomy_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("reonomy_mcp"))


if __name__ == "__main__":
    main()
