"""Security schemes whose credentials belong to callers: `credentials` of the contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mcpgen.contract.base_url import BaseUrls
from mcpgen.contract.extras import MissingExtraError, is_installed
from mcpgen.contract.needs import settings_of_schemes
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.process.log import log
from mcpgen.runtime.startup.server_settings import ServerSettings
from mcpgen.runtime.startup.values import read_value
from mcpgen.runtime.upstream.auth.schemes import CallerScheme

if TYPE_CHECKING:
    from mcpgen.runtime.state.store import Store
    from mcpgen.runtime.upstream.auth.account_store import AccountStore
    from mcpgen.runtime.upstream.auth.exchanged_tokens import ExchangedTokens
    from mcpgen.runtime.upstream.auth.user_scheme import UserScheme


def read_caller_schemes(
    contract: JsonObject,
    environ: Mapping[str, str],
    *,
    base_urls: Mapping[str, BaseUrls],
    clock: Callable[[], float],
    accounts: AccountStore | None = None,
    store: Store | None = None,
) -> dict[str, CallerScheme]:
    """Make the schemes whose source is a header, an exchange or the account of a user.

    `accounts` are those of the users of a server over HTTP, and `store` is what its replicas share.

    Raises:
        ConfigurationError: a setting is invalid, or a source is unknown.
    """
    schemes: dict[str, CallerScheme] = {}
    for name, source in contract["credentials"].items():
        description = contract["security_schemes"][name]
        if source["from"] == "header":
            from mcpgen.runtime.upstream.auth.caller_headers import HeaderScheme

            schemes[name] = HeaderScheme(description, source["header"])
        elif source["from"] == "exchange":
            from mcpgen.runtime.upstream.auth.token_exchange import ExchangeScheme

            settings = ServerSettings.from_contract(contract, environ)
            schemes[name] = ExchangeScheme(
                settings,
                base_urls=base_urls[description.get("source", "")],
                shared=None if store is None else _share_tokens(contract, environ, store),
            )
        elif source["from"] == "user" and accounts is not None:
            schemes[name] = _make_user_scheme(
                contract,
                environ,
                name,
                accounts,
                base_urls=base_urls[description.get("source", "")],
                clock=clock,
            )
        elif source["from"] == "user":
            from mcpgen.runtime.upstream.auth.local_account import (
                LocalAccountScheme,
                read_local_account,
            )

            schemes[name] = LocalAccountScheme(
                read_local_account(
                    contract,
                    environ,
                    name,
                    base_urls=base_urls[description.get("source", "")],
                    clock=clock,
                )
            )
        else:
            raise ConfigurationError(
                f"unknown source `{source['from']}` of the credential of `{name}`"
            )
    return schemes


def _share_tokens(
    contract: JsonObject, environ: Mapping[str, str], store: Store
) -> ExchangedTokens | None:
    """Return the exchanged tokens of all replicas; None if this process cannot encrypt them."""
    from mcpgen.runtime.state.key_ring import KeyRing, read_keys
    from mcpgen.runtime.upstream.auth.exchanged_tokens import PURPOSE, ExchangedTokens

    name = f"{contract.get('env_prefix', '')}STATE_KEYS"
    keys = read_keys(environ, name)
    if not keys or not is_installed("seal"):
        missing = f"{name} is not set" if not keys else str(MissingExtraError("seal"))
        log("warning", f"each replica exchanges access tokens for itself: {missing}")
        return None
    return ExchangedTokens(store, KeyRing(keys, purpose=PURPOSE), server=contract["name"])


def _make_user_scheme(
    contract: JsonObject,
    environ: Mapping[str, str],
    name: str,
    accounts: AccountStore,
    *,
    base_urls: BaseUrls,
    clock: Callable[[], float],
) -> UserScheme:
    from mcpgen.runtime.upstream.auth.authorization_code import AuthorizationCodeClient
    from mcpgen.runtime.upstream.auth.token_endpoint import ClientIdentity
    from mcpgen.runtime.upstream.auth.user_scheme import UserScheme

    description = contract["security_schemes"][name]
    variables = settings_of_schemes(contract).get(name, {})
    values = {
        part: read_value(description, part, variable, environ)
        for part, variable in variables.items()
    }
    identity = ClientIdentity(values.get("client_id", ""), values.get("client_secret", ""))
    client = AuthorizationCodeClient(
        description,
        identity,
        name=name,
        base_urls=base_urls,
        clock=clock,
        variables=tuple(variables.values()),
    )
    return UserScheme(
        name,
        client,
        accounts,
        variables=tuple(variables.values()),
        secrets=(identity.secret,) if identity.secret else (),
        is_configured=bool(identity.id) and client.is_possible,
    )
