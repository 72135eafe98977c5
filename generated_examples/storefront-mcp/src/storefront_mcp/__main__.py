"""Starts the server: `storefront-mcp`, or `python -m storefront_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("storefront_mcp"))


if __name__ == "__main__":
    main()
