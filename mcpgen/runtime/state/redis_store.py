"""The store of any number of machines, in Valkey 7 or Redis 6 and later: `valkey://HOST:PORT`.

Keys are `SERVER:KIND:KEY`, so several servers can share a database. Operations of several steps are
scripts, which run atomically. A command is never repeated, since it may have been executed.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.state.store import StoreUnavailableError

TIMEOUT_SECONDS: Final = 3.0  # of a command, with the wait for a connection
MAX_CONNECTIONS: Final = 32  # for commands
MAX_SUBSCRIPTIONS: Final = 256  # each one has a connection
HEARTBEAT_SECONDS: Final = 5.0  # without a message, after which a subscription is checked
MAX_BACKOFF_SECONDS: Final = 1.0
_MIN_BACKOFF_SECONDS: Final = 0.05
_URL_OPTIONS: Final = frozenset(
    {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname"}
)
_CONNECTION_ERRORS: Final = (RedisConnectionError, RedisTimeoutError, OSError, TimeoutError)
_ERRORS: Final = (*_CONNECTION_ERRORS, RedisError, RuntimeError)
# RuntimeError: the connection was closed during the command.
_CLOSED: Final = "the state store is closed"
_CAUSES: Final = {  # by the library's class, else by the first word of the error
    "AuthenticationError": "it requires another user name or password",
    "BusyLoadingError": "it is loading its data",
    "MasterDownError": "it has lost its primary",
    "NoPermissionError": "the user may not run a command that this server needs",
    "OutOfMemoryError": "it is full (maxmemory)",
    "ReadOnlyError": "it is a read-only replica",
    "BUSY": "it runs a script of another client",
    "MISCONF": "it cannot save its data",
    "OOM": "it is full (maxmemory)",
}

_REPLACE: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
"""
_DELETE_IF: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""
_TAKE: Final = """
local value = redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1])
return value
"""
_COUNT: Final = """
local sum = redis.call('INCRBY', KEYS[1], ARGV[1])
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return sum
"""
# A log is a hash: its entries by number, `first`, `last`, and the `bytes` of its entries.
_APPEND: Final = """
local key, value = KEYS[1], ARGV[1]
local max_entries, max_bytes = tonumber(ARGV[3]), tonumber(ARGV[4])
local last = redis.call('HINCRBY', key, 'last', 1)
local size = redis.call('HINCRBY', key, 'bytes', #value)
local first = tonumber(redis.call('HGET', key, 'first') or last)
redis.call('HSET', key, last, value)
while first < last and (last - first >= max_entries or size > max_bytes) do
  size = size - redis.call('HSTRLEN', key, first)
  redis.call('HDEL', key, first)
  first = first + 1
end
redis.call('HSET', key, 'first', first, 'bytes', size)
redis.call('PEXPIRE', key, ARGV[2])
return last
"""
_READ_LOG: Final = """
local key = KEYS[1]
local last = tonumber(redis.call('HGET', key, 'last'))
if not last then return false end
local first = math.max(tonumber(redis.call('HGET', key, 'first')), tonumber(ARGV[1]) + 1)
local values = {}
for number = first, last do values[#values + 1] = redis.call('HGET', key, number) end
return {first, values}
"""


class RedisStore:
    """State in a Valkey or Redis server.

    Above `MAX_CONNECTIONS` commands wait for a connection. While the server cannot be reached,
    commands fail at once, and one of them tries again, after a time that grows to
    `MAX_BACKOFF_SECONDS`.
    """

    def __init__(self, url: str, *, prefix: str) -> None:
        """Read the URL; the first command connects.

        Raises:
            ConfigurationError: the URL is invalid.
        """
        options: dict[str, Any] = {
            "socket_timeout": TIMEOUT_SECONDS,
            "socket_connect_timeout": TIMEOUT_SECONDS,
            "socket_keepalive": True,
            "retry": Retry(NoBackoff(), 0),
            "protocol": 2,
        }
        url = _read_url(url)
        try:
            pool: ConnectionPool = BlockingConnectionPool.from_url(
                url, max_connections=MAX_CONNECTIONS, timeout=TIMEOUT_SECONDS, **options
            )
            self._subscribers = ConnectionPool.from_url(
                url, max_connections=MAX_SUBSCRIPTIONS, **options
            )
        except (ValueError, RedisError):
            raise ConfigurationError("expected valkey://[[USER]:PASSWORD@]HOST[:PORT]") from None
        self._client = Redis(connection_pool=pool)
        self._prefix = prefix
        # Channels are not separated by database.
        self._channel_prefix = f"{prefix}{pool.connection_kwargs.get('db', 0)}:m:"
        register = self._client.register_script
        self._replace, self._delete_if = register(_REPLACE), register(_DELETE_IF)
        self._take, self._count = register(_TAKE), register(_COUNT)
        self._append, self._read_log = register(_APPEND), register(_READ_LOG)
        self._subscriptions: set[PubSub] = set()
        self._failure = ""  # why the last connection failed
        self._backoff_seconds = 0.0
        self._retry_at = 0.0
        self._is_closed = False

    async def get(self, key: str) -> bytes | None:
        """Return a value."""
        value: bytes | None = await self._run(self._client.get, self._value_key(key))
        return value

    async def put(self, key: str, value: bytes, ttl_seconds: float) -> None:
        """Store a value."""
        await self._run(self._client.set, self._value_key(key), value, px=_to_ms(ttl_seconds))

    async def add(self, key: str, value: bytes, ttl_seconds: float) -> bool:
        """Store a value unless the key exists."""
        name, ttl_ms = self._value_key(key), _to_ms(ttl_seconds)
        return bool(await self._run(self._client.set, name, value, px=ttl_ms, nx=True))

    async def replace(self, key: str, old: bytes, new: bytes, ttl_seconds: float) -> bool:
        """Store `new` if the value is `old`."""
        arguments = [old, new, _to_ms(ttl_seconds)]
        return bool(await self._run(self._replace, [self._value_key(key)], arguments))

    async def take(self, key: str) -> bytes | None:
        """Return and delete a value."""
        value: bytes | None = await self._run(self._take, [self._value_key(key)])
        return value

    async def delete(self, *keys: str) -> None:
        """Delete values, logs and counters."""
        names = [f"{self._prefix}{kind}:{key}" for key in keys for kind in "vcl"]
        if names:
            await self._run(self._client.unlink, *names)

    async def delete_if(self, key: str, value: bytes) -> bool:
        """Delete a key that has this value."""
        return bool(await self._run(self._delete_if, [self._value_key(key)], [value]))

    async def count(self, key: str, window_seconds: float, amount: int = 1) -> int:
        """Add to a counter."""
        arguments = [amount, _to_ms(window_seconds)]
        return int(await self._run(self._count, [f"{self._prefix}c:{key}"], arguments))

    async def append(
        self, log: str, value: bytes, *, ttl_seconds: float, max_entries: int, max_bytes: int
    ) -> int:
        """Append an entry to a log."""
        arguments = [value, _to_ms(ttl_seconds), max_entries, max_bytes]
        return int(await self._run(self._append, [f"{self._prefix}l:{log}"], arguments))

    async def read_log(self, log: str, after: int) -> list[tuple[int, bytes]] | None:
        """Return the stored entries above a number."""
        found = await self._run(self._read_log, [f"{self._prefix}l:{log}"], [after])
        return None if found is None else list(enumerate(found[1], start=found[0]))

    async def publish(self, channel: str, message: bytes) -> None:
        """Send a message to the subscribers of all replicas."""
        await self._run(self._client.publish, self._channel_prefix + channel, message)

    async def subscribe(self, channels: Sequence[str]) -> AsyncGenerator[tuple[str, bytes], None]:
        """Yield the messages of channels, from a connection of its own."""
        subscription = PubSub(self._subscribers)
        self._subscriptions.add(subscription)
        try:
            await self._run(subscription.subscribe, *(self._channel_prefix + it for it in channels))
            is_checked = True
            while True:
                try:
                    message = await subscription.get_message(timeout=HEARTBEAT_SECONDS)
                except _ERRORS as error:
                    raise StoreUnavailableError(self._describe(error)) from None
                if message is None:
                    if not is_checked:
                        raise StoreUnavailableError("the state store stopped answering")
                    is_checked = False
                    await self._run(subscription.ping)
                    continue
                is_checked = True
                if message["type"] == "message":
                    name = message["channel"].decode()
                    yield name.removeprefix(self._channel_prefix), message["data"]
        finally:
            self._subscriptions.discard(subscription)
            with contextlib.suppress(RedisError, OSError):
                await subscription.aclose()  # type: ignore[no-untyped-call]  # of the library

    async def check(self) -> None:
        """Check that the server answers."""
        await self._run(self._client.ping)

    async def aclose(self) -> None:
        """Close all connections; end subscriptions."""
        self._is_closed = True
        with contextlib.suppress(RedisError, OSError):
            for subscription in list(self._subscriptions):
                await subscription.aclose()  # type: ignore[no-untyped-call]  # of the library
            await self._subscribers.aclose()
            await self._client.connection_pool.aclose()

    def _value_key(self, key: str) -> str:
        return f"{self._prefix}v:{key}"

    async def _run(self, command: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Run a command for a bounded time."""
        if self._is_closed:
            raise StoreUnavailableError(_CLOSED)
        if self._failure:
            now = time.monotonic()
            if now < self._retry_at:
                raise StoreUnavailableError(self._failure)
            self._retry_at = now + self._backoff_seconds  # this one tries, and no other meanwhile
        cancellations = _count_cancellations()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                result = await command(*arguments, **options)
        except _ERRORS as error:
            if isinstance(error, _CONNECTION_ERRORS):
                self._back_off(self._describe(error))
            raise StoreUnavailableError(self._describe(error)) from None
        self._failure, self._backoff_seconds = "", 0.0
        if _count_cancellations() > cancellations:
            # The client library uses `asyncio.wait_for`, which loses a cancellation in Python 3.11.
            raise asyncio.CancelledError
        return result

    def _back_off(self, failure: str) -> None:
        doubled = max(self._backoff_seconds * 2, _MIN_BACKOFF_SECONDS)
        self._backoff_seconds = min(doubled, MAX_BACKOFF_SECONDS)
        self._retry_at = time.monotonic() + self._backoff_seconds
        self._failure = failure

    def _describe(self, error: Exception) -> str:
        return _CLOSED if self._is_closed else _describe(error)


def _to_ms(seconds: float) -> int:
    return max(int(seconds * 1000), 1)


def _read_url(url: str) -> str:
    """Check the URL and return it with a scheme of the library.

    Raises:
        ConfigurationError: it is invalid; the message does not show it.
    """
    try:
        parts = urlsplit(url)
        is_valid = bool(parts.hostname) and parts.port != 0
        database = parts.path.strip("/")
        names = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    except ValueError:
        is_valid, database, names = False, "", set()
    if not is_valid or (database and not database.isdecimal()):
        raise ConfigurationError("expected valkey://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]")
    if unknown := names - _URL_OPTIONS:
        known = ", ".join(sorted(_URL_OPTIONS))
        raise ConfigurationError(f"unknown option {min(unknown)!r} in its query; known: {known}")
    return url.replace("valkey", "redis", 1) if url.startswith("valkey") else url


def _describe(error: Exception) -> str:
    """Return why a command failed; the server's own text could contain keys or a password."""
    if isinstance(error, (RedisTimeoutError, TimeoutError)):
        return f"the state store did not answer within {TIMEOUT_SECONDS:g} s"
    code = str(error).partition(" ")[0]
    cause = _CAUSES.get(type(error).__name__) or _CAUSES.get(code)
    if cause:
        return f"the state store: {cause}"
    if isinstance(error, (RedisConnectionError, OSError)):
        return "the state store cannot be reached"
    if isinstance(error, ResponseError):
        is_code = code.isascii() and code.isupper() and code.isalpha() and code != "ERR"
        return f"the state store refused a command{f' ({code})' if is_code else ''}"
    return f"the state store: {type(error).__name__}"


def _count_cancellations() -> int:
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()
