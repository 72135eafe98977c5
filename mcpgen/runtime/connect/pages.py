"""The connect pages: `/connect/<one-time>`, `/callback` and `/connections`.

Each page requires a sign-in (`sign_in`). Reading a page changes nothing, so that no preview of a
link uses it up; what changes something is a form with a secret of the browser's session.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any, Final, NoReturn
from urllib.parse import quote, unquote, urlsplit

from mcpgen.runtime.connect import html
from mcpgen.runtime.connect.browser import (
    HEADERS,
    Browser,
    Browsers,
    has_form_token,
    read_fields,
    read_form,
    redirect,
)
from mcpgen.runtime.connect.html import Html, Layout
from mcpgen.runtime.connect.links import CONNECT_PATH, Connector, Link
from mcpgen.runtime.connect.records import Records
from mcpgen.runtime.connect.sign_in import IssuerSignIn, TokenSignIn
from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.process.log import log
from mcpgen.runtime.state.store import StoreUnavailableError
from mcpgen.runtime.transports.http.pages import PageRequest, PageResponse
from mcpgen.runtime.transports.http.request_head import Header
from mcpgen.runtime.upstream.auth.account_store import Account
from mcpgen.runtime.upstream.auth.authorization_code import Authorization, CallbackError
from mcpgen.runtime.upstream.auth.user_scheme import UserScheme
from mcpgen.runtime.upstream.http.messages import Sender

CALLBACK_PATH: Final = "/callback"
SIGNED_IN_PATH: Final = "/signed-in"
SIGN_IN_PATH: Final = "/sign-in"
CONNECTIONS_PATH: Final = "/connections"
FLOW_SECONDS: Final = 600.0
_OWN_PATHS: Final = frozenset({CALLBACK_PATH, SIGNED_IN_PATH, SIGN_IN_PATH, CONNECTIONS_PATH})
_LINK_ID: Final = re.compile(r"[\w-]{1,64}", re.ASCII)
_ASK_AGAIN: Final = (
    "Return to your MCP client and repeat what you asked for: it then shows a new link."
)


class _PageError(Exception):
    """A request that is answered with an HTML page about its failure."""

    def __init__(
        self,
        status: int,
        title: str,
        *sentences: str,
        can_sign_out: bool = False,
        headers: tuple[Header, ...] = (),
    ) -> None:
        super().__init__(title)
        self.status = status
        self.title = title
        self.sentences = sentences
        self.can_sign_out = can_sign_out
        self.headers = headers


class ConnectPages:
    """The pages of one server; see `WebPages`."""

    def __init__(
        self,
        *,
        service: str,
        base_url: str,
        schemes: Mapping[str, UserScheme],
        connector: Connector,
        browsers: Browsers,
        sign_in: IssuerSignIn | TokenSignIn,
        flows: Records,
        send: Sender,
        finish: Callable[[str], None],
    ) -> None:
        """`finish` notifies MCP clients of the end of an elicitation, by its id.

        `service` is the name of the API, and `flows` has the requests at authorization servers.
        """
        self._layout = Layout(service)
        self._service = service
        self._base_url = base_url
        self._schemes = schemes
        self._connector = connector
        self._browsers = browsers
        self._sign_in = sign_in
        self._flows = flows
        self._send = send
        self._finish = finish

    def has_path(self, path: str) -> bool:
        """Return whether this is the path of a page."""
        return path in _OWN_PATHS or path.startswith((CONNECT_PATH, f"{CALLBACK_PATH}/"))

    async def answer(self, request: PageRequest) -> PageResponse:
        """Answer a request of a browser."""
        browser = Browser("")
        try:
            browser = await self._browsers.find(request)
            return await self._route(request, browser)
        except _PageError as error:
            page = error
        except StoreUnavailableError:
            log("error", f"{request.method} {_hide_secret(request.path)}: no state store")
            page = _PageError(503, "Please try again", "This server cannot reach its state store.")
        except (ToolError, ConfigurationError) as error:
            log("error", f"{request.method} {_hide_secret(request.path)}: {error}")
            page = _PageError(502, f"{self._service} cannot be reached", str(error), _ASK_AGAIN)
        return self._render_error(page, browser)

    def _route(self, request: PageRequest, browser: Browser) -> Awaitable[PageResponse]:
        path, method = request.path, request.method
        routes: dict[str, Callable[[PageRequest, Browser], Awaitable[PageResponse]]]
        if path.startswith(CONNECT_PATH):
            routes = {"GET": self._show_link, "POST": self._follow_link}
        elif path == SIGN_IN_PATH:
            routes = {"POST": self._check_token}
        elif path == SIGNED_IN_PATH:
            routes = {"GET": self._finish_sign_in}
        elif path == CONNECTIONS_PATH:
            routes = {"GET": self._list_connections, "POST": self._change_connections}
        else:
            routes = {"GET": self._finish_connection}
        if method not in routes:
            allow = (b"allow", ", ".join(routes).encode())
            raise _PageError(405, f"{method} is not allowed here", headers=(allow,))
        return routes[method](request, browser)

    # -- sign-in -------------------------------------------------------------------------------

    async def _ask_to_sign_in(self, browser: Browser, back: str, problem: str = "") -> PageResponse:
        """Start the sign-in of a browser, which then returns to the path `back`."""
        browser, cookie = self._browsers.start(browser)
        if isinstance(self._sign_in, TokenSignIn):
            state = await self._flows.create({"browser": browser.cookie, "back": back})
            return self._render_token_form(state, problem, cookie)
        authorization, nonce = await self._sign_in.begin(self._base_url + SIGNED_IN_PATH)
        content = {"browser": browser.cookie, "back": back, "nonce": nonce}
        await self._store_flow("sign-in", authorization, content)
        return redirect(authorization.url, cookie)

    async def _check_token(self, request: PageRequest, browser: Browser) -> PageResponse:
        """Sign in with the token in a form."""
        fields = read_form(request)
        flow = await self._flows.take(fields.get("state", ""))
        if flow is None or not _is_of(browser, flow) or not isinstance(self._sign_in, TokenSignIn):
            raise _PageError(400, "This sign-in has ended", _ASK_AGAIN)
        identity = self._sign_in.identify(fields.get("token", "").strip())
        if identity is None:
            return await self._ask_to_sign_in(browser, flow["back"], "This token is not valid.")
        return redirect(
            self._base_url + flow["back"], await self._browsers.sign_in(browser, identity)
        )

    async def _finish_sign_in(self, request: PageRequest, browser: Browser) -> PageResponse:
        """Sign in with the redirect of the issuer."""
        parameters = read_fields(request.query)
        if isinstance(self._sign_in, TokenSignIn):
            raise _PageError(404, "There is no such page")
        flow = await self._take_flow("sign-in", parameters, browser)
        try:
            identity = await self._sign_in.finish(
                _read_authorization(flow), flow["nonce"], parameters
            )
        except CallbackError as error:
            raise _PageError(403, "You are not signed in", str(error), _ASK_AGAIN) from None
        cookie = await self._browsers.sign_in(browser, identity)
        return redirect(self._base_url + flow["back"], cookie)

    # -- connecting an account -----------------------------------------------------------------

    async def _show_link(self, request: PageRequest, browser: Browser) -> PageResponse:
        if browser.identity is None:
            return await self._ask_to_sign_in(browser, CONNECT_PATH + _read_id(request.path))
        link = await self._find_link(request, browser)
        endpoints = await self._schemes[link.scheme].client.find_endpoints(self._send)
        host = urlsplit(endpoints.authorization_url).netloc
        content = html.join(
            html.paragraph(
                f"Your MCP client has called a tool that needs your {self._service} account."
                " You sign in there yourself: this server never sees your password."
            ),
            self._describe_link(link, host, browser),
            html.paragraph(
                "Did someone send you this link? Then cancel: continue only if you have just"
                " used your own MCP client.",
                is_soft=True,
            ),
            html.form(
                self._base_url + request.path,
                {"form_token": browser.form_token},
                html.buttons(
                    html.button("Continue", name="action", value="connect", kind="main"),
                    html.button("Cancel", name="action", value="cancel"),
                ),
            ),
        )
        return self._render(f"Connect {self._service}", content, browser=browser)

    def _describe_link(self, link: Link, host: str, browser: Browser) -> Html:
        name = browser.identity.name if browser.identity else ""
        rows = [("Your account here", html.show(name)), ("You sign in at", html.show(host))]
        if link.scopes:
            descriptions = self._schemes[link.scheme].client.flow.get("scopes", {})
            scopes = (html.scope_item(it, str(descriptions.get(it, ""))) for it in link.scopes)
            rows.append(("What this server may then do", html.items(scopes)))
        return html.facts(rows)

    async def _follow_link(self, request: PageRequest, browser: Browser) -> PageResponse:
        """Send the browser to the authorization server, and use the link up."""
        fields = self._read_safe_form(request, browser)
        link = await self._find_link(request, browser)
        if fields.get("action") != "connect":
            await self._connector.take(link.id)
            message = html.paragraph("Nothing was connected. You can close this page.")
            return self._render("Cancelled", message, browser=browser)
        client = self._schemes[link.scheme].client
        endpoints = await client.find_endpoints(self._send)
        if await self._connector.take(link.id) is None:
            _reject_link()
        authorization = client.begin(endpoints, self._make_callback(link.scheme), link.scopes)
        content = {
            "browser": browser.cookie,
            "principal": link.principal,
            "scopes": list(link.scopes),
            "link": link.id,
        }
        await self._store_flow(link.scheme, authorization, content)
        host = urlsplit(authorization.url).netloc
        # A page and not a redirect: `form-action` applies to every redirect after a form, and
        # authorization servers redirect to hosts that are unknown here.
        return self._render(
            f"Opening {host}",
            html.join(
                html.paragraph("If nothing happens, continue with this link."),
                html.buttons(html.link(f"Continue to {host}", authorization.url, "button main")),
            ),
            refresh=authorization.url,
        )

    async def _finish_connection(self, request: PageRequest, browser: Browser) -> PageResponse:
        """Store the account with which the authorization server sends the browser back."""
        scheme = self._find_scheme_of(request.path)
        parameters = read_fields(request.query)
        flow = await self._take_flow(scheme.name, parameters, browser)
        identity = browser.identity
        if identity is None or identity.principal != flow["principal"]:
            raise _PageError(403, "You are not signed in", _ASK_AGAIN)
        try:
            grant = await scheme.client.redeem(self._send, _read_authorization(flow), parameters)
        except CallbackError as error:
            raise _PageError(
                400, f"{self._service} is not connected", str(error), _ASK_AGAIN
            ) from None
        replaced = await scheme.connect(identity.principal, grant, flow["scopes"])
        log("info", f"a user has connected an account (`{scheme.name}`)")
        self._finish(flow["link"])
        if replaced is not None and not await scheme.revoke(self._send, replaced):
            log("warning", f"the replaced tokens of a user are not revoked (`{scheme.name}`)")
        content = html.join(
            html.paragraph("You can close this page and return to your MCP client."),
            html.buttons(
                html.link("Your connections", self._base_url + CONNECTIONS_PATH, "button")
            ),
        )
        return self._render(f"{self._service} is connected", content, browser=browser)

    # -- connections ---------------------------------------------------------------------------

    async def _list_connections(self, _: PageRequest, browser: Browser) -> PageResponse:
        if browser.identity is None:
            return await self._ask_to_sign_in(browser, CONNECTIONS_PATH)
        return await self._render_connections(browser)

    async def _render_connections(self, browser: Browser, message: str = "") -> PageResponse:
        principal = browser.identity.principal if browser.identity else ""
        accounts = {
            name: account
            for name, scheme in self._schemes.items()
            if (account := await scheme.find_account(principal)) is not None
        }
        status = (Html(f'<p role="status">{html.text(message)}</p>'),) if message else ()
        if not accounts:
            empty_text = "No account is connected. A tool that needs one asks you to connect it."
            content = html.join(*status, html.paragraph(empty_text))
            return self._render("Your connections", content, browser=browser)
        entries = (self._describe_account(*it, browser) for it in accounts.items())
        content = html.join(
            *status,
            html.paragraph("This server calls the API with these accounts, for you only."),
            html.items(entries, "accounts"),
            html.paragraph(
                "Disconnecting revokes the account's tokens and deletes them here.", is_soft=True
            ),
        )
        return self._render("Your connections", content, browser=browser)

    def _describe_account(self, scheme: str, account: Account, browser: Browser) -> Html:
        since = time.strftime("%d %B %Y", time.gmtime(account.connected_at)).lstrip("0")
        name = self._service if len(self._schemes) == 1 else f"{self._service}: {scheme}"
        return html.join(
            Html(f"<div><h2>{html.show(name)}</h2>"),
            html.paragraph(f"Connected on {since}", is_soft=True),
            Html("</div>"),
            html.form(
                self._base_url + CONNECTIONS_PATH,
                {"form_token": browser.form_token, "scheme": scheme},
                html.button("Disconnect", name="action", value="disconnect", kind="danger"),
            ),
        )

    async def _change_connections(self, request: PageRequest, browser: Browser) -> PageResponse:
        fields = self._read_safe_form(request, browser)
        if fields.get("action") == "sign-out":
            cookie = await self._browsers.sign_out(browser)
            content = html.paragraph("Your connections remain. You can close this page.")
            return self._render("Signed out", content, headers=(cookie,))
        scheme = self._schemes.get(fields.get("scheme", ""))
        if scheme is None or browser.identity is None or fields.get("action") != "disconnect":
            raise _PageError(400, "This page cannot be used so", "Go back and try again.")
        is_revoked = await scheme.disconnect(browser.identity.principal, self._send)
        log("info", f"a user has disconnected an account (`{scheme.name}`)")
        message = "Disconnected."
        if not is_revoked:
            message += (
                f" The tokens are deleted here. {self._service} offers no revocation or did not"
                " answer: remove the access in your account's settings there as well."
            )
        return await self._render_connections(browser, message)

    # -- internal ------------------------------------------------------------------------------

    def _read_safe_form(self, request: PageRequest, browser: Browser) -> dict[str, str]:
        fields = read_form(request)
        if browser.identity is None or not has_form_token(browser, fields):
            raise _PageError(403, "Your sign-in has ended", "Open the link again.")
        return fields

    async def _find_link(self, request: PageRequest, browser: Browser) -> Link:
        """Return the link of a page, if it is one of the user who has signed in.

        The link of another user is unknown: both have the same response.
        """
        link = await self._connector.find(_read_id(request.path))
        if link is None or link.scheme not in self._schemes:
            _reject_link()
        if browser.identity is None or link.principal != browser.identity.principal:
            log("warning", "a connect link was opened by another user")
            _reject_link()
        return link

    def _make_callback(self, scheme: str) -> str:
        """Return the redirect URI: one of its own for each authorization server.

        RFC 9700, section 4.4.2.2: the response of one cannot be passed off as that of another.
        """
        only = "" if len(self._schemes) == 1 else f"/{quote(scheme, safe='')}"
        return f"{self._base_url}{CALLBACK_PATH}{only}"

    def _find_scheme_of(self, path: str) -> UserScheme:
        name = unquote(path.removeprefix(CALLBACK_PATH).lstrip("/"))
        only = next(iter(self._schemes)) if len(self._schemes) == 1 else ""
        scheme = self._schemes.get(name or only)
        if scheme is None:
            raise _PageError(404, "There is no such page", _ASK_AGAIN)
        return scheme

    async def _store_flow(
        self, kind: str, authorization: Authorization, content: dict[str, Any]
    ) -> None:
        stored = {**asdict(authorization), "url": ""}
        await self._flows.create({**content, "kind": kind, "request": stored}, authorization.state)

    async def _take_flow(
        self, kind: str, parameters: Mapping[str, str], browser: Browser
    ) -> dict[str, Any]:
        """Return the request that a redirect answers, once, and only to the browser that sent it.

        A redirect in another browser does not use the request up.
        """
        state = parameters.get("state", "")
        flow = await self._flows.find(state)
        if flow is None or flow.get("kind") != kind or not _is_of(browser, flow):
            raise _PageError(400, "This request has ended", "Nothing was changed.", _ASK_AGAIN)
        if await self._flows.take(state) is None:
            raise _PageError(400, "This request has ended", "Nothing was changed.", _ASK_AGAIN)
        return flow

    def _render_token_form(self, state: str, problem: str, cookie: Header) -> PageResponse:
        alert = (
            (Html(f'<p class="danger" role="alert">{html.text(problem)}</p>'),) if problem else ()
        )
        field = Html(
            '<label for="token">Access token</label><input id="token" name="token" type="password"'
            ' autocomplete="off" required autofocus>'
        )
        content = html.join(
            html.paragraph(
                "Sign in with the access token that your MCP client sends to this server, so that"
                " nobody else can connect an account for you."
            ),
            *alert,
            html.form(
                self._base_url + SIGN_IN_PATH,
                {"state": state},
                html.join(field, html.buttons(html.button("Sign in", kind="main"))),
            ),
        )
        return self._render("Sign in", content, headers=(cookie,))

    def _render_error(self, error: _PageError, browser: Browser) -> PageResponse:
        content = html.join(*(html.paragraph(it) for it in error.sentences))
        shown = browser if error.can_sign_out else None
        return self._render(
            error.title, content, status=error.status, browser=shown, headers=error.headers
        )

    def _render(
        self,
        title: str,
        content: Html,
        *,
        status: int = 200,
        browser: Browser | None = None,
        refresh: str = "",
        headers: tuple[Header, ...] = (),
    ) -> PageResponse:
        """Render a page; with `browser`, its footer says who has signed in."""
        footer = ""
        if browser is not None and browser.identity is not None:
            sign_out = html.form(
                self._base_url + CONNECTIONS_PATH,
                {"form_token": browser.form_token},
                html.button("Sign out", name="action", value="sign-out"),
            )
            footer = f"<p>Signed in as {html.show(browser.identity.name)}</p>{sign_out}"
        body = self._layout.render(title, content, footer=footer, refresh=refresh)
        return PageResponse(status, body, (*HEADERS, *headers))


def _read_id(path: str) -> str:
    link_id = path.removeprefix(CONNECT_PATH)
    if _LINK_ID.fullmatch(link_id) is None:
        _reject_link()
    return link_id


def _reject_link() -> NoReturn:
    raise _PageError(
        404,
        "This link is not valid",
        "A link can be used once, within ten minutes, and only by the user whose MCP client has"
        " shown it. Nothing was connected.",
        _ASK_AGAIN,
        can_sign_out=True,
    )


def _is_of(browser: Browser, flow: Mapping[str, Any]) -> bool:
    return bool(browser.cookie) and _digest(browser.cookie) == _digest(flow["browser"])


def _digest(text: str) -> bytes:
    """Hash a secret, so that the time of a comparison does not depend on it."""
    return hashlib.blake2b(text.encode()).digest()


def _read_authorization(flow: Mapping[str, Any]) -> Authorization:
    return Authorization(**flow["request"])


def _hide_secret(path: str) -> str:
    return f"{CONNECT_PATH}…" if path.startswith(CONNECT_PATH) else path
