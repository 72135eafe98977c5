"""Parsing of search queries: their words, the wanted effect, and the named and plural nouns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from mcpgen.search.words import STOP_WORDS, WORD, singular, stem_of, stems, verbs, words

READ: Final = "read"
CHANGE: Final = "change"
REMOVE: Final = "remove"

# Verbs of several words, and a single verb with the same meaning.
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
def _list_verbs(kind: str) -> frozenset[str]:
    """Return the stems of the verbs that request an effect; those of "end" request both."""
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
class Query:
    """A parsed query."""

    words: tuple[str, ...]  # stems, in order
    plurals: frozenset[str]  # stems of the plural words
    singulars: frozenset[str]  # stems of the other words
    named: frozenset[str]  # stems of nouns followed by a name or a number: "run 88", "team "sre""
    effects: frozenset[str]  # the effects that a fitting tool may have: READ, CHANGE, REMOVE
    has_slashed_name: bool  # "acme/web"
    is_own: bool  # it is about the caller: "my", "me"

    @classmethod
    def read(cls, text: str) -> Query:
        """Parse a question, a command, or a few keywords."""
        plain = _SLASHED.sub(" ", text)
        for phrase, verb in _PHRASES:
            plain = phrase.sub(verb, plain)
        spoken = [word.lower() for word in WORD.findall(plain)]
        found = dict.fromkeys(words(plain))
        found |= dict.fromkeys(stem_of(word[2:]) for word in spoken if _is_reversal(word))
        plurals = {word for word in spoken if singular(word) != word}
        named = {match[1].lower() for match in _NAMED.finditer(text)} - STOP_WORDS
        return cls(
            words=tuple(found),
            plurals=frozenset(map(stem_of, plurals)),
            singulars=frozenset(stem_of(word) for word in spoken if word not in plurals),
            named=frozenset(map(stem_of, named)),
            effects=find_effects(plain),
            has_slashed_name=_SLASHED.search(text) is not None,
            is_own=_SAYS_MY.search(text) is not None,
        )


def _is_reversal(word: str) -> bool:
    return word.startswith("un") and stem_of(word[2:]) in verbs()


def find_effects(plain: str) -> frozenset[str]:
    """Return the requested effects: READ, CHANGE, REMOVE.

    A clause that requests READ decides, or else the first clause that begins with a verb.
    Keywords without a verb request READ. `plain` contains no verbs of several words.
    """
    clauses = (_BEFORE_THE_VERB.sub("", it.strip()) for it in _CLAUSE.split(plain.strip()))
    found = [_find_clause_effects(re.findall("[a-z]+", clause.lower())) for clause in clauses]
    requested = [effects for effects in found if effects]
    if requested:
        return frozenset((READ,)) if {READ} in requested else requested[0]
    return frozenset((CHANGE, REMOVE) if _OBLIGES.search(plain) else (READ,))


def _find_clause_effects(spoken: list[str]) -> frozenset[str]:
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
    return _find_verb_effects(first) or frozenset(
        (CHANGE,) if second in _DETERMINERS and first not in _NO_VERBS else ()
    )


def _find_verb_effects(verb: str) -> frozenset[str]:
    stem = stem_of(verb)
    if stem in _list_verbs("end"):
        return frozenset((CHANGE, REMOVE))
    if _is_reversal(verb):
        return frozenset((REMOVE,))
    found = frozenset(kind for kind in (READ, CHANGE, REMOVE) if stem in _list_verbs(kind))
    return found or frozenset((CHANGE,) if stem in verbs() else ())
