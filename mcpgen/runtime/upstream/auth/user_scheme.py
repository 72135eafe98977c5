"""Security scheme whose credentials are the connected accounts of users (`from: user`).

Tokens are renewed once (`renewal`): calls of one process share a task, and a lock in the store
admits one process. A renewal is never cancelled, since most authorization servers invalidate a
refresh token with its use.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.auth.single_flight import SingleFlight
from mcpgen.runtime.errors import (
    ConfigurationError,
    ConnectionNeededError,
    StoreUnavailableError,
    ToolError,
)
from mcpgen.runtime.process.caller_secrets import mask_caller_secret
from mcpgen.runtime.process.log import log
from mcpgen.runtime.upstream.auth.account_store import Account, AccountStore
from mcpgen.runtime.upstream.auth.authorization_code import AuthorizationCodeClient
from mcpgen.runtime.upstream.auth.renewal import Sleep, limit_time, renew_once
from mcpgen.runtime.upstream.auth.schemes import AppliedCredentials, make_authorization
from mcpgen.runtime.upstream.auth.token_endpoint import GrantRefusedError, TokenGrant
from mcpgen.runtime.upstream.http.messages import Sender

STORE_DELAYS: Final = (0.2, 0.5, 1.0, 2.0)  # within `LOCK_SECONDS`, after `RENEWAL_SECONDS`
STORE_UNAVAILABLE: Final = (
    "This server cannot reach its state store, which has the accounts of users, so nothing was"
    " sent. Try again in a moment."
)
MAX_REFUSED: Final = 10_000  # tokens whose users do not call again
FRESH_SECONDS: Final = 60.0
"""Within this time of the connection, status 401 is not attributed to an expired token."""


class UserScheme:
    """An OAuth scheme to which each user connects an account."""

    fetches_tokens: ClassVar[bool] = False  # none of its own
    unconfirmed_url: ClassVar[str] = ""  # checked where tokens are requested
    belongs_to_callers: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        client: AuthorizationCodeClient,
        accounts: AccountStore,
        *,
        variables: tuple[str, ...],
        secrets: tuple[str, ...] = (),
        is_configured: bool = True,
        now: Callable[[], float] = time.time,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """`now` returns seconds since the epoch; the clocks of replicas must agree roughly."""
        self.name = name
        self.client = client
        self.variables = variables
        self.secrets = secrets
        self.is_configured = is_configured
        self._accounts = accounts
        self._now = now
        self._sleep = sleep
        self._renewals: SingleFlight[Account] = SingleFlight()  # by principal
        self._refused: dict[str, str] = {}  # by principal: the token, until the next `apply`

    def is_available(self, access: Access | None) -> bool:
        """Return whether the caller can connect an account, or has one."""
        return self.is_configured and access is not None and bool(access.principal)

    def explain_missing(self, access: Access | None) -> str:  # noqa: ARG002  (as of `CallerScheme`)
        """Return a sentence on what the operator has to do."""
        if not self.is_configured:
            return f"Users connect their accounts: the operator has to set {self.variables[0]}."
        return (
            "Users connect their accounts, and this server does not authorize its callers: the"
            " operator has to configure that."
        )

    def explain_refused(self, status: int) -> str:
        """Return a sentence for a response of the API with status 401 or 403."""
        if status == 401:
            return "The API did not accept the token of the account that you have connected."
        return "The account that you have connected may not do this, or was granted less access."

    async def apply(
        self, send: Sender, scopes: Sequence[str], access: Access | None = None
    ) -> AppliedCredentials:
        """Return the header with the access token of the caller's account.

        Raises:
            ConnectionNeededError: the user must connect an account.
            ToolError: the token could not be renewed, or nobody is authorized.
        """
        if access is None or not self.is_available(access):
            raise ToolError(self.explain_missing(access))
        try:
            account = await self._find_usable(send, access.principal, scopes)
        except StoreUnavailableError:
            raise ToolError(STORE_UNAVAILABLE) from None
        mask_caller_secret(account.access_token)
        return make_authorization("Bearer", account.access_token)

    async def _find_usable(self, send: Sender, principal: str, scopes: Sequence[str]) -> Account:
        """Return the account of a user, with a valid token."""
        refused = self._refused.pop(principal, "")
        account = await self.find_account(principal)
        if account is None:
            raise ConnectionNeededError(self.name, scopes)
        if not account.scopes.issuperset(scopes):
            required = account.scopes.union(scopes)
            raise ConnectionNeededError(self.name, required, is_extension=True)
        if account.access_token == refused or (
            account.refresh_token and self._now() >= account.renew_at
        ):
            stale = account
            return await self._renewals.run(principal, lambda: self._renew(send, principal, stale))
        return account

    def forget(
        self, access: Access | None = None, applied: AppliedCredentials | None = None
    ) -> bool:
        """Mark the token that was applied as refused, so that `apply` renews it."""
        if access is None or applied is None:
            return False
        values = [value for name, value in applied.headers if name == "Authorization"]
        if len(self._refused) >= MAX_REFUSED:
            self._refused.pop(next(iter(self._refused)))
        self._refused[access.principal] = next(iter(values), "").removeprefix("Bearer ")
        return True

    async def find_account(self, principal: str) -> Account | None:
        """Return the account of a user; nobody has one without authorization."""
        return await self._accounts.find(principal, self.name) if principal else None

    async def connect(
        self, principal: str, grant: TokenGrant, scopes: Iterable[str]
    ) -> Account | None:
        """Store the account that a user connected with these scopes.

        Return the account that it replaces, if its tokens can be revoked (`revoke`).
        """
        account = Account(grant.access_token, "", 0.0, frozenset(scopes), self._now(), grant.user)
        old = await self._accounts.find(principal, self.name)
        await self._accounts.save(principal, self.name, self._extend(account, grant))
        return old if old is not None and _is_of_another_user(old, account) else None

    async def disconnect(self, principal: str, send: Sender) -> bool:
        """Delete the account of a user and revoke its tokens (RFC 7009, section 2).

        Return whether the authorization server has revoked them.
        """
        # In one step: tokens that are renewed meanwhile would stay valid otherwise.
        account = await self._accounts.take(principal, self.name)
        return account is not None and await self.revoke(send, account)

    async def revoke(self, send: Sender, account: Account) -> bool:
        """Revoke the tokens of an account that is not stored any more; return whether they are."""
        token, kind = account.refresh_token, "refresh_token"
        if not token:
            token, kind = account.access_token, "access_token"
        try:
            return await limit_time(self.client.revoke(send, token, kind))
        except (ToolError, ConfigurationError) as error:
            log("warning", f"tokens of `{self.name}` could not be revoked: {error}")
            return False

    async def _renew(self, send: Sender, principal: str, stale: Account) -> Account:
        """Renew the tokens of an account, unless another process does."""
        current = stale

        async def find() -> Account | None:
            nonlocal current
            account = await self._accounts.find(principal, self.name)
            if account is None:  # revoked meanwhile
                raise ConnectionNeededError(self.name, ())
            current = account
            return account if account.access_token != stale.access_token else None

        return await renew_once(
            self._accounts.store,
            self._accounts.make_key(principal, self.name, "account-lock"),
            find=find,
            renew=lambda: self._request_tokens(send, principal, current),
            sleep=self._sleep,
        )

    async def _request_tokens(self, send: Sender, principal: str, account: Account) -> Account:
        if not account.refresh_token:
            if self._now() - account.connected_at < FRESH_SECONDS:
                return account  # the token is new, so the API's refusal has another cause
            await self._accounts.delete(principal, self.name, account)
            raise ConnectionNeededError(self.name, account.scopes)
        try:
            grant = await limit_time(self.client.refresh(send, account.refresh_token))
        except GrantRefusedError as refusal:
            if refusal.code != "invalid_grant":
                raise
            # Revoked or expired at the authorization server: only the user can change that.
            await self._accounts.delete(principal, self.name, account)
            raise ConnectionNeededError(self.name, account.scopes) from None
        renewed = self._extend(account, grant)
        if await self._replace_with_retries(principal, account, renewed):
            return renewed
        current = await self._accounts.find(principal, self.name)
        if current is None:  # the user has disconnected it: nothing may remain valid
            await self.revoke(send, renewed)
            raise ConnectionNeededError(self.name, account.scopes)
        if _is_of_another_user(renewed, current):
            await self.revoke(send, renewed)
        return current  # just connected again

    async def _replace_with_retries(self, principal: str, old: Account, new: Account) -> bool:
        """Store renewed tokens, in several attempts: the old refresh token is no longer valid."""
        for delay in STORE_DELAYS:
            try:
                return await self._accounts.replace(principal, self.name, old, new)
            except StoreUnavailableError:
                await self._sleep(delay)
        return await self._accounts.replace(principal, self.name, old, new)

    def _extend(self, account: Account, grant: TokenGrant) -> Account:
        return replace(
            account,
            access_token=grant.access_token,
            refresh_token=grant.refresh_token or account.refresh_token,
            renew_at=grant.compute_renewal(self._now()),
        )


def _is_of_another_user(old: Account, new: Account) -> bool:
    """Return whether both accounts are known to be those of different users at the API.

    Many authorization servers (Google, Keycloak, Auth0 by setting) revoke the user's whole grant
    with one token (RFC 7009, section 2.1): of the same user, that would invalidate the new tokens.
    """
    return "" not in (old.user, new.user) and old.user != new.user
