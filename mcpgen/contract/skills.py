"""Skills as the Skills extension of MCP describes them: their URIs, limits and digests."""

from __future__ import annotations

from hashlib import sha256
from typing import Final
from urllib.parse import quote, unquote

from mcpgen.jsonschema.types import JsonObject

SCHEME: Final = "skill://"
SKILL_FILE: Final = "SKILL.md"
MAX_FILES: Final = 512  # of a skill
MAX_BYTES: Final = 16 * 1024 * 1024  # of all files of a skill


def make_uri(path: str) -> str:
    """Return the URI of a file whose path below the folder of all skills is `path`."""
    return SCHEME + quote(path)


def read_path(uri: str) -> str:
    """Return the path of a file below the folder of all skills."""
    return unquote(uri.removeprefix(SCHEME))


def make_digest(data: bytes) -> str:
    """Return the digest of a file: "sha256:" and 64 hexadecimal digits."""
    return f"sha256:{sha256(data).hexdigest()}"


def describe_content(path: str, data: bytes) -> JsonObject:
    """Return the `SkillResource` of a file: its URI, its digest and its size."""
    return {"uri": make_uri(path), "digest": make_digest(data), "size": len(data)}
