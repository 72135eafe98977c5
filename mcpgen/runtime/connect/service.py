"""The parts that let users connect accounts, made from the settings of a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcpgen.runtime.connect.browser import SESSION_SECONDS, Browsers
from mcpgen.runtime.connect.links import LINK_SECONDS, Connector, make_base_url
from mcpgen.runtime.connect.pages import FLOW_SECONDS, ConnectPages
from mcpgen.runtime.connect.records import PURPOSE, Records
from mcpgen.runtime.connect.sign_in import IssuerSignIn, OperatorUrls, TokenSignIn
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.connecting import find_connect_problems
from mcpgen.runtime.startup.server_settings import ServerSettings
from mcpgen.runtime.state.key_ring import KeyRing, read_keys
from mcpgen.runtime.state.store import Store
from mcpgen.runtime.upstream.auth import account_store
from mcpgen.runtime.upstream.auth.account_store import AccountStore
from mcpgen.runtime.upstream.auth.authorization_code import AuthorizationCodeClient
from mcpgen.runtime.upstream.auth.token_endpoint import ClientIdentity
from mcpgen.runtime.upstream.auth.user_scheme import UserScheme
from mcpgen.runtime.upstream.client import ApiClient
from mcpgen.runtime.upstream.http.messages import Sender

_OPENID_METADATA: Final = "/.well-known/openid-configuration"


class ConnectService:
    """Accounts, links and pages of a server whose users connect accounts."""

    def __init__(self, contract: JsonObject, environ: Mapping[str, str], store: Store) -> None:
        """Read the settings.

        Raises:
            ConfigurationError: a setting is missing or invalid.
        """
        for problem in find_connect_problems(contract, environ):
            raise problem
        prefix = contract.get("env_prefix", "")
        self._settings = ServerSettings.from_contract(contract, environ)
        keys = read_keys(environ, f"{prefix}STATE_KEYS")
        self._name: str = contract["name"]
        self._service: str = contract.get("title") or contract["name"]
        self._base_url = make_base_url(self._settings.get("PUBLIC_URL"))
        self.client: ApiClient | None = None
        """The client of the API, once the handlers are loaded."""
        self._store = store
        self._ring = KeyRing(keys, purpose=PURPOSE)
        ring = KeyRing(keys, purpose=account_store.PURPOSE)
        self.accounts = AccountStore(store, ring, server=self._name)
        self.connector = Connector(
            self._make_records("connect-link", LINK_SECONDS),
            self._make_records("connect-pending", LINK_SECONDS),
            base_url=self._base_url,
            service=self._service,
        )

    def make_pages(self, finish: Callable[[str], None]) -> ConnectPages:
        """Return the pages for the accounts of the API.

        `finish` notifies MCP clients of the end of an elicitation, by its id.

        Raises:
            ConfigurationError: the handlers of the tools are not loaded.
        """
        client = self.client
        if client is None:
            raise ConfigurationError("the connect pages need the client of the API")
        schemes = client.credentials.callers.values()
        return ConnectPages(
            service=self._service,
            base_url=self._base_url,
            schemes={it.name: it for it in schemes if isinstance(it, UserScheme)},
            connector=self.connector,
            browsers=Browsers(
                self._make_records("connect-browser", SESSION_SECONDS),
                server=self._name,
                base_url=self._base_url,
            ),
            sign_in=self._make_sign_in(client.send_to_issuer, client.environment.clock),
            flows=self._make_records("connect-flow", FLOW_SECONDS),
            send=client.send_to_issuer,
            finish=finish,
        )

    def _make_sign_in(self, send: Sender, clock: Callable[[], float]) -> IssuerSignIn | TokenSignIn:
        settings = self._settings
        issuers: tuple[str, ...] = settings.get("AUTH_ISSUER") or ()
        if not issuers:
            from mcpgen.runtime.auth.static_tokens import StaticTokens

            name = "AUTH_TOKENS_FILE"
            tokens = StaticTokens(settings.get(name), setting=settings.spell(name))
            return TokenSignIn(tokens.find)
        client_id: str = settings.get("CONNECT_CLIENT_ID")
        client = AuthorizationCodeClient(
            {"openid_connect_url": issuers[0].rstrip("/") + _OPENID_METADATA},
            ClientIdentity(client_id, settings.get("CONNECT_CLIENT_SECRET") or ""),
            name="sign-in",
            base_urls=OperatorUrls(),
            clock=clock,
            variables=(settings.spell("CONNECT_CLIENT_ID"), settings.spell("AUTH_ISSUER")),
        )
        return IssuerSignIn(issuers[0], client, client_id, send, _read_principal)

    def _make_records(self, kind: str, ttl_seconds: float) -> Records:
        return Records(self._store, self._ring, kind, server=self._name, ttl_seconds=ttl_seconds)


def _read_principal(issuer: str, claims: dict[str, Any], client_id: str) -> str:
    from mcpgen.runtime.auth.claims import TokenClaims
    from mcpgen.runtime.auth.errors import InvalidTokenError

    try:
        return TokenClaims(issuer, claims).check("", [client_id], time.time()).principal
    except InvalidTokenError as error:
        raise ValueError(str(error)) from None
