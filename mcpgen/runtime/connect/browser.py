"""Requests and sessions of browsers: cookies, forms, protection against cross-site requests."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from mcpgen.runtime.connect.html import STYLE_SOURCE
from mcpgen.runtime.connect.records import Records
from mcpgen.runtime.connect.sign_in import Identity
from mcpgen.runtime.transports.http.pages import PageRequest, PageResponse
from mcpgen.runtime.transports.http.request_head import Header

SESSION_SECONDS: Final = 1800.0
_MAX_FIELDS: Final = 32
_COOKIE_LENGTH: Final = 43
HEADERS: Final[tuple[Header, ...]] = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src %b; form-action 'self'; base-uri 'none';"
        b" frame-ancestors 'none'" % STYLE_SOURCE.encode(),
    ),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    # With `no-referrer`, browsers would send `Origin: null` with the forms of these pages.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Browser(NamedTuple):
    """A browser, identified by its cookie, and the user who has signed in there."""

    cookie: str  # "" if it has none
    identity: Identity | None = None  # None before a user has signed in
    form_token: str = ""  # in every form, against cross-site requests


class Browsers:
    """The sessions of browsers, in the store."""

    def __init__(self, sessions: Records, *, server: str, base_url: str) -> None:
        self._sessions = sessions
        self._is_secure = base_url.startswith("https:")
        # `__Host-`: no other host and no plain HTTP can set it (RFC 6265bis, section 4.1.3.2).
        self._name = f"{'__Host-' if self._is_secure else ''}{server}-connect"

    async def find(self, request: PageRequest) -> Browser:
        """Return the browser that has sent a request."""
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(request.fields.get(b"cookie", b"").decode("latin-1"))
        except CookieError:
            return Browser("")
        cookie = cookies[self._name].value if self._name in cookies else ""
        content = await self._sessions.find(cookie)
        if content is None:
            return Browser(cookie)
        identity = Identity(content["principal"], content["name"])
        return Browser(cookie, identity, content["form_token"])

    def start(self, browser: Browser) -> tuple[Browser, Header]:
        """Return a browser that signs in, and the field that sets its cookie.

        Pages in which it signs in at the same time share the cookie.
        """
        cookie = browser.cookie if len(browser.cookie) >= _COOKIE_LENGTH else _make_cookie()
        return Browser(cookie), self._make_field(cookie)

    async def sign_in(self, browser: Browser, identity: Identity) -> Header:
        """Open a session under a new cookie, so that nobody knows it who has set the former one."""
        if browser.cookie:
            await self._sessions.delete(browser.cookie)
        cookie = await self._sessions.create(
            {**identity._asdict(), "form_token": secrets.token_urlsafe(24)}
        )
        return self._make_field(cookie)

    async def sign_out(self, browser: Browser) -> Header:
        """End the session; return the field that removes the cookie."""
        await self._sessions.delete(browser.cookie)
        return self._make_field("", max_age=0)

    def _make_field(self, cookie: str, max_age: float = SESSION_SECONDS) -> Header:
        secure = "; Secure" if self._is_secure else ""
        value = f"{self._name}={cookie}; Path=/; Max-Age={max_age:.0f}; HttpOnly; SameSite=Lax"
        return b"set-cookie", f"{value}{secure}".encode()


def _make_cookie() -> str:
    return secrets.token_urlsafe(32)


def has_form_token(browser: Browser, fields: Mapping[str, str]) -> bool:
    """Return whether a form comes from a page of this browser."""
    token = fields.get("form_token", "")
    return bool(browser.form_token) and hmac.compare_digest(
        token.encode(), browser.form_token.encode()
    )


def read_fields(encoded: str) -> dict[str, str]:
    """Decode a form or a query; {} if it is not one, or has a field twice."""
    try:
        pairs = parse_qsl(
            encoded, keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict"
        )
    except ValueError:
        return {}
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else {}


def read_form(request: PageRequest) -> dict[str, str]:
    """Return the fields of a posted form; {} for another body."""
    kind = request.fields.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/x-www-form-urlencoded" or not request.body.isascii():
        return {}
    return read_fields(request.body.decode("ascii"))


def redirect(url: str, *headers: Header) -> PageResponse:
    """Send the browser to another URL with GET."""
    return PageResponse(303, b"", (*HEADERS[1:], (b"location", url.encode()), *headers))
