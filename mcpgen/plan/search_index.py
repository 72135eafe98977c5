"""What a search finds tools by: the words of each, weighted by where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mcpgen.ir.json_types import JsonValue
from mcpgen.ir.tool_plan import ToolPlan, WorkflowPlan
from mcpgen.ir.tool_search import IndexEntry
from mcpgen.plan.descriptions import one_line, shorten
from mcpgen.plan.synonyms import NOUN_GROUPS
from mcpgen.runtime.verbs import CHANGE, READ, REMOVE, VERB_GROUPS, VERBS
from mcpgen.runtime.words import words

_MAX_SUMMARY = 120
_MAX_DESCRIPTION_WORDS = 100
_MAX_ARGUMENT_DEPTH = 3

# How much a word tells of a tool, by where it stands. Chosen once, by what a field is for: half or
# twice of any of them moves few answers (tests/bigapi).
_NAME, _TITLE, _PATH, _OTHER_VERB, _OTHER_NOUN = 3.0, 3.0, 2.0, 3.0, 1.5
_TAG, _ARGUMENT, _DESCRIPTION = 1.0, 1.0, 1.0
_DEPRECATED = 0.7
_PER_LEVEL = (
    0.06  # what each fixed segment of a path takes away: `/gists` before `/gists/{id}/star`
)

_VERB_OF_METHOD = {
    "DELETE": "delete",
    "GET": "get",
    "PATCH": "update",
    "POST": "create",
    "PUT": "set",
}
_CALLER = re.compile(r"\b(?:authenticated|current) user\b", re.IGNORECASE)
_WHO_CALLS = frozenset({"account", "me", "my", "self", "user"})  # segments of a path


def index_entry(tool: ToolPlan | WorkflowPlan) -> IndexEntry:
    """Give what the index of a server says of one tool."""
    terms: dict[str, float] = {}
    for weight, found in _fields(tool):
        for term in found:
            terms[term] = terms.get(term, 0.0) + weight
    title = dict.fromkeys(words(_CALLER.sub("", tool.title)))
    return IndexEntry(
        name=tool.name,
        summary=shorten(one_line(tool.title), _MAX_SUMMARY),
        operation=tool.key if isinstance(tool, WorkflowPlan) else tool.operation.key,
        tag=tag_of(tool),
        subject=tuple(word for word in title if word not in VERBS) or tuple(title),
        terms=terms,
        lists=_lists(tool),
        effect=_effect(tool),
        is_own=_is_own(tool),
        prior=round(_prior(tool), 3),
    )


def tag_of(tool: ToolPlan | WorkflowPlan) -> str:
    """The tag under which a tool stands in a search."""
    return "workflows" if isinstance(tool, WorkflowPlan) else tool.operation.tag


def _prior(tool: ToolPlan | WorkflowPlan) -> float:
    if isinstance(tool, WorkflowPlan):
        return 1.0
    segments = tool.operation.path.strip("/").split("/")
    levels = sum(not segment.startswith("{") for segment in segments)
    standing = _DEPRECATED if tool.operation.deprecated else 1.0
    return standing / (1 + _PER_LEVEL * levels)


def _lists(tool: ToolPlan | WorkflowPlan) -> tuple[str, ...]:
    if isinstance(tool, WorkflowPlan) or tool.operation.method != "GET":
        return ()
    last = tool.operation.path.rpartition("/")[2]
    return () if "{" in last else tuple(dict.fromkeys(words(last)))


def _effect(tool: ToolPlan | WorkflowPlan) -> str:
    if tool.annotations.get("readOnlyHint"):
        return READ
    if isinstance(tool, WorkflowPlan):
        return ""
    return REMOVE if tool.operation.method == "DELETE" else CHANGE


def _is_own(tool: ToolPlan | WorkflowPlan) -> bool:
    """Whether it is about who calls: `/user/emails`, `/users/me`."""
    if isinstance(tool, WorkflowPlan):
        return False
    is_said = _CALLER.search(tool.title) is not None
    return is_said or not _WHO_CALLS.isdisjoint(tool.operation.path.split("/"))


def _fields(tool: ToolPlan | WorkflowPlan) -> Iterator[tuple[float, set[str]]]:
    stated = {*words(tool.name), *words(tool.title)}
    yield _NAME, set(words(tool.name))
    yield _TITLE, set(words(tool.title))
    yield _OTHER_VERB, _other_verbs(tool)
    if isinstance(tool, ToolPlan):
        stated |= set(words(tool.operation.path))
        yield _PATH, set(words(tool.operation.path))
        yield _TAG, set(words(" ".join(tool.operation.tags or (tool.operation.tag,))))
    yield _OTHER_NOUN, _in_place_of(stated, NOUN_GROUPS)
    yield _ARGUMENT, set(words(" ".join(_argument_words(tool.input_schema))))
    yield _DESCRIPTION, set(words(tool.description)[:_MAX_DESCRIPTION_WORDS])


def _other_verbs(tool: ToolPlan | WorkflowPlan) -> set[str]:
    """The verbs that somebody may use for what the tool does, apart from its own."""
    stated = {*words(tool.title)[:1], *words(tool.name)[:1]}
    again = {verb.removeprefix("re") for verb in stated if verb.startswith("re")} & VERBS
    method = tool.operation.method if isinstance(tool, ToolPlan) else ""
    own = stated | again | set(words(_VERB_OF_METHOD.get(method, "")))
    return _in_place_of(own, VERB_GROUPS) - stated


def _in_place_of(stated: set[str], groups: Iterable[frozenset[str]]) -> set[str]:
    return {word for group in groups if stated & group for word in group} - stated


def _argument_words(schema: JsonValue, depth: int = 0) -> Iterator[str]:
    """The names of arguments, of their members, and the values that they can have."""
    if not isinstance(schema, dict) or depth > _MAX_ARGUMENT_DEPTH:
        return
    values = schema.get("enum")
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, str))
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, member in properties.items():
            yield name
            yield from _argument_words(member, depth + 1)
    yield from _argument_words(schema.get("items"), depth + 1)
