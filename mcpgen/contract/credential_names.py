"""Validity of security schemes: names that a header, query parameter or cookie can have."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")  # RFC 9110, section 5.6.2
_TEXT: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+\Z")
_OF_HTTP_CLIENT: Final = frozenset(
    {
        "accept", "accept-encoding", "connection", "content-encoding", "content-length",
        "content-type", "expect", "forwarded", "host", "keep-alive", "proxy-connection",
        "set-cookie", "te", "trailer", "transfer-encoding", "upgrade", "via",
    }
)  # fmt: skip


def find_scheme_fault(
    kind: str, *, location: str = "", name: str = "", http_scheme: str = ""
) -> str:
    """Return why the credential of a security scheme cannot be sent; "" if it can.

    `kind` is the `type` of the Security Scheme Object, `location` its `in`, `http_scheme` its
    `scheme`.
    """
    if kind == "http" and not _TOKEN.match(http_scheme):
        return "its `scheme` is not a token (RFC 9110)"
    if kind != "apiKey":
        return ""
    if location == "query":
        return "" if _TEXT.match(name) else "its `name` has a control character"
    if not _TOKEN.match(name):
        return f"its `name` is not a valid {location} name"
    if location == "header" and name.lower() in _OF_HTTP_CLIENT:
        return f"`{name}` is set by the HTTP client"
    return ""
