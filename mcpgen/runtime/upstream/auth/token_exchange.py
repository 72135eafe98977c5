"""Access tokens of the API for those of callers, by token exchange (`from: exchange`; RFC 8693)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from mcpgen.contract.base_url import BaseUrls
from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.process.caller_secrets import mask_caller_secret
from mcpgen.runtime.startup.server_settings import ServerSettings
from mcpgen.runtime.upstream.auth.schemes import AppliedCredentials, make_authorization
from mcpgen.runtime.upstream.auth.token_endpoint import (
    ClientIdentity,
    GrantRefusedError,
    check_url,
    make_form_request,
    request_token,
)
from mcpgen.runtime.upstream.http.messages import Sender
from mcpgen.runtime.upstream.resilience import ConcurrencyLimit
from mcpgen.text.hosts import origin_of

MAX_TOKENS: Final = 10_000
"""Cached tokens of a scheme; above, the one is dropped that was not used for the longest time."""
_GRANT: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105  (a type)


class _Key(NamedTuple):
    """A token of another caller, or with other rights of this caller, is never used."""

    principal: str
    rights: frozenset[str]
    scope: str


@dataclass(slots=True)
class _Slot:
    """The token of one key; one exchange at a time."""

    # A limit and not a lock: calls that wait for a slow issuer must not pile up.
    turns: ConcurrencyLimit = field(default_factory=lambda: ConcurrencyLimit(concurrent=1))
    token: str = field(default="", repr=False)
    renew_at: float = 0.0


class ExchangeScheme:
    """A scheme whose access token is exchanged for the token of the caller.

    The caller's token is sent to `<PREFIX>EXCHANGE_TOKEN_URL` only, never to the API. Tokens are
    cached in memory until shortly before they expire.
    """

    is_configured: bool
    variables: ClassVar[tuple[str, ...]] = ()
    secrets: tuple[str, ...]
    fetches_tokens: ClassVar[bool] = False
    unconfirmed_url: ClassVar[str] = ""  # the operator has named the URL
    belongs_to_callers: ClassVar[bool] = True

    def __init__(
        self, settings: ServerSettings, *, base_urls: BaseUrls, clock: Callable[[], float]
    ) -> None:
        """Read the settings of the exchange; `base_urls` are those of the API.

        Raises:
            ConfigurationError: a setting is invalid.
        """
        self._setting = settings.spell("EXCHANGE_TOKEN_URL")
        self._url: str = settings.get("EXCHANGE_TOKEN_URL") or ""
        self._audience: str = settings.get("EXCHANGE_AUDIENCE") or ""
        secret: str = settings.get("EXCHANGE_CLIENT_SECRET") or ""
        self._client = ClientIdentity(settings.get("EXCHANGE_CLIENT_ID") or "", secret)
        self._operators = tuple(
            settings.spell(name)
            for name in ("EXCHANGE_TOKEN_URL", "EXCHANGE_CLIENT_ID", "EXCHANGE_CLIENT_SECRET")
            if settings.is_set(name)
        )
        self.is_configured = bool(self._url)
        self.secrets = (secret,) if secret else ()
        self._base_urls = base_urls
        self._clock = clock
        self._slots: OrderedDict[_Key, _Slot] = OrderedDict()

    def is_available(self, access: Access | None) -> bool:
        """Return whether the request has a token that can be exchanged."""
        return self.is_configured and access is not None and bool(access.token)

    def explain_missing(self, access: Access | None) -> str:
        """Return a sentence on what the operator has to do."""
        if not self.is_configured:
            return (
                "Callers' access tokens are exchanged for those of the API: the operator has to set"
                f" {self._setting}."
            )
        how = "runs over stdio" if access is None else "does not authorize its callers"
        return (
            f"It is exchanged for the access token of the caller, and this server {how}: the"
            " operator has to start it with --http, and to configure its authorization."
        )

    def explain_refused(self, status: int) -> str:
        """Return a sentence for a response of the API with status 401 or 403."""
        if status == 401:
            return "The API did not accept the token that was exchanged for yours: log in again."
        return "Your account at the API may not do this, or the exchanged token lacks a scope."

    async def apply(
        self, send: Sender, scopes: Sequence[str], access: Access | None = None
    ) -> AppliedCredentials:
        """Return the header with an access token of the API for this caller.

        Raises:
            ToolError: the caller has no token, or it was not exchanged.
            ConfigurationError: the API has no base URL.
        """
        if access is None or not self.is_available(access):
            raise ToolError(self.explain_missing(access))
        slot = self._find_slot(_Key(access.principal, access.scopes, " ".join(sorted(scopes))))
        await slot.turns.acquire()
        try:
            if not slot.token or self._clock() >= slot.renew_at:
                await self._exchange(send, slot, scopes, access)
            token = slot.token
        finally:
            slot.turns.release()
        mask_caller_secret(token)
        return make_authorization("Bearer", token)

    def forget(
        self, access: Access | None = None, applied: AppliedCredentials | None = None
    ) -> bool:
        """Drop the token that was applied; return True, because a new one can be requested."""
        if access is None or applied is None:
            return False
        for key, slot in self._slots.items():
            # Another call may have renewed it since.
            if (
                key.principal == access.principal
                and slot.token
                and (make_authorization("Bearer", slot.token).headers[0] in applied.headers)
            ):
                slot.token = ""
        return True

    def _find_slot(self, key: _Key) -> _Slot:
        slot = self._slots.get(key)
        if slot is None:
            if len(self._slots) >= MAX_TOKENS:
                self._slots.popitem(last=False)  # calls that use it still hold it
            slot = self._slots[key] = _Slot()
        else:
            self._slots.move_to_end(key)
        return slot

    async def _exchange(
        self, send: Sender, slot: _Slot, scopes: Sequence[str], access: Access
    ) -> None:
        form = {
            "grant_type": _GRANT,
            "subject_token": access.token,
            "subject_token_type": _ACCESS_TOKEN,
            "requested_token_type": _ACCESS_TOKEN,
            "audience": self._audience or origin_of(self._base_urls.base_url()),
        }
        if scopes:
            form["scope"] = " ".join(sorted(scopes))
        slot.token = ""
        request = make_form_request(check_url(self._url, self._setting), form, self._client)
        try:
            grant = await request_token(send, request, variables=self._operators)
        except GrantRefusedError as error:
            if error.code != "invalid_grant":
                raise
            raise ToolError(
                "Your access token was not exchanged for one of the API (`invalid_grant`): log in"
                " again, and if that does not help, tell the operator of this server."
            ) from None
        if grant.access_token == access.token:
            raise ConfigurationError(
                f"{self._setting} returned the token of the caller unchanged. It was issued for"
                " this server and is never sent to the API",
                setting=self._setting,
            )
        slot.token = grant.access_token
        slot.renew_at = grant.compute_renewal(self._clock())
