"""Valid names of headers, query parameters and cookies, and names that the HTTP client sets."""

from __future__ import annotations

import re
from typing import Any

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Final


_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")  # RFC 9110, section 5.6.2
_TEXT: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+\Z")
_SET_BY_CLIENT: Final = frozenset(
    {
        "accept", "accept-encoding", "connection", "content-encoding", "content-length",
        "content-type", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding",
        "upgrade",
    }
)  # fmt: skip
_NO_ARGUMENTS: Final = _SET_BY_CLIENT | {"authorization", "cookie", "set-cookie", "via"}
_NO_CREDENTIALS: Final = _SET_BY_CLIENT | {"forwarded", "proxy-connection", "set-cookie", "via"}


def is_token(name: str) -> bool:
    """Return whether a name is valid for a header or a cookie (RFC 9110, section 5.6.2)."""
    return _TOKEN.match(name) is not None


def is_reserved_header(name: str) -> bool:
    """Return whether a header belongs to the HTTP client, to proxies or to credentials.

    Framing, routing and credentials are the client's and the operator's (RFC 9110), and OpenAPI
    ignores header parameters called Accept, Content-Type and Authorization.
    """
    return name.lower() in _NO_ARGUMENTS or name.lower().startswith("proxy-")


_OF_EVERY_REQUEST: Final = _SET_BY_CLIENT | {
    "age", "alt-svc", "cache-control", "cookie", "date", "dnt", "early-data", "forwarded", "from",
    "last-event-id", "link", "max-forwards", "origin", "pragma", "priority", "range", "referer",
    "set-cookie", "traceparent", "tracestate", "baggage", "upgrade-insecure-requests", "user-agent",
    "via", "www-authenticate", "x-real-ip", "x-request-id",
}  # fmt: skip
_PREFIXES_OF_OTHERS: Final = (
    "accept-", "access-control-", "content-", "if-", "mcp-", "proxy-", "sec-", "x-forwarded-",
)  # fmt: skip


def is_caller_header(name: str) -> bool:
    """Return whether a header of MCP requests can carry a caller's credential for the API.

    Headers that HTTP, MCP, browsers or proxies interpret cannot.
    """
    lower = name.lower()
    is_taken = lower in _OF_EVERY_REQUEST or lower.startswith(_PREFIXES_OF_OTHERS)
    return is_token(name) and not is_taken


def find_scheme_fault(
    kind: str, *, location: str = "", name: str = "", http_scheme: str = ""
) -> str:
    """Return why the credential of a security scheme cannot be sent; "" if it can.

    `kind` is the `type` of the Security Scheme Object, `location` its `in`, `http_scheme` its
    `scheme`.
    """
    if kind == "http" and not is_token(http_scheme):
        return "its `scheme` is not a token (RFC 9110)"
    if kind != "apiKey":
        return ""
    if location == "query":
        return "" if _TEXT.match(name) else "its `name` has a control character"
    if not is_token(name):
        return f"its `name` is not a valid {location} name"
    if location == "header" and name.lower() in _NO_CREDENTIALS:
        return f"`{name}` is set by the HTTP client"
    return ""


CONTENT_ID = "content-id"  # identifies a part for references (RFC 2387, section 3.4)


def read_fixed_value(schema: Any) -> Any:
    """Return the only value that a header's schema allows, or its default; None without one."""
    if not isinstance(schema, dict):
        return None
    values = schema.get("enum", ())
    return schema.get("const", schema.get("default", values[0] if len(values) == 1 else None))
