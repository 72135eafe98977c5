"""The version that a release with these changes should get (semver.org, 2.0.0)."""

from __future__ import annotations

import re

from mcpgen.changelog.rules import Level

_VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:[-+.a-z].*)?\Z")


def next_version(version: str, level: Level) -> str:
    """Give the version after `version`; below 1.0 each level counts as the one below it.

    "" where `version` is none that can be counted up, `version` itself where nothing changed.
    """
    found = _VERSION.match(version)
    if found is None:
        return ""
    major, minor, patch = (int(part or 0) for part in found.groups())
    if level is Level.NONE:
        return version
    if major == 0 and level is not Level.PATCH:
        level = Level(level - 1)
    match level:
        case Level.MAJOR:
            return f"{major + 1}.0.0"
        case Level.MINOR:
            return f"{major}.{minor + 1}.0"
        case _:
            return f"{major}.{minor}.{patch + 1}"
