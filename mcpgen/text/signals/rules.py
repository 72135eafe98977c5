"""Rules that combine cues into signals, from `rules.toml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpgen.text.signals.cues import CUES, Cue, WordIndex, read_table

TEMPLATES: Final = frozenset({"prompt", "instructions"})
"""Fields that instruct a model: only instructions against its user are reported."""

SAMPLES: Final = frozenset({"example", "default"})
"""Fields with data of users, who may address a model."""

_NONE: Final[frozenset[str]] = frozenset()
_GROUPS: Final[Mapping[str, frozenset[str]]] = {"templates": TEMPLATES, "samples": SAMPLES}


@dataclass(frozen=True, slots=True)
class Rule:
    """A combination of cues within a sentence, or within neighbouring sentences."""

    kind: str
    reason: str
    cues: tuple[Cue, ...]  # all must be found; the first one is where the signal is reported
    reach: int  # sentences between the first cue and the others
    not_in: frozenset[str]  # fields in which the rule does not apply
    only_in: frozenset[str]  # the only fields in which it applies; empty: all
    is_strong: bool  # also applied to leetspeak, and to spelled and joined words

    def applies_to(self, field: str) -> bool:
        """Check whether texts of `field` are searched with this rule."""
        return field not in self.not_in and (not self.only_in or field in self.only_in)


def _parse_rule(table: Mapping[str, Any]) -> Rule:
    return Rule(
        kind=table["kind"],
        reason=table["reason"],
        cues=tuple(CUES[name] for name in table["cues"]),
        reach=table.get("reach", 0),
        not_in=_parse_fields(table.get("not_in", ())),
        only_in=_parse_fields(table.get("only_in", ())),
        is_strong=table.get("is_strong", False),
    )


def _parse_fields(names: Sequence[str]) -> frozenset[str]:
    return frozenset().union(*(_GROUPS.get(name, {name}) for name in names))


RULES: Final[tuple[Rule, ...]] = tuple(
    _parse_rule(table) for table in read_table("rules.toml")["rule"]
)


def _index(rules: Sequence[Rule]) -> WordIndex[Rule]:
    """Index rules by the words of the cue of each that has the fewest."""
    rarest = [
        min((it.words for it in rule.cues if it.words), key=len, default=_NONE) for rule in rules
    ]
    return WordIndex(zip(rarest, rules, strict=True))


RULE_INDEX: Final = _index(RULES)
STRONG_RULE_INDEX: Final = _index([rule for rule in RULES if rule.is_strong])
