"""Starts the server: `fleet-telemetry-mcp`, or `python -m fleet_telemetry_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("fleet_telemetry_mcp"))


if __name__ == "__main__":
    main()
