"""Detection of credentials by names and descriptions.

`is_secret_name` decides whether a value is a secret. The other functions decide
which parameters carry a credential of the API; docs/reference/credentials.md states their rules.
"""

from __future__ import annotations

import re

_SECRET_NAME = re.compile(
    r"(?:^|[-_.])(?:token|secret|password|passwd|credentials?|authorization|api[-_]?key"
    r"|access[-_]?key|private[-_]?key)$|(?:Token|Secret|Password|ApiKey|AccessKey)$",
)
_EXPLICIT = re.compile(
    r"(api|app|access|auth|oauth|bearer|private|subscription|security)(key|token)$"
    r"|(api|app)secret$|^(consumer)(key|secret)$"
)
_GENERIC = frozenset(
    {
        "apiauth", "auth", "authentication", "authorization", "clientsecret", "jwt", "key",
        "passwd", "password", "pwd", "secret", "secretkey", "token", "xtoken",
    }
)  # fmt: skip
_OF_CREDENTIALS = re.compile(
    r"\b(api|app|application|access|auth\w*|secret|private|bearer|subscription)[ _`-]*"
    r"(key|token|secret)s?\b|\bauthenticat|\bcredential|\boauth\b|\bjwt\b"
    r"|\byour\b[^.]{0,30}\b(key|token|secret)\b",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    r"\b(page|paging|paginat\w*|cursor|continu\w*|next|invit\w*|verif\w*|reset\w*|recover\w*"
    r"|confirm\w*|activat\w*|idempoten\w*|csrf|device|upload\w*|public key|snapshots?|shar\w*"
    r"|package)\b",
    re.IGNORECASE,
)
_OF_LOGINS = re.compile(
    r"(^|[/_.\s:-])(o?auth[0-9]*|authenticate|authentication|authorize|tokens?|log-?in|log-?out"
    r"|sign-?in|sign-?up|sessions?|passwords?\w*|register|introspect|revoke|forgot\w*)"
    r"([/_.\s{-]|$)",
    re.IGNORECASE,
)
_LOGS_IN = re.compile(
    r"log_?in|sign_?(in|up)|authenticate"
    r"|(create|get|grant|issue|obtain|refresh|request)_?(access_?)?token",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"[^a-z0-9]+")


def is_secret_name(name: str) -> bool:
    """Return whether the value of a parameter or property called `name` is a credential."""
    return _SECRET_NAME.search(name) is not None


def fold_name(name: str) -> str:
    """Fold a name for comparison: "X-Api-Key" and "xApiKey" are "xapikey"."""
    return _SEPARATORS.sub("", name.lower())


def is_explicit(name: str) -> bool:
    """Check whether a name always means a credential: `api_key`, `X-Auth-Token`."""
    return _EXPLICIT.search(fold_name(name)) is not None


def is_generic(name: str) -> bool:
    """Check whether a name is common for credentials and for other values: `token`, `key`."""
    return fold_name(name) in _GENERIC


def describes_credential(text: str) -> bool:
    """Check whether a description is about a credential of the API only."""
    return mentions_credential(text) and not _OF_OTHERS.search(text)


def mentions_credential(text: str) -> bool:
    """Check whether a description mentions a credential of the API."""
    return _OF_CREDENTIALS.search(text) is not None


def describes_other(text: str) -> bool:
    """Check whether a description is about another token: of a page or an invitation."""
    return bool(_OF_OTHERS.search(text)) and not mentions_credential(text)


def is_login(path: str, operation_id: str) -> bool:
    """Check whether an operation issues or verifies credentials, so that they are its arguments."""
    return bool(_OF_LOGINS.search(path) or _LOGS_IN.search(operation_id))


_REQUIRED = re.compile(
    r"\b(api|access|auth\w*|bearer|personal|secret)[ _-](key|token)s?\b|\bauthenticat(e|ed|ion)\b"
    r"|\boauth ?2?\b|\bauthorization header\b|\bbasic auth",
    re.IGNORECASE,
)
_NOT_REQUIRED = re.compile(
    r"\b(no|without|not (require|need)\w*( any| an?)?|(doesn.t|don.t) (require|need)( any| an?)?)"
    r"\s+(authentication|authorization|api[ -]?keys?|credentials|(access )?tokens?|auth)\b",
    re.IGNORECASE,
)


def requires_credentials(text: str) -> bool:
    """Check whether a description requires a credential for requests."""
    return bool(_REQUIRED.search(text)) and not _NOT_REQUIRED.search(text)
