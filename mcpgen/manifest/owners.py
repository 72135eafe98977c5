"""Validation of the owners that configuration files name."""

from __future__ import annotations

import re
from typing import Any

from mcpgen.manifest.typed_file import TypedFile

_OWNER = re.compile(r"[^\s@]*@[^\s@]+\Z")


def check_owner(file: TypedFile[Any], tokens: tuple[str, ...], owner: str) -> None:
    """Report an owner that is no user, team or e-mail address."""
    if not _OWNER.match(owner):
        file.refuse(
            tokens,
            f"invalid owner `{owner}`",
            "write @user, @org/team or an e-mail address",
        )
