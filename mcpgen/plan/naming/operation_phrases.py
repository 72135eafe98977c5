"""The phrase that names an operation: from its operationId, summary, or method and path.

Each operation is considered alone, so several may have the same phrase.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache

from mcpgen.ir.api import Operation
from mcpgen.plan.naming.words import (
    ONLY_VERBS,
    VERBS,
    VERSION,
    base_form,
    is_latin,
    singular,
    split_words,
)

Words = tuple[str, ...]

PREPOSITIONS = frozenset({"as", "at", "by", "for", "from", "in", "of", "on", "to", "via", "with"})
ARTICLES = frozenset({"a", "an", "the"})
METHOD_VERBS = {
    "DELETE": "delete",
    "GET": "get",
    "HEAD": "check",
    "PATCH": "update",
    "POST": "create",
    "PUT": "replace",
}
_LIKE_ENGLISH = frozenset({"delete", "get"})  # methods that are verbs of ordinary tool names
_MAX_SUMMARY_WORDS = 5
_OPAQUE = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?=[a-z]*[0-9])[0-9a-f]{8,}"
    r"|(action|api|call|endpoint|func|function|handler|id|method|op|operation|req|request|resource"
    r"|route)[\W_]*[0-9]+",
    re.IGNORECASE,
)
_DIGITS_BETWEEN_LETTERS = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")
_MOST_ALTERNATIONS = 4
_USING = re.compile(r"Using(DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT)\Z")  # as Springfox appends
_CLASS = re.compile(r"Controller(?=[^A-Za-z0-9])|Resource(?=[.#:])")
_EXTENSION = re.compile(r"(?<=.)\.(json|xml|ya?ml|csv|html?|php|aspx?|cgi|do)\Z", re.IGNORECASE)
_PARAMETER = re.compile(r"\{([^{}]*)\}|\A:([A-Za-z_]\w*)")
_API_WORDS = frozenset({"api", "apis", "rest"})


def derive_phrase(operation: Operation, operation_id: str) -> Words:
    """Return the words that name an operation, at least one.

    `operation_id` is its operationId, without a number that only distinguishes it from siblings.
    """
    if stated := split_words(operation.extension_name):
        return stated
    if not operation_id:
        return describe_request(operation)
    return (
        _parse_operation_id(operation_id, operation)
        or _parse_summary(operation)
        or describe_request(operation)
    )


@lru_cache(maxsize=8192)
def split_path(path: str) -> Sequence[tuple[Words, Words]]:
    """Split each segment of a path into words: those of its fixed text and of its parameters.

    The segments of an API's root and version are included.
    """
    segments: list[tuple[Words, Words]] = []
    for segment in _EXTENSION.sub("", path).split("/"):
        names = ["".join(found) for found in _PARAMETER.findall(segment)]
        for part in re.split(r"[?#&.:]", _PARAMETER.sub("{}", segment)):
            count = part.count("{}")
            parameter = split_words("/".join(names[:count]))
            del names[:count]
            stated = split_words(part)
            if stated or parameter:
                segments.append((stated, parameter))
    return tuple(segments)


def find_versions(operation: Operation) -> Words:
    """Return the unique version words of the first server's URL and the path."""
    address = operation.servers[0].url.partition("://")[2] if operation.servers else ""
    segments = (*split_path(address.partition("/")[2]), *split_path(operation.path))
    found = (word for stated, _ in segments for word in stated if VERSION.match(word))
    return tuple(dict.fromkeys(found))


# By the operationId


def _parse_operation_id(operation_id: str, operation: Operation) -> Words:
    """Return the words of an operationId beyond method, path and version; () if there are none."""
    request = operation_id.lower().removeprefix(operation.method.lower()).lstrip(" -_:.")
    if is_opaque(operation_id) or request.startswith(operation.path.lower()):
        return ()
    name = _strip_path(_USING.sub("", operation_id), operation)
    words = split_words(_CLASS.sub("", name)) or split_words(name)
    method = operation.method.lower()
    is_prefixed = len(words) > 1 and words[0] == method and not name.startswith(operation.method)
    if is_prefixed and method not in _LIKE_ENGLISH and words[1] in VERBS:
        words = words[1:]
    if not words or words == (method,) or _repeats_request(words, operation):
        return ()
    if len(words) > 2 and words[-1] == method and _has_redundant_method(words, operation):
        words = words[:-1]
    return remove_repetition(_strip_versions(words, operation))


def is_opaque(operation_id: str) -> bool:
    """Check whether an operationId is a number, a UUID, a hash or another unreadable code."""
    if _OPAQUE.fullmatch(operation_id):
        return True
    words = split_words(operation_id)
    if all(word.isdigit() or word.upper() in METHOD_VERBS for word in words):
        return not operation_id.isalpha()
    return len(_DIGITS_BETWEEN_LETTERS.findall(operation_id)) > _MOST_ALTERNATIONS


def _repeats_request(words: Words, operation: Operation) -> bool:
    """Check whether words only repeat the method and the path, in unnatural English.

    `get_pets` is natural for "GET /pets"; `post_pets` and `get_pets_pet_id` are not.
    """
    method = operation.method.lower()
    candidates = [words[1:]] if words[0] == method else []
    candidates += [words[:-1]] if words[-1] == method else []
    segments = split_path(operation.path)
    roots = len(segments) - len(_strip_root(segments))
    if any(map(_is_version, words)):
        candidates.append(words)
    if not candidates:
        return False
    for start in {0, roots}:
        rest = segments[start:]
        states_ids = any(
            one[0] and (one[1] or not other[0]) for one, other in itertools.pairwise([*rest, _END])
        )
        is_natural = (
            method in _LIKE_ENGLISH and not states_ids and len(rest) - start < _FEW_SEGMENTS
        )
        if not is_natural and any(_matches(candidate, rest) for candidate in candidates):
            return True
    return False


_END: tuple[Words, Words] = (("end",), ())
_FEW_SEGMENTS = 3


def _matches(words: Words, segments: Sequence[tuple[Words, Words]]) -> bool:
    """Check whether words match all segments; a parameter may be spelled "id" or "by" its name."""
    if not segments:
        return not words
    (stated, parameter), *rest = segments
    if words[: len(stated)] != stated:
        return False
    words = words[len(stated) :]
    if not parameter:
        return _matches(words, rest)
    spellings = {parameter, parameter[-1:], ("id",)}
    spellings |= {("by", *spelling) for spelling in spellings}
    return any(
        words[: len(spelling)] == spelling and _matches(words[len(spelling) :], rest)
        for spelling in sorted(spellings)
    )


def _strip_path(operation_id: str, operation: Operation) -> str:
    """Remove the path and the method from the end of an operationId, where FastAPI appends them.

    The operationId may have been generated from a path with a different prefix.
    """
    method = re.sub(r"\W", "_", operation.method.lower())
    if not operation_id.endswith(f"_{method}"):
        return operation_id
    segments = operation.path.split("/")
    for start in range(1, len(segments)):
        path = "/" + "/".join(segments[start:])
        ending = re.sub(r"\W", "_", path) + f"_{method}"
        name = operation_id.removesuffix(ending)
        if name in (operation_id, "") or not name.strip("_"):
            continue
        words, in_path = split_words(name), split_words(path)
        is_sure = "{" in path or path.strip("/").count("/") or path == "/"
        if not (is_sure or len(words) > 1 or words[0] in VERBS or set(words) <= set(in_path)):
            continue
        while "_" in name.strip("_") and re.search(r"_(apis?|rest|v[0-9]+\w*)\Z", name):
            name = name.rpartition("_")[0]
        return name
    return operation_id


def _has_redundant_method(words: Words, operation: Operation) -> bool:
    """Check whether the method at the end of words is redundant after another verb."""
    in_path = {singular(word) for stated, _ in split_path(operation.path) for word in stated}
    is_own_verb = _COMMON_VERBS.isdisjoint(words[:-1]) or words[-2] in PREPOSITIONS
    return words[-1] not in in_path and not is_own_verb


_COMMON_VERBS = frozenset(
    "add create delete find get list patch post put remove search set update".split()
)


def _strip_versions(words: Words, operation: Operation) -> Words:
    """Remove the versions that the path contains, and an "api" before one."""
    versions = find_versions(operation)
    remaining = tuple(
        word
        for index, word in enumerate(words)
        if word not in versions
        and not (word in _API_WORDS and words[index + 1 : index + 2] in {(v,) for v in versions})
    )
    return remaining if len(remaining) > 1 else words


def remove_repetition(words: Words) -> Words:
    """Remove words that occur twice: "pets_list_pets" becomes "list_pets"."""
    verb = next((at for at, word in enumerate(words) if word in VERBS), 0)
    object_ = {
        singular(word)
        for after, word in itertools.pairwise(words[verb:])
        if after not in PREPOSITIONS
    }
    before = tuple(word for word in words[:verb] if singular(word) not in object_)
    if len(before) < verb and _CLASS_WORDS.issuperset(before):
        before = ()
    unique = list(before)
    for word in words[verb:]:
        if unique[-1:] != [word]:
            unique.append(word)
    if len(unique) > 2 and unique[-1] in unique[:-1] and unique[-1] in ONLY_VERBS:
        unique.pop()
    by = unique.index("by") if "by" in unique else len(unique)
    if unique[by + 2 :] == ["id"] and singular(unique[by + 1]) in map(singular, unique[:by]):
        del unique[by + 1]  # "get_user_by_user_id"
    return tuple(unique)


_CLASS_WORDS = frozenset({"api", "controller", "endpoint", "handler", "resource", "service"})


# By the summary


def _parse_summary(operation: Operation) -> Words:
    """Return the summary as a phrase; () if it is not short or not in Latin letters."""
    summary = operation.summary.strip()
    if not is_latin(summary):
        return ()
    first = re.split(r"[.:;(\[\n]|\s[-\u2013\u2014]\s", summary, maxsplit=1)[0]
    first = re.sub(r"(?<=\w)['\u2019](?=\w)", "", first)
    words = [word for word in split_words(first) if word not in ARTICLES]
    if not words or len(words) > _MAX_SUMMARY_WORDS or words[0][0].isdigit():
        return ()
    words[0] = base_form(words[0])
    if words[0] not in VERBS:
        if len(words) < 2:
            return ()
        if operation.method in ("GET", "DELETE") and ONLY_VERBS.isdisjoint(words):
            words.insert(0, METHOD_VERBS[operation.method])
    return remove_repetition(tuple(words))


# By the method and the path


def describe_request(operation: Operation) -> Words:
    """Describe a method and a path in words: "get_pet" for "GET /pets/{petId}"."""
    segments = _strip_root(split_path(operation.path))
    verb = METHOD_VERBS.get(operation.method) or "_".join(split_words(operation.method)) or "call"
    nouns = [index for index, (stated, _) in enumerate(segments) if stated]
    if not nouns:
        return (verb, *(segments[-1][1] if segments else ("root",)))
    last = nouns[-1]
    action = segments[last][0]
    has_item = last + 1 < len(segments) or bool(segments[last][1])
    before = segments[:last]
    if not has_item and _is_action(action, operation.method, follows_item=last - 1 not in nouns):
        is_complete = len(action) > 1 and action[1] not in PREPOSITIONS
        return action if is_complete else (action[0], *_list_object_words(before), *action[1:])
    is_plural = singular(action[-1]) != action[-1]
    if operation.method == "GET" and not has_item and is_plural:
        verb = "list"
    if operation.method == "POST" and has_item:
        verb = "update"
    is_one = has_item or operation.method == "POST"
    noun = (*action[:-1], singular(action[-1])) if is_one else action
    return remove_repetition((verb, *_list_owner_words(before), *noun))


def _is_root(stated: Words) -> bool:
    return bool(stated) and all(word in _API_WORDS or _is_version(word) for word in stated)


def _is_version(word: str) -> bool:
    return VERSION.match(word) is not None or word.isdigit()


def _strip_root(segments: Sequence[tuple[Words, Words]]) -> Sequence[tuple[Words, Words]]:
    """Remove the leading segments of the API's root and version: "/api/v1"."""
    for start, (stated, parameter) in enumerate(segments):
        if parameter or not _is_root(stated):
            return segments[start:]
    return ()


def _list_owner_words(segments: Sequence[tuple[Words, Words]]) -> Words:
    """Return the words of the segments before the last, which name its owner or kind.

    A parameter's words are included only if no fixed segment precedes it.
    """
    words: list[str] = []
    for index, (stated, parameter) in enumerate(segments):
        if stated and not _is_root(stated):
            words += [*stated[:-1], singular(stated[-1])]
        elif parameter and not any(before for before, _ in segments[:index]):
            words += [word for word in parameter if word not in _KEY_WORDS]
    return tuple(words)


_KEY_WORDS = frozenset({"id", "guid", "key", "name", "sid", "slug", "uid", "uuid", "version"})


def _list_object_words(segments: Sequence[tuple[Words, Words]]) -> Words:
    """Return the object of an action: the owner, in the plural if no id follows."""
    owners = _list_owner_words(segments)
    if not owners or not segments[-1][0] or segments[-1][1]:
        return owners
    return (*owners[:-1], segments[-1][0][-1])


def _is_action(words: Words, method: str, *, follows_item: bool) -> bool:
    """Check whether the last segment names an action: "/pets/{petId}/archive"."""
    if words[0] not in VERBS:
        return False
    if words[0] in ONLY_VERBS:
        return True
    return (method != "GET" and (follows_item or len(words) > 1)) or words[0] == "list"
