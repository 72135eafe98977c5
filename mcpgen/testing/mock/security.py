"""Check of the credentials in a request to the mock API against its security requirements."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from mcpgen.testing.mock.decode import RawRequest
from mcpgen.testing.mock.description import Operation, SecurityScheme
from mcpgen.testing.mock.styles import Pairs, unescape

Secrets = Mapping[str, Mapping[str, str]]
"""Scheme id -> part ("value", "username", "password", "access_token") -> expected value."""


@dataclass(frozen=True, slots=True)
class SecurityVerdict:
    """The alternative that a request satisfies, its places, and its problem."""

    alternative: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    problem: str = ""


def judge_security(
    operation: Operation,
    schemes: Mapping[str, SecurityScheme],
    raw: RawRequest,
    secrets: Secrets,
    *,
    has_certificate: bool | None,
) -> SecurityVerdict:
    """Check a request against the security requirements of its operation.

    Of several satisfied alternatives, the one with credentials in the most places counts, then the
    one with the most schemes. A scheme without `secrets` accepts any credential of its kind.
    `has_certificate` is None if unknown, which passes.
    """
    if not operation.security:
        return SecurityVerdict(problem=_find_needless_key((), schemes, raw, secrets))
    verdicts = [
        _judge(alternative, schemes, raw, secrets, has_certificate)
        for alternative in sorted(operation.security, key=len, reverse=True)
    ]
    satisfied = [verdict for verdict in verdicts if not verdict.problem]
    if satisfied:
        best = max(satisfied, key=lambda verdict: len(verdict.places))
        return replace(best, problem=_find_needless_key(best.places, schemes, raw, secrets))
    first = verdicts[0].problem
    others = f" (nor any other of {len(verdicts)} alternatives)" if len(verdicts) > 1 else ""
    return SecurityVerdict(problem=f"{first}{others}")


def _find_needless_key(
    places: Collection[tuple[str, str]],
    schemes: Mapping[str, SecurityScheme],
    raw: RawRequest,
    secrets: Secrets,
) -> str:
    """Return a problem if a request contains a known API key that it does not need.

    Credentials of other types are in `Authorization`, which is checked already.
    """
    for scheme in schemes.values():
        if scheme.type != "apiKey" or _place_of(scheme) in places:
            continue
        expected = secrets.get(scheme.id, {}).get("value")
        if expected and _read_credential(scheme, raw) == expected:
            return f"`{scheme.id}`: a credential was sent that this operation does not use"
    return ""


def _judge(
    alternative: tuple[str, ...],
    schemes: Mapping[str, SecurityScheme],
    raw: RawRequest,
    secrets: Secrets,
    has_certificate: bool | None,
) -> SecurityVerdict:
    by_place: dict[tuple[str, str], list[SecurityScheme]] = {}
    for name in alternative:
        scheme = schemes.get(name)
        if scheme is None:
            return SecurityVerdict(problem=f"`{name}` is not a security scheme of the document")
        if scheme.type != "mutualTLS":
            by_place.setdefault(_place_of(scheme), []).append(scheme)
        elif has_certificate is False:
            return SecurityVerdict(problem=f"`{name}`: no client certificate was used")
    for sharing in by_place.values():
        # One credential satisfies all schemes that share a place: flows of one OAuth 2 server.
        problems = [
            _find_problem(scheme, _read_credential(scheme, raw), secrets) for scheme in sharing
        ]
        if all(problems):
            return SecurityVerdict(problem=f"`{sharing[0].id}`: {problems[0]}")
    return SecurityVerdict(alternative, tuple(by_place))


def _place_of(scheme: SecurityScheme) -> tuple[str, str]:
    if scheme.type != "apiKey":
        return ("header", "authorization")
    name = scheme.name.lower() if scheme.location == "header" else scheme.name
    return (scheme.location, name)


def _read_credential(scheme: SecurityScheme, raw: RawRequest) -> str | None:
    """Return the credential in the place of a scheme, or None."""
    location, name = _place_of(scheme)
    if location == "header":
        return raw.header(name)
    if location == "query":
        texts = Pairs(raw.query).take(name)
        return unescape(texts[0], plus=True) if len(texts) == 1 else None
    pairs = (pair.strip().partition("=") for pair in (raw.header("cookie") or "").split(";"))
    return next((value for key, _, value in pairs if key == name), None)


def _find_problem(scheme: SecurityScheme, sent: str | None, known: Secrets) -> str:
    secrets = known.get(scheme.id, {})
    location, name = _place_of(scheme)
    if not sent:
        return f"no credential was sent in {location} `{name}`"
    if scheme.type == "apiKey":
        return _compare_credential(sent, secrets.get("value"))
    kind = scheme.http_scheme.lower() if scheme.type == "http" else "bearer"
    found, _, credential = sent.partition(" ")
    if found.lower() != kind or not credential:
        return f"`Authorization` is not of the scheme `{kind}`"
    if kind == "basic":
        return _find_basic_problem(credential, secrets)
    return _compare_credential(credential, secrets.get("access_token", secrets.get("value")))


def _find_basic_problem(credential: str, secrets: Mapping[str, str]) -> str:
    try:
        pair = b64decode(credential, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return "the credential is not base64"
    if ":" not in pair:
        return "the credential has no colon between user and password"
    if not secrets:
        return ""
    return _compare_credential(pair, f"{secrets.get('username', '')}:{secrets.get('password', '')}")


def _compare_credential(sent: str, expected: str | None) -> str:
    return "" if expected is None or sent == expected else "another credential was expected"
