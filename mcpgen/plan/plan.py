"""From an API to the server package that will serve it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from mcpgen.diagnostics import OperationRefusedError, Problems
from mcpgen.ir.api import Api, LeftOut, Operation
from mcpgen.ir.identifiers import Identifier
from mcpgen.ir.json_types import JsonObject
from mcpgen.ir.manifest import OperationEntry
from mcpgen.ir.tool_plan import (
    Annotation,
    Argument,
    ModelModule,
    Pagination,
    ServerPlan,
    Shaping,
    ToolGroupPlan,
    ToolPlan,
)
from mcpgen.plan.adjusting import Adjusted, adjust
from mcpgen.plan.aliases import alias_names, aliases_of_tools
from mcpgen.plan.annotations import tool_annotations
from mcpgen.plan.arguments import plan_arguments, selectable, takes_file, why_unsendable
from mcpgen.plan.contradictions import report_contradiction
from mcpgen.plan.descriptions import clean, one_line, shorten, tool_description, tool_title
from mcpgen.plan.environment import environment
from mcpgen.plan.intent import (
    chosen_names,
    entries_by_key,
    stated_as,
    with_hints,
)
from mcpgen.plan.listing import plan_search, plan_toolsets
from mcpgen.plan.media_types import base_type, is_json, ranked
from mcpgen.plan.models import model_modules
from mcpgen.plan.naming import (
    call_types,
    identifier,
    module_names,
    new_document_names,
    pascal_case,
    snake_case,
    tool_name_limit,
    tool_names,
)
from mcpgen.plan.narrowing import Narrowing
from mcpgen.plan.pagination import recognised, with_pages
from mcpgen.plan.peer_prompts import prompts_of
from mcpgen.plan.peers import with_names, with_wishes
from mcpgen.plan.policy import Policy
from mcpgen.plan.property_names import offered_names, wire_names
from mcpgen.plan.references import needed_schemas
from mcpgen.plan.select import select
from mcpgen.plan.shaping import At, PlannedShaping, paged
from mcpgen.plan.token_cost import token_cost
from mcpgen.plan.tool_schema import ToolSchemas, response_schemas
from mcpgen.plan.types import Types
from mcpgen.plan.wiring import wired
from mcpgen.plan.workflows import plan_workflows

T = TypeVar("T")

_MAX_INSTRUCTIONS = 2048
_MAX_DESCRIPTION = 600


_NO_ENTRY = OperationEntry()


def plan_tools(api: Api, policy: Policy, problems: Problems) -> ServerPlan:
    """Decide every name, type, default and order of the server that serves `api`.

    An operation that no tool can be made of stands in `left_out`, with a diagnostic.
    """
    return _Planning(api, policy, problems).plan()


class _Planning:
    def __init__(self, api: Api, policy: Policy, problems: Problems) -> None:
        api = replace(api, operations=with_names(api.operations))
        self.api = api
        self.policy = policy
        self.problems = problems
        self.offered = offered_names(api)
        self.schemas = ToolSchemas(api.schemas, self.offered)
        self.types = Types(
            self.schemas.requests, self.schemas.responses, models=policy.manifest.models
        )
        self.left_out: list[LeftOut] = list(api.left_out)
        stated = entries_by_key(api.operations, api.left_out, policy, problems)
        self.entries = with_wishes(stated, api.operations, problems)

    def plan(self) -> ServerPlan:
        api, server = self.api, self.policy.manifest.server
        selected = select(api.operations, self.policy, self.entries, self.problems)
        tools = self._tools(selected)
        served = tuple(
            tools[operation.key].operation for operation in selected if operation.key in tools
        )
        for operation in served:
            report_contradiction(operation, self.problems)
        groups = self._groups(served, tools)
        title = one_line(server.title or api.title) or server.name
        workflows = plan_workflows(
            self.policy.workflows, tools, self.left_out, self.schemas, self.problems
        )
        search = plan_search(title, groups, workflows, self.policy, self.problems)
        takes_files = any(
            takes_file(item, self.types) for tool in tools.values() for item in tool.body
        )
        prefix = f"{snake_case(server.name).upper()}_"
        return ServerPlan(
            name=server.name,
            distribution=f"{server.name}-mcp",
            package=Identifier(f"{snake_case(server.name)}_mcp"),
            env_prefix=prefix,
            title=title,
            description=shorten(one_line(api.description), _MAX_DESCRIPTION),
            instructions=self._instructions(),
            api=replace(api, operations=served, schemas=needed_schemas(served, api.schemas)),
            base_servers=api.servers,
            environment=environment(
                api, served, prefix, takes_files=takes_files, has_toolsets=search is not None
            ),
            groups=groups,
            models=self._models(groups),
            prompts=prompts_of(api.prompts, self.problems),
            left_out=tuple(sorted(self.left_out, key=lambda left: left.operation)),
            unselected=tuple(
                sorted({it.key for it in api.operations} - {it.key for it in selected})
            ),
            workflows=workflows,
            budget=self.policy.manifest.budget,
            toolsets=plan_toolsets(groups, self.policy, self.problems),
            search=search,
        )

    def _tools(self, selected: Sequence[Operation]) -> dict[str, ToolPlan]:
        """Plan a tool for each operation that can have one, by operation, with all its names."""
        chosen = chosen_names(self.entries, selected, self.policy, self.problems)
        limit, reserved = (
            tool_name_limit(self.policy.manifest.server.name),
            alias_names(self.policy),
        )
        prefixes = {source.name: source.tool_prefix for source in self.api.sources}
        issued = {**self.policy.issued_names, **chosen}
        names = tool_names(selected, issued, limit, reserved=reserved, prefixes=prefixes)
        types = call_types(selected)
        tools = {
            operation.key: tool
            for operation in sorted(selected, key=lambda operation: operation.key)
            if (tool := self._tool(operation, names[operation.key], types[operation.key]))
            is not None
        }
        unchosen = [
            tools[it.key].operation for it in selected if it.key in tools and it.key not in chosen
        ]
        aliases = aliases_of_tools(
            {key: tool.name for key, tool in tools.items()},
            self.entries,
            self.policy,
            self.problems,
        )
        document_names = new_document_names(
            unchosen, names, limit, reserved=reserved, prefixes=prefixes
        )
        return {
            key: replace(
                tool,
                aliases=aliases.get(tool.name, ()),
                document_name=document_names.get(key, ""),
            )
            for key, tool in tools.items()
        }

    def _models(self, groups: Sequence[ToolGroupPlan]) -> tuple[ModelModule, ...]:
        if not self.policy.manifest.models:
            return ()
        return model_modules(self.types, {group.module: group.tools for group in groups})

    def _groups(
        self, served: tuple[Operation, ...], tools: dict[str, ToolPlan]
    ) -> tuple[ToolGroupPlan, ...]:
        by_tag: dict[str, list[ToolPlan]] = {}
        for operation in served:
            by_tag.setdefault(operation.tag, []).append(tools[operation.key])
        modules = module_names(sorted(by_tag))
        groups = [
            ToolGroupPlan(
                tag=tag,
                module=modules[tag],
                description=shorten(one_line(self.api.tag_descriptions.get(tag, "")), 300),
                tools=tuple(sorted(plans, key=lambda tool: tool.name)),
            )
            for tag, plans in by_tag.items()
        ]
        return tuple(sorted(groups, key=lambda group: group.module))

    def _instructions(self) -> str:
        if self.policy.manifest.server.instructions:
            return self.policy.manifest.server.instructions
        title = one_line(self.api.title)
        about = clean(self.api.description)
        return shorten("\n".join(filter(None, (title, about))), _MAX_INSTRUCTIONS)

    def _tool(self, operation: Operation, name: str, call_type: Identifier) -> ToolPlan | None:
        hint = pascal_case(name)
        entry = self.entries.get(operation.key, _NO_ENTRY)
        try:
            adjusted = self._adjusted(operation, entry)
            listed = plan_arguments(adjusted, self.types, hint)
        except OperationRefusedError as refused:
            self.problems.warning(
                refused.code,
                f"`{operation.key}` is left out: {refused.message}",
                at=refused.at,
                why="the other operations are served",
                help=refused.help,
            )
            self.left_out.append(LeftOut(operation.key, refused.code, refused.message))
            return None
        operation = adjusted.sent
        self._tell_of_unsendable(operation)
        inputs = self.schemas.input(listed, operation)
        notes = ("Some arguments nest further than listed.",) if inputs.is_cut else ()
        title = entry.title or tool_title(operation, name)
        arguments = tuple(item.argument for item in listed)
        pages, shaping = self._shaping(operation, entry, arguments)
        if pages is not None:
            inputs = with_pages(inputs, pages)
        output_schema, result_key, returns = self._result(operation, hint, shaping)
        tool = ToolPlan(
            name=name,
            function=identifier(name),
            call_type=call_type,
            title=title,
            description=tool_description(operation, notes, entry),
            operation=operation,
            arguments=arguments,
            input_schema=inputs.listed,
            full_input_schema=inputs.full,
            output_schema=output_schema,
            result_key=result_key,
            returns=returns,
            annotations=with_hints(tool_annotations(operation, title), entry),
            accept=_accept(operation),
            token_cost=0,
            body=selectable(operation, self.types),
            pagination=pages,
            shaping=shaping,
            exposed_as=entry.expose,
            also_answered=_also_answered(operation),
            fixed=adjusted.fixed,
            wire_names=wire_names(inputs.full or inputs.listed, self.offered),
        )
        return replace(tool, token_cost=token_cost(tool))

    def _adjusted(self, operation: Operation, entry: OperationEntry) -> Adjusted:
        """The operation as the manifest has it; where that cannot be followed, as it is."""
        if operation.declared is not None:
            return wired(operation, operation.declared)
        at = self._place_of(operation)

        def adjusted() -> Adjusted:
            requests = self.schemas.requests
            return adjust(operation, entry, requests, lambda name: at("parameters", name))

        return self._followed(adjusted, Adjusted(operation, operation))

    def _shaping(
        self, operation: Operation, entry: OperationEntry, arguments: tuple[Argument, ...]
    ) -> tuple[Pagination | None, Shaping]:
        """How its list goes on, and what is done around its handler."""
        responses, at = self.schemas.responses, self._place_of(operation)
        described = recognised(operation, self.schemas.requests, responses)

        def shaped() -> tuple[Pagination | None, Shaping]:
            pages = paged(described, operation, entry, at)
            return pages, PlannedShaping(operation, arguments, pages, responses, at).of(entry)

        return self._followed(shaped, (described, Shaping()))

    def _followed(self, take_over: Callable[[], T], otherwise: T) -> T:
        """What the manifest makes of an operation; a problem where it cannot be followed."""
        try:
            return take_over()
        except OperationRefusedError as refused:
            self.problems.error(
                refused.code,
                str(refused),
                at=refused.at,
                why="mcpgen follows the manifest to the letter, or not at all",
                help=refused.help,
            )
            return otherwise

    def _place_of(self, operation: Operation) -> At:
        """The place of what stands in the manifest's entry for an operation."""
        tokens = ("operations", stated_as(operation, self.policy.manifest))
        if operation.declared is not None:
            tokens = ("tools", operation.declared.tool)
        return lambda *inside: self.policy.intent.locate((*tokens, *inside))

    def _tell_of_unsendable(self, operation: Operation) -> None:
        """Report the media types of a body that stay unused beside others that can be written."""
        content = () if operation.request_body is None else operation.request_body.content
        for item in content:
            if why := why_unsendable(item, self.types):
                self.problems.note(
                    "body-media-type",
                    f"`{operation.key}` takes its body as `{item.media_type}` as well, which "
                    "generated servers cannot write; it is sent in another way",
                    at=item.at,
                    why=why,
                )

    def _result(
        self, operation: Operation, hint: str, shaping: Shaping
    ) -> tuple[JsonObject | None, str, Annotation]:
        found, is_sure = response_schemas(operation)
        if not found:
            return None, "", _returns_without_json(operation)
        schema = found[0] if len(found) == 1 else {"anyOf": found}
        narrowing = Narrowing(self.schemas.responses)
        output = self.schemas.output(narrowing.narrowed(found, dict(shaping.select)))
        if not is_sure or len(found) > 1:
            return output.schema, output.result_key, Annotation("object")
        typed = self.types.of(schema, "response", f"{hint}Result")
        returns = typed.annotation if "|" not in typed.source else Annotation("object")
        if "Literal[" in returns.source or returns.source == "None":
            returns = Annotation("object")
        return output.schema, output.result_key, returns


def _returns_without_json(operation: Operation) -> Annotation:
    """None where nothing ever comes back; text and bytes have no class."""
    successful = [item for item in operation.responses if item.status.startswith("2")]
    described = successful or [item for item in operation.responses if item.status == "default"]
    is_empty = described and not any(item.content for item in described)
    return Annotation("None") if is_empty or operation.method == "HEAD" else Annotation("object")


def _accept(operation: Operation) -> tuple[str, ...]:
    """Media types of successful responses; only JSON where there is JSON, so that it is chosen."""
    for prefix in ("2", "default", ""):
        content = [
            item
            for response in operation.responses
            if response.status.startswith(prefix)
            for item in response.content
        ]
        names = list(dict.fromkeys(base_type(item.media_type) for item in ranked(content)))
        if names:
            chosen = [name for name in names if is_json(name)] or names
            return tuple("application/json" if "*" in name and is_json(name) else name
                         for name in chosen)  # fmt: skip
    return ("*/*",)


def _also_answered(operation: Operation) -> tuple[str, ...]:
    """Media types of successful responses that are not asked for, as there is JSON beside them."""
    names = {
        base_type(item.media_type)
        for response in operation.responses
        if response.status.startswith("2")
        for item in response.content
    }
    return tuple(sorted(names - set(_accept(operation))))
