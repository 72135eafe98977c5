"""Health check of a container: `python -m mcpgen.runtime.healthcheck`, exit code 0 or 1.

The image of a generated server has neither curl nor a shell script for it. The server is the
container's first process, whose arguments say whether it serves HTTP, and on which port.
"""

from __future__ import annotations

import http.client
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mcpgen.runtime.serving import DEFAULT_PORT

HEALTH_PATH: Final = "/health"  # as `streamable_http.py` serves it
TIMEOUT_SECONDS: Final = 3.0
_FIRST_PROCESS: Final = Path("/proc/1/cmdline")
_ALL_INTERFACES: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104


def main(first_process: Path = _FIRST_PROCESS) -> int:
    """Check the server that is the container's first process; print what is wrong with it."""
    arguments = first_process.read_bytes().decode("utf-8", "replace").split("\0")
    problem = find_problem(arguments)
    if problem:
        sys.stdout.write(f"{problem}\n")
    return 1 if problem else 0


def find_problem(arguments: Sequence[str]) -> str:
    """Request the health of the server started with `arguments`; return "" if it is healthy.

    A server over stdio is healthy while it runs.
    """
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--host", default="")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    # `docker run --init` starts the server as `docker-init -- SERVER ARGUMENTS`.
    options, _ = parser.parse_known_args([word for word in arguments if word != "--"])
    if not options.http:
        return ""
    host = _ALL_INTERFACES.get(options.host, options.host)
    connection = http.client.HTTPConnection(host, options.port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", HEALTH_PATH)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"cannot connect to {host} on port {options.port}: {error}"
    finally:
        connection.close()
    return "" if status == http.client.OK else f"{HEALTH_PATH} returned status {status}"


if __name__ == "__main__":
    sys.exit(main())
