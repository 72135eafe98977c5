"""What a question to the search says beside its words: what is to be done, where, and to which."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from mcpgen.runtime.thesaurus import VERBS, stems
from mcpgen.runtime.words import SAYS_NOTHING, WORD, singular, stem_of, words

READ: Final = "read"
CHANGE: Final = "change"
REMOVE: Final = "remove"

# Verbs of several words, as the one that says the same.
_PHRASES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), verb)
    for pattern, verb in (
        (r"\bhttps?://\S+", " "),
        (r"\b(?:stop|quit|cease) (\w+)ing\b", r"cease \1ing un\1"),
        (r"\b(?:turn|switch)\b(?=.*\bon\b)", "enable"),
        (r"\b(?:turn|switch|shut)\b(?=.*\boff\b)|\bopt out\b", "disable"),
        (r"\bturn down\b", "decline"),
        (r"\bturn\b", "convert"),
        (r"\bshut down\b", "stop"),
        (r"\b(?:close|tear) down\b|\bclean up\b|\bget rid of\b", "delete"),
        (r"\b(?:take|throw|kick)\b(?=.*\b(?:away|off|out)\b)|\bno longer\b", "remove"),
        (r"\b(?:get|bring|put)\b(?=.*\bback\b)|\broll back\b", "restore"),
        (r"\bhand\b(?=.*\bover\b)", "transfer"),
        (r"\bput on hold\b", "suspend"),
        (r"\bcall off\b", "cancel"),
        (r"\bkick off\b", "start"),
        (r"\bsign up\b", "register"),
        (r"\bhook up\b", "connect"),
        (r"\bswap out\b", "replace"),
        (r"\bback up\b", "export"),
        (r"\b(?:set|spin) up\b", "create"),
        (r"\b(?:tell|give|send|get) me\b", "show"),
        (r"\b(?:look up|find out)\b", "get"),
        (r"\b(?:check|see|tell|know) (?:whether|if)\b", "check"),
        (r"\bcarry out\b", "run"),
        (r"\bmoney back\b", "refund"),
        (r"\bwho am i\b", "my user"),
        (r"\b(?:run|send|try|start)\b(?=.*\bagain\b)", "rerun"),
        (r"\b(?:up|out) (?:to|of) date\b", "update"),
        (r"\b(?:in|with) (?:a single|one) (?:call|request|go|step)\b", "bulk"),
        (r"\bat (?:once|a stroke)\b|\ball together\b", "bulk"),
        (r"\bPRs?\b", "pull request"),
        (r"\bMRs?\b", "merge request"),
    )
)
_BEFORE_THE_VERB = re.compile(
    r"^(?:(?:please|now|then|so|and|but|also|hi|hello|i(?:'d| would)? (?:want|need|like|have|wish)"
    r" (?:you )?to|we (?:want|need|have|wish) to|(?:can|could|would|will) you|help me(?: to)?"
    r"|how (?:do|can|could|should|would|to)(?: (?:i|we|you|one))?|(?:can|could|may) (?:i|we)"
    r"|is it possible to|is there a way to)\s+)+",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;:?!,]\s+|\s+-+\s+|\band (?=\w+ (?:it|them|that|a|the)\b)", re.IGNORECASE)
_OBLIGES = re.compile(
    r"\b(?:should|must|shall|(?:only|just) .* (?:may|can)|any ?more|any longer|not needed)\b",
    re.IGNORECASE,
)
_ASKS = frozenset(
    WORD.findall(
        "what which who whom whose when where why how is are was were am does do did has had may"
        " can could whether"
    )
)
_PREPOSITIONS = frozenset(WORD.findall("in to for from on at by with of under"))
_PRONOUNS = frozenset(WORD.findall("i we you they he she it any anyone my our this that there"))
_DETERMINERS = frozenset(
    WORD.findall(
        "a an the my our new another one this that these those his her its their some only all"
        " every each"
    )
)
_NO_VERBS = (
    _PREPOSITIONS | _DETERMINERS | frozenset(WORD.findall("any no not details most past per known"))
)

_SAYS_MY = re.compile(r"\b(?:my|mine|i|me)\b", re.IGNORECASE)
_SLASHED = re.compile(r"(?<![\w/.])[A-Za-z][\w.-]*/[A-Za-z][\w.-]*(?![\w/])")  # acme/web
_NAMED = re.compile(r'([A-Za-z]+)\s+(?:#?\d[\w.-]*|"[^"]*"|[A-Za-z0-9]+_[A-Za-z0-9_]+)')


@cache
def _verbs_of(kind: str) -> frozenset[str]:
    """The stems of verbs that ask for one kind of thing; those of "end" ask to change or remove."""
    return stems(
        {
            READ: "get list find fetch read show see view look retrieve display check search query"
            " download export compare",
            CHANGE: "let store save press click tick keep exchange buy decide have put download"
            " export compare",
            REMOVE: "delete remove drop erase destroy clear discard wipe purge take cease detach"
            " evict expel strip uninstall unsubscribe unwatch unfollow",
            "end": "disable deactivate stop cancel withdraw invalidate revoke dismiss reject"
            " decline lift unlock leave undo forbid deny suspend unassign abort exclude",
        }[kind]
    )


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody asks the index."""

    words: tuple[str, ...]  # stems, in their order
    plurals: frozenset[str]  # stems of the words that are in the plural
    singulars: frozenset[str]  # and of those that are not
    named: frozenset[str]  # stems of what a name or a number is given for: "run 88", "team "sre""
    effects: frozenset[str]  # what a tool may do that does what is asked
    has_slashed_name: bool  # "acme/web"
    is_own: bool  # it is about who asks

    @classmethod
    def read(cls, text: str) -> Question:
        """Understand a question, a command, or a few keywords."""
        plain = _SLASHED.sub(" ", text)
        for phrase, verb in _PHRASES:
            plain = phrase.sub(verb, plain)
        spoken = [word.lower() for word in WORD.findall(plain)]
        found = dict.fromkeys(words(plain))
        found |= dict.fromkeys(stem_of(word[2:]) for word in spoken if _is_undoing(word))
        plurals = {word for word in spoken if singular(word) != word}
        named = {match[1].lower() for match in _NAMED.finditer(text)} - SAYS_NOTHING
        return cls(
            words=tuple(found),
            plurals=frozenset(map(stem_of, plurals)),
            singulars=frozenset(stem_of(word) for word in spoken if word not in plurals),
            named=frozenset(map(stem_of, named)),
            effects=effects_of(plain),
            has_slashed_name=_SLASHED.search(text) is not None,
            is_own=_SAYS_MY.search(text) is not None,
        )


def _is_undoing(word: str) -> bool:
    return word.startswith("un") and stem_of(word[2:]) in VERBS


def effects_of(plain: str) -> frozenset[str]:
    """What is asked for, of READ, CHANGE and REMOVE.

    That is what a clause asks that asks to read, else the first one that begins with a verb.
    Keywords without a verb ask to read. `plain` has no verbs of several words.
    """
    clauses = (_BEFORE_THE_VERB.sub("", it.strip()) for it in _CLAUSE.split(plain.strip()))
    found = [_effects_of_clause(re.findall("[a-z]+", clause.lower())) for clause in clauses]
    asked = [effects for effects in found if effects]
    if asked:
        return frozenset((READ,)) if {READ} in asked else asked[0]
    return frozenset((CHANGE, REMOVE) if _OBLIGES.search(plain) else (READ,))


def _effects_of_clause(spoken: list[str]) -> frozenset[str]:
    first, second = (*spoken, "", "")[:2]
    if first == "have" and second not in _PRONOUNS:
        return frozenset((CHANGE,))
    if first in ("i", "we") and second in ("need", "want"):
        return frozenset((READ, CHANGE))
    if first in (*_ASKS, "have") or (first in _PREPOSITIONS and second in _ASKS):
        return frozenset((READ,))
    if first.endswith(("ed", "ing")) or singular(first) != first:
        return frozenset()
    if first == "open" and second not in _DETERMINERS:
        return frozenset()  # "open issues"
    return _effects_of_verb(first) or frozenset(
        (CHANGE,) if second in _DETERMINERS and first not in _NO_VERBS else ()
    )


def _effects_of_verb(verb: str) -> frozenset[str]:
    stem = stem_of(verb)
    if stem in _verbs_of("end"):
        return frozenset((CHANGE, REMOVE))
    if _is_undoing(verb):
        return frozenset((REMOVE,))
    found = frozenset(kind for kind in (READ, CHANGE, REMOVE) if stem in _verbs_of(kind))
    return found or frozenset((CHANGE,) if stem in VERBS else ())
