"""Agreement between HTTP headers and body on 2026-07-28 (Streamable HTTP, "Request headers").

Proxies may route requests by these headers, so that a request whose headers differ from its body
is refused.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Sequence

from mcpgen.runtime.errors import ProtocolError
from mcpgen.runtime.protocol.jsonrpc import HEADER_MISMATCH, JsonObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, TypeAlias

Headers: TypeAlias = Sequence[tuple[bytes, bytes]]
"""HTTP headers in their order: names in lower case, repeated ones repeated."""
HeaderRules: TypeAlias = dict[bytes, tuple[str, ...]]
"""Arguments that travel in headers too (`x-mcp-header` in a tool's input schema): the name of the
header in lower case -> the property names from the root of the arguments."""

_VERSION: Final = b"mcp-protocol-version"
_METHOD: Final = b"mcp-method"
_NAME: Final = b"mcp-name"
_PARAMETER: Final = b"mcp-param-"
_SPELLING: Final = {
    _VERSION: "MCP-Protocol-Version",
    _METHOD: "Mcp-Method",
    _NAME: "Mcp-Name",
}
NAMED_BY: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""The member of the params that `Mcp-Name` repeats, by method."""
_NUMBER_CHARACTERS: Final = frozenset("+-.0123456789eE")
_SAFE: Final = bytes([ord("\t"), *range(0x20, 0x7F)])
_SENTINEL_START: Final = "=?base64?"
_SENTINEL_END: Final = "?="


class RoutingHeaders:
    """The headers of one request that must agree with its body."""

    __slots__ = ("_agreed", "_headers", "_values")

    def __init__(self, headers: Headers) -> None:
        self._headers = headers
        self._values = dict(headers)
        self._agreed: tuple[str, str, str] | None = None  # last compared with the headers

    @property
    def version(self) -> str | None:
        """The value of `MCP-Protocol-Version`; the last one if it is repeated."""
        value = self._values.get(_VERSION)
        return None if value is None else value.strip(b" \t").decode("latin-1")

    def check_unrepeated(self) -> None:
        """Check that no routing header is repeated.

        Raises:
            ProtocolError: a header is repeated.
        """
        if len(self._values) == len(self._headers):
            return
        seen: set[bytes] = set()
        for name, _ in self._headers:
            if name in seen and (name in _SPELLING or name.startswith(_PARAMETER)):
                raise _make_mismatch(f"duplicate header {_spell(name)}")
            seen.add(name)

    def check_request(self, method: str, params: JsonObject, version: str) -> None:
        """Compare version, method and name with the body.

        Raises:
            ProtocolError: a header is missing, invalid, or different from the body.
        """
        named_by = NAMED_BY.get(method)
        named = None if named_by is None else params.get(named_by)
        if (method, named, version) == self._agreed:
            return
        for name, expected in ((_VERSION, version), (_METHOD, method)):
            if self._require(name).decode("latin-1") != expected:
                raise _make_difference(name)
        if type(named) is not str or (named_by == "taskId" and _NAME not in self._values):
            return  # fastmcp-tasks 4.1.4 does not send the header, which tasks require of clients
        if _decode(self._require(_NAME), _SPELLING[_NAME]) != named:
            raise _make_difference(_NAME)
        self._agreed = (method, named, version)

    def check_notification(self, method: str, version: object) -> None:
        """Compare version and method with the body of a notification, where both are present.

        Raises:
            ProtocolError: as `check_request`.
        """
        self.check_unrepeated()
        if version is not None and self._require(_VERSION).decode("latin-1") != version:
            raise _make_difference(_VERSION)
        if _METHOD in self._values and self._require(_METHOD).decode("latin-1") != method:
            raise _make_difference(_METHOD)

    def check_arguments(self, rules: HeaderRules, arguments: JsonObject) -> None:
        """Compare `Mcp-Param-*` with the arguments of a tool call.

        Raises:
            ProtocolError: as `check_request`.
        """
        for name, path in rules.items():
            expected = _find_value(path, arguments)
            actual = self._values.get(_PARAMETER + name)
            header = f"Mcp-Param-{name.decode()}"
            if expected is None:
                if actual is not None:
                    raise _make_mismatch(f"unexpected header {header}: its argument is absent")
            elif actual is None:
                raise _make_mismatch(f"missing header {header}: it must repeat its argument")
            elif not _agree(_decode(actual, header), expected):
                raise _make_mismatch(f"the header {header} does not match its argument")

    def _require(self, name: bytes) -> bytes:
        value = self._values.get(name)
        if value is None:
            raise _make_mismatch(f"missing header {_SPELLING[name]}")
        return value.strip(b" \t")


def find_header_rules(input_schema: JsonObject) -> HeaderRules:
    """Find the `x-mcp-header` annotations of a tool's input schema.

    They count only where a chain of `properties` leads to them.
    """
    rules: HeaderRules = {}
    pending: list[tuple[tuple[str, ...], Any]] = [((), input_schema)]
    while pending:
        path, schema = pending.pop()
        properties = schema.get("properties") if isinstance(schema, dict) else None
        if not isinstance(properties, dict):
            continue
        for name, property_schema in properties.items():
            here = (*path, name)
            pending.append((here, property_schema))
            if isinstance(property_schema, dict):
                header = property_schema.get("x-mcp-header")
                if isinstance(header, str) and header:
                    rules[header.lower().encode()] = here
    return rules


def _decode(value: bytes, header: str) -> str:
    value = value.strip(b" \t")
    if value.translate(None, _SAFE):
        raise _make_mismatch(f"invalid header {header}: its characters require the base64 form")
    text = value.decode("ascii")
    if not (text.startswith(_SENTINEL_START) and text.endswith(_SENTINEL_END)):
        return text
    inner = text[len(_SENTINEL_START) : -len(_SENTINEL_END)]
    try:
        return a2b_base64(inner.encode("ascii"), strict_mode=True).decode("utf-8")
    except (Base64Error, UnicodeDecodeError):
        raise _make_mismatch(f"invalid header {header}: expected base64 of UTF-8") from None


def _agree(text: str, expected: object) -> bool:
    if isinstance(expected, bool):
        return text == ("true" if expected else "false")
    if isinstance(expected, int | float):
        return text == str(expected) or _is_number(text, expected)
    return text == expected


def _is_number(text: str, expected: float) -> bool:
    """Return whether a text is another spelling of this number: `42.0` is 42."""
    from decimal import Decimal, InvalidOperation  # exact beyond 2**53, which floats are not

    try:
        return set(text) <= _NUMBER_CHARACTERS and Decimal(text) == expected
    except InvalidOperation:
        return False


def _find_value(path: tuple[str, ...], arguments: JsonObject) -> object:
    value: object = arguments
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _spell(name: bytes) -> str:
    return _SPELLING.get(name) or "Mcp-Param-" + name.removeprefix(_PARAMETER).decode("latin-1")


def _make_difference(name: bytes) -> ProtocolError:
    return _make_mismatch(f"the header {_SPELLING[name]} does not match the body")


def _make_mismatch(message: str) -> ProtocolError:
    return ProtocolError(HEADER_MISMATCH, message)
