"""Detection of hidden text, and of text that steers a model, in the definitions of a server."""

from mcpgen.text.signals.characters import find_hidden_characters
from mcpgen.text.signals.find import find_signals_across, find_text_signals
from mcpgen.text.signals.kinds import (
    ADVISORY_KINDS,
    HIDDEN_KINDS,
    MAX_CHARS,
    STEERING_KINDS,
    TextSignal,
)

__all__ = [
    "ADVISORY_KINDS",
    "HIDDEN_KINDS",
    "MAX_CHARS",
    "STEERING_KINDS",
    "TextSignal",
    "find_hidden_characters",
    "find_signals_across",
    "find_text_signals",
]
