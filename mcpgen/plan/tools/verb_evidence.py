"""The verbs that the texts of an operation state, as evidence of what a call does."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.ir.api import Operation
from mcpgen.plan.naming.operation_phrases import PREPOSITIONS, split_path
from mcpgen.plan.naming.words import split_words
from mcpgen.plan.tools.verb_classes import ASKING, DEEDS, NOUNS_TOO, Deed


class Evidence(Struct, frozen=True):
    """A verb that one source of an operation states."""

    source: str  # "operationId", "path", "summary" or "description"
    text: str  # the part of the source that states it
    verb: str
    deed: Deed
    is_certain: bool  # it cannot be a noun here
    is_first: bool = False  # it begins an identifier or a part of one, and an object follows
    worst: Deed = Deed.LOOK  # of all certain verbs of the source: "addOrUpdate" has two

    @property
    def is_prose(self) -> bool:
        """Whether it is of a text, not of an identifier."""
        return self.source in ("summary", "description")

    def describe(self) -> str:
        """Describe it: "`delete` in the path `/chat.delete`"."""
        return f"`{self.verb}` in the {self.source} `{self.text}`"


def collect_evidence(operation: Operation) -> tuple[Evidence, ...]:
    """Return what the operationId, the path, the summary and the description state."""
    return _collect_evidence(
        operation.operation_id,
        operation.method,
        operation.path,
        operation.summary,
        operation.description,
    )


@functools.lru_cache(maxsize=4096)  # hints, policies and skills need the same evidence
def _collect_evidence(
    operation_id: str, method: str, path: str, summary: str, description: str
) -> tuple[Evidence, ...]:
    of_path = _read_path(path)
    found = (
        _read_operation_id(operation_id, method, of_path),
        of_path,
        _read_prose("summary", summary),
        _read_prose("description", description),
    )
    return tuple(evidence for evidence in found if evidence is not None)


_PART = re.compile(r"[^A-Za-z0-9\-]+")


def _read_operation_id(name: str, method: str, path: Evidence | None) -> Evidence | None:
    """Find the verb of an operationId: of its first word, its last part, or elsewhere.

    If it has only nouns that may be verbs, the path decides which of them is one.
    """
    bare = _strip_method(name, method)
    words = _cut_at_preposition(split_words(bare))
    if not words:
        return None
    beginnings = (words, split_words(_PART.split(bare)[-1]))
    found = _choose("operationId", name, beginnings, [words[-1], *words[1:-1]])
    if found and path and path.is_certain and not found.is_certain and path.verb in words:
        return replace(path, source=found.source, text=name)
    return found


def _strip_method(name: str, method: str) -> str:
    """Remove the method from the start of an operationId unless it is a verb of its own.

    "GET_ListStacks" and "PostCharges" repeat the method; "getPet" and "deletePet" are English.
    """
    return _match_method(method).sub("", name)


@functools.cache
def _match_method(method: str) -> re.Pattern[str]:
    """Return the pattern of a method that is no verb at the start of an operationId."""
    if method in ("GET", "DELETE"):
        return re.compile(rf"\A{method}[^A-Za-z0-9]+(?=.)")
    return re.compile(rf"\A(?i:{re.escape(method)})(?![a-z])[^A-Za-z0-9]*(?=.)")


def _read_path(template: str) -> Evidence | None:
    """Find the verb of the last fixed segment of a path: its first or its last word.

    A fragment names the call where one path serves all: "/#Action=ListStacks". Several words may
    name a resource: "/connect-apps".
    """
    path, _, fragment = template.partition("?")[0].partition("#")
    fixed = [words for words, _ in split_path(fragment.rpartition("=")[2] or path) if words]
    if not fixed:
        return None
    words = _cut_at_preposition(fixed[-1])
    found = _choose("path", template, [words], words[-1:])
    if found is None or len(fixed[-1]) == 1 or found.deed is Deed.LOOK:
        return found
    ends_first = found.deed is Deed.END and found.is_first
    return replace(found, is_certain=found.is_certain and ends_first)


def _cut_at_preposition(words: Sequence[str]) -> Sequence[str]:
    """Return the words before the first preposition if they have a verb: "listItemsToDelete"."""
    if PREPOSITIONS.isdisjoint(words):
        return words
    rest = itertools.takewhile(lambda word: word not in PREPOSITIONS, words[1:])
    kept = [*words[:1], *rest]
    return words if DEEDS.keys().isdisjoint(kept) else kept


def _choose(
    source: str, text: str, beginnings: Sequence[Sequence[str]], others: Sequence[str]
) -> Evidence | None:
    """Choose the verb among the first words of `beginnings` and other words, in this order.

    A first word that looks is the verb, although "list" is a noun as well. A word that can only be
    a verb takes priority over other nouns.
    """
    firsts = [words[0] for words in beginnings if words]
    verbs = [word for word in (*firsts, *others) if word in DEEDS]
    if not verbs or not ASKING.isdisjoint(firsts):
        return None
    certain = [verb for verb in verbs if verb not in NOUNS_TOO]
    looking = next((word for word in firsts if DEEDS.get(word) is Deed.LOOK), "")
    looks = bool(looking) and (verbs[0] == looking or verbs[0] in NOUNS_TOO)
    verb = looking if looks else (certain or verbs)[0]
    return Evidence(
        source,
        text,
        verb,
        DEEDS[verb],
        is_certain=looks or bool(certain),
        is_first=any(words[0] == verb for words in beginnings if len(words) > 1),
        worst=max(DEEDS[each] for each in [verb, *certain]),
    )


_MARKUP = re.compile(r"<[^<>]*>")
_LEAD = re.compile(
    r"(?:please\s+)?"
    r"(?:(?:(?:call|use)\s+)?(?:this|the)\s+(?:\S+\s+){0,3}?"
    r"(?:action|api|call|endpoint|method|operation|request|resource|route)\s+)?"
    r"(?:(?:is|can be|may be)\s+)?(?:used\s+)?"
    r"(?:(?:allows?|enables?)\s+(?:\S+\s+){1,4}?to\s+|lets?\s+(?:you|users?|clients?)\s+|to\s+)?",
    re.IGNORECASE,
)
_WORDS = re.compile(r"([A-Za-z]+)(?:(?:\s+(?:or|and)|,|/)\s*([A-Za-z]+))?(?:\s+([A-Za-z]+))?")
_MAX_CHARACTERS = 400  # of a text of which the first words are read
_QUALIFIERS = frozenset({"admin", "async", "batch", "bulk", "force", "hard", "mass", "soft"})
_DETERMINERS = frozenset(
    "a all an any each every his its multiple my new one several some the their your".split()
)


def _read_prose(source: str, text: str) -> Evidence | None:
    """Find the verb with which a text begins, as an imperative or in the third person."""
    plain = _MARKUP.sub(" ", text[:_MAX_CHARACTERS]).lstrip("*_#> `\t\r\n")
    at = found.end() if (found := _LEAD.match(plain)) else 0
    while (found := _WORDS.match(plain, at)) and _is_qualifier(found[1].lower()):
        at = found.end(1) + 1
    verb = "" if found is None else _find_base(found[1].lower())
    follows = (found[3] or "").lower() if found else ""
    if found is None or verb not in DEEDS or follows == "of":  # "updates of the last week"
        return None
    is_certain = verb not in NOUNS_TOO or follows in _DETERMINERS
    deed = DEEDS[verb]
    second = DEEDS.get(_find_base((found[2] or "").lower()), deed)
    shown = " ".join(plain[: found.end()].split())
    return Evidence(source, f"{shown} …", verb, deed, is_certain, worst=max(deed, second))


def _is_qualifier(word: str) -> bool:
    """Return whether a word qualifies the verb after it: "permanently", "bulk"."""
    return word in _QUALIFIERS or (word.endswith("ly") and word not in DEEDS)


def _find_base(word: str) -> str:
    """Return the verb whose third person `word` is, or `word`."""
    endings = (("ies", "y"), ("es", ""), ("s", ""))
    stems = [word.removesuffix(end) + stem for end, stem in endings if word.endswith(end)]
    return next((stem for stem in stems if stem in DEEDS), word)
