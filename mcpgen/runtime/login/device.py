"""Login on a device without a browser: the device authorization grant (RFC 8628)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.upstream.auth.token_endpoint import (
    ClientIdentity,
    GrantRefusedError,
    TokenGrant,
    check_url,
    decode_object,
    make_form_request,
    request_token,
    send_request,
)
from mcpgen.runtime.upstream.http.messages import Sender

_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_DEFAULT_INTERVAL: Final = 5.0  # RFC 8628, section 3.2
_SLOW_DOWN: Final = 5.0  # section 3.5
_MAX_INTERVAL: Final = 60.0
_MAX_LIFETIME: Final = 1800.0
_MAX_SHOWN: Final = 500


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """The code that the user enters at a URL, and the code that the server exchanges for tokens."""

    url: str
    user_code: str
    device_code: str = field(repr=False)
    interval_seconds: float
    lifetime_seconds: float


class DeviceFlow:
    """The grant at one authorization server; both URLs may receive secrets."""

    def __init__(
        self,
        device_url: str,
        token_url: str,
        client: ClientIdentity,
        *,
        private_addresses_setting: Callable[[str], str],
        variables: Sequence[str] = (),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`variables` are the settings that the operator can check."""
        self._device_url = device_url
        self._token_url = token_url
        self._client = client
        self._private_setting = private_addresses_setting
        self._variables = variables
        self._sleep = sleep

    async def begin(self, send: Sender, scopes: Sequence[str]) -> DeviceCode:
        """Request a code for the user.

        Raises:
            ToolError: the authorization server returned none.
        """
        form = {"client_id": self._client.id}
        if scopes:
            form["scope"] = " ".join(scopes)
        request = make_form_request(
            self._device_url,
            form,
            self._client,
            private_addresses_setting=self._private_setting(self._device_url),
        )
        response = await send_request(send, request)
        answer = decode_object(response) if response.status == 200 else {}
        url = _read_text(answer, "verification_uri") or _read_text(answer, "verification_url")
        codes = _read_text(answer, "user_code"), _read_text(answer, "device_code")
        if not url or not all(codes):
            raise ToolError(
                f"The authorization server returned no device code (status {response.status})."
                f" The operator can check {' and '.join(self._variables)}."
            )
        return DeviceCode(
            check_url(_read_text(answer, "verification_uri_complete") or url, "the page"),
            *codes,
            _read_seconds(answer, "interval", _DEFAULT_INTERVAL, _MAX_INTERVAL),
            _read_seconds(answer, "expires_in", _MAX_LIFETIME, _MAX_LIFETIME),
        )

    async def wait(self, send: Sender, code: DeviceCode) -> TokenGrant:
        """Poll for the tokens until the user has decided.

        Raises:
            ToolError: the user refused, or the code has expired.
        """
        interval, waited = code.interval_seconds, 0.0
        form = {"grant_type": _GRANT, "device_code": code.device_code}
        form["client_id"] = self._client.id
        while waited < code.lifetime_seconds:
            await self._sleep(interval)
            waited += interval
            try:
                return await self.request(send, form)
            except GrantRefusedError as refusal:
                if refusal.code == "slow_down":
                    interval = min(interval + _SLOW_DOWN, _MAX_INTERVAL)
                elif refusal.code != "authorization_pending":
                    raise
        raise ToolError("Nobody entered the code before it expired: log in again.")

    async def request(self, send: Sender, form: Mapping[str, str]) -> TokenGrant:
        """Send a token request.

        Raises:
            GrantRefusedError: the response has no token.
        """
        private = self._private_setting(self._token_url)
        request = make_form_request(
            self._token_url, form, self._client, private_addresses_setting=private
        )
        return await request_token(send, request, variables=self._variables)


def _read_text(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    is_shown = isinstance(value, str) and value.isprintable() and len(value) <= _MAX_SHOWN
    return str(value) if is_shown else ""


def _read_seconds(answer: Mapping[str, Any], name: str, default: float, most: float) -> float:
    value = answer.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return min(float(value or default), most) if is_number else default
