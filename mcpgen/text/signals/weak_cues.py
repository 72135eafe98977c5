"""Phrases that are harmless alone and suspicious together, in texts that define tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mcpgen.text.signals.cues import Cue, WordIndex, parse_cue, read_table
from mcpgen.text.signals.kinds import TextSignal
from mcpgen.text.signals.matching import CueMatcher, Span
from mcpgen.text.signals.rules import SAMPLES, TEMPLATES

_THRESHOLD: Final = 5
_TABLES: Final[Mapping[str, Any]] = read_table("weak_cues.toml")
HEAVY_CUES: Final[Mapping[str, Cue]] = {
    name: parse_cue(table) for name, table in _TABLES["heavy"].items()
}
LIGHT_CUES: Final[Mapping[str, Cue]] = {
    name: parse_cue(table) for name, table in _TABLES["light"].items()
}
_HEAVY_INDEX: Final = WordIndex((cue.words, (name, cue)) for name, cue in HEAVY_CUES.items())
_LIGHT_INDEX: Final = WordIndex((cue.words, (name, cue)) for name, cue in LIGHT_CUES.items())
_USER_DATA: Final = "data of the user"  # a light cue; enough together with many other light ones

# The kind of a signal, by the first row whose cues were all found.
_KINDS: Final[tuple[tuple[frozenset[str], str], ...]] = (
    (frozenset({"conceals"}), "secrecy"),
    (frozenset({"names a file with credentials"}), "reads-local-files"),
    (frozenset({"destination", "move"}), "sends-data"),
    (frozenset({"speaks about other tools"}), "tool-preference"),
    (frozenset({"speaks to a model about itself", "secret"}), "requests-conversation"),
    (frozenset({"secret"}), "requests-credentials"),
    (frozenset({"goes beyond the request"}), "tool-order"),
    (frozenset({"take"}), "requests-conversation"),
    (frozenset({_USER_DATA, "move"}), "sends-data"),
    (frozenset(), "controls-replies"),
)


def find_weak_combination(matcher: CueMatcher, field: str) -> Iterator[TextSignal]:
    """Find the first sentence, alone or with a neighbour, in which many weak cues meet.

    A heavy cue counts 2, a light one 1, and 1 is added if all are in one sentence. The offsets of
    the signal refer to the folded text.
    """
    if field in TEMPLATES or field in SAMPLES:
        return
    heavy_cues = _HEAVY_INDEX.select(matcher.words, is_ascii=matcher.is_ascii)
    may_have_data = matcher.may_contain(LIGHT_CUES[_USER_DATA])
    if not heavy_cues and not may_have_data:
        return
    light_cues = _LIGHT_INDEX.select(matcher.words, is_ascii=matcher.is_ascii)
    if 2 * len(heavy_cues) + len(light_cues) + 1 < _THRESHOLD:
        return  # before any search, as for most texts
    heavy = _find_all(matcher, heavy_cues)
    most = 2 * len(heavy) + len(light_cues) + 1
    if most < _THRESHOLD or not (heavy or may_have_data):
        return
    light = _find_all(matcher, light_cues)
    starting = [*heavy.values(), light.get(_USER_DATA, {})]
    found_by_name = heavy | light
    for sentence in sorted({number for found in starting for number in found}):
        for near in ({sentence}, {sentence - 1, sentence}, {sentence, sentence + 1}):
            names = [name for name, found in found_by_name.items() if near & found.keys()]
            score = sum(2 if name in heavy else 1 for name in names) + (len(near) == 1)
            if score >= _THRESHOLD:
                yield _signal(names, [found_by_name[name] for name in names], near)
                return


def _find_all(
    matcher: CueMatcher, cues: Iterable[tuple[str, Cue]]
) -> dict[str, Mapping[int, Span]]:
    return {name: found for name, cue in cues if (found := matcher.find(cue))}


def _signal(names: list[str], founds: list[Mapping[int, Span]], near: set[int]) -> TextSignal:
    spans = [span for found in founds for number, span in found.items() if number in near]
    kind = next(kind for needed, kind in _KINDS if needed <= set(names))
    signs = ", ".join(name for name in names if name in HEAVY_CUES) or "uses data of the user"
    start, end = min(span[0] for span in spans), max(span[1] for span in spans)
    return TextSignal(kind, start, end, f"several weak signs together: {signs}")
