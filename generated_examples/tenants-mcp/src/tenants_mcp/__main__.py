"""Starts the server: `tenants-mcp`, or `python -m tenants_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("tenants_mcp"))


if __name__ == "__main__":
    main()
