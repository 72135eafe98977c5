"""Starts the server: `n8n-mcp`, or `python -m n8n_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("n8n_mcp"))


if __name__ == "__main__":
    main()
