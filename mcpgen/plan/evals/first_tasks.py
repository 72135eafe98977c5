"""The first tasks of a server, from the workflows, the links and the collections of its API.

Their goals consist of the titles of tools and of sample values; the owner replaces them by the
words of users.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Final

from mcpgen.ir.api import ResponseLink
from mcpgen.ir.eval_references import make_reference
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan, WorkflowPlan
from mcpgen.ir.workflow import InputValue
from mcpgen.jsonschema.samples import CannotSampleError, Which
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.plan.cases.calls import Call, Calls, CaseContext
from mcpgen.plan.evals.stored_items import ItemCollections, StoredItems, iterate_parents
from mcpgen.plan.skills.writing import quote_text
from mcpgen.text.json_pointer import pointer_tokens
from mcpgen.text.secret_names import is_secret_name

_MOST_TASKS: Final = 12
_MOST_OF_A_KIND: Final = 4
_MOST_VALUES: Final = 4  # in a goal
_MAX_TEXT: Final = 60
_FIRST: Final = "first"
_BODY_POINTER: Final = re.compile(r"\$response\.body#(/.*)?")
_REQUEST_VALUE: Final = re.compile(r"\$request\.(path|query|header)\.(.+)")


def make_first_tasks(plan: ServerPlan, workflow_cases: Iterable[JsonObject]) -> list[JsonObject]:
    """Return the tasks as entries of the file; `workflow_cases` have the inputs of workflows."""
    making = _Making(plan)
    found: list[JsonObject] = []
    for tasks in (
        making.iterate_workflow_tasks(workflow_cases),
        making.iterate_link_tasks(),
        making.iterate_creation_tasks(),
        making.iterate_deletion_tasks(),
    ):
        for task in islice(tasks, _MOST_OF_A_KIND):
            if not any(it["id"] == task["id"] for it in found):
                found.append(task)
    return found[:_MOST_TASKS]


class _Making:
    """The tools of a server that a task may use, and the values for them."""

    def __init__(self, plan: ServerPlan) -> None:
        self._plan = plan
        self._calls = Calls(CaseContext.of(plan), plan.api.schemas)
        self._tools = [
            tool
            for tool in plan.listed_tools
            if tool.policies.poll is None
            and tool.policies.task != "required"
            and not tool.policies.select
        ]
        self._collections = ItemCollections(plan.tools, self._calls.answered)
        self._used: set[tuple[str, str]] = set()  # pairs of tools that have a task

    # Kinds of tasks

    def iterate_workflow_tasks(self, cases: Iterable[JsonObject]) -> Iterator[JsonObject]:
        """Yield a task for each workflow whose inputs are known."""
        arguments = {case["tool"]: case.get("arguments") for case in cases}
        usable = {tool.name for tool in self._tools}
        for workflow in self._plan.workflows:
            inputs = arguments.get(workflow.name)
            if inputs is None or not all(step.tool in usable for step in workflow.steps):
                continue
            inputs = {**inputs, **self._find_known_inputs(workflow)}
            stated = _select_goal_values(inputs)
            yield {
                "id": _make_id(workflow.name),
                "goal": _write_goal((workflow.title, stated)),
                "calls": [_call(workflow.name, "", inputs, stated)],
            }

    def iterate_link_tasks(self) -> Iterator[JsonObject]:
        """Yield a task for each link of a response: the call, and the one that it leads to."""
        for tool in self._tools:
            links = [
                link
                for response in tool.operation.responses
                if response.status.startswith("2")
                for link in response.links
            ]
            for link in sorted(links, key=lambda it: (it.operation_id, it.operation_ref)):
                target = self._follow(tool, link)
                if target is not None:
                    yield from self._make_pair(tool, target, link)

    def iterate_creation_tasks(self) -> Iterator[JsonObject]:
        """Yield a task for each collection: create an item, and read it."""
        usable = {tool.name for tool in self._tools}
        for key, tools in self._collections.iterate():
            read = tools.get("GET")
            if read is None or read.name not in usable:
                continue
            stored = self._collections.find(key)
            if stored is not None and stored.create.name in usable:
                yield from self._make_pair(stored.create, read, None)

    def iterate_deletion_tasks(self) -> Iterator[JsonObject]:
        """Yield a task for each collection with a known item: delete it.

        What a collection inside of an item has at the start is less certain.
        """
        usable = {tool.name for tool in self._tools}
        for key, tools in self._collections.iterate():
            delete = tools.get("DELETE")
            if delete is None or delete.name not in usable or "{" in key[1]:
                continue
            stored = self._collections.find(key)
            if stored is None:
                continue
            with suppress(CannotSampleError):
                call = self._calls.call(delete, "smallest")
                self._place_parents(delete, call, {})
                arguments, stated = call.arguments, _select_goal_values(call.arguments)
                place = _fill_path(stored, call.request["path"])
                yield {
                    "id": _make_id(delete.name),
                    "goal": _write_goal((delete.title, stated)),
                    "calls": [_call(delete.name, "", arguments, arguments)],
                    "state": [{**place, "lacks": {stored.id_member: stored.known_id}}],
                }

    # Pairs of calls

    def _make_pair(
        self, first: ToolPlan, second: ToolPlan, link: ResponseLink | None
    ) -> Iterator[JsonObject]:
        """Yield the task of two calls, the second with values of the first; none if unclear."""
        if (first.name, second.name) in self._used:
            return
        with suppress(CannotSampleError):
            stored = self._collections.find_target(first)
            call = self._make_first_call(first, stored)
            following = self._calls.call(second, "smallest")
            known = self._read_link(first, second, link, call) if link else {}
            if link is not None and not known:
                return
            if link is None and stored is not None and stored.created is not None:
                pointer = _place_in_result(first, stored.created.pointer)
                known = {stored.parameter: make_reference(_FIRST, pointer)}
            self._place_parents(second, following, {**call.request["path"], **known})
            self._used.add((first.name, second.name))
            stated = _select_goal_values(call.arguments)
            task: JsonObject = {
                "id": _make_id(f"{first.name}-then-{second.name}"),
                "goal": _write_goal((first.title, stated), (second.title, {})),
                "calls": [
                    _call(first.name, _FIRST, call.arguments, stated),
                    _call(second.name, "", following.arguments, following.arguments),
                ],
            }
            if stored is not None and stored.created is not None:
                reference = make_reference(_FIRST, _place_in_result(first, stored.created.pointer))
                has = {
                    stored.created.id_member: reference,
                    **_select_item_values(stated, stored.created.example),
                }
                task["state"] = [{**_fill_path(stored, call.request["path"]), "has": has}]
            yield task

    def _make_first_call(self, tool: ToolPlan, stored: StoredItems | None) -> Call:
        """Return a call that does not create an item that exists already.

        Raises:
            CannotSampleError: there is none.
        """
        variants: tuple[Which, ...] = ("example", "smallest")
        for which in variants:
            call = self._calls.call(tool, which)
            self._place_parents(tool, call, {})
            values = [value for _, value in _flatten(call.arguments)]
            if stored is None or stored.known_id is None or stored.known_id not in values:
                return call
        raise CannotSampleError("every sample is an item that exists")

    def _place_parents(self, tool: ToolPlan, call: Call, known: Mapping[str, JsonValue]) -> None:
        """Replace path arguments that name stored items by known ids.

        Raises:
            CannotSampleError: no item is known.
        """
        arguments = {it.wire_name: it for it in tool.arguments if it.location == "path"}
        placed = {name: value for name, value in known.items() if name in arguments}
        for variable, collection in iterate_parents(tool.operation):
            if variable not in arguments or (stored := self._collections.find(collection)) is None:
                continue
            schema = arguments[variable].schema
            if stored.known_id is None or self._calls.sent.problem(schema, stored.known_id):
                raise CannotSampleError(f"no item is known for `{variable}`")
            placed.setdefault(variable, stored.known_id)
        for variable, value in placed.items():
            call.arguments[arguments[variable].name] = call.request["path"][variable] = value

    def _find_known_inputs(self, workflow: WorkflowPlan) -> JsonObject:
        """Return ids of stored items for the inputs that steps use as such."""
        tools = {tool.name: tool for tool in self._plan.tools}
        found: JsonObject = {}
        for step in workflow.steps:
            tool = tools[step.tool]
            names = {it.wire_name: it.name for it in tool.arguments if it.location == "path"}
            values = dict(step.arguments.members)
            for variable, collection in iterate_parents(tool.operation):
                stored = self._collections.find(collection)
                value = values.get(names.get(variable, ""))
                is_known = stored is not None and stored.known_id is not None
                if is_known and isinstance(value, InputValue) and not value.pointer:
                    found.setdefault(value.name, stored.known_id)  # type: ignore[union-attr]
        return found

    # Links

    def _follow(self, tool: ToolPlan, link: ResponseLink) -> ToolPlan | None:
        """Return the tool of the operation that a link leads to."""
        key = ""
        if link.operation_ref:
            with suppress(ValueError):
                tokens = pointer_tokens(link.operation_ref.removeprefix("#"))
                if len(tokens) == len(("paths", "path", "method")):
                    key = f"{tokens[2].upper()} {tokens[1]}"
        for other in self._tools:
            operation = other.operation
            is_named = operation.key == key or (
                link.operation_id and operation.operation_id == link.operation_id
            )
            if operation.source == tool.operation.source and is_named:
                return other
        return None

    def _read_link(
        self, first: ToolPlan, second: ToolPlan, link: ResponseLink, call: Call
    ) -> dict[str, JsonValue]:
        """Return the path parameters that a link states; {} if it states something else."""
        found: dict[str, JsonValue] = {}
        path_names = {it.wire_name for it in second.arguments if it.location == "path"}
        for written, value in link.parameters.items():
            name = written.removeprefix("path.")
            if name not in path_names:
                return {}
            if not isinstance(value, str) or not value.startswith("$"):
                found[name] = value
            elif body := _BODY_POINTER.fullmatch(value):
                found[name] = make_reference(_FIRST, _place_in_result(first, body[1] or ""))
            elif sent := _REQUEST_VALUE.fullmatch(value):
                if sent[2] not in call.request[sent[1]]:
                    return {}
                found[name] = call.request[sent[1]][sent[2]]
            else:
                return {}
        return found


def _call(tool: str, name: str, arguments: JsonObject, stated: JsonObject) -> JsonObject:
    """Return a required call; only the scripted agent sends values that the goal does not state."""
    call: JsonObject = {"tool": tool}
    if name:
        call["id"] = name
    if stated:
        call["arguments"] = stated
    if arguments != stated:
        call["sends"] = arguments
    return call


def _select_goal_values(arguments: JsonObject) -> JsonObject:
    """Return the arguments that a goal states: the first short scalars, also those in a body."""
    stated: JsonObject = {}
    for path, value in [*_flatten(arguments)][:_MOST_VALUES]:
        place = stated
        for name in path[:-1]:
            place = place.setdefault(name, {})
        place[path[-1]] = value
    return stated


def _flatten(arguments: JsonObject) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Yield the short scalars of arguments and of the members of objects, with their names."""
    for name, value in sorted(arguments.items()):
        members = sorted(value) if isinstance(value, dict) else ()
        for path, each in [((name,), value), *(((name, it), value[it]) for it in members)]:
            is_short = isinstance(each, str) and each.isprintable() and 0 < len(each) <= _MAX_TEXT
            is_number = isinstance(each, int | float)
            is_reference = isinstance(each, str) and each.startswith("$")
            if (is_short or is_number) and not is_reference and not is_secret_name(path[-1]):
                yield path, each


def _select_item_values(stated: JsonObject, example: JsonObject) -> JsonObject:
    """Return the stated values that the stored item has as members."""
    return {
        path[-1]: value
        for path, value in _flatten(stated)
        if path[-1] in example and type(example[path[-1]]) is type(value)
    }


def _write_goal(*parts: tuple[str, JsonObject]) -> str:
    """Return the goal: "Add a pet (name: Rex, species: dog). Then: find a pet by its id."."""
    sentences = []
    for number, (title, stated) in enumerate(parts):
        text = quote_text(title, 80).rstrip(".") or "Do it"
        values = ", ".join(f"{path[-1]}: {_spell(value)}" for path, value in _flatten(stated))
        text = f"{text} ({values})" if values else text
        sentences.append(f"Then: {text[:1].lower()}{text[1:]}." if number else f"{text}.")
    return " ".join(sentences)


def _spell(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _fill_path(stored: StoredItems, values: Mapping[str, JsonValue]) -> JsonObject:
    """Return the place of a collection, with the values of the path of a request."""
    path = re.sub(r"\{([^{}]*)\}", lambda match: str(values.get(match[1], match[0])), stored.path)
    return {"path": path, **({"source": stored.source} if stored.source else {})}


def _place_in_result(tool: ToolPlan, pointer: str) -> str:
    """Return the JSON Pointer in a tool's structured content for one in the response."""
    return f"/{tool.result_key}{pointer}" if tool.result_key else pointer


def _make_id(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[:100]
