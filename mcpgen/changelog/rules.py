"""The rules of the changelog: what each kind of change means to a client that knew the old tools.

An id is stable, so that the manifest can give a rule another level.
"""

from __future__ import annotations

import enum
from types import MappingProxyType


class Level(enum.IntEnum):
    """How much a change asks of clients; the words are those of semantic versions."""

    NONE = 0
    PATCH = 1
    MINOR = 2
    MAJOR = 3

    @property
    def word(self) -> str:
        """The level as it is written."""
        return self.name.lower()


_WORDS = {
    Level.MAJOR: """
        tool-removed tool-renamed alias-removed operation-changed
        input-removed input-added-required input-required
        input-type-changed input-type-narrowed input-enum-narrowed input-constraint-narrowed
        output-removed output-optional
        output-type-changed output-type-narrowed output-type-widened
        output-enum-widened output-constraint-widened
        read-only-hint destructive-hint scope-added
        """,
    Level.MINOR: """
        tool-added tool-renamed-aliased alias-added
        input-added input-optional
        input-type-widened input-enum-widened input-constraint-widened
        output-added output-required output-enum-narrowed output-constraint-narrowed
        scope-removed
        """,
    Level.PATCH: """
        instructions title description other-hint
        input-text input-example input-default output-text output-example output-default
        """,
    Level.NONE: "operation-renamed",
}

RULES = MappingProxyType(
    {rule: level for level, words in _WORDS.items() for rule in sorted(words.split())}
)
"""The level of each rule, by its id."""
