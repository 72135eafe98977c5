"""The form in which MCPB and Claude Code ask the user for the settings of a server."""

from __future__ import annotations

from mcpgen.factory.bundle.description import BundleDescription, Setting
from mcpgen.jsonschema.types import JsonObject


def make_user_config(description: BundleDescription) -> JsonObject:
    """Return the entries by key, in the order of the settings."""
    return {it.key: _describe(it) for it in description.settings}


def _describe(setting: Setting) -> JsonObject:
    entry: JsonObject = {
        "type": setting.kind,
        "title": setting.title,
        "description": setting.description,
        "required": setting.is_required,
    }
    if setting.is_secret:
        entry["sensitive"] = True
    if not setting.is_required:
        # Without a default, clients leave the reference `${user_config.…}` in the environment.
        entry["default"] = setting.default
    if setting.kind == "number":
        limits = {"min": setting.minimum, "max": setting.maximum}
        entry |= {key: limit for key, limit in limits.items() if limit is not None}
    return entry
