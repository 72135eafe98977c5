"""Search for phrases that steer a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mcpgen.text.signals.cues import WordIndex
from mcpgen.text.signals.folding import (
    FoldedText,
    fold,
    has_joined_words,
    join_spelled_words,
    reveal_leetspeak,
    split_identifier,
    split_joined_words,
)
from mcpgen.text.signals.kinds import TextSignal
from mcpgen.text.signals.matching import CueMatcher, Span
from mcpgen.text.signals.rules import RULE_INDEX, STRONG_RULE_INDEX, Rule
from mcpgen.text.signals.weak_cues import find_weak_combination

# Spelled words become one word, in which no pattern for sentences matches.
_COMPACT: Final = re.compile(
    "|".join(
        [
            verb + r"(?:all|any|the|your|of|every){0,4}(?:previous|prior|above|earlier|system)"
            r"(?:instructions?|prompts?|rules|directives?)"
            for verb in ("ignore", "disregard", "forget")
        ]
        + [
            negation + r"(?:tell|mention\w{0,6})(?:the)?user"
            for negation in ("donot", "dont", "never")
        ]
    )
)
_MAX_IDENTIFIER_CHARS: Final = 300
_NO_IDENTIFIER: Final = re.compile(r"\s|://")
# A quoted phrase after one of these words is what the text is about: "detects `ignore all …`".
_ATTACK_WORD: Final = re.compile(
    r"\b(?:detect\w{0,4}|injections?|jailbreaks?|adversarial|attacks?|malicious|moderation"
    r"|phishing)\b[^.]{0,120}$"
)
_CLOSING_MARKS: Final = {"'": "'", '"': '"', "(": ")"}


def find_steering_phrases(text: str, field: str) -> Sequence[TextSignal]:
    """Find phrases that tell a model what to do beyond the use of the described tool.

    A signal in an identifier spans the whole identifier.
    """
    is_identifier = len(text) <= _MAX_IDENTIFIER_CHARS and not _NO_IDENTIFIER.search(text)
    folded = fold(split_identifier(text) if is_identifier else text)
    matcher = CueMatcher(folded)
    signals = [*_match_rules(folded, matcher, field, RULE_INDEX)]
    if not signals:
        for weak in find_weak_combination(matcher, field):
            span = folded.original_span(weak.start, weak.end)
            signals.append(TextSignal(weak.kind, *span, weak.reason))
    for reveal in (reveal_leetspeak, join_spelled_words):
        if (revealed := reveal(folded)) is not None:
            signals += _match_strong_rules(revealed, field)
    # Words that were joined are cues of the text, and already in it in compact phrases.
    if has_joined_words(folded) and (
        _select_rules(matcher, field, STRONG_RULE_INDEX) or _COMPACT.search(folded.text)
    ):
        signals += _match_strong_rules(split_joined_words(folded), field)
    if is_identifier:
        return [TextSignal(signal.kind, 0, len(text), signal.reason) for signal in signals]
    return signals


def _match_strong_rules(revealed: FoldedText, field: str) -> Iterator[TextSignal]:
    yield from _match_rules(revealed, CueMatcher(revealed), field, STRONG_RULE_INDEX)
    yield from _match_compact(revealed)


def _select_rules(matcher: CueMatcher, field: str, rules: WordIndex[Rule]) -> list[Rule]:
    """Return the rules of which the text has words of each cue."""
    return [
        rule
        for rule in rules.select(matcher.words, is_ascii=matcher.is_ascii)
        if rule.applies_to(field) and all(map(matcher.may_contain, rule.cues))
    ]


def _match_rules(
    folded: FoldedText, matcher: CueMatcher, field: str, rules: WordIndex[Rule]
) -> Iterator[TextSignal]:
    for rule in _select_rules(matcher, field, rules):
        span = matcher.match(rule.cues, rule.reach)
        if span is not None and not _is_mention(folded.text, span):
            yield TextSignal(rule.kind, *folded.original_span(*span), rule.reason)


def _is_mention(text: str, span: Span) -> bool:
    """Check for a quoted phrase that the text names as an example of an attack."""
    start, end = span
    quote = next((mark for mark in reversed(text[max(0, start - 3) : start]) if mark in "'\"("), "")
    if not quote or _CLOSING_MARKS[quote] not in text[end : end + 60]:
        return False
    return _ATTACK_WORD.search(text[max(0, start - 200) : start]) is not None


def _match_compact(folded: FoldedText) -> Iterator[TextSignal]:
    if (found := _COMPACT.search(folded.text)) is not None:
        kind = "secrecy" if "user" in found[0] else "override-instructions"
        span = folded.original_span(*found.span())
        yield TextSignal(kind, *span, "an instruction to the model in spelled words")
