"""Starts the server: `surveys-mcp`, or `python -m surveys_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("surveys_mcp"))


if __name__ == "__main__":
    main()
