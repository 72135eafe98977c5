"""The search index: the words of each tool, weighted by the field that contains them (BM25F)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from mcpgen.ir.tool_plan import ServerPlan, ToolPlan, WorkflowPlan
from mcpgen.jsonschema.types import JsonValue
from mcpgen.plan.naming.operation_phrases import is_opaque
from mcpgen.plan.naming.words import snake_case
from mcpgen.search.index import Entry
from mcpgen.search.query import CHANGE, READ, REMOVE, find_effects
from mcpgen.search.words import verbs, words
from mcpgen.text.prose import plain_line, shorten_at_sentence

_MAX_SUMMARY = 120
_MAX_ARGUMENT_DEPTH = 3

# The weight of a word by field, and its saturation
# (BM25F's weights, b and k1). Half or twice of any of them moves one answer in a hundred
# (tests/bigapi): they were chosen round.
_WEIGHTS = {
    "title": 2.0,
    "path": 2.0,
    "tag": 1.0,
    "name": 0.5,
    "description": 0.5,
    "arguments": 0.5,  # their names, and the values that they can have
    "about_arguments": 0.25,
    "kin": 0.15,  # words of only the other operations on the same resource
}
_LENGTH = 0.5
_SATURATION = 0.25
# A sentence that so many tools share does not distinguish them.
_MOST_SHARING = 0.01
_ALWAYS_SHARED = 3

_CALLER = re.compile(r"\b(?:authenticated|current) user\b", re.IGNORECASE)
_WHO_CALLS = frozenset({"account", "me", "my", "myself", "self", "user"})  # segments of a path
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n")
_LAST_NAMES = re.compile(r"(?:/\{[^}]*\})+$")
_NAMED = re.compile(r"([^/{}]*)/\{([^}]*)\}")

_Tool = ToolPlan | WorkflowPlan
_Fields = dict[str, Counter[str]]


def make_index(plan: ServerPlan) -> tuple[Entry, ...]:
    """Return the search index entries of the tools, by name; () if all tools are listed."""
    if plan.search is None:
        return ()
    tools: list[_Tool] = [*plan.listed_tools, *plan.workflows]
    tools.sort(key=lambda tool: tool.name)
    fields = _collect_fields(tools)
    terms = _weigh_terms(fields)
    return tuple(_build_entry(tool, found) for tool, found in zip(tools, terms, strict=True))


def find_tag(tool: _Tool) -> str:
    """Return the tag of a tool in the search."""
    return "workflows" if isinstance(tool, WorkflowPlan) else tool.operation.tag


def _build_entry(tool: _Tool, terms: dict[int, str]) -> Entry:
    title = words(tool.title)
    subject = (
        words(_join_fixed_segments(tool))
        or [word for word in title if word not in verbs()]
        or title
    )
    return Entry(
        name=tool.name,
        summary=shorten_at_sentence(plain_line(tool.title), _MAX_SUMMARY),
        operation=tool.key,
        tag=find_tag(tool),
        verb=next((word for word in title[:1] if word in verbs()), ""),
        subject=tuple(dict.fromkeys(subject)),
        names=_list_named_things(tool),
        lists=_lists(tool),
        effect=_find_effect(tool),
        is_own=_is_own(tool),
        is_deprecated=isinstance(tool, ToolPlan) and tool.operation.deprecated,
        terms=terms,
    )


def _find_path(tool: _Tool) -> str:
    return "" if isinstance(tool, WorkflowPlan) else tool.operation.path


def _join_fixed_segments(tool: _Tool) -> str:
    return " ".join(part for part in _find_path(tool).split("/") if "{" not in part)


def _list_named_things(tool: _Tool) -> tuple[str, ...]:
    """Return the stems of identified things: `issu`, `team` for /sub-issues/{id}/{team_slug}."""
    named = ((*words(part)[-1:], *words(name)) for part, name in _NAMED.findall(_find_path(tool)))
    return tuple(dict.fromkeys(chain.from_iterable(named)))


def _lists(tool: _Tool) -> tuple[str, ...]:
    if isinstance(tool, WorkflowPlan) or tool.operation.method != "GET":
        return ()
    last = tool.operation.path.rpartition("/")[2]
    return () if "{" in last else tuple(dict.fromkeys(words(last)))


def _find_effect(tool: _Tool) -> str:
    if tool.annotations.get("readOnlyHint"):
        return READ
    if isinstance(tool, WorkflowPlan):
        return ""
    removes = tool.operation.method == "DELETE" or find_effects(tool.title) == {REMOVE}
    return REMOVE if removes else CHANGE


def _is_own(tool: _Tool) -> bool:
    """Whether a tool is about the caller: `/user/emails`, `/users/me`."""
    if isinstance(tool, WorkflowPlan):
        return False
    is_mentioned = _CALLER.search(tool.title) is not None
    return is_mentioned or not _WHO_CALLS.isdisjoint(tool.operation.path.split("/"))


def _weigh_terms(tools: Sequence[_Fields]) -> Iterator[dict[int, str]]:
    """Yield the weights of the words of each tool: BM25F without rarity, in tenths."""
    average = {
        name: sum(fields[name].total() for fields in tools) / len(tools) or 1.0 for name in _WEIGHTS
    }
    for fields in tools:
        weights: defaultdict[str, float] = defaultdict(float)
        for name, weight in _WEIGHTS.items():
            length = 1 - _LENGTH + _LENGTH * fields[name].total() / average[name]
            for word, count in fields[name].items():
                weights[word] += weight * count / length
        by_tenths: defaultdict[int, list[str]] = defaultdict(list)
        for word, it in sorted(weights.items()):
            by_tenths[round(10 * it / (it + _SATURATION))].append(word)
        yield {tenths: " ".join(by_tenths[tenths]) for tenths in sorted(by_tenths, reverse=True)}


def _collect_fields(tools: Sequence[_Tool]) -> list[_Fields]:
    """Return the words of each tool, by field."""
    sentences = [_split_description(tool) for tool in tools]
    arguments = [list(_iterate_descriptions(tool.input_schema)) for tool in tools]
    shared = _find_shared(sentences) | _find_shared(arguments)
    found = [
        {
            "title": Counter(words(tool.title)),
            "path": Counter(words(_join_fixed_segments(tool))),
            "tag": Counter(words(" ".join(_list_tag_words(tool)))),
            "name": _name_words(tool),
            "description": Counter(_select_distinctive(said, shared)),
            "arguments": Counter(words(" ".join(_iterate_argument_words(tool.input_schema)))),
            "about_arguments": Counter(_select_distinctive(about, shared)),
        }
        for tool, said, about in zip(tools, sentences, arguments, strict=True)
    ]
    _add_kin(tools, found)
    return found


def _name_words(tool: _Tool) -> Counter[str]:
    """Return the words of the operationId, which the tool's name may omit."""
    if isinstance(tool, ToolPlan):
        operation_id = tool.operation.operation_id
        if operation_id and not is_opaque(operation_id):
            return Counter(words(snake_case(operation_id)))
    return Counter(words(tool.name))


def _list_tag_words(tool: _Tool) -> Sequence[str]:
    tags = tool.operation.tags if isinstance(tool, ToolPlan) else ()
    return tags or (find_tag(tool),)


def _split_description(tool: _Tool) -> list[str]:
    """Return the sentences of a tool's description that do not repeat its title."""
    title = tool.title.rstrip(".")
    return [it for it in _SENTENCE.split(tool.description) if it.strip().rstrip(".") != title]


def _find_shared(texts: Sequence[Iterable[str]]) -> set[str]:
    """Return the texts that occur in too many tools to distinguish them."""
    most = max(_ALWAYS_SHARED, _MOST_SHARING * len(texts))
    tools_with = Counter(chain.from_iterable(map(set, texts)))
    return {text for text, count in tools_with.items() if count > most}


def _select_distinctive(texts: Iterable[str], shared: set[str]) -> list[str]:
    return words(" ".join(text for text in texts if text not in shared))


def _add_kin(tools: Sequence[_Tool], found: Sequence[_Fields]) -> None:
    """Add the words of other tools on the same resource to each tool."""
    said = [{*chain.from_iterable(fields.values())} for fields in found]
    families: dict[str, list[int]] = {}
    for number, tool in enumerate(tools):
        families.setdefault(_LAST_NAMES.sub("", _find_path(tool)) or tool.name, []).append(number)
    for family in families.values():
        for number in family:
            others = set().union(*(said[other] for other in family if other != number))
            found[number]["kin"] = Counter(others - said[number])


def _iterate_argument_words(schema: JsonValue, depth: int = 0) -> Iterator[str]:
    """Yield the names and the enum values of arguments and their members."""
    if not isinstance(schema, dict) or depth > _MAX_ARGUMENT_DEPTH:
        return
    yield from (value for value in schema.get("enum", ()) if isinstance(value, str))
    yield from schema.get("properties", {})
    for member in _iterate_members(schema):
        yield from _iterate_argument_words(member, depth + 1)


def _iterate_descriptions(schema: JsonValue, depth: int = 0) -> Iterator[str]:
    """Yield the descriptions of arguments and of their members."""
    if not isinstance(schema, dict) or depth > _MAX_ARGUMENT_DEPTH:
        return
    for member in _iterate_members(schema):
        if isinstance(member, dict) and isinstance(member.get("description"), str):
            yield str(member["description"])
        yield from _iterate_descriptions(member, depth + 1)


def _iterate_members(schema: Mapping[str, JsonValue]) -> Iterator[JsonValue]:
    yield from schema.get("properties", {}).values()
    yield schema.get("items")
    for keyword in ("anyOf", "oneOf", "allOf"):
        yield from schema.get(keyword, ())
