"""Redaction of secrets, and short one-line excerpts of untrusted text."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cached_property
from urllib.parse import quote, quote_plus

import msgspec

from mcpgen.text.invisible import visible

MAX_EXCERPT = 1000

_MASK = "***"
_SHORT_BYTES = 64 * 1024  # a shorter text is decoded, which costs less than it saves
_SHORTEST_SECRET = 4  # masking shorter ones would damage ordinary words
_SHORTEST_IN_NAMES = 8  # in member names, which clients and schemas rely on

_TOKEN_SHAPES = re.compile(
    # JSON Web Tokens; possessive and from their start, since a pattern that tries again at each
    # "eyJ" of a long text takes quadratic time
    r"(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*"
    r"|(?i:\b(bearer|basic)\s+)[A-Za-z0-9._~+/=-]{16,}"
    r"|\b(?:sk|pk|rk)_(?:live|test)_\w{8,}"
    r"|\bsk-[\w-]{16,}"
    r"|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}"
    r"|\bxox[abeprs]-[\w-]{10,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
)


class Redactor:
    """Redactor of the secrets of one server and of text that looks like a token."""

    # `__dict__` has the cached properties. What every message needs is in slots: CPython 3.11 reads
    # attributes slowly once the dictionary of an instance was asked for.
    __slots__ = ("__dict__", "_encoded", "_known", "_spellings", "has_secrets")

    def __init__(self, secrets: Iterable[str]) -> None:
        # A lone surrogate (a byte of the environment that is not UTF-8) cannot occur in JSON.
        known = {
            secret
            for secret in secrets
            if len(secret) >= _SHORTEST_SECRET and secret.encode(errors="ignore").decode() == secret
        }
        self._known = frozenset(known)
        spellings = {spelling for secret in known for spelling in list_spellings(secret)}
        self._spellings = spellings | {_escape_json(it) for it in spellings}  # where JSON is text
        self._encoded = tuple(sorted(map(_escape_json, self._spellings)))
        self.has_secrets = bool(self._encoded)
        """Whether any secret is long enough to be masked."""

    def extend(self, secrets: Iterable[str]) -> Redactor:
        """Return a redactor that masks these secrets as well."""
        added = Redactor(secrets)
        added._known |= self._known
        added._spellings |= self._spellings
        added._encoded += self._encoded
        added.has_secrets = bool(added._encoded)
        return added

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        # Compiling takes longer than to find out that most messages have no secret.
        return _compile_pattern(self._spellings)

    @cached_property
    def _long_pattern(self) -> re.Pattern[str] | None:
        return _compile_pattern({it for it in self._spellings if len(it) >= _SHORTEST_IN_NAMES})

    @cached_property
    def _raw(self) -> list[bytes]:
        return sorted((secret.encode() for secret in self._known), key=len, reverse=True)

    def finds_in(self, data: bytes) -> bool:
        """Return whether encoded JSON contains a secret."""
        if len(data) > _SHORT_BYTES:
            return any(spelling.encode() in data for spelling in self._encoded)
        text = data.decode()  # searching text takes a third of the time of bytes
        for spelling in self._encoded:  # noqa: SIM110  (`any` takes twice the time)
            if spelling in text:
                return True
        return False

    def mask(self, text: str) -> str:
        """Mask the secrets of the server, but nothing that merely looks like a token."""
        return text if self._pattern is None else self._pattern.sub(_MASK, text)

    def mask_name(self, name: str) -> str:
        """Mask only long secrets: in a member's name, a short one is probably a common word."""
        return name if self._long_pattern is None else self._long_pattern.sub(_MASK, name)

    def mask_bytes(self, data: bytes) -> bytes:
        """Overwrite every secret; the length does not change."""
        for secret in self._raw:
            data = data.replace(secret, b"*" * len(secret))
        return data

    def clean(self, text: str) -> str:
        """Mask the secrets of the server and text that looks like a token."""
        return _TOKEN_SHAPES.sub(lambda it: f"{it[1] or ''} {_MASK}".lstrip(), self.mask(text))

    def excerpt(self, text: str, limit: int = MAX_EXCERPT) -> str:
        """Return at most `limit` characters of `text`, masked and on one line."""
        # Masked before it is truncated, so that no half of a secret remains at the end.
        shown = " ".join(visible(self.clean(text[: limit * 20]))[0].split())
        return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def _compile_pattern(spellings: set[str]) -> re.Pattern[str] | None:
    longest_first = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def list_spellings(secret: str) -> set[str]:
    """List the usual encodings of a secret: for URLs and JSON, hexadecimal and Base64.

    Base64 has three encodings of the same bytes, depending on their offset. Characters that also
    depend on the bytes before or after are omitted.
    """
    raw = secret.encode()
    escaped = {quote(secret, safe=""), quote_plus(secret)}
    found = {secret, raw.hex(), raw.hex().upper(), *escaped}
    found |= {re.sub("%..", lambda code: code[0].lower(), text) for text in escaped}
    found |= {_escape_json(secret), json.dumps(secret)[1:-1], secret.replace("/", "\\/")}
    for offset in range(3):
        text = b64encode(bytes(offset) + raw).decode()
        text = text[-(-offset * 8 // 6) : (offset + len(raw)) * 8 // 6]
        found |= {text, text.replace("+", "-").replace("/", "_")}
    return {spelling for spelling in found if len(spelling) >= _SHORTEST_SECRET}


def _escape_json(text: str) -> str:
    return msgspec.json.encode(text).decode()[1:-1]


NO_SECRETS = Redactor(())
