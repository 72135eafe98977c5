"""Credentials that callers send in a header of their MCP requests (`from: header`)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.process.caller_secrets import mask_caller_secret
from mcpgen.runtime.startup.values import select_pattern
from mcpgen.runtime.upstream.auth.schemes import (
    PLACES,
    AppliedCredentials,
    make_authorization,
)
from mcpgen.runtime.upstream.http.messages import Sender

_OAUTH: Final = frozenset({"oauth2", "openIdConnect"})


class HeaderScheme:
    """A scheme whose credential is in a header of the caller's request; nothing is stored."""

    is_configured: ClassVar[bool] = True
    variables: ClassVar[tuple[str, ...]] = ()
    secrets: ClassVar[tuple[str, ...]] = ()
    fetches_tokens: ClassVar[bool] = False
    unconfirmed_url: ClassVar[str] = ""
    belongs_to_callers: ClassVar[bool] = True

    def __init__(self, description: JsonObject, header: str) -> None:
        """Read the scheme's entry in the contract; `header` is spelled as the manifest has it."""
        self._header = header
        self._key = header.lower()
        self._allowed = select_pattern(description, "value")
        kind = description["type"]
        self._place: tuple[str, str] | None = None
        if kind == "apiKey":
            self._place = (PLACES[description["in"]], description["name"])
        http_scheme = "bearer" if kind in _OAUTH else str(description.get("scheme", ""))
        known = {"basic": "Basic", "bearer": "Bearer"}
        self._prefix = known.get(http_scheme.lower(), http_scheme)

    def is_available(self, access: Access | None) -> bool:
        """Return whether the request has the header."""
        return access is not None and bool(access.headers.get(self._key))

    def explain_missing(self, access: Access | None) -> str:
        """Return a sentence on how to send the credential."""
        if access is None:
            return (
                f"Callers send it in the header `{self._header}` of MCP requests over HTTP, and"
                " this server runs over stdio: it must be started with --http."
            )
        return (
            f"This request has no header `{self._header}`: configure the MCP client to send your"
            " own credential in it, with each request."
        )

    def explain_refused(self, status: int) -> str:
        """Return a sentence for a response of the API with status 401 or 403."""
        if status == 401:
            return (
                f"Check the credential that your MCP client sends in the header `{self._header}`."
            )
        return f"The credential in your header `{self._header}` does not permit this."

    async def apply(
        self, send: Sender, scopes: Sequence[str], access: Access | None = None
    ) -> AppliedCredentials:
        """Return the credential of a request, in the place of the scheme.

        Raises:
            ToolError: the request has none, or one that cannot be sent.
        """
        del send, scopes  # as of `OAuth2Scheme`
        value = "" if access is None else access.headers.get(self._key, "")
        if not value:
            raise ToolError(self.explain_missing(access))
        if self._place is not None:
            self._check(value)
            place, name = self._place
            fields: dict[str, Any] = {place: ((name, value),)}
            return AppliedCredentials(**fields)
        credential = self._strip_prefix(value)
        self._check(credential)
        if self._prefix == "Basic":
            credential = _encode_basic(credential)
        mask_caller_secret(credential)
        return make_authorization(self._prefix, credential)

    def _strip_prefix(self, value: str) -> str:
        """Return a credential without its authentication scheme, which many clients add."""
        scheme, space, credential = value.partition(" ")
        return credential.lstrip() if space and scheme.lower() == self._prefix.lower() else value

    def _check(self, value: str) -> None:
        if not value or not self._allowed.match(value):
            raise ToolError(
                f"The header `{self._header}` has a character that the API's credential cannot"
                " have, so nothing was sent."
            )

    def forget(
        self, access: Access | None = None, applied: AppliedCredentials | None = None
    ) -> bool:
        """Return False: only the caller can renew the credential."""
        del access, applied
        return False


def _encode_basic(credential: str) -> str:
    """Return `user:password` in Base64; a credential in Base64 is returned unchanged (RFC 7617)."""
    if ":" in credential:
        mask_caller_secret(credential.partition(":")[2])
        return b64encode(credential.encode()).decode()
    try:
        mask_caller_secret(b64decode(credential, validate=True).decode().partition(":")[2])
    except (Base64Error, ValueError):
        raise ToolError(
            "The credential of the caller is not `user:password`, nor its Base64 (RFC 7617), so"
            " nothing was sent."
        ) from None
    return credential
