"""Reserved names, which the members of an exploded object or a form may not have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus

from mcpgen.runtime.upstream.request.parameters import UnsendableError

_MAX_DECODINGS = 8
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]")


@lru_cache(maxsize=512)
def canonicalize_name(name: str) -> str:
    """Normalize a name as the most tolerant servers do: "Tenant%00[]" is "tenant".

    Some decode a name repeatedly, end it at NUL or "[", normalize compatibility characters, ignore
    case and invisible characters, or treat ".", " " and "_" alike (PHP).
    """
    for _ in range(_MAX_DECODINGS):
        decoded = unquote_plus(name, errors="replace")
        if decoded == name:
            break
        name = decoded
    if not name.isascii():
        import unicodedata  # few names need it

        name = unicodedata.normalize("NFKC", name)
    name = name.partition("\x00")[0].strip().replace(" ", "_")
    text = _INVISIBLE.sub("", name).casefold()
    return text[:1] + text[1:].partition("[")[0].replace(".", "_")


def check_members(value: Mapping[str, Any], reserved: Iterable[str]) -> None:
    """Check that no member of an object has a reserved name, in any spelling.

    Raises:
        UnsendableError: a member has one.
    """
    names = {canonicalize_name(name): name for name in reserved}
    if not names:
        return
    for member in value:
        name = names.get(canonicalize_name(member))
        if name is not None:
            raise UnsendableError(
                f"must not be set here: it would replace or repeat `{name}`"
            ).locate_in(member)


def check_spellings(value: Mapping[str, Any], reserved: Iterable[str]) -> None:
    """Check that no member has a reserved name in another spelling; the name itself is allowed.

    Raises:
        UnsendableError: a member has one.
    """
    names = frozenset(reserved)
    check_members({member: None for member in value if member not in names}, names)
