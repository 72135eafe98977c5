"""Names of tools: legal everywhere, distinct, and independent of a document's order.

Each operation has a phrase (`operation_phrases`). Operations with the same phrase are told apart by
words: of their paths, versions, parameters, methods or tags. A name that is too long loses words
that many others have. Six digits of a hash are what is left where no word helps.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from mcpgen.ir.api import Operation
from mcpgen.plan.english import is_verb, singular
from mcpgen.plan.operation_phrases import (
    ARTICLES,
    METHOD_VERBS,
    PREPOSITIONS,
    Words,
    operation_phrase,
    path_segments,
    version_words,
)
from mcpgen.plan.words import VERSION, digest, split_words

T = TypeVar("T")

MAX_TOOL_NAME = 48
"""The length that every known client takes, with a server's name around it."""
LONGEST_TOOL_NAME = 64
"""The length that a name may have where all clients are known."""

_TOOL_NAME = re.compile(rf"[a-z][a-z0-9_]{{0,{LONGEST_TOOL_NAME - 1}}}\Z")
_NUMBERED = re.compile(r"(.+?)(?:[_.\-][0-9]+|[_.\-]?[aA]lt[0-9]*)\Z", re.DOTALL)
_MOST_SHORTENINGS = 500
_MOST_WORDS = 11
_SHORT_FORMS = {
    "administration": "admin", "administrator": "admin", "administrators": "admins",
    "application": "app", "applications": "apps", "authentication": "auth",
    "configuration": "config", "configurations": "configs", "development": "dev",
    "documentation": "docs", "environment": "env", "environments": "envs", "identifier": "id",
    "identifiers": "ids", "information": "info", "organisation": "org", "organisations": "orgs",
    "organization": "org", "organizations": "orgs", "parameter": "param", "parameters": "params",
    "repositories": "repos", "repository": "repo", "specification": "spec",
    "specifications": "specs", "statistics": "stats",
}  # fmt: skip
_FILLERS = ARTICLES | {"and", "in", "of", "on", "that", "to", "which", "with"}


class ToolNaming:
    """The names that the tools of `operations` get.

    No tool gets a `reserved` name. `prefixes` begin the names, by the operations' source.
    """

    def __init__(
        self,
        operations: Iterable[Operation],
        limit: int = MAX_TOOL_NAME,
        *,
        reserved: Collection[str] = (),
        prefixes: Mapping[str, str] | None = None,
    ) -> None:
        self.operations = {
            operation.key: operation
            for operation in sorted(operations, key=lambda operation: operation.key)
        }
        self.limit = limit
        self.reserved = frozenset(reserved)
        self.prefixes = {source: split_words(prefix) for source, prefix in (prefixes or {}).items()}
        self.phrases = _phrases(self.operations.values())
        self.wanted = _told_apart(self.operations, self.phrases)

    def names(self, issued: Mapping[str, str]) -> dict[str, str]:
        """Return a name for the tool of each operation, by key. Issued names are kept."""
        names = {
            key: issued[key] for key in self.operations if _TOOL_NAME.match(issued.get(key, ""))
        }
        taken = {*issued.values(), *self.reserved}
        streams = {
            key: self._candidates(operation)
            for key, operation in self.operations.items()
            if key not in names
        }
        names |= _share_out(streams, taken)
        for key in sorted(self.operations.keys() - names.keys()):
            names[key] = self._hashed(key, {*taken, *names.values()})
        return names

    def document_names(self, names: Mapping[str, str]) -> dict[str, str]:
        """Return what operations would be called now whose tools are called otherwise, by key.

        Only a name that the tool could have at once is given.
        """
        wanted = {
            key: self._joined(operation, self.phrases[key])
            for key, operation in self.operations.items()
        }
        count = Counter(wanted.values())
        taken = {*names.values(), *self.reserved}
        return {
            key: name
            for key, name in wanted.items()
            if count[name] == 1 and name not in taken and len(name) <= self.limit
        }

    def shortened(self, names: Mapping[str, str]) -> dict[str, str]:
        """Return the whole names, by key, of operations whose tools have shorter ones."""
        whole = {key: self._joined(self.operations[key], self.wanted[key]) for key in names}
        return {
            key: name
            for key, name in whole.items()
            if len(name) > self.limit and names[key] != name
        }

    def _joined(self, operation: Operation, phrase: Words) -> str:
        name = "_".join((*self.prefixes.get(operation.source, ()), *phrase))
        return name if name[0].isalpha() else f"op_{name}"

    @cached_property
    def _frequency(self) -> Counter[str]:
        """In how many phrases each word is: what many say tells none of them apart."""
        return Counter(word for phrase in self.wanted.values() for word in set(phrase))

    def _candidates(self, operation: Operation) -> Iterator[str]:
        """Return the names that an operation may have, the best first."""
        phrase = self.wanted[operation.key]
        room = self.limit - len(self._joined(operation, phrase)) + len("_".join(phrase))
        for longer in itertools.chain((phrase,), _elaborations(operation, phrase)):
            for fitting in _fitting(longer, room, self._frequency):
                yield self._joined(operation, fitting)

    def _hashed(self, key: str, taken: Collection[str]) -> str:
        """Return the phrase, cut after whole words, with a hash of the operation's key."""
        name, seed, room = self._joined(self.operations[key], self.wanted[key]), key, self.limit - 7
        if len(name) > room:
            head = name[: room + 1]
            name = head.rsplit("_", 1)[0] if "_" in head[1:] else head[:room]
        while (hashed := f"{name.rstrip('_')}_{digest(seed)}") in taken:
            seed += "+"
        return hashed


def _share_out(streams: Mapping[str, Iterator[str]], taken: Collection[str]) -> dict[str, str]:
    """Give each key the first name of its stream that no other asks for at the same time.

    A name that several ask for is nobody's, so that no order of the keys decides.
    """
    unusable = set(taken)
    names: dict[str, str] = {}
    waiting = dict(streams)
    while waiting:
        asked: dict[str, list[str]] = {}
        for key, stream in list(waiting.items()):
            name = next((name for name in stream if name not in unusable), "")
            if name:
                asked.setdefault(name, []).append(key)
            else:
                del waiting[key]
        for name, keys in asked.items():
            unusable.add(name)
            if len(keys) == 1:
                names[keys[0]] = name
                del waiting[keys[0]]
    return names


def _phrases(operations: Iterable[Operation]) -> dict[str, Words]:
    """Return the phrase of each operation, by key, whether or not another has it, too."""
    operations = list(operations)
    stems: dict[str, str] = {}
    for operation in operations:
        found = _NUMBERED.match(operation.operation_id)
        stems[operation.key] = found[1] if found else operation.operation_id
    count = Counter((operation.source, stems[operation.key]) for operation in operations)
    return {
        operation.key: operation_phrase(
            operation,
            stems[operation.key]
            if count[operation.source, stems[operation.key]] > 1
            else operation.operation_id,
        )
        for operation in operations
    }


# Telling apart


def _told_apart(
    operations: Mapping[str, Operation], phrases: Mapping[str, Words]
) -> dict[str, Words]:
    """Return phrases in which those that were equal have more words; a few may still be equal."""
    groups: dict[tuple[str, str], list[str]] = {}
    for key, phrase in phrases.items():
        groups.setdefault((operations[key].source, "_".join(phrase)), []).append(key)
    found = dict(phrases)
    for keys in groups.values():
        if len(keys) > 1:
            group = [operations[key] for key in keys]
            found |= zip(keys, _distinct(group, phrases[keys[0]]), strict=True)
    return found


def _distinct(group: Sequence[Operation], phrase: Words) -> list[Words]:
    """Return a phrase for each of several operations that share one, distinct where possible."""
    best = [phrase] * len(group)
    for feature in _FEATURES:
        longer = [
            _extended(words, more) for words, more in zip(best, feature(group, phrase), strict=True)
        ]
        if len(set(longer)) > len(set(best)):
            best = longer
        if len(set(best)) == len(group):
            break
    return best


Qualifiers = tuple[Words, Words]
"""Words to put after the verb of a phrase, and words to put at its end."""


def _extended(phrase: Words, more: Qualifiers) -> Words:
    before, after = more
    verbs = 1 if len(phrase) > 1 and is_verb(phrase[0]) else 0
    rest = phrase[verbs + 1 :] if before and phrase[verbs] in ARTICLES else phrase[verbs:]
    return (*phrase[:verbs], *before, *rest, *after)


def _paths(group: Sequence[Operation], phrase: Words) -> list[Qualifiers]:
    """Return the words of the paths that not all of them have."""
    own = [_path_words(operation, phrase) for operation in group]
    common = _common(own)
    rare = [tuple(word for word in words if word not in common) for words in own]
    if max(map(len, rare)) > _FEW_WORDS:
        rare = [_fewest(words, rare) for words in rare]
    return [_placed(operation, words, phrase) for operation, words in zip(group, rare, strict=True)]


def _common(own: Sequence[Sequence[T]]) -> set[T]:
    """Return what several operations all have; nothing where there is only one."""
    return set.intersection(*map(set, own)) if len(own) > 1 else set()


_FEW_WORDS = 2


def _fewest(words: Words, others: Sequence[Words]) -> Words:
    """Return the fewest of some words that no other of `others` has all of."""
    sets = [set(other) for other in others if other != words]
    for size in range(min(len(words), 4)):
        for some in itertools.combinations(words, size):
            if not any(other.issuperset(some) for other in sets):
                return some
    return words


def _path_words(operation: Operation, phrase: Words) -> Words:
    """Return what the segments of a path state that the phrase does not say, without versions."""
    said = {singular(word) for word in phrase}
    words = [word for stated, _ in path_segments(operation.path) for word in stated]
    return tuple(
        dict.fromkeys(
            word for word in words if singular(word) not in said and not VERSION.match(word)
        )
    )


def _placed(operation: Operation, words: Words, phrase: Words) -> Qualifiers:
    """Put words of a path before the noun of a phrase if they stand before it in the path."""
    if len(phrase) == 1:
        return ((), words)
    path = [singular(word) for stated, _ in path_segments(operation.path) for word in stated]
    said = {singular(word) for word in phrase[1:]}
    last = max((at for at, word in enumerate(path) if word in said), default=len(path))
    before = tuple(singular(word) for word in words if path.index(singular(word)) < last)
    after = tuple(word for word in words if path.index(singular(word)) >= last)
    return (before, after) if is_verb(phrase[0]) else ((), (*before, *after))


def _versions(group: Sequence[Operation], _: Words) -> list[Qualifiers]:
    return [((), version_words(operation)) for operation in group]


def _ids(group: Sequence[Operation], phrase: Words) -> list[Qualifiers]:
    """Return the words of the operationIds that not all of them have."""
    own = [split_words(operation.operation_id) for operation in group]
    common = _common(own) | set(phrase)
    return [((), tuple(word for word in words if word not in common)) for words in own]


def _parameters(group: Sequence[Operation], _: Words) -> list[Qualifiers]:
    """Return "by_pet_id", where the parameters of the paths differ."""
    own = [[words for _, words in path_segments(each.path) if words] for each in group]
    common = _common(own)
    rare = [[words for words in parameters if words not in common] for parameters in own]
    return [((), ("by", *parameters[-1]) if parameters else ()) for parameters in rare]


def _methods(group: Sequence[Operation], phrase: Words) -> list[Qualifiers]:
    """Return the methods, but for that of which the phrase has the verb."""
    return [
        ((), ())
        if METHOD_VERBS.get(operation.method) == phrase[0]
        else ((), ("with", *split_words(operation.method)))
        for operation in group
    ]


def _tags(group: Sequence[Operation], phrase: Words) -> list[Qualifiers]:
    said = {singular(word) for word in phrase}
    return [
        ((), tuple(word for word in split_words(operation.tag) if singular(word) not in said))
        for operation in group
    ]


def _queries(group: Sequence[Operation], phrase: Words) -> list[Qualifiers]:
    """Return "by_status", where the required parameters differ."""
    found: list[Qualifiers] = []
    for operation in group:
        required = [
            split_words(parameter.name)
            for parameter in operation.parameters
            if parameter.required and parameter.location == "query"
        ]
        new = next((words for words in required if not set(words) <= set(phrase)), ())
        found.append(((), ("by", *new) if new else ()))
    return found


def _spellings(group: Sequence[Operation], phrase: Words) -> list[Qualifiers]:
    """Return the words of the paths that are not spelled so in the phrase: its plurals."""
    own = [
        [word for stated, _ in path_segments(each.path) for word in stated if word not in phrase]
        for each in group
    ]
    common = _common(own)
    return [((), tuple(word for word in words if word not in common)) for words in own]


def _summaries(group: Sequence[Operation], phrase: Words) -> list[Qualifiers]:
    """Return the fewest words of the summaries by which they differ."""
    own = [split_words(operation.summary) for operation in group]
    ignored = _common(own) | set(phrase) | PREPOSITIONS | ARTICLES
    rare = [tuple(word for word in words if word not in ignored) for words in own]
    return [((), _fewest(words, rare)) for words in rare]


def _deprecation(group: Sequence[Operation], _: Words) -> list[Qualifiers]:
    return [((), ("deprecated",) if operation.deprecated else ()) for operation in group]


_FEATURES: tuple[Callable[[Sequence[Operation], Words], list[Qualifiers]], ...] = (
    _paths, _versions, _parameters, _methods, _tags, _ids, _queries, _deprecation,
    _spellings, _summaries,
)  # fmt: skip


def _elaborations(operation: Operation, phrase: Words) -> Iterator[Words]:
    """Return longer phrases for an operation whose phrase is the name of another tool."""
    seen = {phrase}
    if operation.source:
        yield (*split_words(operation.source), *phrase)
    path = _path_words(operation, phrase)
    for words in (path[-1:], path[-2:], path):
        seen.add(longer := _extended(phrase, _placed(operation, words, phrase)))
        yield longer
    for feature in _FEATURES:
        (more,) = feature([operation], phrase)
        longer = _extended(phrase, more)
        if longer not in seen:
            seen.add(longer)
            yield longer
            yield _extended(longer, _placed(operation, path, longer))


# Shortening


def _fitting(phrase: Words, room: int, frequency: Mapping[str, int]) -> Iterator[Words]:
    """Return a phrase, or shorter forms of it that have room, those that say most first."""
    plain = tuple(word for word in phrase if word not in _FILLERS)
    upsert = "_".join(plain).replace("create_or_update", "upsert").split("_")
    abbreviated = tuple(_SHORT_FORMS.get(word, word) for word in upsert)
    forms = [phrase, plain, abbreviated]
    fitting = next((form for form in forms if _length(form) <= room), None)
    if fitting is not None:
        yield fitting
        return
    yield from itertools.islice(_with_fewer_words(abbreviated, room, frequency), _MOST_SHORTENINGS)


def _with_fewer_words(phrase: Words, room: int, frequency: Mapping[str, int]) -> Iterator[Words]:
    """Return phrases without some words: as few as possible, those first that many phrases have.

    The first verb and the last word stay.
    """
    while len(phrase) > _MOST_WORDS:
        common = min(phrase[1:-1], key=lambda word: -frequency.get(word, 0))
        at = phrase.index(common, 1)
        phrase = (*phrase[:at], *phrase[at + 1 :])
    verb = next((at for at, word in enumerate(phrase) if is_verb(word)), 0)
    loose = [at for at in range(len(phrase) - 1) if at != verb]
    joints = {at for at in loose if phrase[at] == "or"}
    for size in range(1, len(loose) + 1):
        dropped = sorted(
            itertools.combinations(loose, size),
            key=lambda some: (-sum(frequency.get(phrase[at], 0) for at in some), some),
        )
        for some in dropped:
            rest = tuple(word for at, word in enumerate(phrase) if at not in some)
            is_torn = any(at + step in some for at in joints - {*some} for step in (-1, 1))
            if _length(rest) <= room and not is_torn and not _dangles(rest):
                yield rest


def _dangles(phrase: Words) -> bool:
    """Check whether a preposition has lost what it belongs to."""
    return phrase[0] in PREPOSITIONS or any(
        one in PREPOSITIONS and other in PREPOSITIONS for one, other in itertools.pairwise(phrase)
    )


def _length(phrase: Words) -> int:
    return len("_".join(phrase))
