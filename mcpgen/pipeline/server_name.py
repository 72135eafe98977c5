"""The name of a server: derived from the title of its API, or checked."""

from __future__ import annotations

import re

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.manifest.manifest import NAME_RULE, is_server_name
from mcpgen.plan.naming.words import transliterate

_WORD = re.compile(r"[a-z0-9]+")
_VERSION = re.compile(r"v?[0-9]+\Z")
_GENERIC_WORDS = frozenset(
    {
        "a", "an", "and", "api", "apis", "by", "description", "document", "for", "http", "https",
        "of", "official", "openapi", "public", "rest", "restful", "s", "service", "spec",
        "specification", "swagger", "the", "version",
    }
)  # fmt: skip
_MAX_LENGTH = 30


def choose_server_name(title: str) -> str:
    """Derive a server name from the title of its API: "GitHub v3 REST API" becomes "github"."""
    words = _WORD.findall(transliterate(title).lower())
    specific = [word for word in words if word not in _GENERIC_WORDS and not _VERSION.match(word)]
    name = ""
    for word in specific or words or ["api"]:
        longer = f"{name}-{word}" if name else word[:_MAX_LENGTH]
        if len(longer) > _MAX_LENGTH:
            break
        name = longer
    return name if name[0].isalpha() else f"api-{name}"


def check_server_name(name: str, problems: Problems) -> None:
    """Reject an invalid server name.

    Raises:
        RejectedError: the name is invalid.
    """
    if not is_server_name(name):
        problems.error("server-name", f"invalid server name `{name}`", help=NAME_RULE)
        raise RejectedError
