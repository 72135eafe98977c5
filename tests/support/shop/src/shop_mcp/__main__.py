"""Starts the server: `shop-mcp`, or `python -m shop_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("shop_mcp"))


if __name__ == "__main__":
    main()
