"""Headers that the server adds to requests: defaults of the manifest, and idempotency keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from mcpgen.absent import ABSENT
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.startup.settings import Settings
from mcpgen.runtime.upstream.request.building import RequestParts
from mcpgen.runtime.upstream.request.parameters import UnsendableError, check_header_value
from mcpgen.runtime.upstream.request.rules import RequestRules


class DefaultHeaders:
    """The default headers of one API, with values from the contract and the environment."""

    def __init__(self, headers: Mapping[str, str | JsonObject], settings: Settings) -> None:
        """Initialize from the `headers` of a contract.

        Raises:
            ConfigurationError: the value of a setting cannot be sent in a header.
        """
        self._values: dict[str, str] = {}
        self._missing: list[str] = []
        for name, header in headers.items():
            if isinstance(header, str):
                self._values[name] = header
                continue
            value = settings.get(header["setting"])
            if value is ABSENT:
                value = header.get("default", "")
            if value:
                self._values[name] = _check_setting(value, header["setting"])
            elif header["required"]:
                self._missing.append(header["setting"])

    def add_to(self, parts: RequestParts) -> RequestParts:
        """Add the default headers that the request does not set itself.

        Raises:
            ToolError: a setting that a header needs is missing.
        """
        if self._missing:
            raise make_missing_error(parts.tool, ", ".join(self._missing))
        own = {name.lower() for name, _ in parts.headers}
        added = [(name, text) for name, text in self._values.items() if name.lower() not in own]
        return replace(parts, headers=(*parts.headers, *added)) if added else parts


def make_missing_error(tool: str, names: str) -> ToolError:
    """Return the error for a call that needs settings without a value."""
    return ToolError(
        f"`{tool}` was not sent: the setting {names} is missing."
        f" The operator of the server can set {names}."
    )


def _check_setting(text: str, setting: str) -> str:
    try:
        return check_header_value(text)
    except UnsendableError as error:
        raise ConfigurationError(f"invalid {setting}: it {error}", setting=setting) from None


def make_idempotency_key() -> str:
    """Return a fresh unguessable key: a UUID of version 4."""
    from uuid import uuid4  # only for the servers that send keys

    return str(uuid4())


def add_idempotency_key(
    parts: RequestParts, rules: RequestRules, new_key: Callable[[], str]
) -> tuple[RequestParts, bool]:
    """Add a fresh key if the rules name a header for it; return also whether the request has one.

    A key from an argument, a setting or a default header is kept.
    """
    header = rules.idempotency_header
    if not header:
        return parts, False
    own = [value for name, value in parts.headers if name.lower() == header.lower()]
    if own:
        return parts, all(own)
    return replace(parts, headers=(*parts.headers, (header, new_key()))), True
