"""The search of one text, and of several texts that a model reads one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from mcpgen.text.signals.characters import find_hidden_characters
from mcpgen.text.signals.kinds import MAX_CHARS, TextSignal
from mcpgen.text.signals.markup import (
    find_encoded_text,
    find_hidden_markup,
    find_long_gaps,
    find_role_markup,
)
from mcpgen.text.signals.steering import find_steering_phrases


def find_text_signals(text: str, field: str) -> Sequence[TextSignal]:
    """Find hidden text, and text that steers a model, in one text of a definition.

    Args:
        text: The text as the server sends it.
        field: Where it is from: `description`, `title`, `name`, `property`, `enum`, `default`,
            `example`, `pattern`, `instructions` or `prompt`. Prompts and instructions may tell a
            model what to do; examples and defaults may contain messages to a model.

    Returns:
        The signals in the order of their places, at most one of each kind for the same place.
        Of a text longer than `MAX_CHARS`, the rest is not searched, which is a signal too.
    """
    searched = text[:MAX_CHARS]
    signals = [*find_hidden_characters(searched, field)]
    if len(text) > MAX_CHARS:
        reason = f"only the first {MAX_CHARS} characters were searched"
        signals.append(TextSignal("unchecked-text", MAX_CHARS, len(text), reason))
    if field != "pattern":
        signals += find_long_gaps(searched)
        signals += find_hidden_markup(searched)
        signals += find_encoded_text(searched)
        signals += find_role_markup(searched, field)
        signals += find_steering_phrases(searched, field)
    return _without_duplicates(signals)


def find_signals_across(texts: Sequence[str], field: str) -> Sequence[TextSignal]:
    """Find steering phrases that are split over texts, such as the values of an enum.

    Offsets refer to `" ".join(texts)`. Only signals that span a boundary are returned.
    """
    boundaries = []
    position = 0
    for text in texts[:-1]:
        position += len(text) + 1
        boundaries.append(position)
    joined = " ".join(texts)[:MAX_CHARS]
    signals = _without_duplicates(find_steering_phrases(joined, field))
    return [
        signal
        for signal in signals
        if any(signal.start < boundary < signal.end for boundary in boundaries)
    ]


def _without_duplicates(signals: Sequence[TextSignal]) -> list[TextSignal]:
    kept: list[TextSignal] = []
    for signal in sorted(signals, key=lambda each: (each.start, each.end, each.kind)):
        if not any(
            other.kind == signal.kind and other.start < signal.end and signal.start < other.end
            for other in kept[-20:]
        ):
            kept.append(signal)
    return kept
