"""Text of a stranger, made fit to be shown: short, on one line, without secrets."""

from __future__ import annotations

import re
from urllib.parse import quote

MAX_EXCERPT = 1000

_MASK = "***"
_SHORTEST_SECRET = 4  # masking less would tear ordinary words apart

_TOKEN_SHAPES = re.compile(
    r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"  # JSON Web Tokens
    r"|(?i:\b(bearer|basic)\s+)[A-Za-z0-9._~+/=-]{16,}"
    r"|\b(?:sk|pk|rk)_(?:live|test)_\w{8,}"
    r"|\bsk-[\w-]{16,}"
    r"|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}"
    r"|\bxox[abeprs]-[\w-]{10,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
)
# C0 and C1 controls with ANSI sequences, bidirectional overrides, tags and zero-width characters:
# what a person reading the text would not see.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)", re.DOTALL)
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)


def visible(text: str) -> tuple[str, int]:
    """`text` without terminal sequences and invisible characters, and how many were taken out."""
    if text.isprintable():  # none of them is, and this looks 20 times faster
        return text, 0
    text, sequences = _ANSI.subn("", text)
    text, characters = _INVISIBLE.subn("", text)
    return text, sequences + characters


class Redactor:
    """Masks the secrets of one server, and whatever looks like a token."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self.secrets = secrets
        spellings = {
            spelling
            for secret in secrets
            if len(secret) >= _SHORTEST_SECRET
            for spelling in (secret, quote(secret, safe=""), secret.replace('"', '\\"'))
        }
        longest_first = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
        self._pattern = (
            re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        )

    def clean(self, text: str) -> str:
        """`text` with every secret masked."""
        if self._pattern is not None:
            text = self._pattern.sub(_MASK, text)
        return _TOKEN_SHAPES.sub(lambda match: f"{match[1] or ''} {_MASK}".lstrip(), text)

    def excerpt(self, text: str, limit: int = MAX_EXCERPT) -> str:
        """At most `limit` characters of `text`, masked and on one line."""
        # Masked before it is cut, so that no half of a secret stays at the end.
        shown = " ".join(visible(self.clean(text[: limit * 20]))[0].split())
        return shown if len(shown) <= limit else shown[: limit - 1] + "…"
