"""Starts the server: `telescope-mcp`, or `python -m telescope_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("telescope_mcp"))


if __name__ == "__main__":
    main()
