"""What `mcpgen new` asks a person at a terminal; nothing else in mcpgen asks anything."""

from __future__ import annotations

import typer


def parse_answer(pair: str) -> tuple[str, str]:
    """Split "KEY=VALUE".

    Raises:
        typer.BadParameter: there is no "=" or no key.
    """
    key, equals, value = pair.partition("=")
    if not (equals and key.strip()):
        raise typer.BadParameter(f"{pair!r} is not KEY=VALUE", param_hint="--data")
    return key.strip(), value
