"""Starts the server: `cloud-mcp`, or `python -m cloud_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("cloud_mcp"))


if __name__ == "__main__":
    main()
