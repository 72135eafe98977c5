"""Jobs: operations whose work continues after the response, which calls can await as tasks.

The manifest describes a job with `poll`. Without that, an operation is one if the document shows
it: it answers 202, a link or the header `Location` of that response leads to an operation that
reads the state, and the state is an enum whose values show which of them are final.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from mcpgen.diagnostics import Location, OperationRefusedError
from mcpgen.ir.api import SAFE_METHODS, Operation, ResponseLink
from mcpgen.ir.manifest_entries import PollEntry
from mcpgen.ir.tool_plan import JobCall, JobPlan, ToolPlan
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.references import follow_references
from mcpgen.jsonschema.types import JsonSchema
from mcpgen.plan.schemas.tool_schema import list_response_schemas
from mcpgen.plan.tools.entries import names_of
from mcpgen.plan.tools.results import ResultPolicyPlanning
from mcpgen.text.json_pointer import pointer_tokens

FINAL_WORDS: Final = frozenset(
    {
        "aborted", "canceled", "cancelled", "complete", "completed", "crashed", "done", "error",
        "errored", "expired", "failed", "failure", "finished", "ready", "rejected", "stopped",
        "succeeded", "success", "successful", "terminated", "timeout",
    }
)  # fmt: skip
"""Values of a state after which it does not change any more."""
_STATES: Final = ("status", "state")  # members of a response
_ACCEPTED: Final = "202"
_INTERVAL_SECONDS: Final = 2.0
_EXPRESSION = re.compile(
    r"\$response\.body(?:#(?P<pointer>/.*))?\Z"
    r"|\$response\.header\.[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z"
    r"|\$inputs\.(?P<input>[A-Za-z0-9_\-]+)\Z"
)

At = Callable[..., Location]


class JobPlanning:
    """Planning of the jobs of a server, from all of its tools, by operation."""

    def __init__(
        self,
        tools: Mapping[str, ToolPlan],
        responses: Shapes,
        locate: Callable[[ToolPlan], At],
    ) -> None:
        """`locate` returns what locates the settings of a tool in the manifest."""
        self._tools = tools
        self._responses = responses
        self._locate = locate
        self._by_name = {
            (tool.operation.source, name): tool
            for tool in tools.values()
            for name in (*names_of(tool.operation), tool.operation.operation_id)
        }

    def plan(self, tool: ToolPlan) -> ToolPlan:
        """Return the tool with what its calls await as tasks.

        Raises:
            OperationRefusedError: the manifest contradicts itself or the operations.
        """
        entry = tool.stated.entry
        poll, policies = entry.poll, tool.policies
        if poll is not None and poll.operation:
            policies = replace(policies, jobs=(self._plan_job(tool, poll),))
        elif poll is None and entry.task != "never":
            policies = replace(policies, jobs=self._detect(tool))
        if poll is not None and poll.cancel:
            known = policies.jobs[0].status.arguments if policies.jobs else {}
            cancel = self._plan_call(tool, poll, poll.cancel, "cancel", known)
            policies = replace(policies, cancel=cancel)
        is_polled = policies.poll is not None or bool(policies.jobs)
        task = entry.task or ("auto" if is_polled else "never")
        if task == "never":
            if poll is not None and (poll.operation or poll.cancel):
                raise _refuse(
                    tool,
                    self._locate(tool)("task"),
                    "only a task awaits a job, and `task` is `never`",
                    "leave `task` out, or `operation` and `cancel` of `poll`",
                )
            return tool
        return replace(tool, policies=replace(policies, task=task))

    def _plan_job(self, tool: ToolPlan, poll: PollEntry) -> JobPlan:
        at = self._locate(tool)
        status = self._find(tool, poll.operation, at("poll", "operation"))
        checked = ResultPolicyPlanning(status.operation, status.annotations, self._responses, at)
        checked.check_method()
        checked.check_poll(poll)
        call = self._plan_call(tool, poll, poll.operation, "operation")
        return JobPlan(call, poll.until, poll.values, poll.interval_seconds)

    def _find(self, tool: ToolPlan, name: str, at: Location) -> ToolPlan:
        found = self._by_name.get((tool.operation.source, name)) or self._tools.get(name)
        if found is None:
            raise _refuse(
                tool,
                at,
                f"`{name}` is no operation that this server has a tool for",
                "name an operation by its operationId, or by method and path",
            )
        return found

    def _plan_call(
        self,
        tool: ToolPlan,
        poll: PollEntry,
        name: str,
        key: str,
        known: Mapping[str, str] = MappingProxyType({}),
    ) -> JobCall:
        """Return a call of another operation; its required arguments must have values.

        `known` are the arguments of the operation that reads the state.
        """
        at = self._locate(tool)
        target = self._find(tool, name, at("poll", key))
        linked = {
            parameter: value
            for link in _list_links(tool.operation)
            if self._follow(tool, link) is target
            for parameter, value in link.parameters.items()
            if isinstance(value, str)
        }
        own = {argument.wire_name: str(argument.identifier) for argument in tool.arguments}
        by_name = {argument.name: argument.wire_name for argument in tool.arguments}
        arguments: dict[str, str] = {}
        for argument in target.arguments:
            wire_name = argument.wire_name
            stated = poll.arguments.get(argument.name, poll.arguments.get(wire_name))
            value = stated if stated is not None else linked.get(wire_name)
            if value is not None:
                where = at("poll", "arguments", argument.name)
                arguments[argument.name] = self._check(tool, value, own, by_name, where)
            elif argument.name in known:
                arguments[argument.name] = known[argument.name]
            elif argument.required and wire_name in own:
                arguments[argument.name] = f"$inputs.{own[wire_name]}"
            elif argument.required:
                raise _refuse(
                    tool,
                    at("poll", key),
                    f"nothing gives `{target.operation.key}` its argument `{argument.name}`",
                    f'write `arguments: {{{argument.name}: "$response.body#/id"}}`',
                )
        return JobCall(target.name, arguments)

    def _check(
        self,
        tool: ToolPlan,
        value: str,
        own: Mapping[str, str],
        by_name: Mapping[str, str],
        at: Location,
    ) -> str:
        """Return an expression, with the keyword of the handler in place of an input."""
        if not value.startswith("$"):
            return value
        found = _EXPRESSION.match(value)
        if found is None:
            raise _refuse(
                tool,
                at,
                f"invalid expression `{value}`",
                "write `$response.body#/pointer`, `$response.header.name` or `$inputs.name`",
            )
        name = found["input"]
        if name is None:
            return value
        wire_name = by_name.get(name, name)
        if wire_name not in own:
            raise _refuse(tool, at, f"there is no input `{name}`", "name an argument of the tool")
        return f"$inputs.{own[wire_name]}"

    def _follow(self, tool: ToolPlan, link: ResponseLink) -> ToolPlan | None:
        """Return the tool of the operation that a link leads to."""
        source = tool.operation.source
        if link.operation_id:
            return self._by_name.get((source, link.operation_id))
        try:
            tokens = pointer_tokens(link.operation_ref.removeprefix("#"))
        except ValueError:
            return None
        if len(tokens) != len(("paths", "path", "method")) or tokens[0] != "paths":
            return None
        return self._by_name.get((source, f"{tokens[2].upper()} {tokens[1]}"))

    def _detect(self, tool: ToolPlan) -> tuple[JobPlan, ...]:
        """Return the jobs that the document describes: by a link, or else by `Location`."""
        for link in _list_links(tool.operation):
            target = self._follow(tool, link)
            if target is None or not _is_polled(target):
                continue
            found = self._find_final_values(target.operation)
            if found is None:
                continue
            until, values = found
            poll = PollEntry(until=until, values=values, operation=target.key)
            try:
                call = self._plan_call(tool, poll, target.key, "operation")
            except OperationRefusedError:
                continue  # the link does not supply all that the operation needs
            return (JobPlan(call, until, values, _INTERVAL_SECONDS),)
        return tuple(self._find_by_location(tool)) if _has_location(tool.operation) else ()

    def _find_by_location(self, tool: ToolPlan) -> Iterable[JobPlan]:
        """Yield the operations to whose paths the header may lead, longer paths first."""
        for target in sorted(
            self._tools.values(), key=lambda it: (-len(it.operation.path), it.key)
        ):
            operation = target.operation
            required = [it for it in target.arguments if it.required]
            in_path = [it for it in required if it.location == "path"]
            if not _is_polled(target) or operation.source != tool.operation.source:
                continue
            if not in_path or in_path != required:
                continue
            if found := self._find_final_values(operation):
                arguments = {
                    it.name: f"${'path' if _is_text(it.schema) else 'integer'}.{it.wire_name}"
                    for it in in_path
                }
                call = JobCall(target.name, arguments)
                yield JobPlan(call, *found, _INTERVAL_SECONDS, operation.path)

    def _find_final_values(self, operation: Operation) -> tuple[str, tuple[str, ...]] | None:
        """Return the member of a response that contains the state, and its final values."""
        schemas, _ = list_response_schemas(operation)
        for name in _STATES:
            for schema in schemas:
                values = self._list_enum(schema, name)
                final = tuple(it for it in values if it.lower() in FINAL_WORDS)
                if final and len(final) < len(values):
                    return name, final
        return None

    def _list_enum(self, schema: JsonSchema, name: str) -> tuple[str, ...]:
        named = self._responses.schemas
        properties = follow_references(schema, named).get("properties", {})
        values = follow_references(properties.get(name, {}), named).get("enum", ())
        return tuple(it for it in values if isinstance(it, str))


def _is_text(schema: JsonSchema) -> bool:
    return not isinstance(schema, dict) or schema.get("type") != "integer"


def _has_location(operation: Operation) -> bool:
    return any(
        header.name.lower() == "location"
        for response in operation.responses
        if response.status == _ACCEPTED
        for header in response.headers
    )


def _is_polled(tool: ToolPlan) -> bool:
    """Whether the operation of a tool may be sent again and again."""
    return tool.operation.method in SAFE_METHODS and bool(tool.annotations["readOnlyHint"])


def _list_links(operation: Operation) -> Iterable[ResponseLink]:
    for response in operation.responses:
        if response.status == _ACCEPTED:
            yield from response.links


def _refuse(
    tool: ToolPlan, at: Location, message: str, help: str, setting: str = "poll"
) -> OperationRefusedError:
    return OperationRefusedError(f"{setting}-entry", f"`{tool.key}`: {message}", at, help)
