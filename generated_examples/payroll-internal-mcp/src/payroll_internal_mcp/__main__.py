"""Starts the server: `payroll-internal-mcp`, or `python -m payroll_internal_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("payroll_internal_mcp"))


if __name__ == "__main__":
    main()
