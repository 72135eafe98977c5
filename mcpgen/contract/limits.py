"""Limits of a server at run time, with their defaults.

`mcpgen.contract.server_settings` has a setting with bounds for each of them, under the name in
upper case, and `limits` in mcpgen.yaml sets other defaults for one server. Nothing expensive is
imported here: servers read this before they answer the first message.
"""

from __future__ import annotations

from collections.abc import Mapping


class Limits:
    """The limits of one server: read once, when it starts."""

    # Calls of the API
    timeout_seconds: float = 60.0
    connect_timeout_seconds: float = 5.0
    tls_timeout_seconds: float = 5.0
    idle_timeout_seconds: float = 4.0
    stream_seconds: float = 20.0
    max_attempts: int = 3
    max_concurrent: int = 100
    max_queued: int = 200
    circuit_requests: int = 20
    circuit_window_seconds: float = 10.0
    circuit_rest_seconds: float = 5.0
    max_response_bytes: int = 10 * 1024 * 1024
    max_pages: int = 1000
    max_pages_bytes: int = 1024 * 1024

    # Calls of clients
    max_result_tokens: int = 25_000
    result_ttl_seconds: float = 1800.0
    max_stored_bytes: int = 64 * 1024 * 1024
    max_calls: int = 1000
    max_message_bytes: int = 4 * 1024 * 1024
    max_buffered_bytes: int = 48 * 1024 * 1024
    client_timeout_seconds: float = 60.0
    question_timeout_seconds: float = 600.0
    drain_timeout_seconds: float = 30.0
    max_tasks: int = 10_000
    task_ttl_seconds: float = 86_400.0

    # HTTP server
    max_connections: int = 12_000
    head_timeout_seconds: float = 10.0
    body_timeout_seconds: float = 30.0
    write_timeout_seconds: float = 30.0
    keep_alive_seconds: float = 75.0
    ping_seconds: float = 15.0
    max_sessions: int = 10_000
    session_timeout_seconds: float = 1800.0
    max_events: int = 100
    event_seconds: float = 300.0
    max_unread_events: int = 1000

    def __init__(self, values: Mapping[str, float] | None = None) -> None:
        """Set limits other than the defaults; their values have been checked."""
        vars(self).update(values or {})


LIMIT_NAMES = tuple(name for name in vars(Limits) if not name.startswith("_"))
"""The names of all limits, in the order of their settings."""

DEFAULT_LIMITS = Limits()

BYTES_PER_TOKEN = 4
"""An estimate for texts and JSON in UTF-8."""
