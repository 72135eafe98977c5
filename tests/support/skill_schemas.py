"""JSON Schemas of the results of the Skills extension, derived from its specification.

The specification has them as TypeScript only. They refer to types of MCP 2026-07-28.
"""

from __future__ import annotations

from typing import Any

RESULTS = {
    "resources/directory/read": "ReadResourceDirectoryResult",
    "skills/get": "GetSkillResult",
    "skills/list": "ListSkillsResult",
}
_COMPLETE = {"const": "complete"}
_CACHEABLE = {
    "ttlMs": {"type": "integer", "minimum": 0},
    "cacheScope": {"enum": ["public", "private"]},
}
_META = {"type": "object"}


def _closed(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


TYPES: dict[str, Any] = {
    "SkillResource": _closed(
        {
            "uri": {"type": "string", "format": "uri"},
            "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
            "size": {"type": "integer", "minimum": 0},
        }
    ),
    "Skill": _closed(
        {
            "uri": {"type": "string", "format": "uri", "pattern": "/SKILL\\.md$"},
            "frontmatter": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
                    "description": {"type": "string", "minLength": 1, "maxLength": 1024},
                },
                "required": ["name", "description"],
            },
            "resources": {
                "oneOf": [
                    {
                        "type": "array",
                        "items": {"$ref": "#/$defs/SkillResource"},
                        "minItems": 1,
                        "maxItems": 512,
                        "uniqueItems": True,
                    },
                    {"const": "dynamic"},
                ]
            },
        }
    ),
    "ListSkillsResult": _closed(
        {
            "resultType": _COMPLETE,
            "skills": {"type": "array", "items": {"$ref": "#/$defs/Skill"}},
            **_CACHEABLE,
            "nextCursor": {"type": "string"},
            "_meta": _META,
        },
        ("nextCursor", "_meta"),
    ),
    "GetSkillResult": _closed(
        {
            "resultType": _COMPLETE,
            "skill": {"$ref": "#/$defs/Skill"},
            **_CACHEABLE,
            "_meta": _META,
        },
        ("_meta",),
    ),
    "ReadResourceDirectoryResult": _closed(
        {
            "resultType": _COMPLETE,
            "resources": {"type": "array", "items": {"$ref": "#/$defs/Resource"}},
            "nextCursor": {"type": "string"},
            "_meta": _META,
        },
        ("nextCursor", "_meta"),
    ),
}
