"""Detection of hidden text, and of text that steers a model, in the definitions of a server."""

from mcpgen.factory.lint.text_signals.find import find_signals_across, find_text_signals
from mcpgen.factory.lint.text_signals.signals import (
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
    "find_signals_across",
    "find_text_signals",
]
