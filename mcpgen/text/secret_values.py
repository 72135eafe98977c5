"""Detection of credentials by their values."""

from __future__ import annotations

import re
from typing import Any, Final

from mcpgen.text.secret_names import is_secret_name

REDACTED: Final = "REDACTED"  # replaces a credential in the project's copy of a document
MIN_SECRET_LENGTH: Final = 12

# Each begins with a character, and not with `\b`, so that the search skips to one of these.
_TOKEN_SHAPE: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|A(?<!\wA)KIA[0-9A-Z]{16}\b"
    r"|g(?<!\wg)h[pousr]_[A-Za-z0-9]{36}\b|s(?<!\ws)k_live_[A-Za-z0-9]{20,}"
    r"|x(?<!\wx)ox[abpr]-[0-9]{6,}-[0-9A-Za-z-]{10,}"
)
_OPAQUE: Final = re.compile(r"[^\s<>{}\[\]]+\Z")  # no placeholder, no sentence
_DIGIT: Final = re.compile(r"\d")


def find_token(text: str) -> str:
    """Return the first key or token of a well-known format in a text, or ""."""
    found = _TOKEN_SHAPE.search(text)
    return found[0] if found else ""


def has_token_shape(text: str) -> bool:
    """Return whether a text contains a key or token of a well-known format."""
    return bool(find_token(text))


def is_secret_default(name: str, value: Any) -> bool:
    """Return whether the default of a parameter or property called `name` is a credential."""
    is_long = isinstance(value, str) and len(value) >= MIN_SECRET_LENGTH
    return value == REDACTED or (is_long and is_opaque(value) and is_secret_name(name))


def is_opaque(value: str) -> bool:
    """Return whether a text looks random: one word with a digit, no placeholder and no URL."""
    return bool(_OPAQUE.match(value) and _DIGIT.search(value)) and "://" not in value
