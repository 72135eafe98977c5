"""The account of the local user of a server over stdio (`from: user`), after `login`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Protocol

from mcpgen.contract.base_url import BaseUrls
from mcpgen.contract.needs import settings_of_schemes
from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.auth.single_flight import SingleFlight
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.process.log import log
from mcpgen.runtime.startup.values import read_value
from mcpgen.runtime.state.state_folder import find_state_folder
from mcpgen.runtime.upstream.auth.authorization_code import AuthorizationCodeClient
from mcpgen.runtime.upstream.auth.schemes import AppliedCredentials, make_authorization
from mcpgen.runtime.upstream.auth.token_endpoint import (
    ClientIdentity,
    GrantRefusedError,
    TokenGrant,
    check_endpoint,
    make_form_request,
    request_token,
)
from mcpgen.runtime.upstream.auth.token_store import (
    Tokens,
    TokenStore,
    find_change,
    hold_lock,
    mark_change,
    open_token_store,
)
from mcpgen.runtime.upstream.http.messages import Sender

RENEWAL_SECONDS: Final = 20.0


class AccountClient(Protocol):
    """Client that renews and revokes tokens at an authorization server."""

    async def refresh(self, send: Sender, refresh_token: str) -> TokenGrant:
        """Request a new access token; raise GrantRefusedError if the token is not valid."""

    async def revoke(self, send: Sender, token: str, kind: str = "refresh_token") -> bool:
        """Revoke a token; return False if the authorization server cannot do that."""


@dataclass(frozen=True, slots=True)
class DeviceEndpoints:
    """Endpoints of a document that only declares the device flow (OpenAPI 3.2; RFC 8628)."""

    device_url: str
    token_url: str
    client: ClientIdentity
    base_urls: BaseUrls
    variables: tuple[str, ...]

    async def refresh(self, send: Sender, refresh_token: str) -> TokenGrant:
        """Request a new access token.

        Raises:
            GrantRefusedError: the refresh token is not valid.
        """
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        private = self.base_urls.private_addresses_setting_of(self.token_url)
        request = make_form_request(
            self.token_url, form, self.client, private_addresses_setting=private
        )
        return await request_token(send, request, variables=self.variables)

    async def revoke(self, send: Sender, token: str, kind: str = "refresh_token") -> bool:
        """Return False: OpenAPI names no revocation endpoint."""
        del send, token, kind
        return False


@dataclass(frozen=True, slots=True)
class LocalAccount:
    """Client, store and lock for the local user's tokens of one security scheme."""

    scheme: str
    program: str
    code_client: AuthorizationCodeClient
    """For the flow in a browser, if `code_client.is_possible`."""
    device: DeviceEndpoints | None
    """The device flow of the document, if it declares one."""
    identity: ClientIdentity
    base_urls: BaseUrls
    variables: tuple[str, ...]
    open_store: Callable[[], TokenStore]
    folder: Path
    """Folder of the lock files and the marks of changes."""

    @property
    def client(self) -> AccountClient:
        """The client that renews and revokes."""
        if self.device is not None and not self.code_client.is_possible:
            return self.device
        return self.code_client

    @property
    def login_command(self) -> str:
        """The command with which the user logs in."""
        return f"{self.program} login {self.scheme}"


def read_local_account(
    contract: JsonObject,
    environ: Mapping[str, str],
    scheme: str,
    *,
    base_urls: BaseUrls,
    clock: Callable[[], float],
) -> LocalAccount:
    """Read the settings of a scheme with `from: user`.

    Raises:
        ConfigurationError: a setting cannot be sent, or a URL of the device flow is invalid.
    """
    description = contract["security_schemes"][scheme]
    settings = settings_of_schemes(contract).get(scheme, {})
    values = {part: read_value(description, part, it, environ) for part, it in settings.items()}
    identity = ClientIdentity(values.get("client_id", ""), values.get("client_secret", ""))
    variables = tuple(settings.values())
    code_client = AuthorizationCodeClient(
        description,
        identity,
        name=scheme,
        base_urls=base_urls,
        clock=clock,
        variables=variables,
    )
    flow = description.get("flows", {}).get("deviceAuthorization", {})
    device = None
    if flow.get("deviceAuthorizationUrl") and flow.get("tokenUrl"):
        urls = [
            check_endpoint(flow[key], base_urls, scheme=scheme)
            for key in ("deviceAuthorizationUrl", "tokenUrl")
        ]
        device = DeviceEndpoints(urls[0], urls[1], identity, base_urls, variables)
    program = f"{contract['name']}-mcp"
    return LocalAccount(
        scheme,
        program,
        code_client,
        device,
        identity,
        base_urls,
        variables,
        lambda: open_token_store(program, environ),
        find_state_folder(program, environ),
    )


def make_tokens(
    grant: TokenGrant, now: float, *, scopes: Sequence[str], refresh_token: str = ""
) -> Tokens:
    """Return the tokens of a grant, which may have no new refresh token."""
    return Tokens(
        grant.access_token,
        grant.compute_renewal(now),
        grant.refresh_token or refresh_token,
        tuple(sorted(scopes if grant.scopes is None else grant.scopes)),
    )


class LocalAccountScheme:
    """A scheme with the tokens of the local user. Several processes may use the same tokens."""

    fetches_tokens: ClassVar[bool] = False
    unconfirmed_url: ClassVar[str] = ""  # checked where tokens are requested
    belongs_to_callers: ClassVar[bool] = True

    def __init__(self, account: LocalAccount, *, now: Callable[[], float] = time.time) -> None:
        """`now` returns seconds since the epoch."""
        self.variables = account.variables
        self.is_configured = bool(account.identity.id)
        self._account = account
        self._now = now
        self._store: TokenStore | None = None
        self._tokens: Tokens | None = None
        self._change = 0  # the mark of `_tokens`
        self._refused = ""  # the access token that the API did not accept
        self._renewals: SingleFlight[Tokens] = SingleFlight()

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secret of the client, and the current tokens."""
        found = [self._account.identity.secret]
        if self._tokens is not None:
            found += [self._tokens.access_token, self._tokens.refresh_token]
        return tuple(filter(None, found))

    def is_available(self, access: Access | None) -> bool:
        """Return whether the call comes from the local user; `apply` asks for a login if need be.

        Over HTTP, a caller is not the user who logged in.
        """
        return self.is_configured and access is None

    def explain_missing(self, access: Access | None) -> str:
        """Return a sentence on what the operator has to do."""
        if not self.is_configured:
            return f"It needs a client of OAuth 2: the operator has to set {self.variables[0]}."
        del access
        return "Over HTTP, the account of the local user is not used."

    def explain_refused(self, status: int) -> str:
        """Return a sentence for a response of the API with status 401 or 403."""
        if status == 401:
            return (
                "The API did not accept the token of your account: run"
                f" `{self._account.login_command}` in a terminal, then call again."
            )
        return "Your account may not do this, or was granted less access."

    async def apply(
        self, send: Sender, scopes: Sequence[str], access: Access | None = None
    ) -> AppliedCredentials:
        """Return the header with the access token of the local user.

        Raises:
            ToolError: nobody is logged in, or the token could not be renewed.
        """
        del scopes  # `login` requests those of all operations
        if not self.is_available(access):
            raise ToolError(self.explain_missing(access))
        account = self._account
        change = find_change(account.folder, account.scheme)
        if self._tokens is None or change != self._change:
            # Another process has renewed the tokens, or the user has logged in or out.
            self._tokens, self._change = await self._load(), change
        tokens = self._tokens
        if tokens is None:
            raise ToolError(
                f"Nobody is logged in: run `{account.login_command}` in a terminal, then call"
                " again. Nothing was sent."
            )
        is_old = tokens.access_token == self._refused or self._now() >= tokens.renew_at
        # Without a refresh token, the access token is used until the API refuses it.
        if is_old and tokens.refresh_token:
            stale = tokens
            tokens = await self._renewals.run(account.scheme, lambda: self._renew(send, stale))
        return make_authorization("Bearer", tokens.access_token)

    def forget(
        self, access: Access | None = None, applied: AppliedCredentials | None = None
    ) -> bool:
        """Mark the token that was applied as refused; return whether there may be another one."""
        del access
        tokens = self._tokens
        if tokens is None or applied is None:
            return False
        if make_authorization("Bearer", tokens.access_token).headers[0] in applied.headers:
            self._refused = tokens.access_token
            if not tokens.refresh_token:
                self._tokens = None  # the user may have logged in again
        return True

    async def _load(self) -> Tokens | None:
        return await asyncio.to_thread(self._find_store().load, self._account.scheme)

    def _find_store(self) -> TokenStore:
        if self._store is None:
            self._store = self._account.open_store()
        return self._store

    async def _renew(self, send: Sender, stale: Tokens) -> Tokens:
        """Renew the tokens, unless another process does: a refresh token is used once."""
        account = self._account
        async with hold_lock(account.folder, account.scheme):
            current = await self._load()
            if current is None:
                self._tokens = None
                raise ToolError(f"Nobody is logged in: run `{account.login_command}`.")
            if current.access_token != stale.access_token:
                self._tokens = current
                return current
            try:
                async with asyncio.timeout(RENEWAL_SECONDS):
                    grant = await account.client.refresh(send, current.refresh_token)
            except GrantRefusedError as refusal:
                if refusal.code != "invalid_grant":
                    raise
                self._tokens = None
                raise ToolError(
                    f"Your login has expired or was revoked: run `{account.login_command}` in a"
                    " terminal, then call again."
                ) from None
            except TimeoutError:
                raise ToolError(
                    "No access token: its issuer did not answer within"
                    f" {RENEWAL_SECONDS:g} seconds."
                ) from None
            renewed = make_tokens(
                grant, self._now(), scopes=current.scopes, refresh_token=current.refresh_token
            )
            self._tokens = renewed
            try:
                await asyncio.to_thread(self._find_store().save, account.scheme, renewed)
                self._change = mark_change(account.folder, account.scheme)
            except ConfigurationError as error:
                log(
                    "error",
                    f"the renewed tokens of `{account.scheme}` are not stored, and end with this"
                    f" process: {error}",
                )
            return renewed
