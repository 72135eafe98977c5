"""The search index: the words of each tool, weighted by the field that contains them (BM25F)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from mcpgen.ir.tool_plan import ServerPlan, ToolPlan, WorkflowPlan
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.plan.naming.operation_phrases import is_opaque
from mcpgen.plan.naming.words import snake_case
from mcpgen.plan.tools.search_lexicon import find_related
from mcpgen.plan.tools.search_results import ResultReader, ResultWords, list_stems
from mcpgen.search.index import Entry, Lexicon, SearchIndex
from mcpgen.search.query import CHANGE, READ, REMOVE, find_effects
from mcpgen.search.words import verbs, words
from mcpgen.text.prose import plain_line, shorten_at_sentence

_MAX_SUMMARY = 120
_MAX_ABOUT = 300
_MAX_ARGUMENT_DEPTH = 3

# The weight of a word by field, and its saturation
# (BM25F's weights, b and k1). Half or twice of any of them moves one answer in a hundred
# (tests/bigapi): they were chosen round.
_WEIGHTS = {
    "title": 2.0,
    "path": 2.0,
    "tag": 1.0,
    "name": 0.5,
    "description": 0.75,
    "arguments": 0.5,  # their names, and the values that they can have
    "about_arguments": 0.4,
    "about_tag": 0.3,
    "result": 0.1,  # names of the members of its result
    "about_result": 0.15,  # descriptions of its result
    "kin": 0.15,  # words of only the other operations on the same resource
}
_TOPICS = ("title", "path", "tag")  # fields with the API's own words for its things
_LENGTH = 0.5
_SATURATION = 1.0
# A sentence that so many tools share does not distinguish them.
_MOST_SHARING = 0.01
_ALWAYS_SHARED = 3

_CALLER = re.compile(r"\b(?:authenticated|current) user\b", re.IGNORECASE)
_WHO_CALLS = frozenset({"account", "me", "my", "myself", "self", "user"})  # segments of a path
# The search skips to the first space, which the look-behinds include.
_SENTENCE = re.compile(r"\s(?:(?<=[.!?:]\s)\s*|(?<=\n))")
_LAST_NAMES = re.compile(r"(?:/\{[^}]*\})+$")
_NAMED = re.compile(r"([^/{}]*)/\{([^}]*)\}")

_Tool = ToolPlan | WorkflowPlan
_Fields = dict[str, Counter[str]]


def make_index(plan: ServerPlan) -> SearchIndex | None:
    """Return the search index of the tools, by name; None if all tools are listed."""
    if plan.search is None:
        return None
    tools: list[_Tool] = [*plan.listed_tools, *plan.workflows]
    tools.sort(key=lambda tool: tool.name)
    fields = _collect_fields(plan, tools)
    terms = _weigh_terms(fields)
    entries = (_build_entry(tool, found) for tool, found in zip(tools, terms, strict=True))
    return SearchIndex(_build_lexicon(fields), tuple(entries))


def _build_lexicon(fields: Sequence[_Fields]) -> Lexicon:
    terms = set[str]().union(*(counted for each in fields for counted in each.values()))
    topics = set[str]().union(*(each[name] for each in fields for name in _TOPICS))
    return Lexicon(find_related(terms, topics))


def find_tag(tool: _Tool) -> str:
    """Return the tag of a tool in the search."""
    return "workflows" if isinstance(tool, WorkflowPlan) else tool.operation.tag


def _build_entry(tool: _Tool, terms: dict[int, str]) -> Entry:
    title = list_stems(tool.title)
    subject = (
        [*chain.from_iterable(map(list_stems, _list_fixed_segments(tool)))]
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


def _list_fixed_segments(tool: _Tool) -> Iterable[str]:
    operations = () if isinstance(tool, WorkflowPlan) else tool.operations
    parts = [part for it in operations for part in it.path.split("/") if "{" not in part]
    return parts if len(operations) <= 1 else dict.fromkeys(parts)


def _list_named_things(tool: _Tool) -> tuple[str, ...]:
    """Return the stems of identified things: `issu`, `team` for /sub-issues/{id}/{team_slug}."""
    found = _NAMED.findall(_find_path(tool))
    named = ((*list_stems(part)[-1:], *list_stems(name)) for part, name in found)
    return tuple(dict.fromkeys(chain.from_iterable(named)))


def _lists(tool: _Tool) -> tuple[str, ...]:
    if isinstance(tool, WorkflowPlan) or tool.operation.method != "GET":
        return ()
    last = tool.operation.path.rpartition("/")[2]
    return () if "{" in last else tuple(dict.fromkeys(list_stems(last)))


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
    lengths = [{name: fields[name].total() for name in _WEIGHTS} for fields in tools]
    average = {name: sum(each[name] for each in lengths) / len(tools) or 1.0 for name in _WEIGHTS}
    for fields, totals in zip(tools, lengths, strict=True):
        weights: dict[str, float] = {}
        for name, weight in _WEIGHTS.items():
            length = 1 - _LENGTH + _LENGTH * totals[name] / average[name]
            for word, count in fields[name].items():
                weights[word] = weights.get(word, 0.0) + weight * count / length
        by_tenths: defaultdict[int, list[str]] = defaultdict(list)
        for word, it in weights.items():
            if tenths := round(10 * it / (it + _SATURATION)):
                by_tenths[tenths].append(word)
        yield {
            tenths: " ".join(sorted(by_tenths[tenths]))
            for tenths in sorted(by_tenths, reverse=True)
        }


def _collect_fields(plan: ServerPlan, tools: Sequence[_Tool]) -> list[_Fields]:
    """Return the words of each tool, by field."""
    about_tags = {
        tag: Counter(words(_start_of(text))) for tag, text in plan.api.tag_descriptions.items()
    }
    reader = ResultReader(plan.api.schemas)
    results = [_count_results(tool, reader) for tool in tools]
    sentences = [_split_description(tool) for tool in tools]
    arguments = [_read_arguments(tool) for tool in tools]
    shared = _find_shared(sentences) | _find_shared([each.descriptions for each in arguments])
    found = [
        {
            "title": Counter(list_stems(tool.title)),
            "path": _count_stems(_list_fixed_segments(tool)),
            "tag": _count_stems(_list_tag_words(tool)),
            "name": _name_words(tool),
            "description": _count_stems(_select_distinctive(sentence, shared)),
            "arguments": _count_stems(argument.names),
            "about_arguments": _count_stems(_select_distinctive(argument.descriptions, shared)),
            "about_tag": about_tags.get(find_tag(tool), Counter()),
            "result": result.names,
            "about_result": result.descriptions,
        }
        for tool, sentence, argument, result in zip(
            tools, sentences, arguments, results, strict=True
        )
    ]
    _add_kin(tools, found)
    return found


def _name_words(tool: _Tool) -> Counter[str]:
    """Return the words of the operationId, which the tool's name may omit."""
    if isinstance(tool, ToolPlan) and not tool.merges:
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


def _select_distinctive(texts: Iterable[str], shared: set[str]) -> Iterator[str]:
    return (text for text in texts if text not in shared)


def _count_stems(texts: Iterable[str]) -> Counter[str]:
    return Counter(chain.from_iterable(map(list_stems, texts)))


def _add_kin(tools: Sequence[_Tool], found: Sequence[_Fields]) -> None:
    """Add the words of other tools on the same resource to each tool."""
    terms = [{*chain.from_iterable(fields.values())} for fields in found]
    families: dict[str, list[int]] = {}
    for number, tool in enumerate(tools):
        families.setdefault(_LAST_NAMES.sub("", _find_path(tool)) or tool.name, []).append(number)
    for family in families.values():
        shared = set().union(*(terms[number] for number in family))
        for number in family:
            found[number]["kin"] = Counter(shared - terms[number])


class _ArgumentTexts(Struct, frozen=True):
    """Texts of the arguments of a tool and of their members."""

    names: list[str]  # also the values that they can have
    descriptions: list[str]


def _read_arguments(tool: _Tool) -> _ArgumentTexts:
    """Return the texts of the arguments that are about the task and not about the result."""
    own = (
        {tool.continuation} if isinstance(tool, WorkflowPlan) else {tool.continuation, tool.fields}
    )
    properties = tool.input_schema.get("properties", {})
    kept = {name: schema for name, schema in properties.items() if name not in own}
    found = _ArgumentTexts([], [])
    _collect_texts({**tool.input_schema, "properties": kept}, found)
    return found


def _collect_texts(schema: JsonObject, found: _ArgumentTexts, depth: int = 0) -> None:
    """Add the texts of the members of a schema to `found`."""
    if depth > _MAX_ARGUMENT_DEPTH:
        return
    found.names.extend(value for value in schema.get("enum", ()) if isinstance(value, str))
    found.names.extend(schema.get("properties", ()))
    for member in _iterate_members(schema):
        if isinstance(member, dict):
            if isinstance(member.get("description"), str):
                found.descriptions.append(member["description"])
            _collect_texts(member, found, depth + 1)


def _start_of(text: str) -> str:
    return shorten_at_sentence(plain_line(text), _MAX_ABOUT)


def _count_results(tool: _Tool, reader: ResultReader) -> ResultWords:
    return ResultWords() if isinstance(tool, WorkflowPlan) else reader.count(tool.operation)


def _iterate_members(schema: Mapping[str, JsonValue]) -> Iterator[JsonValue]:
    yield from schema.get("properties", {}).values()
    yield schema.get("items")
    for keyword in ("anyOf", "oneOf", "allOf"):
        yield from schema.get(keyword, ())
