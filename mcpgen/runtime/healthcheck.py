"""Health check of a container: `python -m mcpgen.runtime.healthcheck`, exit code 0 or 1.

The image of a generated server has neither curl nor a shell script for it. The server is the
container's first process, whose arguments say whether it serves HTTP, and on which port.
"""

from __future__ import annotations

import http.client
import os
import ssl
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from mcpgen.runtime.startup.option_values import DEFAULT_PORT

HEALTH_PATH: Final = "/livez"  # as `streamable.py` serves it
TIMEOUT_SECONDS: Final = 3.0
_FIRST_PROCESS: Final = Path("/proc/1/cmdline")
_ALL_INTERFACES: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104


def main(first_process: Path = _FIRST_PROCESS) -> int:
    """Check the server that is the container's first process; print the reason if it fails."""
    arguments = first_process.read_bytes().decode("utf-8", "replace").split("\0")
    problem = find_problem(arguments, os.environ)
    if problem:
        sys.stdout.write(f"{problem}\n")
    return 1 if problem else 0


def find_problem(arguments: Sequence[str], environ: Mapping[str, str] | None = None) -> str:
    """Request the health of the server started with `arguments`; return "" if it is healthy.

    A server over stdio is healthy while it runs. `environ` has the server's settings.
    """
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--host", default="")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument("--tls-cert", default="")
    # `docker run --init` starts the server as `docker-init -- SERVER ARGUMENTS`.
    options, _ = parser.parse_known_args([word for word in arguments if word != "--"])
    if not options.http:
        return ""
    host = _ALL_INTERFACES.get(options.host, options.host)
    has_tls = options.tls_cert or _find_certificate_setting(arguments, environ or {})
    connection = (
        http.client.HTTPSConnection(
            host, options.port, timeout=TIMEOUT_SECONDS, context=_trust_this_container()
        )
        if has_tls
        else http.client.HTTPConnection(host, options.port, timeout=TIMEOUT_SECONDS)
    )
    try:
        connection.request("GET", HEALTH_PATH)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"cannot connect to {host} on port {options.port}: {error}"
    finally:
        connection.close()
    return "" if status == http.client.OK else f"{HEALTH_PATH} returned status {status}"


def _find_certificate_setting(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the server's setting TLS_CERT; its program is called like the prefix of settings."""
    programs = [Path(word).name for word in arguments if word.endswith("-mcp")]
    prefixes = [name.removesuffix("mcp").replace("-", "_").upper() for name in programs]
    return next(filter(None, (environ.get(f"{it}TLS_CERT", "") for it in prefixes)), "")


def _trust_this_container() -> ssl.SSLContext:
    """Return a context that accepts any certificate: it is for another name than this address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


if __name__ == "__main__":
    sys.exit(main())
