"""OAuth client for accounts of users: authorization code flow with PKCE, without I/O of its own.

RFC 6749 (section 4.1), RFC 7636 (PKCE), RFC 8707 (resource), RFC 9207 (issuer), RFC 7009
(revocation), RFC 9700 (security). The caller stores what `begin` returns, sends the
user's browser to the URL, and passes the parameters of the redirect to `redeem`.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.upstream.auth.token_endpoint import (
    ClientIdentity,
    TokenGrant,
    UrlPolicy,
    check_endpoint,
    check_url,
    decode_object,
    fetch_metadata,
    make_form_request,
    request_token,
    resolve_url,
    send_request,
)
from mcpgen.runtime.upstream.http.messages import HttpRequest, Sender
from mcpgen.text.hosts import origin_of

METADATA_SECONDS: Final = 3600.0
_OAUTH_METADATA: Final = "/.well-known/oauth-authorization-server"  # RFC 8414, section 3
_SHOWN: Final = "the authorization URL"
_OFFLINE: Final = "offline_access"  # OpenID Connect Core 1.0, section 11


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Endpoints of an authorization server."""

    authorization_url: str
    token_url: str
    revocation_url: str = ""
    device_url: str = ""
    issuer: str = ""
    sends_issuer: bool = False
    """Each redirect has the parameter `iss` (RFC 9207, section 3)."""
    offers_refresh_scope: bool = False
    """The scope `offline_access` requests a refresh token."""


@dataclass(frozen=True, slots=True)
class Authorization:
    """A request for a user's consent. Everything but the URL is stored until the redirect."""

    url: str = field(repr=False)
    state: str = field(repr=False)
    verifier: str = field(repr=False)
    redirect_uri: str
    token_url: str
    """The only endpoint at which the code is redeemed."""
    issuer: str = ""
    sends_issuer: bool = False


class CallbackError(ToolError):
    """The authorization server refused, or the redirect is not the response to the request.

    `code` is the error code of the authorization server ("access_denied"); "" for a redirect that
    does not match.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class AuthorizationCodeClient:
    """This server as a client of the authorization server of one security scheme."""

    def __init__(
        self,
        description: JsonObject,
        client: ClientIdentity,
        *,
        name: str,
        base_urls: UrlPolicy,
        clock: Callable[[], float],
        variables: tuple[str, ...] = (),
        resource: str = "",
    ) -> None:
        """`description` and `name` are the scheme's; `variables` are settings, for errors.

        `resource` is the API's identifier for tokens (RFC 8707); "" sends none.
        """
        self._flows: JsonObject = description.get("flows", {})
        self._discovery_url: str = description.get("openid_connect_url", "")
        self._client = client
        self._name = name
        self._base_urls = base_urls
        self._clock = clock
        self._variables = variables
        self._resource = resource
        self._found: Endpoints | None = None
        self._found_at = 0.0

    @property
    def flow(self) -> Mapping[str, Any]:
        """The flow of the document in which a user consents; {} if discovery has to find it."""
        flow: Mapping[str, Any] = self._flows.get("authorizationCode", {})
        return flow

    @property
    def is_possible(self) -> bool:
        """Whether the document describes the flow, or metadata that may have it."""
        flow = self.flow
        return bool(self._discovery_url or (flow.get("authorizationUrl") and flow.get("tokenUrl")))

    async def find_endpoints(self, send: Sender) -> Endpoints:
        """Return the endpoints, which are fetched at most once an hour.

        Raises:
            ToolError: discovery failed.
            ConfigurationError: a URL is invalid, or its origin may not receive credentials.
        """
        now = self._clock()
        if self._found is None or now - self._found_at >= METADATA_SECONDS:
            find = self._discover if self._discovery_url else self._read_document
            self._found, self._found_at = await find(send), now
        return self._found

    async def _discover(self, send: Sender) -> Endpoints:
        url = self._check_endpoint(self._discovery_url, "the discovery URL")
        private = self._base_urls.private_addresses_setting_of(url)
        return self._read_metadata(await fetch_metadata(send, url, private))

    async def _read_document(self, send: Sender) -> Endpoints:
        """Return the URLs of the document, with what the server's metadata adds to them."""
        flow = self.flow
        token_url = self._check_endpoint(flow.get("tokenUrl", ""), "the token URL")
        own = Endpoints(
            check_url(resolve_url(flow.get("authorizationUrl", ""), self._base_urls), _SHOWN),
            token_url,
            offers_refresh_scope=_OFFLINE in flow.get("scopes", {}),
        )
        origin = origin_of(token_url)
        private = self._base_urls.private_addresses_setting_of(token_url)
        request = HttpRequest("GET", origin + _OAUTH_METADATA, private_addresses_setting=private)
        try:
            response = await send_request(send, request)
        except ToolError:
            return own  # most authorization servers of documents have no metadata
        metadata = decode_object(response) if response.status == 200 else {}
        # Another authorization server at the same origin may have published the metadata.
        if metadata.get("token_endpoint") != token_url or (
            metadata.get("issuer") not in (origin, f"{origin}/")
        ):
            return own
        return self._read_metadata({**metadata, "authorization_endpoint": own.authorization_url})

    def _read_metadata(self, metadata: Mapping[str, Any]) -> Endpoints:
        authorization = metadata.get("authorization_endpoint")
        if not isinstance(authorization, str):
            raise ToolError(
                "The API's authorization server has no authorization endpoint, so no user can"
                " connect an account."
            )
        scopes = metadata.get("scopes_supported")
        optional = {
            name: metadata[name]
            for name in ("revocation_endpoint", "device_authorization_endpoint", "issuer")
            if isinstance(metadata.get(name), str)
        }
        revocation = optional.get("revocation_endpoint", "")
        device = optional.get("device_authorization_endpoint", "")
        return Endpoints(
            check_url(authorization, _SHOWN),
            self._check_endpoint(metadata["token_endpoint"], "the token URL"),
            revocation and self._check_endpoint(revocation, "the revocation URL"),
            device and self._check_endpoint(device, "the device authorization URL"),
            issuer=optional.get("issuer", ""),
            sends_issuer=metadata.get("authorization_response_iss_parameter_supported") is True,
            offers_refresh_scope=isinstance(scopes, list) and _OFFLINE in scopes,
        )

    def _check_endpoint(self, url: str, what: str) -> str:
        return check_endpoint(url, self._base_urls, scheme=self._name, what=what)

    def begin(
        self,
        endpoints: Endpoints,
        redirect_uri: str,
        scopes: Iterable[str],
        parameters: Mapping[str, str] | None = None,
        *,
        offline: bool = True,
    ) -> Authorization:
        """Return the request for a user's consent to these scopes.

        `parameters` are added to the URL: `{"nonce": …}`, `{"prompt": "consent"}`. Those that the
        authorization URL of the document has are preserved. `offline` requests a refresh token.
        """
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        is_offline = offline and endpoints.offers_refresh_scope
        requested = sorted({*scopes, *([_OFFLINE] if is_offline else [])})
        query = {
            **(parameters or {}),
            "response_type": "code",
            "client_id": self._client.id,
            "redirect_uri": redirect_uri,
            "state": state,
            "code_challenge": make_challenge(verifier),
            "code_challenge_method": "S256",
        }
        if requested:
            query["scope"] = " ".join(requested)
        if self._resource:
            query["resource"] = self._resource
        parts = urlsplit(endpoints.authorization_url)
        kept = [pair for pair in parse_qsl(parts.query) if pair[0] not in query]
        url = urlunsplit(parts._replace(query=urlencode([*kept, *query.items()]), fragment=""))
        return Authorization(
            url,
            state,
            verifier,
            redirect_uri,
            endpoints.token_url,
            endpoints.issuer,
            endpoints.sends_issuer,
        )

    async def redeem(
        self, send: Sender, authorization: Authorization, parameters: Mapping[str, str]
    ) -> TokenGrant:
        """Exchange the code of a redirect, whose query has these parameters, for tokens.

        Raises:
            CallbackError: the user or the authorization server refused, or the redirect does not
                belong to this request; no secret was sent.
            GrantRefusedError, ToolError: the token endpoint refused or did not answer.
        """
        code = read_code(authorization, parameters)
        endpoints = await self.find_endpoints(send)
        if endpoints.token_url != authorization.token_url:
            raise CallbackError("The authorization server has changed since the request began.")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": authorization.redirect_uri,
            "code_verifier": authorization.verifier,
        }
        return await self._request_token(send, endpoints, form)

    async def refresh(self, send: Sender, refresh_token: str) -> TokenGrant:
        """Request a new access token; store the new refresh token if the grant has one.

        Raises:
            GrantRefusedError: the refresh token is no longer valid if `code` is "invalid_grant".
            ToolError: there is no response.
        """
        endpoints = await self.find_endpoints(send)
        refresh_url = self.flow.get("refreshUrl", "")
        if refresh_url and not self._discovery_url:
            url = self._check_endpoint(refresh_url, "the refresh URL")
            endpoints = Endpoints(endpoints.authorization_url, url)
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return await self._request_token(send, endpoints, form)

    async def _request_token(
        self, send: Sender, endpoints: Endpoints, form: dict[str, str]
    ) -> TokenGrant:
        if self._resource:
            form["resource"] = self._resource
        url = endpoints.token_url
        private = self._base_urls.private_addresses_setting_of(url)
        request = make_form_request(url, form, self._client, private_addresses_setting=private)
        return await request_token(send, request, variables=self._variables)

    async def revoke(self, send: Sender, token: str, kind: str = "refresh_token") -> bool:
        """Revoke a token; return False if the authorization server cannot do that (RFC 7009).

        Raises:
            ToolError: there is no response.
        """
        endpoints = await self.find_endpoints(send)
        url = endpoints.revocation_url
        if not url:
            return False
        private = self._base_urls.private_addresses_setting_of(url)
        form = {"token": token, "token_type_hint": kind}
        request = make_form_request(url, form, self._client, private_addresses_setting=private)
        return (await send_request(send, request)).status == 200


def make_challenge(verifier: str) -> str:
    """Return the S256 code challenge of a verifier (RFC 7636, section 4.2)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return urlsafe_b64encode(digest).decode().rstrip("=")


def read_code(authorization: Authorization, parameters: Mapping[str, str]) -> str:
    """Return the authorization code of a redirect (RFC 6749, section 4.1.2; RFC 9207).

    Raises:
        CallbackError: the redirect has an error, or does not belong to this request.
    """
    if not hmac.compare_digest(parameters.get("state", "").encode(), authorization.state.encode()):
        raise CallbackError("The redirect does not belong to this request.")
    # The issuer is checked before any other parameter of the redirect (RFC 9207, section 2.4).
    issuer = parameters.get("iss")
    if authorization.issuer and issuer not in (None, authorization.issuer):
        raise CallbackError("The redirect comes from another authorization server.")
    if authorization.sends_issuer and issuer is None:
        raise CallbackError("The redirect does not name its authorization server.")
    if "error" in parameters:
        code = parameters["error"]
        is_shown = code.isascii() and code.isprintable() and 0 < len(code) < 50
        detail = f" (`{code}`)" if is_shown else ""
        raise CallbackError(
            f"The authorization server did not grant access{detail}.", code if is_shown else "error"
        )
    code = parameters.get("code", "")
    if not code or len(code) > 4096 or not (code.isascii() and code.isprintable()):
        raise CallbackError("The redirect has no authorization code.")
    return code
