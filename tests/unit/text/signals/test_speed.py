"""Tests of speed: ordinary descriptions take below a millisecond, hostile ones linear time."""

from __future__ import annotations

import time

import pytest

from mcpgen.text.signals import MAX_CHARS, find_text_signals
from tests.unit.text.signals.measurement import labelled_texts

UNITS = [
    "a", "a ", "aB", "a_", "a-b-", "a.b", "1a", "i g n o r e ", "-", " ", "\n", " \n", "\n ",
    "\t|", "&#105;", "&amp", "&a;", "QUFB", "0a", "\u200b", "\u200d\xe9", "\ufe0f", "\ue000",
    "\U000e0041", "\u202a", "\u200f", "\x1b", "\x1b[", "\u0430", "a\u0430", "\u0301", "\u0130",
    "\U0001d422", "\ufdfa", "<!--", "<!-- a -->", "[INST] ", "[SYSTEM] ", "<system>",
    "<important>", "<p hidden", "[//]: # (", "system: ", "###\n", "https://a.b/?a=", "a@b.",
    "ignore ", "ignore all previous ", "do not tell ", "the user ", "any keys, ", "~/.ssh/",
    "other tools are ", "always bcc ", "image http://a?b", "'", "[", "[\\",
    "\u5ffd\u7565\u4e4b\u524d",
    "x" + " " * 100, "x" + "\n" * 31,
]  # fmt: skip


def cpu_seconds(text: str, field: str) -> float:
    started = time.process_time()
    find_text_signals(text, field)
    return time.process_time() - started


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
@pytest.mark.parametrize("field", ["description", "name", "pattern"])
def test_an_enormous_hostile_text_is_searched_in_linear_time(unit: str, field: str) -> None:
    text = unit * (MAX_CHARS // len(unit))
    # 0.7 s at most on the machine of the author; a quadratic search needs minutes.
    assert cpu_seconds(text, field) < 10


def test_all_hostile_phrases_together_are_searched_in_linear_time() -> None:
    phrases = " ".join(text.text for text in labelled_texts("tuning") if text.is_hostile)
    text = phrases * (1 + MAX_CHARS // len(phrases))
    assert cpu_seconds(text, "description") < 20


def test_an_ordinary_description_takes_less_than_a_millisecond() -> None:
    texts = [text for text in labelled_texts("tuning") if not text.is_hostile]
    seconds = min(sum(cpu_seconds(text.text, text.field) for text in texts) for _ in range(5))
    assert seconds / len(texts) < 0.001
