"""The finding of this package, and its kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MAX_CHARS: Final = 100_000
"""Characters of one text that are searched; a longer text gets the signal `unchecked-text`."""

HIDDEN_KINDS: Final[Mapping[str, str]] = {
    "invisible-characters": "characters that a reader cannot see",
    "direction-controls": "characters that change the order in which text is displayed",
    "tag-characters": "Unicode tag characters, which can carry a whole invisible text",
    "variation-selectors": "variation selectors without a character to select a form of",
    "private-use": "private-use characters, which have no defined meaning",
    "lookalike-letters": "letters that look like those of another script",
    "terminal-sequences": "terminal sequences or control characters",
    "hidden-markup": "instructions in a comment or in markup that is not displayed",
    "encoded-text": "an encoded text that steers the model once it is decoded",
    "long-gap": "white space that moves text out of view",
    "unchecked-text": "a text that is too long to be searched as a whole",
}
"""Descriptions of hidden content, by kind of signal."""

STEERING_KINDS: Final[Mapping[str, str]] = {
    "override-instructions": "tells the model to drop its instructions or to take a new role",
    "secrecy": "tells the model to conceal something from the user",
    "role-markup": "imitates the markup of system or assistant messages",
    "tool-order": "tells the model to call a tool around unrelated work or other tools",
    "tool-preference": "tells the model to avoid other tools",
    "reads-local-files": "asks for the contents of a file with credentials or settings",
    "sends-data": "tells the model to send data to a third party",
    "requests-conversation": "asks for the conversation, the prompt or the tools of the model",
    "requests-credentials": "asks for credentials that do not belong to the call",
    "controls-replies": "tells the model what to say to the user",
}
"""Descriptions of attempts to steer a model, by kind of signal."""


ADVISORY_KINDS: Final = frozenset({"tool-order", "tool-preference", "controls-replies"})
"""Kinds that servers in good faith have as well, for example of a tool that starts a session.

A finding of such a kind deserves a look, not a refusal.
"""


@dataclass(frozen=True, slots=True)
class TextSignal:
    """A suspicious part of a text."""

    kind: str  # a key of HIDDEN_KINDS or of STEERING_KINDS
    start: int  # offsets into the text, in characters: text[start:end]
    end: int
    reason: str  # one line; contains no text of the server except as decoded ASCII letters
