"""Starts the server: `renderfarm-mcp`, or `python -m renderfarm_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("renderfarm_mcp"))


if __name__ == "__main__":
    main()
