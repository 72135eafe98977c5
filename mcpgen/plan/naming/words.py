"""Splitting of identifiers into words: camelCase, snake_case, acronyms and brand names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from functools import lru_cache

from mcpgen.plan.naming.transliteration import transliterate

VERSION = re.compile(r"v[0-9]+((alpha|beta|rc|p)[0-9]*|[a-z])?\Z")
"""A version as one word: "v1", "v2beta1", "v1p3"."""

# Terms whose inner capitals do not begin words; digits and a plural "s" may follow.
_TERMS = (
    "BigQuery", "BitBucket", "DDoS", "DevOps", "DoS", "DynamoDB", "ETag", "GitHub", "GitLab",
    "GraphQL", "IdP", "IoT", "IPsec", "IPv", "JavaScript", "LinkedIn", "MongoDB", "MySQL", "NoSQL",
    "OAuth", "OpenAPI", "OpenID", "PayPal", "PostgreSQL", "QoS", "SaaS", "TikTok", "TypeScript",
    "VoIP", "WebAuthn", "WhatsApp", "WiFi", "WordPress", "YouTube",
)  # fmt: skip
_CODES = ("2FA", "3DS", "A2A", "A2P", "B2B", "B2C", "C2C", "D2C", "E2E", "M2M", "P2P")
# These match only at the start of a word: the "oAuth" of "videoAuth" is not a term.
_LOWER_TERMS = (
    "eBay", "eSIM", "gRPC", "iCal", "iCloud", "iOS", "iPad", "iPhone", "macOS", "mTLS", "tvOS",
    "vCPU", "watchOS", *(term[0].lower() + term[1:] for term in _TERMS if len(term) > 3),
)  # fmt: skip
_TERM = re.compile(
    rf"(?<![A-Z])({'|'.join(_TERMS)})[0-9]*s?(?![a-z])"
    rf"|(?<![A-Za-z0-9])({'|'.join(_LOWER_TERMS)})[0-9]*s?(?![a-z])"
    rf"|(?<![A-Z0-9])({'|'.join(_CODES)})(?![a-z0-9])"
)
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s(?![a-z])")  # "IPs", "URLsOf"
_NUMBERED = re.compile(r"(?<![A-Za-z0-9])[0-9]+[A-Z]+(?![a-z])")  # "3D", "4K"
_ACRONYM = re.compile(r"([A-Z]+)([A-Z][a-z])")
_CAMEL = re.compile(r"([a-z0-9])([A-Z])")
_OTHER = re.compile(r"[^A-Za-z0-9]+")
_MAX_CHARACTERS = 1_000  # of a name that is split; every use of its words is shorter


def digest(text: str) -> str:
    """Return six hexadecimal digits that identify `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:6]


@lru_cache(maxsize=8192)
def split_words(text: str) -> tuple[str, ...]:
    """Split `text` into lower-case words of `[a-z0-9]`.

    Every separator ends a word, and so does a change to a capital letter: "floatingIPs" returns
    ("floating", "ips"), "OAuth2Client" ("oauth2", "client"), "getHTTPStatus" ("get", "http",
    "status"). Digits belong to the letters before them.
    """
    plain = transliterate(text[:_MAX_CHARACTERS])
    plain = _TERM.sub(lambda found: f"_{found[0].lower()}_", plain)
    for pattern in (_PLURAL_ACRONYM, _NUMBERED):
        plain = pattern.sub(lambda found: found[0].capitalize(), plain)
    plain = _CAMEL.sub(r"\1_\2", _ACRONYM.sub(r"\1_\2", plain))
    return tuple(word.lower() for word in _OTHER.split(plain) if word)


def keep_published_spelling(name: str, published: Collection[str]) -> str:
    """Return the one published name that differs from `name` only in its "_", else `name`.

    "oauth_token" returns a published "o_auth_token": the rules of splitting may change, a
    published name must not.
    """
    if name in published:
        return name
    letters = name.replace("_", "")
    same = [other for other in published if other.replace("_", "") == letters]
    return same[0] if len(same) == 1 else name


def snake_case(text: str) -> str:
    """Join the words of `text` by "_"; "" if it has none."""
    return "_".join(split_words(text))
