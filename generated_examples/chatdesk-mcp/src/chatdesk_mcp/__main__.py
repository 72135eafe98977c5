"""Starts the server: `chatdesk-mcp`, or `python -m chatdesk_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("chatdesk_mcp"))


if __name__ == "__main__":
    main()
