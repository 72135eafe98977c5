"""Proposals of workflows that find something by its name and act on it.

`PATCH /labels/{labelId}` takes the id that `GET /labels?name=` lists. A link in a response
(Link Object) states the same. The workflow acts only if exactly one thing is found.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import UNSET, Struct

from mcpgen.contract.flat_bodies import gather_schema
from mcpgen.ir.api import ResponseLink
from mcpgen.ir.portable_profile import MAX_TOOL_NAME
from mcpgen.ir.tool_plan import Argument, ServerPlan, ToolPlan
from mcpgen.jsonschema.references import follow_references
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.proposals.similar import choose_reference
from mcpgen.plan.skills.facts import find_identifier
from mcpgen.plan.tools.identifier_sources import iterate_collections
from mcpgen.plan.tools.listing import list_names
from mcpgen.plan.tools.verb_classes import Deed
from mcpgen.plan.tools.verb_evidence import collect_evidence
from mcpgen.text.json_pointer import json_pointer, pointer_tokens
from mcpgen.text.prose import plain_line
from mcpgen.text.uri_template import mask_variables

_EXACT = (
    "name", "email", "username", "user_name", "login", "slug", "handle", "code", "title", "number",
    "sku", "external_id", "phone", "domain",
)  # fmt: skip
_VAGUE = ("q", "query", "search", "keyword", "search_term", "term")
_NARROWING = {name: rank for rank, name in enumerate((*_EXACT, *_VAGUE))}
_MAX_SCHEMA = 1500  # characters of the inputs
_BODY = "$response.body#"


class FindThenAct(Struct, frozen=True):
    """A workflow of two steps."""

    name: str
    finds: ToolPlan
    acts: ToolPlan
    by: str  # the argument that narrows the search; "" if a link leads from one to the other
    entry: JsonObject  # of the manifest


class _Found(Struct, frozen=True):
    """Position of an identifier in the first step's response."""

    items: str  # JSON Pointer of the list; None for a single item
    member: str
    types: frozenset[str]
    others: frozenset[str]  # the members of an item, in lower case


def find_workflows(plan: ServerPlan, reserved: Collection[str] = ()) -> list[FindThenAct]:
    """Return the workflows, those by links first, then those that change something, by name.

    `reserved` are names that they cannot have, in addition to those of the plan.
    """
    tools = [tool for tool in plan.tools if tool.exposed_as == "tool"]
    tools = [it for it in tools if it.operation.declared is None and not it.operation.deprecated]
    taken = list_names((*plan.tools, *plan.merged, *plan.workflows))
    proposing = _Proposing(tools, taken.union(reserved))
    found = [*proposing.iterate_links(), *proposing.iterate_searches()]
    return sorted(found, key=lambda it: (bool(it.by), it.acts.effect == "read", it.name))


class _Proposing:
    """Search for the workflows of one server."""

    def __init__(self, tools: Sequence[ToolPlan], taken: Collection[str]) -> None:
        self._tools = tools
        self._taken = {*taken}
        self._by_id = {it.operation.operation_id: it for it in tools if it.operation.operation_id}

    def iterate_searches(self) -> Iterator[FindThenAct]:
        """Yield workflows that search a collection for what an operation acts on."""
        lists = {
            (it.operation.source, mask_variables(it.operation.path)): it
            for it in self._tools
            if it.operation.method == "GET" and it.effect == "read"
        }
        for acts in self._tools:
            collections = list(iterate_collections(acts.operation))
            if not collections or not _can_act(acts):
                continue
            variable, path = collections[-1]
            finds = lists.get((acts.operation.source, mask_variables(path)))
            if finds is None or finds is acts:
                continue
            if (proposal := self._propose_search(finds, acts, variable)) is not None:
                yield proposal

    def _propose_search(self, finds: ToolPlan, acts: ToolPlan, variable: str) -> FindThenAct | None:
        if (by := _choose_narrowing(finds)) is None:
            return None
        target = next(
            (it for it in acts.arguments if (it.location, it.wire_name) == ("path", variable)), None
        )
        found = _locate_identifier(finds, variable)
        if target is None or found is None or not _fits(target, found):
            return None
        is_known = by.wire_name.lower() in found.others  # else it may name the owner of the list
        if found.member == by.wire_name or not (is_known or by.wire_name.lower() in _VAGUE):
            return None  # who can search for the identifier needs no search
        taken = {it.name for it in acts.arguments}
        shared = [it.name for it in finds.arguments if it.location == "path" and it.name in taken]
        if any(it.required and it.name not in {by.name, *shared} for it in finds.arguments):
            return None
        inputs = {by.name: f"$inputs.{by.name}", **{name: f"$inputs.{name}" for name in shared}}
        identifier = f"{_BODY}{found.items}/0{json_pointer((found.member,))}"
        other = f"{_BODY}{found.items}/1{json_pointer((found.member,))}"
        outputs = {"id": identifier, "another": other, "matches": f"{_BODY}{found.items}"}
        return self._build(
            finds,
            acts,
            by.name,
            inputs,
            outputs,
            {target.name: "$steps.find.outputs.id"},
            f"Find one by `{by.name}` (`{finds.name}`), then call `{acts.name}` for it. Nothing is"
            " called if none or several match: `matches` has what was found.",
        )

    def iterate_links(self) -> Iterator[FindThenAct]:
        """Yield workflows along the links of responses of operations that only read."""
        for finds in self._tools:
            if finds.effect != "read":
                continue
            for response in finds.operation.responses:
                for link in response.links if response.status.startswith("2") else ():
                    acts = self._by_id.get(link.operation_id)
                    if acts is None or acts is finds or not _can_act(acts, is_linked=True):
                        continue
                    if (proposal := self._propose_link(finds, acts, link)) is not None:
                        yield proposal

    def _propose_link(
        self, finds: ToolPlan, acts: ToolPlan, link: ResponseLink
    ) -> FindThenAct | None:
        outputs: dict[str, str] = {}
        passed: dict[str, str] = {}
        for stated, value in link.parameters.items():
            location, _, wire_name = stated.rpartition(".")
            argument = next(
                (
                    it
                    for it in acts.arguments
                    if it.wire_name == wire_name and location in ("", it.location)
                ),
                None,
            )
            if argument is None or not isinstance(value, str):
                return None
            if not value.startswith(f"{_BODY}/") or not _has_place(finds, value):
                return None
            outputs[argument.name] = value
            passed[argument.name] = f"$steps.find.outputs.{argument.name}"
        if not passed:
            return None
        inputs = {it.name: f"$inputs.{it.name}" for it in finds.arguments if it.required}
        text = f"Call `{finds.name}`, then `{acts.name}` with what it returned."
        return self._build(finds, acts, "", inputs, outputs, passed, text)

    def _build(
        self,
        finds: ToolPlan,
        acts: ToolPlan,
        by: str,
        inputs: Mapping[str, str],
        outputs: Mapping[str, str],
        passed: Mapping[str, str],
        description: str,
    ) -> FindThenAct | None:
        """Return the workflow; None if its inputs clash, are too large, or no name is free."""
        rest = [it for it in acts.arguments if it.name not in passed and _is_needed(it)]
        known = {it.name: finds for it in finds.arguments if it.name in inputs}
        if any(it.name in known and it.name == by for it in rest):
            return None  # the search and the request use the same word
        properties: JsonObject = {}
        definitions: JsonObject = {}
        for name, tool in [*known.items(), *((it.name, acts) for it in rest)]:
            schema = gather_schema(tool.input_schema, tool.flat_body)
            properties.setdefault(name, schema["properties"][name])
            definitions |= tool.input_schema.get("$defs", {})
        if definitions or len(json.dumps(properties)) > _MAX_SCHEMA:
            return None
        name = f"{acts.name}_by_{by}" if by else f"{finds.name}_then_{acts.name}"
        if name in self._taken or len(name) > MAX_TOOL_NAME:
            return None
        self._taken.add(name)
        required = [*known, *(it.name for it in rest if it.name not in known and it.required)]
        step: JsonObject = {"id": "act", "operation": choose_reference(acts)}
        if by:
            step["when"] = "!$steps.find.outputs.another && $steps.find.outputs.id"
        step["arguments"] = {**passed, **{it.name: f"$inputs.{it.name}" for it in rest}}
        step["outputs"] = {"result": "$response.body"}
        output = {"result": "$steps.act.outputs.result"}
        if by:
            output = {"matches": "$steps.find.outputs.matches", **output}
        entry: JsonObject = {
            "title": plain_line(f"{acts.title}, found by {by}" if by else acts.title),
            "description": description,
            "inputs": {"type": "object", "required": required, "properties": properties},
            "steps": [
                {
                    "id": "find",
                    "operation": choose_reference(finds),
                    **({"arguments": dict(inputs)} if inputs else {}),
                    "outputs": dict(outputs),
                },
                step,
            ],
            "output": output,
        }
        return FindThenAct(name, finds, acts, by, entry)


def _can_act(tool: ToolPlan, *, is_linked: bool = False) -> bool:
    """Return whether a workflow may call a tool with a found item: no tool that ends or removes it.

    Reading the item itself shows little more than the list of it, unless a link leads there.
    """
    if tool.operation.method == "GET":
        return is_linked or not tool.operation.path.endswith("}")
    is_ending = any(it.worst is Deed.END for it in collect_evidence(tool.operation))
    return tool.operation.method != "DELETE" and not is_ending


def _choose_narrowing(tool: ToolPlan) -> Argument | None:
    """Return the argument of a list that selects the item by name; None if there is none."""
    found = [
        it
        for it in tool.arguments
        if it.location == "query"
        and it.wire_name.lower() in _NARROWING
        and _get_types(tool.input_schema["properties"][it.name]) == {"string"}
        and "enum" not in tool.input_schema["properties"][it.name]
    ]
    return min(found, key=lambda it: _NARROWING[it.wire_name.lower()], default=None)


def _locate_identifier(tool: ToolPlan, variable: str) -> _Found | None:
    """Return where the items of a list have the identifier that a path calls `variable`."""
    schema = tool.output_schema or {}
    definitions = schema.get("$defs", {})
    lists: dict[str, JsonObject] = {}
    for name, member in schema.get("properties", {}).items():
        items = follow_references(member, definitions).get("items")
        if isinstance(items, dict):
            item = follow_references(items, definitions)
            if item.get("properties"):
                place = "" if name == tool.result_key else json_pointer((name,))
                lists[place] = item
    if len(lists) != 1:
        return None
    ((place, item),) = lists.items()
    member = find_identifier({"$defs": definitions, **item}, variable)
    is_doubtful = member != "id" and "id" in item["properties"] and variable.lower().endswith("id")
    if not member or is_doubtful:
        return None
    types = _get_types(follow_references(item["properties"][member], definitions))
    return _Found(place, member, frozenset(types), frozenset(map(str.lower, item["properties"])))


def _has_place(tool: ToolPlan, expression: str) -> bool:
    """Whether the described response of a tool has the place of an expression."""
    schema = tool.output_schema or {}
    definitions = schema.get("$defs", {})
    at = schema.get("properties", {}).get(tool.result_key) if tool.result_key else schema
    for token in pointer_tokens(expression.removeprefix(_BODY)):
        found = follow_references(at if isinstance(at, dict) else {}, definitions)
        at = found.get("items") if token.isdecimal() else found.get("properties", {}).get(token)
        if at is None:
            return False
    return True


def _fits(argument: Argument, found: _Found) -> bool:
    expected = _get_types(argument.schema)
    return not expected or not found.types or bool(expected & found.types)


def _get_types(schema: object) -> set[str]:
    stated = schema.get("type", ()) if isinstance(schema, dict) else ()
    return {*([stated] if isinstance(stated, str) else stated)} - {"null"}


def _is_needed(argument: Argument) -> bool:
    """Whether a call cannot do without an argument, or it is what the call is about."""
    return argument.location == "body" or (argument.required and argument.default is UNSET)
