"""Headers that every request to an API carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mcpgen.runtime.absent import ABSENT
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.settings import Settings
from mcpgen.runtime.upstream.building import RequestParts
from mcpgen.runtime.upstream.parameters import UnsendableError, checked_header


class DefaultHeaders:
    """The default headers of one API, with the values that the environment gives them."""

    def __init__(self, headers: Mapping[str, str | JsonObject], settings: Settings) -> None:
        """Take the `headers` of a contract.

        Raises:
            ConfigurationError: the value of a setting cannot be sent in a header.
        """
        self._values: dict[str, str] = {}
        self._missing: list[str] = []
        for name, header in headers.items():
            if isinstance(header, str):
                self._values[name] = header
                continue
            value = settings.value(header["setting"])
            if value is ABSENT:
                value = header.get("default", "")
            if value:
                self._values[name] = _sendable(value, header["setting"])
            elif header["required"]:
                self._missing.append(header["setting"])

    def added_to(self, parts: RequestParts) -> RequestParts:
        """Return a request with the headers that it does not have of its own.

        Raises:
            ToolError: a setting that a header needs is missing.
        """
        if self._missing:
            names = ", ".join(self._missing)
            raise ToolError(
                f"`{parts.tool}` needs the setting {names}, which this server does not have, so"
                f" nothing was sent. The operator of the server can set {names}."
            )
        own = {name.lower() for name, _ in parts.headers}
        added = [(name, text) for name, text in self._values.items() if name.lower() not in own]
        return replace(parts, headers=(*parts.headers, *added)) if added else parts


def _sendable(text: str, setting: str) -> str:
    try:
        return checked_header(text)
    except UnsendableError as error:
        raise ConfigurationError(f"invalid {setting}: it {error}", setting=setting) from None
