"""Starts the server: `meta-ads-mcp`, or `python -m meta_ads_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("meta_ads_mcp"))


if __name__ == "__main__":
    main()
