"""Starts the server: `competitor-research-mcp`, or `python -m competitor_research_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("competitor_research_mcp"))


if __name__ == "__main__":
    main()
