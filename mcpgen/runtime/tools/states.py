"""States of jobs: members of responses that show the progress of the API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from mcpgen.runtime.errors import CallRefusedError, ToolError
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.tools.projection import shorten
from mcpgen.runtime.upstream.errors import UpstreamStatusError

MAX_FAILURES: Final = 10
"""Failures in a row to read the state of a task after which the task ends."""
_SERVER_ERROR: Final = 500
_TOO_MANY_REQUESTS: Final = 429
_MAX_SHOWN: Final = 200  # characters of a state that is waited on


def is_temporary(error: ToolError) -> bool:
    """Return whether the same request may succeed later."""
    if isinstance(error, UpstreamStatusError):
        return error.status >= _SERVER_ERROR or error.status == _TOO_MANY_REQUESTS
    return not isinstance(error, CallRefusedError)


def find_member(path: Iterable[str], value: Any) -> Any:
    """Return a member of a JSON value; None if it has none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def describe_state(path: Iterable[str], value: Any) -> str:
    """Return a sentence about a member: "`status` is "running""."""
    path = tuple(path)
    return f"`{'.'.join(path)}` is {_shorten(find_member(path, value))}"


def _shorten(value: Any) -> str:
    text = encode_json(shorten(value, _MAX_SHOWN).value).decode()
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def is_same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; `true` is not 1."""
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)
