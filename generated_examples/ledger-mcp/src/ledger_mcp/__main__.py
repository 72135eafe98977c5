"""Starts the server: `ledger-mcp`, or `python -m ledger_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("ledger_mcp"))


if __name__ == "__main__":
    main()
