"""Search for phrases that steer a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mcpgen.factory.lint.text_signals.cues import CUES, FOREIGN
from mcpgen.factory.lint.text_signals.folding import (
    FoldedText,
    fold,
    join_spelled_words,
    reveal_leetspeak,
    split_joined_words,
    split_identifier,
)
from mcpgen.factory.lint.text_signals.matching import CueMatcher
from mcpgen.factory.lint.text_signals.rules import RULES, Rule
from mcpgen.factory.lint.text_signals.signals import TextSignal
from mcpgen.factory.lint.text_signals.weak_cues import find_weak_combination

# Spelled words become one word, in which no pattern for sentences matches.
_COMPACT: Final = re.compile(
    r"(?:ignore|disregard|forget)(?:all|any|the|your|of|every)*(?:previous|prior|above|earlier|system)"
    r"(?:instructions?|prompts?|rules|directives?)|(?:donot|dont|never)(?:tell|mention\w{0,6})(?:the)?user"
)
_MAX_IDENTIFIER: Final = 300
# A quoted example after one of these words is a subject of the text: "detects `ignore all …`".
_MENTION: Final = re.compile(
    r"\b(?:detect\w{0,4}|injections?|jailbreaks?|adversarial|attacks?|malicious|moderation|phishing)\b[^.]{0,120}$"
)


def find_steering_phrases(text: str, field: str) -> list[TextSignal]:
    """Find phrases that tell a model what to do beyond the use of the described tool."""
    is_identifier = len(text) <= _MAX_IDENTIFIER and not re.search(r"\s|://", text)
    folded = fold(split_identifier(text) if is_identifier else text)
    matcher = CueMatcher(folded.text)
    signals = [*_match_rules(folded, matcher, field, RULES)]
    if not signals:
        for weak in find_weak_combination(matcher, field):
            span = folded.original_span(weak.start, weak.end)
            signals.append(TextSignal(weak.kind, *span, weak.reason))
    signals += _match_foreign(folded)
    for revealed in (reveal_leetspeak(folded), join_spelled_words(folded), split_joined_words(folded)):
        if revealed is not None:
            signals += _match_rules(revealed, CueMatcher(revealed.text), field, _STRONG_RULES)
            signals += _match_compact(revealed)
    if is_identifier:
        return [TextSignal(signal.kind, 0, len(text), signal.reason) for signal in signals]
    return signals


_STRONG_RULES: Final = tuple(rule for rule in RULES if rule.is_strong)


def _match_rules(
    folded: FoldedText, matcher: CueMatcher, field: str, rules: Sequence[Rule]
) -> Iterator[TextSignal]:
    for rule in rules:
        if field in rule.not_in or (rule.only_in and field not in rule.only_in):
            continue
        span = matcher.match([CUES[cue] for cue in rule.cues], rule.reach)
        if span is not None and not _is_mention(folded.text, span):
            yield TextSignal(rule.kind, *folded.original_span(*span), rule.reason)


def _is_mention(text: str, span: tuple[int, int]) -> bool:
    """Check for a quoted phrase that the text names as an example of an attack."""
    start, end = span
    before = text[max(0, start - 3) : start]
    quote = next((mark for mark in reversed(before) if mark in "'\"("), "")
    closing = {"'": "'", '"': '"', "(": ")"}.get(quote)
    if closing is None or closing not in text[end : end + 60]:
        return False
    return _MENTION.search(text[max(0, start - 200) : start]) is not None


def _match_foreign(folded: FoldedText) -> Iterator[TextSignal]:
    for kind, patterns in FOREIGN.items():
        for pattern in patterns:
            if (found := pattern.search(folded.text)) is not None:
                reason = {
                    "override-instructions": "tells the model to drop earlier instructions",
                    "secrecy": "tells the model not to tell the user",
                }[kind]
                yield TextSignal(kind, *folded.original_span(*found.span()), reason)


def _match_compact(folded: FoldedText) -> Iterator[TextSignal]:
    if (found := _COMPACT.search(folded.text)) is not None:
        kind = "secrecy" if "user" in found[0] else "override-instructions"
        yield TextSignal(kind, *folded.original_span(*found.span()), "an instruction in spelled words")
