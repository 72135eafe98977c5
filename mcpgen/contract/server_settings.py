"""Settings of the runtime: one row each, for the runtime, the generator and the docs.

The settings of one server (base URLs, credentials, values of parameters) are in its contract. A row
here is the only place that has the name, the bounds and the description of a setting, and its
default unless that is a limit (`contract.limits`). `--help`, `.env.example`, the README,
`--check-env`, `server.json` and `docs/` read it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.contract.setting_kinds import ServerSetting

GROUPS: Final = {
    "api": "Requests to the API",
    "calls": "Calls of clients",
    "http": "HTTP server",
    "authorization": "Authorization of callers",
    "credentials": "Credentials of users",
    "state": "State and replicas",
    "telemetry": "Logs and telemetry",
}
"""Headings of the settings, by group, in the order in which they are listed."""

_DAY: Final = 86_400


def _limit(
    name: str,
    group: str,
    minimum: float,
    maximum: float,
    description: str,
    *,
    option: str = "",
    for_users: bool = False,
    in_contract: str = "",
) -> ServerSetting:
    """Return the setting of a limit of `contract.limits`, which has its default."""
    default = getattr(DEFAULT_LIMITS, name)
    is_integer = isinstance(default, int)
    return ServerSetting(
        name.upper(),
        group,
        "integer" if is_integer else "number",
        description,
        str(default) if is_integer else f"{default:g}",
        minimum,
        maximum,
        option=option,
        over_http=group == "http",
        limit=name,
        applies_to="contract" if in_contract else "requests" if group == "api" else "",
        in_contract=in_contract,
        for_users=for_users,
    )


SERVER_SETTINGS: Final = (
    ServerSetting(
        "ALLOW_PRIVATE",
        "api",
        "switch",
        "`1` permits private addresses in URLs of the document: this machine, an internal network.",
        choices=("0", "1", "false", "true"),
        applies_to="contract",
        in_contract="document_urls",
    ),
    ServerSetting(
        "CA_FILE",
        "api",
        "text",
        "Path of a CA certificate (PEM) that is trusted in addition to those of the system.",
        applies_to="contract",
        in_contract="requests",
    ),
    ServerSetting(
        "PROXY",
        "api",
        "proxy",
        "Proxy for requests to the API: `http://USER:PASSWORD@HOST:PORT`, or `https://…`. By"
        " default, the proxies in HTTPS_PROXY and HTTP_PROXY are used. Hosts in NO_PROXY are"
        " reached directly.",
        secret=True,
        applies_to="requests",
        for_users=True,
    ),
    _limit(
        "timeout_seconds",
        "api",
        0.1,
        3600,
        "Time limit of one API call, including the wait in the queue, the request for an"
        " access token and all attempts.",
        for_users=True,
    ),
    _limit(
        "connect_timeout_seconds",
        "api",
        0.1,
        300,
        "Time limit for resolving the API's host name and connecting to it, also through a proxy.",
    ),
    _limit("tls_timeout_seconds", "api", 0.1, 300, "Time limit of the TLS handshake with the API."),
    _limit(
        "idle_timeout_seconds",
        "api",
        0,
        300,
        "How long an idle connection to the API stays open, unless its `Keep-Alive` says"
        " otherwise. `0` closes it after each request.",
    ),
    _limit(
        "stream_seconds",
        "api",
        0.1,
        3600,
        "How long an endless response of the API (events, lines) is read before it is cut off.",
    ),
    _limit(
        "max_attempts",
        "api",
        1,
        10,
        "Maximum number of attempts of a request that may be repeated, including the first one.",
    ),
    _limit(
        "max_concurrent",
        "api",
        1,
        10_000,
        "Maximum number of concurrent requests, and of connections, to one origin of the API.",
    ),
    _limit(
        "max_queued",
        "api",
        0,
        100_000,
        "Maximum number of requests that wait for one origin of the API. Further requests"
        " fail at once.",
    ),
    _limit(
        "circuit_requests",
        "api",
        1,
        1_000_000,
        "Minimum number of requests in the window before the circuit breaker can open. It"
        " opens when more than half of them failed.",
    ),
    _limit("circuit_window_seconds", "api", 0.1, 3600, "Length of the circuit breaker's window."),
    _limit(
        "circuit_rest_seconds",
        "api",
        0.1,
        3600,
        "How long an open circuit breaker rejects calls before it lets one through to test"
        " the API.",
    ),
    _limit(
        "max_response_bytes",
        "api",
        1024,
        256 * 1024 * 1024,
        "Maximum size of an API response after decompression. A call may need three times as"
        " much memory.",
    ),
    _limit(
        "max_pages",
        "api",
        1,
        1000,
        "Maximum number of pages of a list that one call reads, however many it asks for.",
    ),
    _limit(
        "max_pages_bytes",
        "api",
        1024,
        256 * 1024 * 1024,
        "Total size of the pages of a list after which a call reads no further page.",
    ),
    ServerSetting(
        "RATE_LIMIT",
        "calls",
        "rate",
        "Maximum rate of calls of one caller, such as `60/minute`. By default, unlimited.",
    ),
    _limit(
        "max_result_tokens",
        "calls",
        250,
        25_000_000,
        "Maximum size of a result, estimated at 4 bytes per token. A longer result is cut, and"
        " names the call that returns the rest.",
        for_users=True,
    ),
    _limit(
        "result_ttl_seconds",
        "calls",
        1,
        _DAY,
        "How long a result that was cut is stored.",
        in_contract="handles",
    ),
    _limit(
        "max_stored_bytes",
        "calls",
        64 * 1024,
        64 * 1024**3,
        "Memory for stored results, of all clients together. One client may use a quarter of it.",
        in_contract="handles",
    ),
    _limit(
        "max_calls",
        "calls",
        1,
        100_000,
        "Maximum number of calls in flight, of all clients together.",
    ),
    _limit(
        "max_message_bytes",
        "calls",
        64 * 1024,
        64 * 1024 * 1024,
        "Maximum size of a client's message.",
    ),
    _limit(
        "max_buffered_bytes",
        "calls",
        1024 * 1024,
        64 * 1024**3,
        "Memory for large API responses and for data that clients have not read yet or are"
        " still sending. The arguments of calls in flight may take as much again.",
    ),
    _limit(
        "client_timeout_seconds",
        "calls",
        1,
        86_400,
        "How long a call waits for its client, for example until the user answers a question,"
        " in MCP revisions before 2026-07-28.",
    ),
    _limit(
        "question_timeout_seconds",
        "calls",
        1,
        86_400,
        "How long the user may take to answer a question from MCP 2026-07-28 on, where the"
        " client stores the state of the call.",
    ),
    _limit(
        "drain_timeout_seconds",
        "calls",
        0,
        86_400,
        "How long calls in flight may continue after SIGTERM, or after the client has"
        " disconnected.",
        option="--drain-timeout",
    ),
    _limit(
        "max_tasks",
        "calls",
        1,
        1_000_000,
        "Maximum number of tasks that one caller begins within TASK_TTL_SECONDS, and that one"
        " process runs at a time.",
    ),
    _limit(
        "task_ttl_seconds",
        "calls",
        1,
        30 * _DAY,
        "How long a task is kept, with its result, from its beginning on.",
    ),
    ServerSetting(
        "FILE_ROOTS",
        "calls",
        "text",
        "Folders whose files may be sent as arguments (`file:` URIs), separated as in PATH. By"
        " default, none.",
        applies_to="contract",
        in_contract="files",
    ),
    ServerSetting(
        "TOOLSET",
        "calls",
        "text",
        "Toolsets to list instead of the search tools, separated by commas. Same as `--toolset`.",
        option="--toolset",
        applies_to="contract",
        in_contract="search",
    ),
    ServerSetting(
        "SEARCH_MODEL",
        "calls",
        "text",
        "Folder of an embedding model (`model.onnx`, `tokenizer.json`) by which the search ranks"
        " tools, too. Needs `mcpgen[embeddings]`.",
        applies_to="contract",
        in_contract="search",
    ),
    ServerSetting(
        "PRE_STOP_DELAY_SECONDS",
        "http",
        "number",
        "How long to keep serving after SIGTERM while `/readyz` returns 503, so that load"
        " balancers stop sending requests.",
        "0",
        maximum=_DAY,
        option="--pre-stop-delay",
        over_http=True,
    ),
    ServerSetting(
        "SERVER_CARD",
        "http",
        "switch",
        "`1` describes the server to anyone: its name and URL are at `/mcp/server-card` and"
        " `/.well-known/ai-catalog.json` (a draft of MCP).",
        choices=("0", "1", "false", "true"),
        option="--server-card",
        over_http=True,
    ),
    _limit(
        "max_connections",
        "http",
        1,
        1_000_000,
        "Maximum number of connections of clients. The limit of the process on open files may"
        " lower it.",
    ),
    _limit(
        "head_timeout_seconds", "http", 0.1, 3600, "Time limit for receiving the head of a request."
    ),
    _limit(
        "body_timeout_seconds", "http", 0.1, 3600, "Time limit for receiving the body of a request."
    ),
    _limit(
        "write_timeout_seconds",
        "http",
        0.1,
        3600,
        "How long a client may take to read 16 KiB of a response before its connection is closed.",
    ),
    _limit(
        "keep_alive_seconds",
        "http",
        0.1,
        86_400,
        "How long an idle connection of a client stays open. It should be longer than in a"
        " proxy in front of the server.",
    ),
    _limit(
        "ping_seconds",
        "http",
        1,
        3600,
        "Interval of the comments on a silent stream, which keep proxies from closing it.",
    ),
    _limit(
        "max_sessions",
        "http",
        1,
        10_000_000,
        "Maximum number of sessions of MCP revisions before 2026-07-28. A further session"
        " ends the one that was not used for the longest time.",
    ),
    _limit(
        "session_timeout_seconds",
        "http",
        1,
        30 * _DAY,
        "How long a session may be idle before it ends.",
    ),
    _limit(
        "max_events",
        "http",
        1,
        100_000,
        "Maximum number of events of a stream that are stored for a client that resumes it.",
    ),
    _limit(
        "event_seconds",
        "http",
        1,
        _DAY,
        "How long events are stored for a client that resumes a stream.",
    ),
    _limit(
        "max_unread_events",
        "http",
        1,
        1_000_000,
        "Maximum number of events of a stream that wait for a slow client. The stream is"
        " closed beyond it.",
    ),
    ServerSetting(
        "ALLOW_REMOTE",
        "http",
        "switch",
        "`1` lets other machines call the tools, with the credentials of this server.",
        "0",
        option="--allow-remote",
        over_http=True,
    ),
    ServerSetting(
        "ALLOWED_HOSTS",
        "http",
        "list",
        "Host names by which clients reach the server (`Host` header), in addition to those"
        " of this machine and of PUBLIC_URL; separated by commas.",
        option="--allowed-host",
        over_http=True,
    ),
    ServerSetting(
        "ALLOWED_ORIGINS",
        "http",
        "list",
        "Origins of web pages that may use the server: `https://app.example`; separated by commas.",
        option="--allowed-origin",
        over_http=True,
    ),
    ServerSetting(
        "TLS_CERT",
        "http",
        "text",
        "Path of the server's certificate chain (PEM). It is read again when it changes.",
        option="--tls-cert",
        over_http=True,
    ),
    ServerSetting(
        "TLS_KEY",
        "http",
        "text",
        "Path of the key of TLS_CERT (PEM, without a passphrase).",
        option="--tls-key",
        over_http=True,
    ),
    ServerSetting(
        "WORKERS",
        "http",
        "integer",
        "Number of processes that serve the same socket.",
        "1",
        minimum=1,
        maximum=256,
        option="--workers",
        over_http=True,
    ),
    ServerSetting(
        "PUBLIC_URL",
        "authorization",
        "https_url",
        "URL of the MCP endpoint as clients see it, for which access tokens are issued. By"
        " default, the address on this machine.",
        over_http=True,
    ),
    ServerSetting(
        "AUTH_ISSUER",
        "authorization",
        "https_urls",
        "Issuers of the access tokens that callers must send, separated by commas.",
        over_http=True,
    ),
    ServerSetting(
        "AUTH_AUDIENCE",
        "authorization",
        "list",
        "Accepted audiences of access tokens, separated by commas. By default, PUBLIC_URL.",
        over_http=True,
    ),
    ServerSetting(
        "AUTH_JWKS_URL",
        "authorization",
        "https_url",
        "URL of the issuer's keys, if the issuer publishes no metadata.",
        over_http=True,
    ),
    ServerSetting(
        "AUTH_INTROSPECTION_URL",
        "authorization",
        "https_url",
        "URL at which opaque access tokens are checked (RFC 7662).",
        over_http=True,
    ),
    ServerSetting(
        "AUTH_CLIENT_ID",
        "authorization",
        "text",
        "This server's client id at AUTH_INTROSPECTION_URL.",
        over_http=True,
    ),
    ServerSetting(
        "AUTH_CLIENT_SECRET",
        "authorization",
        "text",
        "The secret of AUTH_CLIENT_ID.",
        secret=True,
        over_http=True,
    ),
    ServerSetting(
        "AUTH_SCOPES",
        "authorization",
        "scopes",
        "Scopes that every call requires, separated by spaces.",
        over_http=True,
    ),
    ServerSetting(
        "AUTH_TOKENS_FILE",
        "authorization",
        "text",
        "Path of a file of static bearer tokens: `NAME SHA256-HEX [SCOPE…]` on each line.",
        over_http=True,
    ),
    ServerSetting(
        "EXCHANGE_TOKEN_URL",
        "credentials",
        "https_url",
        "URL at which a caller's access token is exchanged for one of the API (RFC 8693).",
        over_http=True,
        applies_to="contract",
        in_contract="exchange",
    ),
    ServerSetting(
        "EXCHANGE_AUDIENCE",
        "credentials",
        "text",
        "Audience of the exchanged token. By default, the origin of the API.",
        over_http=True,
        applies_to="contract",
        in_contract="exchange",
    ),
    ServerSetting(
        "EXCHANGE_CLIENT_ID",
        "credentials",
        "text",
        "This server's client id at EXCHANGE_TOKEN_URL.",
        over_http=True,
        applies_to="contract",
        in_contract="exchange",
    ),
    ServerSetting(
        "EXCHANGE_CLIENT_SECRET",
        "credentials",
        "text",
        "The secret of EXCHANGE_CLIENT_ID.",
        secret=True,
        over_http=True,
        applies_to="contract",
        in_contract="exchange",
    ),
    ServerSetting(
        "CONNECT_CLIENT_ID",
        "credentials",
        "text",
        "This server's client id at AUTH_ISSUER, where users sign in to connect their"
        " accounts (OpenID Connect).",
        over_http=True,
        applies_to="contract",
        in_contract="user",
    ),
    ServerSetting(
        "CONNECT_CLIENT_SECRET",
        "credentials",
        "text",
        "The secret of CONNECT_CLIENT_ID. A public client has none.",
        secret=True,
        over_http=True,
        applies_to="contract",
        in_contract="user",
    ),
    ServerSetting(
        "STATE_URL",
        "state",
        "state_url",
        "Where state is stored: `memory:`, `sqlite:///PATH` for the processes of one machine,"
        " `valkey://HOST:PORT` or `redis://HOST:PORT` for any number of machines.",
        "memory:",
        secret=True,
    ),
    ServerSetting(
        "STATE_KEYS",
        "state",
        "text",
        "Keys that encrypt stored credentials, and the state of a call that waits for its"
        " user: at least 32 characters each, separated by commas. All replicas need the same"
        " keys.",
        secret=True,
        in_contract="questions",
    ),
    ServerSetting(
        "LOG_LEVEL",
        "telemetry",
        "choice",
        "Minimum severity of log messages; `info` and `debug` also log a line for each call."
        " By default, messages from info on are logged, but no lines for calls.",
        choices=("debug", "info", "warning", "error"),
        for_users=True,
    ),
    ServerSetting(
        "LOG_FORMAT",
        "telemetry",
        "choice",
        "Format of the log on stderr.",
        "text",
        choices=("text", "json"),
    ),
    ServerSetting(
        "AUDIT_FILE",
        "telemetry",
        "text",
        "Path of a file to which a line of JSON is written for each call that changes something.",
    ),
)
"""All settings that every server has, in the order of `GROUPS`."""

BY_NAME: Final = {setting.name: setting for setting in SERVER_SETTINGS}


def list_applicable(prefix: str, declared: Collection[str]) -> Iterator[ServerSetting]:
    """Yield the settings that a server has in addition to those that its contract lists.

    `declared` are the names of the settings in the contract.
    """
    sends_requests = f"{prefix}CA_FILE" in declared
    for setting in SERVER_SETTINGS:
        applies = not setting.applies_to or (setting.applies_to == "requests" and sends_requests)
        if applies and prefix + setting.name not in declared:
            yield setting
