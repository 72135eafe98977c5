"""Parsing of search queries: their words, the wanted effect, and the named and plural nouns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from mcpgen.search.words import (
    STOP_WORDS,
    WORD,
    singular,
    split_phrase,
    stem_of,
    stems,
    verbs,
    words,
)

READ: Final = "read"
CHANGE: Final = "change"
REMOVE: Final = "remove"

# Verbs of several words, and a single verb with the same meaning.
_PHRASES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), verb)
    for pattern, verb in (
        (r"\bhttps?://\S+", " "),
        (r"\bto-?dos?\b", "task"),
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
    r"^(?:(?:please|now|then|so|and|but|also|only|just|hi|hello"
    r"|i(?:'d| would)? (?:want|need|like|have|wish) (?:you )?to|we (?:want|need|have|wish) to"
    r"|(?:can|could|would|will) you|help me(?: to)?"
    r"|how (?:to|(?:do|can|could|should|would) (?:i|we|you|one))|(?:can|could|may) (?:i|we)"
    r"|is it possible to|is there a way to)\s+)+",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;:?!,]\s+|\s+-+\s+|\band (?=\w+ (?:it|them|that|a|the)\b)", re.IGNORECASE)
_OBLIGES = re.compile(
    r"\b(?:should|must|shall|(?:only|just) .* (?:may|can)|any ?more|any longer|not needed)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"^(?:when(?:ever)?|if|once|as soon as|every time|each time|before|after|while)\b[^,?]*, ",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"^(?:i|we|he|she|it|they|you)\b"
    r"|^(?!all\b|\w+s an? |.*\?)(?:my |our )?"
    r"(?:(?!\b(?:that|which|who|whose|where|i|we|you|my|our)\b).)* "
    r"(?:is|are|was|were|has|have|had|did|does|do|cannot|wants?|needs?|gets?|got|should|must"
    r"|will|would|could)(?:n't)?\b",
    re.IGNORECASE,
)
_GERUND = re.compile(r"\w*[aeiouy]\w*ing")
_PARTICLES = frozenset("up down off out away in over back on to".split())
_QUESTION_STARTS = frozenset(
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
_OBJECTS = frozenset(WORD.findall("me us him her it them everybody everyone somebody"))
_NO_VERBS = (
    _PREPOSITIONS | _DETERMINERS | frozenset(WORD.findall("any no not details most past per known"))
)

_FIRST_PERSON = re.compile(r"\b(?:my|mine|i|me)\b", re.IGNORECASE)
_SLASHED = re.compile(r"(?<![\w/.])[A-Za-z][\w.-]*/[A-Za-z][\w.-]*(?![\w/])")  # acme/web
_QUOTED = re.compile(  # also addresses, and identifiers: "cus_9s6XKzkN", "Q1XY"
    r'"[^"]*"|\bhttps?://\S+|[\w.+-]+@[\w.-]+|\b\w*_\w*\b|\b(?=\w*\d[A-Za-z])\w{3,}'
)
_NUMBER = re.compile(r"\b\d{2,}")
_NAME = 0.2  # weight of a word of a name
_LIGHT = 0.4  # weight of a word that hardly indicates a topic
_LONGEST_PHRASE = 4
_NAMED = re.compile(r'([A-Za-z]+)\s+(?:#?\d[\w.-]*|"[^"]*"|[A-Za-z0-9]+_[A-Za-z0-9_]+)')


@cache
def _list_verbs(kind: str) -> frozenset[str]:
    """Return the stems of the verbs that request an effect; those of "end" request both."""
    return stems(
        {
            READ: "get list find fetch read print show see view look retrieve display check search"
            " query download export compare",
            CHANGE: "let store save press click tick keep exchange buy decide have put download"
            " export compare bring try tie remember forgive begin",
            REMOVE: "delete remove drop erase destroy clear discard wipe purge take cease detach"
            " evict expel strip uninstall unsubscribe unwatch unfollow",
            "end": "disable deactivate stop cancel withdraw invalidate revoke dismiss reject"
            " decline lift unlock leave undo forbid deny suspend unassign abort exclude",
        }[kind]
    )


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query."""

    words: Mapping[str, float]  # stems, in order, with their weights: names weigh less
    phrases: tuple[str, ...]  # stems of up to four successive words, joined by spaces
    plurals: frozenset[str]  # stems of the plural words
    singulars: frozenset[str]  # stems of the other words
    named: frozenset[str]  # stems of nouns followed by a name or a number: "run 88", "team "sre""
    effects: frozenset[str]  # the effects that a fitting tool may have: READ, CHANGE, REMOVE
    is_command: bool  # a verb, a question word or a statement shows this
    has_name: bool  # it contains a name, a number or a quoted value
    has_slashed_name: bool  # "acme/web"
    is_own: bool  # it is about the caller: "my", "me"

    @classmethod
    def read(cls, text: str) -> Query:
        """Parse a question, a command, or a few keywords."""
        plain = _SLASHED.sub(" ", text)
        names = _find_names(text)
        for phrase, verb in _PHRASES:
            plain = phrase.sub(verb, plain)
        spoken = [word.lower() for word in WORD.findall(plain)]
        found = {
            stem: _NAME if stem in names else _LIGHT if stem in _light_words() else 1.0
            for stem in words(plain)
        }
        found |= dict.fromkeys((stem_of(word[2:]) for word in spoken if _is_reversal(word)), 1.0)
        plurals = {word for word in spoken if singular(word) != word}
        named = {match[1].lower() for match in _NAMED.finditer(text)} - STOP_WORDS
        return cls(
            words=found,
            phrases=tuple(_list_phrases(split_phrase(_QUOTED.sub(" ", text)))),
            plurals=frozenset(map(stem_of, plurals)),
            singulars=frozenset(stem_of(word) for word in spoken if word not in plurals),
            named=frozenset(map(stem_of, named)),
            effects=find_effects(plain),
            is_command=bool(
                _find_requests(plain) or _OBLIGES.search(plain) or _STATES.search(plain)
            ),
            has_name=_QUOTED.search(text) is not None or _NUMBER.search(text) is not None,
            has_slashed_name=_SLASHED.search(text) is not None,
            is_own=_FIRST_PERSON.search(text) is not None,
        )


def _find_names(text: str) -> set[str]:
    """Return the stems of words that occur only inside names."""
    outside = _QUOTED.sub(" ", text)
    names = words(" ".join(_QUOTED.findall(text)))
    return set(names) - set(words(outside))


def _list_phrases(stems: Sequence[str]) -> Iterator[str]:
    """Yield each run of two to four successive stems, joined by spaces."""
    for first in range(len(stems)):
        for size in range(2, _LONGEST_PHRASE + 1):
            if first + size <= len(stems):
                yield " ".join(stems[first : first + size])


def _is_reversal(word: str) -> bool:
    return word.startswith("un") and stem_of(word[2:]) in verbs()


def find_effects(plain: str) -> frozenset[str]:
    """Return the requested effects: READ, CHANGE, REMOVE.

    A clause that requests READ decides, or else the first clause that begins with a verb. What is
    stated ("the guest has left") is to be recorded: CHANGE. Keywords without a verb request READ.
    `plain` contains no verbs of several words.
    """
    requested = _find_requests(plain)
    if requested:
        return frozenset((READ,)) if {READ} in requested else requested[0]
    if _OBLIGES.search(plain):
        return frozenset((CHANGE, REMOVE))
    return frozenset((CHANGE,) if _STATES.search(plain) else (READ,))


def _split_clauses(plain: str) -> list[list[str]]:
    """Return the words of each clause, without polite beginnings and conditions."""
    main = _CONDITION.sub("", plain.strip())
    clauses = (_BEFORE_THE_VERB.sub("", it.strip()) for it in _CLAUSE.split(main))
    return [re.findall("[a-z]+", clause.lower()) for clause in clauses]


def _find_requests(plain: str) -> list[frozenset[str]]:
    """Return the effects that each clause requests, without those that request nothing."""
    found = [
        _find_clause_effects(each, may_ask=not number or "?" in plain or _is_question(each))
        for number, each in enumerate(_split_clauses(plain))
    ]
    return [effects for effects in found if effects]


def _is_question(spoken: Sequence[str]) -> bool:
    """Whether a clause that follows another asks: "when was that", but not "when he left"."""
    return spoken[:1] == ["what"] or (
        spoken[:1] != ["which"] and len(spoken) > 1 and {*spoken[:2]} <= _QUESTION_STARTS
    )


@cache
def _light_words() -> frozenset[str]:
    return stems(
        "up down off out away over back in on together ahead around along through under above"
        " again too very much many more most less least lot really already yet still ever never"
        " always often soon now then later here anywhere somewhere next other else instead once"
        " twice one two three four five six seven eight nine ten first second third him her she"
        " his someone somebody something anything nothing everything nobody whole both"
        " go come let get have so far no not only even than"
    )


def _find_clause_effects(spoken: list[str], *, may_ask: bool) -> frozenset[str]:
    first, second, third = (*spoken, "", "", "")[:3]
    if first == "have" and second not in _PRONOUNS:
        return frozenset((CHANGE,))
    if first in ("everybody", "everyone", "anybody", "anyone") and "who" in spoken:
        return frozenset((READ,))
    if first in ("i", "we") and second in ("need", "want"):
        return frozenset((READ, CHANGE))
    if first in (*_QUESTION_STARTS, "have") or (
        first in _PREPOSITIONS and second in _QUESTION_STARTS
    ):
        return frozenset((READ,) if may_ask else ())
    if first in ("don", "never") or (first == "do" and second == "not"):
        return frozenset((CHANGE, REMOVE))
    if first.endswith("ed") or _GERUND.fullmatch(first) or singular(first) != first:
        return frozenset()
    if first == "open" and second not in _DETERMINERS:
        return frozenset()  # "open issues"
    is_followed = second in _DETERMINERS | _OBJECTS or (
        second in _PARTICLES and third in _DETERMINERS
    )
    return _find_verb_effects(first) or frozenset(
        (CHANGE,) if is_followed and first not in _NO_VERBS | _PRONOUNS else ()
    )


def reads(verb: str) -> bool:
    """Whether the stem of a verb asks for data."""
    return verb in _list_verbs(READ) - _list_verbs(CHANGE)


def _find_verb_effects(verb: str) -> frozenset[str]:
    stem = stem_of(verb)
    if stem in _list_verbs("end"):
        return frozenset((CHANGE, REMOVE))
    if _is_reversal(verb):
        return frozenset((REMOVE,))
    found = frozenset(kind for kind in (READ, CHANGE, REMOVE) if stem in _list_verbs(kind))
    return found or frozenset((CHANGE,) if stem in verbs() else ())
