"""Numbers and names of the portable profile: what every known client and model accepts.

The planner generates tools within it, and `mcpgen lint` checks any server against it.
"""

from __future__ import annotations

from typing import Final

MAX_TOOL_NAME: Final = 48
"""Maximum length that every known client accepts, with the prefix that it adds for the server."""
LONGEST_TOOL_NAME: Final = 64
"""Maximum length that a manifest can allow, if the user knows all clients."""
MAX_PREFIXED_NAME: Final = 64
"""Maximum length of `mcp__<server>__<tool>`."""
MIN_DESCRIPTION: Final = 40
"""Characters of a tool's description; from a shorter one, a model learns too little."""
MAX_DESCRIPTION: Final = 1024
MAX_INSTRUCTIONS: Final = 2048
MAX_ENUM: Final = 100
MAX_DEPTH: Final = 5
"""Levels of objects and arrays in each other, within one definition."""
MAX_PATTERN: Final = 300
MAX_PARAMETERS: Final = 20
MANY_TOOLS: Final = 40
TOO_MANY_TOOLS: Final = 100

TOOL_NAME: Final = rf"[a-z][a-z0-9_]{{0,{LONGEST_TOOL_NAME - 1}}}"
PROPERTY_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]{0,63}"

FORMATS: Final = frozenset(
    {
        "date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri",
        "uri-reference", "uuid",
    }
)  # fmt: skip
NOT_IN_EVERY_ENGINE: Final = r"\(\?[=!<:a-zA-Z]|\\[1-9]|\\[pPkbBuxcAzZ]|\\u\{|\[\[|&&"
"""Constructs of patterns that some engine does not support or interprets differently."""
