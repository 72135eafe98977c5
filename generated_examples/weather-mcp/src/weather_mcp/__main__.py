"""Starts the server: `weather-mcp`, or `python -m weather_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("weather_mcp"))


if __name__ == "__main__":
    main()
