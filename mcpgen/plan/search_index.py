"""What a search finds tools by: the words of each, weighted by where they stand."""

from __future__ import annotations

from collections.abc import Iterator

from mcpgen.ir.json_types import JsonValue
from mcpgen.ir.tool_plan import ToolPlan, WorkflowPlan
from mcpgen.ir.tool_search import IndexEntry
from mcpgen.plan.descriptions import one_line, shorten
from mcpgen.runtime.words import words

_MAX_SUMMARY = 120
_MAX_DESCRIPTION_WORDS = 60
_MAX_ARGUMENT_DEPTH = 3

# How much a word tells of a tool, by where it stands. Chosen once, by what a field is for: half or
# twice of any of them moves few answers (tests/bigapi).
_NAME, _TITLE, _PATH, _OTHER_VERB, _TAG, _ARGUMENT, _DESCRIPTION = 3.0, 3.0, 2.0, 3.0, 1.0, 1.0, 0.5
_DEPRECATED = 0.7
_PER_LEVEL = (
    0.06  # what each fixed segment of a path takes away: `/gists` before `/gists/{id}/star`
)

# Verbs that are used in each other's place. Whoever asks a question wants to read.
_VERBS = tuple(
    frozenset(words(group))
    for group in (
        (
            "get list find fetch read show see view look retrieve display check tell know "
            "what which who whose where when how many"
        ),
        "search find query look",
        "create add new make open post insert register publish start write",
        "add attach append include put give",
        "update change edit modify set rename patch adjust mark alter",
        "delete remove drop erase destroy clear take",
        "send deliver dispatch trigger post",
        "run trigger start execute launch dispatch",
        "cancel stop abort end",
        "upload attach send",
        "download export save get",
        "request ask",
        "invite ask",
        "enable activate allow",
        "disable deactivate forbid",
    )
)
_ALL_VERBS = frozenset().union(*_VERBS)
_VERB_OF_METHOD = {
    "DELETE": "delete",
    "GET": "get",
    "PATCH": "update",
    "POST": "create",
    "PUT": "set",
}


def index_entry(tool: ToolPlan | WorkflowPlan) -> IndexEntry:
    """Give what the index of a server says of one tool."""
    terms: dict[str, float] = {}
    for weight, found in _fields(tool):
        for term in found:
            terms[term] = terms.get(term, 0.0) + weight
    title = dict.fromkeys(words(tool.title))
    return IndexEntry(
        name=tool.name,
        summary=shorten(one_line(tool.title), _MAX_SUMMARY),
        operation=tool.key if isinstance(tool, WorkflowPlan) else tool.operation.key,
        tag=tag_of(tool),
        subject=tuple(word for word in title if word not in _ALL_VERBS) or tuple(title),
        terms=terms,
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


def _fields(tool: ToolPlan | WorkflowPlan) -> Iterator[tuple[float, set[str]]]:
    yield _NAME, set(words(tool.name))
    yield _TITLE, set(words(tool.title))
    yield _OTHER_VERB, _other_verbs(tool)
    if isinstance(tool, ToolPlan):
        yield _PATH, set(words(tool.operation.path))
        yield _TAG, set(words(" ".join(tool.operation.tags or (tool.operation.tag,))))
    yield _ARGUMENT, set(words(" ".join(_argument_words(tool.input_schema))))
    yield _DESCRIPTION, set(words(tool.description)[:_MAX_DESCRIPTION_WORDS])


def _other_verbs(tool: ToolPlan | WorkflowPlan) -> set[str]:
    """The verbs that somebody may use for what the tool does, apart from its own."""
    stated = {*words(tool.title)[:1], *words(tool.name)[:1]}
    method = tool.operation.method if isinstance(tool, ToolPlan) else ""
    own = stated | set(words(_VERB_OF_METHOD.get(method, "")))
    return {verb for group in _VERBS if own & group for verb in group} - own


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
