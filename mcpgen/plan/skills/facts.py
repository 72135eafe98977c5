"""Facts about the tools of a server for its skills: effects, identifiers, pages, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from http import HTTPStatus
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.contract.flat_bodies import gather_schema
from mcpgen.ir.tool_plan import Argument, Pagination, ServerPlan, ToolPlan, WorkflowPlan
from mcpgen.jsonschema.references import follow_references
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.skills.writing import code, join_names, quote_sentence, quote_text
from mcpgen.plan.tools.annotations import ends_something
from mcpgen.plan.tools.identifier_sources import (
    iterate_collections,
)
from mcpgen.plan.tools.pagination import find_size_parameter, is_page_position
from mcpgen.text.uri_template import mask_variables

_MIN_LETTERS = 4  # letters of a name that means the same in all tools: not "id"
_MAX_MEMBERS = 8
_Collection: TypeAlias = tuple[str, str]  # the source of an operation, and its masked path
_PHRASES = frozenset(status.phrase.lower() for status in HTTPStatus)


class IdentifierSource(Struct, frozen=True):
    """Source of the values of an argument."""

    argument: str  # "pet_id"
    wire_name: str  # in the API, and in bodies: "petId"
    lists: tuple[str, ...]  # tools that list the identified items
    creators: tuple[str, ...]  # tools that create the identified items
    member: str  # of a listed or created item: "id"; "" if unknown
    users: frozenset[str]  # tools that take it
    is_ambiguous: bool = False  # the same name means something else in other tools
    is_in_bodies: bool = False  # some tool takes it as a member of its body


class ToolFacts:
    """The tools of a plan, and what connects them."""

    def __init__(self, plan: ServerPlan) -> None:
        self.plan = plan
        self.tools = {tool.name: tool for tool in plan.listed_tools}
        self.title = quote_text(plan.title, 80) or plan.name

    @cached_property
    def identifiers(self) -> tuple[IdentifierSource, ...]:
        """The arguments whose values other tools return, those of most tools first."""
        collections: dict[_Collection, dict[str, list[str]]] = {}
        users: dict[tuple[str, str, _Collection], set[str]] = {}
        for tool in self.tools.values():
            names = {it.wire_name: it.name for it in tool.arguments if it.location == "path"}
            for operation in tool.operations:
                if operation.method in {"GET", "POST"} and not operation.path.endswith("}"):
                    where = (operation.source, mask_variables(operation.path))
                    collection = collections.setdefault(where, {})
                    collection.setdefault(operation.method, []).append(tool.name)
                for variable, path in iterate_collections(operation):
                    if variable in names:
                        place = (operation.source, mask_variables(path))
                        users.setdefault((names[variable], variable, place), set()).add(tool.name)
        known = {key: taking for key, taking in users.items() if key[2] in collections}
        meanings = Counter(argument for argument, _, _ in known)
        for (argument, _, place), taking in users.items():
            if meanings[argument] == 1 and place not in collections:  # the same, in another path
                next(known[key] for key in known if key[0] == argument).update(taking)
        found = [
            self._describe_identifier(key, taking, collections[key[2]], meanings[key[0]] > 1)
            for key, taking in known.items()
        ]
        found = _join_repeated_sources(found)
        return tuple(sorted(found, key=lambda it: (-len(it.users), it.argument, it.lists)))

    @cached_property
    def lists(self) -> frozenset[str]:
        """The tools that list the items that an identifier identifies."""
        return frozenset(name for it in self.identifiers for name in it.lists)

    @cached_property
    def creators(self) -> frozenset[str]:
        """The tools that create the items that an identifier identifies."""
        return frozenset(name for it in self.identifiers for name in it.creators)

    @cached_property
    def _takers(self) -> Mapping[str, Sequence[ToolPlan]]:
        """The tools by the names of the values that they take."""
        takers: dict[str, list[ToolPlan]] = {}
        for tool in self.tools.values():
            for name in _list_taken_values(tool):
                takers.setdefault(name, []).append(tool)
        return takers

    @cached_property
    def general_errors(self) -> frozenset[str]:
        """Descriptions of errors that several statuses share, so that they explain none."""
        texts = {
            (response.description, response.status)
            for tool in self.tools.values()
            for response in tool.operation.responses
        }
        counted = Counter(text for text, _ in texts)
        return frozenset(text for text, count in counted.items() if count > 1)

    def _describe_identifier(
        self,
        key: tuple[str, str, _Collection],
        taking: set[str],
        collection: Mapping[str, Sequence[str]],
        is_ambiguous: bool,
    ) -> IdentifierSource:
        argument, wire_name, _ = key
        lists, creators = (tuple(sorted(collection.get(it, ()))) for it in ("GET", "POST"))
        schemas = [_item_schema(self.tools[name]) for name in lists]
        schemas += [self.tools[name].output_schema or {} for name in creators]
        members = (find_identifier(schema, wire_name) for schema in schemas)
        is_distinctive = not is_ambiguous and len(_normalize(wire_name)) >= _MIN_LETTERS
        names = (wire_name, f"{wire_name}s") if is_distinctive else ()
        others = [tool for name in names for tool in self._takers.get(name, ())]
        return IdentifierSource(
            argument,
            wire_name,
            lists,
            tuple(it for it in creators if it not in lists),
            next(filter(None, members), ""),
            frozenset(taking).union(tool.name for tool in others),
            is_ambiguous,
            any(
                wire_name in _body_schema(tool).get("properties", {})
                for tool in others
                if tool.flat_body is None
            ),
        )


def _join_repeated_sources(sources: Iterable[IdentifierSource]) -> list[IdentifierSource]:
    """Join the sources of one argument from the same tools: the lists of a merged tool."""
    found: dict[tuple[str, ...], IdentifierSource] = {}
    for source in sources:
        key = (source.argument, source.wire_name, *source.lists, "", *source.creators)
        known = found.get(key, source)
        found[key] = replace(known, users=known.users | source.users)
    counts = Counter(source.argument for source in found.values())
    return [
        replace(it, is_ambiguous=it.is_ambiguous and counts[it.argument] > 1)
        for it in found.values()
    ]


def _list_taken_values(tool: ToolPlan) -> list[str]:
    """Return the names of the values that a tool takes as arguments or in its body.

    A value of an enumeration identifies nothing, so it is omitted.
    """
    definitions = tool.input_schema.get("$defs", {})
    properties = tool.input_schema.get("properties", {})
    listed = {item.wire_name: properties.get(item.name, {}) for item in tool.arguments}
    members = {**listed, **_body_schema(tool).get("properties", {})}
    return [
        name
        for name, schema in members.items()
        if "enum" not in follow_references(schema, definitions)
    ]


def _item_schema(tool: ToolPlan) -> JsonObject:
    """Return the schema of the items that a tool lists, with the definitions around it."""
    schema = tool.output_schema or {}
    definitions = schema.get("$defs", {})
    properties = schema.get("properties", {})
    preferred = tool.pagination.items if tool.pagination is not None else ""
    names = [name for name in (preferred, tool.result_key) if name in properties] or list(
        properties
    )
    for name in names:
        member = follow_references(properties[name], definitions)
        items = member.get("items")
        if isinstance(items, dict):
            return {"$defs": definitions, **follow_references(items, definitions)}
    return schema


def find_identifier(schema: JsonObject, wire_name: str) -> str:
    """Return the member of an item that has its identifier; "" if its name does not show that."""
    properties = follow_references(schema, schema.get("$defs", {})).get("properties", {})
    plain = {_normalize(name): name for name in properties}
    normalized = _normalize(wire_name)
    if normalized in plain:
        return str(plain[normalized])
    endings = [name for key, name in plain.items() if len(key) > 1 and normalized.endswith(key)]
    return max(endings, key=len, default="")


def _normalize(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _body_schema(tool: ToolPlan) -> JsonObject:
    body = next((item for item in tool.arguments if item.location == "body"), None)
    if body is None:
        return {}
    schema = gather_schema(tool.input_schema, tool.flat_body)
    declared = schema.get("properties", {}).get(body.name, {})
    return follow_references(declared, schema.get("$defs", {}))


def describe_needs(tool: ToolPlan) -> str:
    """Return what a call of a tool must have: "needs `pet_id` and `body` with `name`"."""
    required = [item.name for item in tool.arguments if item.required]
    if tool.flat_body is not None:
        required = tool.input_schema.get("required", [])
    if not required:
        return "all arguments optional" if tool.arguments else "no arguments"
    if tool.flat_body is not None:
        return f"needs {join_names(required, _MAX_MEMBERS)}"
    text = f"needs {join_names(required)}"
    members = _body_schema(tool).get("required", [])
    body = next((item for item in tool.arguments if item.location == "body"), None)
    if members and body is not None and body.required:
        return f"{text}; {code(body.name)} needs {join_names(members, _MAX_MEMBERS)}"
    return text


def is_reading(tool: ToolPlan | WorkflowPlan) -> bool:
    """Return whether a tool changes nothing."""
    return bool(tool.annotations.get("readOnlyHint", False))


def is_irreversible(tool: ToolPlan) -> bool:
    """Return whether a tool ends something, or the manifest calls it destructive."""
    annotations = tool.stated.entry.annotations
    stated = None if annotations is None else annotations.destructive
    is_inferred = stated is not False and not is_reading(tool) and ends_something(tool.operation)
    is_deleting = tool.operation.method == "DELETE" or stated is True
    return is_deleting or is_inferred or bool(tool.policies.confirm)


def describe_effect(tool: ToolPlan) -> str:
    """Return the effect of a tool in one or two words."""
    if is_reading(tool):
        return "reads"
    if tool.operation.method == "DELETE":
        return "deletes"
    return "cannot be undone" if is_irreversible(tool) else "changes data"


def iterate_chains(facts: ToolFacts, tools: Iterable[ToolPlan]) -> Iterator[str]:
    """Yield what each tool that creates something needs from others, and what needs its result."""
    for tool in tools:
        needs = [
            f"{code(it.argument)} from {_join_tools([*it.lists, *it.creators][:3])}"
            for it in facts.identifiers
            if tool.name in it.users and tool.name not in it.creators
        ]
        created = [it for it in facts.identifiers if tool.name in it.creators]
        users = sorted({name for it in created for name in it.users} - {tool.name})
        if needs and users:
            yield (
                f"{code(tool.name)} takes {', '.join(needs[:4])}. Its result has the"
                f" {join_names((it.argument for it in created), 3)} of {join_names(users, 6)}."
            )


def describe_source(source: IdentifierSource) -> str:
    """Return the source of an identifier: "`pet_id`: the `id` of an item of `list_pets`"."""
    which = f"{code(source.member)} of" if source.member else "from"
    ways = []
    if source.lists:
        ways.append(f"{which} an item that {_join_tools(source.lists)} returns")
    if source.creators:
        ways.append(f"{which} the result of {_join_tools(source.creators)}")
    name = code(source.argument)
    if source.is_ambiguous:
        name += f" of {join_names(sorted(source.users), 6)}"
    elif source.is_in_bodies and source.wire_name != source.argument:
        name += f" ({code(source.wire_name)} in a body)"
    return f"{name}: {', or '.join(ways)}."


def _join_tools(names: Sequence[str]) -> str:
    shown = [code(name) for name in names]
    return " or ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def describe_pages(tool: ToolPlan) -> str:
    """Return how to read all that a list has; "" if it has no pages."""
    pages = tool.pagination
    if pages is None:
        return _describe_other_pages(tool)
    text = f"one page for each call. `max_pages` (up to {pages.most}) joins more."
    if pages.is_assumed:
        text += " Paging is assumed from parameter names."
    text += _describe_next_page(tool, pages)
    size = _find_argument(tool, find_size_parameter(tool.operation))
    if size is None:
        return text
    most = size.schema.get("maximum") if isinstance(size.schema, dict) else None
    bound = f", at most {most:,}" if isinstance(most, int) else ""
    return f"{text} {code(size.name)} is the size of a page{bound}."


def _describe_other_pages(tool: ToolPlan) -> str:
    """Return which arguments read a list on that `max_pages` cannot join."""
    positions = [
        item
        for item in tool.arguments
        if item.location == "query" and is_page_position(item.wire_name)
    ]
    properties = tool.input_schema.get("properties", {})
    parts = []
    for item in positions if tool.operation.method == "GET" else ():
        schema = properties.get(item.name, {})
        about = schema.get("description", "") if isinstance(schema, dict) else ""
        parts.append(f"{code(item.name)}: {quote_sentence(about, 160)}".removesuffix(": "))
    return f"a part of the list for each call. {' '.join(parts)}" if parts else ""


def _describe_next_page(tool: ToolPlan, pages: Pagination) -> str:
    argument = _find_argument(tool, pages.parameter)
    if argument is None or pages.body:
        return ""
    if pages.kind == "cursor" and pages.cursor:
        place = ".".join(pages.cursor)
        return f" To go on later, pass {code(place)} of the result as {code(argument.name)}."
    if pages.kind == "page":
        return f" To go on later, pass the number of the next page as {code(argument.name)}."
    if pages.kind == "offset":
        return f" To go on later, pass the number of items so far as {code(argument.name)}."
    return ""


def _find_argument(tool: ToolPlan, wire_name: str) -> Argument | None:
    return next((it for it in tool.arguments if wire_name and it.wire_name == wire_name), None)


def describe_failures(tools: Iterable[ToolPlan], facts: ToolFacts) -> Iterator[str]:
    """Yield the meaning of statuses of the API, if the document states more than their names."""
    meanings: dict[tuple[str, str], list[str]] = {}
    for tool in tools:
        for response in tool.operation.responses:
            is_error = response.status[:1] in {"4", "5"}
            if not is_error or response.description in facts.general_errors:
                continue
            text = quote_text(response.description, 160).rstrip(".")
            if text and text.lower() not in _PHRASES:
                meanings.setdefault((response.status, text), []).append(tool.name)
    for (status, text), names in sorted(meanings.items()):
        yield f"{status} from {join_names(sorted(names), 6)}: {text}."
