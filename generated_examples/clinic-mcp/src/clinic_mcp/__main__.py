"""Starts the server: `clinic-mcp`, or `python -m clinic_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("clinic_mcp"))


if __name__ == "__main__":
    main()
