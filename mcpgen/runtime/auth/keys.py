"""Public keys of an issuer, found through its metadata, cached and refreshed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from mcpgen.contract.server_settings import BY_NAME
from mcpgen.runtime.auth.errors import InvalidTokenError, IssuerUnavailableError
from mcpgen.runtime.auth.fetching import IssuerClient
from mcpgen.runtime.auth.signatures import fits, import_key
from mcpgen.runtime.auth.single_flight import SingleFlight
from mcpgen.runtime.process.log import log

if TYPE_CHECKING:
    from mcpgen.runtime.auth.signatures import PublicKey

MAX_KEYS: Final = 100  # of a document; those that follow are ignored
MAX_CANDIDATES: Final = 8  # keys that are tried for a token without `kid`
FRESH_SECONDS: Final = 3600.0
"""After this time the keys are fetched again; while that fails, the old ones are still used."""
USABLE_SECONDS: Final = 24 * 3600.0
UNKNOWN_KEY_SECONDS: Final = 60.0  # between two fetches because of an unknown `kid`
RETRY_SECONDS: Final = 2.0  # between two fetches after a failed one
_WELL_KNOWN: Final = "/.well-known/"


class IssuerKeys:
    """The keys of one issuer."""

    def __init__(
        self,
        issuer: str,
        client: IssuerClient,
        *,
        jwks_url: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to fetch keys; without `jwks_url`, the issuer's metadata names their URL."""
        self.issuer = issuer
        self._client = client
        self._jwks_url = jwks_url
        self._clock = clock
        self._keys: tuple[PublicKey, ...] = ()
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")
        self._failure: IssuerUnavailableError | None = None  # of the latest fetch
        self._flight: SingleFlight[None] = SingleFlight()

    async def find(self, algorithm: str, kid: str | None) -> list[PublicKey]:
        """Return the keys with which a token may be signed, at most `MAX_CANDIDATES`.

        Raises:
            InvalidTokenError: the issuer has no such key.
            IssuerUnavailableError: the keys cannot be fetched.
        """
        age = self._clock() - self._fetched_at
        if age >= FRESH_SECONDS:
            await self._refresh(RETRY_SECONDS, is_required=age >= USABLE_SECONDS)
        found = self._select(algorithm, kid)
        if not found:
            await self._refresh(UNKNOWN_KEY_SECONDS, is_required=True)
            found = self._select(algorithm, kid)
        if not found:
            raise InvalidTokenError("is signed with a key that its issuer does not publish")
        return found

    def _select(self, algorithm: str, kid: str | None) -> list[PublicKey]:
        named = (key for key in self._keys if kid is None or key.get("kid") == kid)
        return [key for key in named if fits(key, algorithm)][:MAX_CANDIDATES]

    async def _refresh(self, pause_seconds: float, *, is_required: bool) -> None:
        """Fetch the keys, unless the latest attempt was less than `pause_seconds` ago.

        Raises:
            IssuerUnavailableError: the latest attempt failed, and new keys are required.
        """
        if self._failure is not None:
            pause_seconds = RETRY_SECONDS
        if self._clock() - self._tried_at >= pause_seconds:
            await self._flight.run("keys", self._fetch)
        if is_required and self._failure is not None:
            raise IssuerUnavailableError(str(self._failure))

    async def _fetch(self) -> None:
        """Replace the keys, or record why that failed."""
        try:
            url = self._jwks_url or await self._discover()
            document = await self._client.fetch(url)
            entries = None if document is None else document.get("keys")
            if not isinstance(entries, list):
                raise IssuerUnavailableError(f"{url} has no JSON Web Key Set")  # noqa: TRY301  (recorded as the others are)
        except IssuerUnavailableError as error:
            self._failure = error
            log("warning", f"keys of the issuer {self.issuer}: {error}")
        else:
            self._failure = None
            self._keys = tuple(filter(None, map(import_key, entries[:MAX_KEYS])))
            self._fetched_at = self._clock()
        finally:  # set at the end, so that concurrent callers wait for this fetch
            self._tried_at = self._clock()

    async def _discover(self) -> str:
        """Return the URL of the keys that the issuer's metadata names.

        Raises:
            IssuerUnavailableError: there is no metadata of this issuer.
        """
        reason = "no metadata is published for it"
        for url in list_metadata_urls(self.issuer):
            metadata = await self._client.fetch(url)
            if metadata is None:
                continue
            if metadata.get("issuer") != self.issuer:
                reason = f"the metadata at {url} is that of another issuer"
            elif is_secure_url(metadata.get("jwks_uri")):
                return str(metadata["jwks_uri"])
            else:
                reason = f"the metadata at {url} names no https URL of keys"
        raise IssuerUnavailableError(reason)


def list_metadata_urls(issuer: str) -> tuple[str, ...]:
    """Return where the metadata of an issuer may be, in the order of preference.

    RFC 8414, section 3.1 (and section 5 for the second one), then OpenID Connect Discovery 1.0,
    section 4.1.
    """
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    urls = (
        f"{origin}{_WELL_KNOWN}oauth-authorization-server{path}",
        f"{origin}{_WELL_KNOWN}openid-configuration{path}",
        f"{origin}{path}{_WELL_KNOWN}openid-configuration",
    )
    return tuple(dict.fromkeys(urls))


def is_secure_url(url: object) -> bool:
    """Return whether a URL in metadata may be used: https, or this machine."""
    if not isinstance(url, str) or not url:
        return False
    try:
        BY_NAME["AUTH_JWKS_URL"].parse(url)
    except ValueError:
        return False
    return True
