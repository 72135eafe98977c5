"""Names of tools: valid everywhere, unique, and independent of the document's order.

Each operation has a phrase (`operation_phrases`). Operations with equal phrases get additional
words: of their paths, versions, parameters, methods or tags. A name that is too long loses the
words that occur in most names. If no word helps, the name ends with six digits of a hash.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from mcpgen.ir.api import Operation
from mcpgen.ir.portable_profile import MAX_TOOL_NAME, TOOL_NAME
from mcpgen.plan.naming.operation_phrases import (
    ARTICLES,
    METHOD_VERBS,
    PREPOSITIONS,
    Words,
    derive_phrase,
    find_versions,
    split_path,
)
from mcpgen.plan.naming.words import VERBS, VERSION, digest, singular, split_words

T = TypeVar("T")

_TOOL_NAME = re.compile(rf"{TOOL_NAME}\Z")
_NUMBERED = re.compile(r"(.+?)(?:[_.\-][0-9]+|[_.\-]?[aA]lt[0-9]*)\Z", re.DOTALL)
_MAX_SHORTENINGS = 500
_MAX_WORDS = 11
_MAX_WORDS_PER_END = 100  # the middle of a longer phrase is ignored
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
    """Names for the tools of `operations`.

    No tool gets a `reserved` name. `prefixes` are put before the names, by source.
    """

    def __init__(
        self,
        operations: Iterable[Operation],
        limit: int = MAX_TOOL_NAME,
        *,
        reserved: Collection[str] = (),
        prefixes: Mapping[str, str] | None = None,
    ) -> None:
        self.operations = {it.key: it for it in sorted(operations, key=lambda it: it.key)}
        self.limit = limit
        self.reserved = frozenset(reserved)
        self.prefixes = {source: split_words(prefix) for source, prefix in (prefixes or {}).items()}
        self.phrases = _derive_phrases(self.operations.values())
        self.unique_phrases = _disambiguate(self.operations, self.phrases)

    def names(self, published: Mapping[str, str], gone: Collection[str] = ()) -> dict[str, str]:
        """Return a name for the tool of each operation, by key. Published names stay.

        The published name of a `gone` operation, which the document no longer has, is assigned to
        the one new operation of its method for which the document has this name: its path moved.
        """
        names = {it: published[it] for it in self.operations if it in published}
        names = {key: name for key, name in names.items() if _TOOL_NAME.match(name)}
        taken = {*published.values(), *self.reserved}
        used = {*names.values(), *self.reserved}
        left = {key: name for key, name in published.items() if key in gone and name not in used}
        names |= self._find_names_of_moved_paths(names, left)
        unnamed = (it for it in self.operations.values() if it.key not in names)
        streams = {it.key: self._iterate_candidates(it) for it in unnamed}
        names |= _assign_names(streams, taken)
        for key in sorted(self.operations.keys() - names.keys()):
            names[key] = self._append_hash(key, {*taken, *names.values()})
        return names

    def _find_names_of_moved_paths(
        self, named: Collection[str], left: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the names of `left` operations that exactly one unnamed operation can have."""
        if not left:
            return {}
        free = {(name, _get_method(key)) for key, name in left.items()}
        keys_by_name: dict[str, list[str]] = {}
        for key in (it for it in self.operations if it not in named):
            name = next(self._iterate_candidates(self.operations[key]), "")
            if (name, _get_method(key)) in free:
                keys_by_name.setdefault(name, []).append(key)
        return {keys[0]: name for name, keys in keys_by_name.items() if len(keys) == 1}

    def find_current_names(self, names: Mapping[str, str]) -> dict[str, str]:
        """Return the names that the document states now, by key, for the tools that differ.

        Names that another tool has, or that exceed the limit, are absent.
        """
        current = {
            key: self._join_name(operation, self.phrases[key])
            for key, operation in self.operations.items()
        }
        count = Counter(current.values())
        taken = {*names.values(), *self.reserved}
        return {
            key: name
            for key, name in current.items()
            if count[name] == 1 and name not in taken and len(name) <= self.limit
        }

    def find_shortened(self, names: Mapping[str, str]) -> dict[str, str]:
        """Return the full names, by key, of the operations whose tools have shortened names."""
        whole = {
            key: self._join_name(self.operations[key], self.unique_phrases[key]) for key in names
        }
        return {
            key: name
            for key, name in whole.items()
            if len(name) > self.limit and names[key] != name
        }

    def _join_name(self, operation: Operation, phrase: Words) -> str:
        name = "_".join((*self.prefixes.get(operation.source, ()), *phrase))
        return name if name[0].isalpha() else f"op_{name}"

    @cached_property
    def _word_counts(self) -> Counter[str]:
        """Number of phrases that contain each word; a frequent word distinguishes little."""
        return Counter(word for phrase in self.unique_phrases.values() for word in set(phrase))

    def _iterate_candidates(self, operation: Operation) -> Iterator[str]:
        """Yield possible names of an operation, best first."""
        phrase = self.unique_phrases[operation.key]
        room = self.limit - len(self._join_name(operation, phrase)) + len("_".join(phrase))
        for longer in itertools.chain((phrase,), _iterate_longer_phrases(operation, phrase)):
            for fitting in _shorten(longer, room, self._word_counts):
                yield self._join_name(operation, fitting)

    def _append_hash(self, key: str, taken: Collection[str]) -> str:
        """Return the phrase, cut after a word, with a hash of the operation's key."""
        name, seed = self._join_name(self.operations[key], self.unique_phrases[key]), key
        room = self.limit - 7
        if len(name) > room:
            head = name[: room + 1]
            name = head.rsplit("_", 1)[0] if "_" in head[1:] else head[:room]
        while (hashed := f"{name.rstrip('_')}_{digest(seed)}") in taken:
            seed += "+"
        return hashed


def _get_method(key: str) -> str:
    """Return what an operation key has before its path: "GET", "shop:GET"."""
    return key.partition(" ")[0]


def _assign_names(streams: Mapping[str, Iterator[str]], taken: Collection[str]) -> dict[str, str]:
    """Assign each key the first free name of its stream, in rounds.

    A name that several keys request in the same round is not assigned, so that the order of the
    keys does not matter.
    """
    unusable = set(taken)
    names: dict[str, str] = {}
    waiting = dict(streams)
    while waiting:
        requests: dict[str, list[str]] = {}
        for key, stream in list(waiting.items()):
            name = next((name for name in stream if name not in unusable), "")
            if name:
                requests.setdefault(name, []).append(key)
            else:
                del waiting[key]
        for name, keys in requests.items():
            unusable.add(name)
            if len(keys) == 1:
                names[keys[0]] = name
                del waiting[keys[0]]
    return names


def _derive_phrases(operations: Iterable[Operation]) -> dict[str, Words]:
    """Return the phrase of each operation by key; several operations may share one."""
    operations = list(operations)
    stems: dict[str, str] = {}
    for operation in operations:
        found = _NUMBERED.match(operation.operation_id)
        stems[operation.key] = found[1] if found else operation.operation_id
    count = Counter((operation.source, stems[operation.key]) for operation in operations)
    return {
        operation.key: derive_phrase(
            operation,
            stems[operation.key]
            if count[operation.source, stems[operation.key]] > 1
            else operation.operation_id,
        )
        for operation in operations
    }


# Disambiguation


def _disambiguate(
    operations: Mapping[str, Operation], phrases: Mapping[str, Words]
) -> dict[str, Words]:
    """Add words to equal phrases; a few may remain equal."""
    groups: dict[tuple[str, str], list[str]] = {}
    for key, phrase in phrases.items():
        groups.setdefault((operations[key].source, "_".join(phrase)), []).append(key)
    found = dict(phrases)
    for keys in groups.values():
        if len(keys) > 1:
            group = [operations[key] for key in keys]
            found |= zip(keys, _lengthen_phrases(group, phrases[keys[0]]), strict=True)
    return found


def _lengthen_phrases(group: Sequence[Operation], phrase: Words) -> list[Words]:
    """Return a longer phrase for each operation of a group with one phrase, unique if possible."""
    best = [phrase] * len(group)
    for extra in _iterate_features(group, phrase):
        longer = [_extend_phrase(words, more) for words, more in zip(best, extra, strict=True)]
        if len(set(longer)) > len(set(best)):
            best = longer
        if len(set(best)) == len(group):
            break
    return best


Qualifiers = tuple[Words, Words]
"""Words to insert after the verb of a phrase, and words to append."""


def _extend_phrase(phrase: Words, more: Qualifiers) -> Words:
    before, after = more
    verbs = 1 if len(phrase) > 1 and phrase[0] in VERBS else 0
    rest = phrase[verbs + 1 :] if before and phrase[verbs] in ARTICLES else phrase[verbs:]
    return (*phrase[:verbs], *before, *rest, *after)


def _iterate_features(group: Sequence[Operation], phrase: Words) -> Iterator[list[Qualifiers]]:
    """Yield the words that distinguish each operation, one feature after another."""
    rare = _drop_common([_find_path_words(it, phrase) for it in group])
    if max(map(len, rare)) > _FEW_WORDS:
        rare = [_find_distinguishing(words, rare) for words in rare]
    yield [_position_words(it, words, phrase) for it, words in zip(group, rare, strict=True)]
    for appended in _iterate_appended(group, phrase):
        yield [((), words) for words in appended]


def _iterate_appended(group: Sequence[Operation], phrase: Words) -> Iterator[list[Words]]:
    """Yield the words to append to each phrase: of versions, parameters, methods, tags, ..."""
    yield [find_versions(it) for it in group]
    paths = [split_path(it.path) for it in group]

    # The last path parameter that not all paths have: "by_pet_id".
    parameters = _drop_common([[words for _, words in path if words] for path in paths])
    yield [("by", *names[-1]) if names else () for names in parameters]

    # The method, except if the phrase begins with its verb.
    yield [
        () if METHOD_VERBS.get(it.method) == phrase[0] else ("with", *split_words(it.method))
        for it in group
    ]
    present = {singular(word) for word in phrase}
    tags = [split_words(it.tag) for it in group]
    yield [tuple(word for word in words if singular(word) not in present) for words in tags]
    yield _drop_common([split_words(it.operation_id) for it in group], phrase)
    yield [_find_query_words(it, phrase) for it in group]
    yield [("deprecated",) if it.deprecated else () for it in group]

    # The words of the paths whose spelling is not in the phrase, such as plurals.
    yield _drop_common([[word for stated, _ in path for word in stated] for path in paths], phrase)

    # The fewest words of each summary that distinguish it from the others.
    ignored = {*phrase, *PREPOSITIONS, *ARTICLES}
    rare = _drop_common([split_words(it.summary) for it in group], ignored)
    yield [_find_distinguishing(words, rare) for words in rare]


def _find_query_words(operation: Operation, phrase: Words) -> Words:
    """Return "by" and the first required query parameter that the phrase lacks: "by_status"."""
    for parameter in operation.parameters:
        if parameter.required and parameter.location == "query":
            words = split_words(parameter.name)
            if not set(words) <= set(phrase):
                return ("by", *words)
    return ()


def _drop_common(own: Sequence[Sequence[T]], ignored: Collection[T] = ()) -> list[tuple[T, ...]]:
    """Return the elements of each operation without those of all, unless it is the only one."""
    common = set.intersection(*map(set, own)) if len(own) > 1 else set()
    return [tuple(it for it in each if it not in common and it not in ignored) for each in own]


_FEW_WORDS = 2


def _find_distinguishing(words: Words, others: Sequence[Words]) -> Words:
    """Return the smallest subset of `words` that no other element of `others` contains."""
    sets = [set(other) for other in others if other != words]
    for size in range(min(len(words), 4)):
        for some in itertools.combinations(words, size):
            if not any(other.issuperset(some) for other in sets):
                return some
    return words


def _find_path_words(operation: Operation, phrase: Words) -> Words:
    """Return the words of a path, without versions, that the phrase does not contain."""
    present = {singular(word) for word in phrase}
    words = [word for stated, _ in split_path(operation.path) for word in stated]
    return tuple(
        dict.fromkeys(
            word for word in words if singular(word) not in present and not VERSION.match(word)
        )
    )


def _position_words(operation: Operation, words: Words, phrase: Words) -> Qualifiers:
    """Place words of a path before the noun of a phrase if they precede it in the path."""
    if len(phrase) == 1:
        return ((), words)
    path = [singular(word) for stated, _ in split_path(operation.path) for word in stated]
    present = {singular(word) for word in phrase[1:]}
    last = max((at for at, word in enumerate(path) if word in present), default=len(path))
    before = tuple(singular(word) for word in words if path.index(singular(word)) < last)
    after = tuple(word for word in words if path.index(singular(word)) >= last)
    return (before, after) if phrase[0] in VERBS else ((), (*before, *after))


def _iterate_longer_phrases(operation: Operation, phrase: Words) -> Iterator[Words]:
    """Yield longer phrases for an operation whose phrase is the name of another tool."""
    seen = {phrase}
    if operation.source:
        yield (*split_words(operation.source), *phrase)
    path = _find_path_words(operation, phrase)
    for words in (path[-1:], path[-2:], path):
        seen.add(longer := _extend_phrase(phrase, _position_words(operation, words, phrase)))
        yield longer
    for (more,) in _iterate_features([operation], phrase):
        longer = _extend_phrase(phrase, more)
        if longer not in seen:
            seen.add(longer)
            yield longer
            yield _extend_phrase(longer, _position_words(operation, path, longer))


# Shortening


def _shorten(phrase: Words, room: int, frequency: Mapping[str, int]) -> Iterator[Words]:
    """Yield the phrase or its shorter forms of at most `room` characters, most complete first."""
    plain = tuple(word for word in phrase if word not in _FILLERS)
    upsert = "_".join(plain).replace("create_or_update", "upsert").split("_")
    abbreviated = tuple(_SHORT_FORMS.get(word, word) for word in upsert)
    forms = [phrase, plain, abbreviated]
    fitting = next((form for form in forms if _measure_length(form) <= room), None)
    if fitting is not None:
        yield fitting
        return
    yield from itertools.islice(_drop_words(abbreviated, room, frequency), _MAX_SHORTENINGS)


def _drop_words(phrase: Words, room: int, frequency: Mapping[str, int]) -> Iterator[Words]:
    """Yield shorter phrases that omit as few words as possible, most frequent words first.

    The first verb and the last word stay.
    """
    phrase = (*phrase[:_MAX_WORDS_PER_END], *phrase[_MAX_WORDS_PER_END:][-_MAX_WORDS_PER_END:])
    while len(phrase) > _MAX_WORDS:
        common = min(phrase[1:-1], key=lambda word: -frequency.get(word, 0))
        at = phrase.index(common, 1)
        phrase = (*phrase[:at], *phrase[at + 1 :])
    verb = next((at for at, word in enumerate(phrase) if word in VERBS), 0)
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
            if _measure_length(rest) <= room and not is_torn and not _has_loose_preposition(rest):
                yield rest


def _has_loose_preposition(phrase: Words) -> bool:
    """Check whether a preposition has lost its noun."""
    return phrase[0] in PREPOSITIONS or any(
        one in PREPOSITIONS and other in PREPOSITIONS for one, other in itertools.pairwise(phrase)
    )


def _measure_length(phrase: Words) -> int:
    return len("_".join(phrase))
