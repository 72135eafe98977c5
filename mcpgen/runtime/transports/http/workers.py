"""`--workers`: several processes that serve a package on one socket."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mcpgen.runtime.errors import ConfigurationError, UsageError
from mcpgen.runtime.process.log import log
from mcpgen.runtime.process.supervisor import Supervisor, WorkerLink
from mcpgen.runtime.transports.http.listener import open_sockets
from mcpgen.runtime.transports.http.server import format_address
from mcpgen.runtime.transports.http.streamable import MCP_PATH

if TYPE_CHECKING:
    from mcpgen.runtime.package import ServerPackage


def serve_with_workers(
    serve_one: Callable[..., int],
    package: ServerPackage,
    count: int,
    *,
    host: str,
    port: int,
    **options: Any,
) -> int:
    """Serve a package in `count` processes until a signal ends them; return the exit code.

    `serve_one` is `serve_http` or calls it with its options. In a worker, this returns the
    worker's exit code.

    Raises:
        ConfigurationError: the address cannot be bound; in a worker, as `serve_http`.
    """
    sockets = open_sockets(host, port)
    address = format_address(host, sockets[0].getsockname()[1])
    scheme = "http" if options.get("certificate") is None else "https"

    def serve(worker: WorkerLink) -> int:
        return serve_one(package, host=host, port=port, worker=worker, **options)

    def announce() -> None:
        name = package.definition.info["name"]
        log("info", f"{name} is served at {scheme}://{address}{MCP_PATH} by {count} workers")

    stop_seconds = options["drain_timeout_seconds"] + options["pre_stop_delay_seconds"]
    return Supervisor(count, sockets, serve, on_ready=announce, stop_seconds=stop_seconds).run()


def find_worker_problems(
    prefix: str, environ: Mapping[str, str], *, is_shared_state: bool, has_sessions: bool
) -> list[ConfigurationError]:
    """Return why several processes cannot serve the same clients."""
    if not hasattr(os, "fork"):
        return [UsageError("--workers is not available on Windows; run several servers instead")]
    problems: list[ConfigurationError] = []
    if has_sessions and not is_shared_state:
        name = f"{prefix}STATE_URL"
        problems.append(
            ConfigurationError(
                "--workers needs --no-sessions, or a store that the processes share: set "
                f"{name} to sqlite:///PATH or valkey://HOST:PORT",
                setting=name,
            )
        )
    keys = f"{prefix}STATE_KEYS"
    if not environ.get(keys, "").strip():
        problems.append(
            ConfigurationError(
                f"{keys} must be set with --workers: no process could read what another one has "
                "encrypted; `openssl rand -base64 32` makes a key",
                setting=keys,
            )
        )
    return problems
