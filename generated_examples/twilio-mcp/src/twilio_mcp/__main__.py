"""Starts the server: `twilio-mcp`, or `python -m twilio_mcp`."""

import sys

from mcpgen.runtime.serving import serve


def main() -> None:
    """Serve over stdio, or over HTTP with `--http`."""
    sys.exit(serve("twilio_mcp"))


if __name__ == "__main__":
    main()
