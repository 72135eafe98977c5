"""Numbers in the standard variables of OpenTelemetry."""

from __future__ import annotations

import os

from mcpgen.runtime.process.log import log

_MAX_DIGITS = 9


def read_number(name: str, default: int, *, least: int = 1) -> int:
    """Return the number in a variable; the default, with a warning, if it is invalid."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS and int(text) >= least:
        return int(text)
    log("warning", f"invalid {name}: expected a number from {least} on; {default} is used")
    return default
