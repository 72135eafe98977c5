"""The commands `login` and `logout` of a generated server (RFC 8252, RFC 8628, RFC 7009)."""

from __future__ import annotations

import asyncio
import hmac
import sys
import time
import webbrowser
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from mcpgen.contract.base_url import BaseUrls
from mcpgen.runtime.errors import ConfigurationError, ToolError, UsageError
from mcpgen.runtime.login.device import DeviceFlow
from mcpgen.runtime.login.redirect import RedirectListener
from mcpgen.runtime.process.log import log
from mcpgen.runtime.upstream.auth.local_account import (
    LocalAccount,
    make_tokens,
    read_local_account,
)
from mcpgen.runtime.upstream.auth.token_endpoint import TokenGrant
from mcpgen.runtime.upstream.auth.token_store import hold_lock, mark_change
from mcpgen.runtime.upstream.http.configured import make_sender

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcpgen.runtime.package import ServerPackage
    from mcpgen.runtime.upstream.http.messages import Sender

LOGIN_SECONDS: Final = 600.0
"""Time in which the user must complete the login."""
FAILED: Final = 1

OpenBrowser = Callable[[str], bool]


def run_command(
    package: ServerPackage,
    arguments: Sequence[str],
    environ: Mapping[str, str],
    *,
    open_browser: OpenBrowser = webbrowser.open,
) -> int:
    """Run `login [SCHEME]` or `logout [SCHEME]`; return the exit code.

    Raises:
        UsageError: an argument is invalid, or the server has no scheme with `from: user`.
        ConfigurationError: a setting is missing or invalid.
    """
    parser = ArgumentParser(prog=f"{package.program} {arguments[0]}")
    parser.add_argument("scheme", nargs="?", default="", help="a security scheme of the API")
    if arguments[0] == "login":
        flag = parser.add_argument
        flag("--device", action="store_true", help="enter a code on another device")
        flag("--no-browser", action="store_true", help="print the URL, and open no browser")
    options = parser.parse_args(arguments[1:])
    accounts = [
        _read_account(package, environ, name) for name in _choose_schemes(package, options.scheme)
    ]
    try:
        if arguments[0] == "logout":
            asyncio.run(_run_each(package, environ, accounts, _logout))
            return 0

        async def login(account: LocalAccount, send: Sender) -> None:
            opener = None if options.no_browser else open_browser
            scopes = _collect_scopes(package, account.scheme)
            await _login(account, send, scopes, opener, uses_device=options.device)

        asyncio.run(_run_each(package, environ, accounts, login))
    except ToolError as error:
        log("error", str(error))
        return FAILED
    return 0


def _choose_schemes(package: ServerPackage, named: str) -> list[str]:
    sources = package.contract.get("credentials", {})
    known = [name for name, source in sources.items() if source["from"] == "user"]
    if not known:
        raise UsageError(
            f"{package.program} has no login: no scheme in `credentials` of its mcpgen.yaml has"
            " `from: user`"
        )
    if named and named not in known:
        raise UsageError(f"unknown security scheme `{named}`: users log in to {', '.join(known)}")
    return [named] if named else known


def _read_account(package: ServerPackage, environ: Mapping[str, str], name: str) -> LocalAccount:
    source = package.contract["security_schemes"][name].get("source", "")
    base_urls = BaseUrls(package.contract, environ, source=source)
    return read_local_account(
        package.contract, environ, name, base_urls=base_urls, clock=time.monotonic
    )


def _collect_scopes(package: ServerPackage, scheme: str) -> list[str]:
    """Return the scopes that any operation of the server needs."""
    found = {
        scope
        for tool in package.read_tool_contracts().values()
        for requirement in tool.get("request", {}).get("security", ())
        for scope in requirement.get(scheme, ())
    }
    return sorted(found)


async def _run_each(
    package: ServerPackage,
    environ: Mapping[str, str],
    accounts: Sequence[LocalAccount],
    run: Callable[[LocalAccount, Sender], Awaitable[None]],
) -> None:
    async with _open_sender(package, environ) as send:
        for account in accounts:
            await run(account, send)


@asynccontextmanager
async def _open_sender(package: ServerPackage, environ: Mapping[str, str]) -> AsyncIterator[Sender]:
    sender = make_sender(package.contract, environ, package.limits)
    try:
        yield sender.send
    finally:
        await sender.aclose()


async def _login(
    account: LocalAccount,
    send: Sender,
    scopes: Sequence[str],
    open_browser: OpenBrowser | None,
    *,
    uses_device: bool,
) -> None:
    if not account.identity.id:
        setting = account.variables[0]
        raise ConfigurationError(
            f"missing {setting}: register this server as a client at the API's provider, with the"
            " redirect URI http://127.0.0.1/callback, and set its id",
            setting=setting,
        )
    try:
        async with asyncio.timeout(LOGIN_SECONDS):
            if uses_device or not account.code_client.is_possible:
                grant = await _log_in_with_code(account, send, scopes)
            else:
                grant = await _log_in_with_browser(account, send, scopes, open_browser)
    except TimeoutError:
        raise ToolError(f"Nobody logged in within {LOGIN_SECONDS / 60:g} minutes.") from None
    store = account.open_store()
    async with hold_lock(account.folder, account.scheme):  # a server may be renewing older tokens
        store.save(account.scheme, make_tokens(grant, time.time(), scopes=scopes))
        mark_change(account.folder, account.scheme)
    _print(f"You are logged in to `{account.scheme}`. The tokens are in {store.place}.")


async def _log_in_with_browser(
    account: LocalAccount, send: Sender, scopes: Sequence[str], open_browser: OpenBrowser | None
) -> TokenGrant:
    client = account.code_client
    endpoints = await client.find_endpoints(send)
    expected = b""

    def is_expected(parameters: Mapping[str, str]) -> bool:
        state = parameters.get("state", "").encode()
        return bool(expected) and hmac.compare_digest(state, expected)

    async with RedirectListener(is_expected).listen() as listener:
        authorization = client.begin(endpoints, listener.redirect_uri, scopes)
        expected = authorization.state.encode()
        is_open = open_browser is not None and await asyncio.to_thread(
            open_browser, authorization.url
        )
        lead = "If your browser does not open, go to" if is_open else "Go to"
        _print(f"{lead} this page on this machine, and log in:\n\n  {authorization.url}\n")
        return await client.redeem(send, authorization, await listener.wait())


async def _log_in_with_code(
    account: LocalAccount, send: Sender, scopes: Sequence[str]
) -> TokenGrant:
    if account.device is not None:
        urls = account.device.device_url, account.device.token_url
    else:
        endpoints = await account.code_client.find_endpoints(send)
        urls = endpoints.device_url, endpoints.token_url
    if not urls[0]:
        raise ToolError(f"The authorization server of `{account.scheme}` has no device flow.")
    flow = DeviceFlow(
        *urls,
        account.identity,
        private_addresses_setting=account.base_urls.private_addresses_setting_of,
        variables=account.variables,
    )
    code = await flow.begin(send, scopes)
    _print(f"Go to {code.url} on any device, and enter the code {code.user_code}")
    return await flow.wait(send, code)


async def _logout(account: LocalAccount, send: Sender) -> None:
    store = account.open_store()
    async with hold_lock(account.folder, account.scheme):  # a server may be renewing them
        tokens = store.load(account.scheme)
        store.delete(account.scheme)
        mark_change(account.folder, account.scheme)
    if tokens is None:
        _print(f"Nobody is logged in to `{account.scheme}`.")
        return
    kind = "refresh_token" if tokens.refresh_token else "access_token"
    try:
        is_revoked = await account.client.revoke(
            send, tokens.refresh_token or tokens.access_token, kind
        )
    except (ToolError, ConfigurationError) as error:
        _print(f"The tokens of `{account.scheme}` are deleted, but not revoked: {error}")
        return
    how = (
        "are revoked and deleted"
        if is_revoked
        else "are deleted. The authorization server could not revoke them: remove the access of"
        " this server in your account there"
    )
    _print(f"The tokens of `{account.scheme}` {how}.")


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
