"""From an API to the server package that will serve it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from mcpgen.diagnostics import OperationRefusedError, Problems
from mcpgen.ir.api import Api, LeftOut, Operation, leave_out
from mcpgen.ir.identifiers import Identifier
from mcpgen.ir.tool_plan import Fixed, ModelModule, ServerPlan, ToolGroupPlan, ToolPlan
from mcpgen.plan.aliases import alias_names, aliases_of_tools
from mcpgen.plan.arguments import takes_file
from mcpgen.plan.contradictions import report_contradiction
from mcpgen.plan.descriptions import one_line, shorten
from mcpgen.plan.entries import effective_entries
from mcpgen.plan.environment import environment
from mcpgen.plan.headers import default_headers
from mcpgen.plan.instructions import default_instructions
from mcpgen.plan.intent import chosen_names, entries_by_key
from mcpgen.plan.listing import plan_search, plan_toolsets
from mcpgen.plan.models import model_modules
from mcpgen.plan.naming import call_types, module_names
from mcpgen.plan.peer_prompts import prompts_of
from mcpgen.plan.peers import with_names, with_wishes
from mcpgen.plan.policy import Policy
from mcpgen.plan.property_names import offered_names
from mcpgen.plan.references import needed_schemas
from mcpgen.plan.select import select
from mcpgen.plan.setting_usage import with_usage_of_tools
from mcpgen.plan.settings import SettingPlanning
from mcpgen.plan.targets import tool_name_limit
from mcpgen.plan.tool_names import ToolNaming
from mcpgen.plan.tool_schema import ToolSchemas
from mcpgen.plan.tools import ToolPlanning
from mcpgen.plan.types import Types
from mcpgen.plan.words import snake_case
from mcpgen.plan.workflows import plan_workflows

_MAX_DESCRIPTION = 600


def plan_tools(api: Api, policy: Policy, problems: Problems) -> ServerPlan:
    """Decide every name, type, default and order of the server that serves `api`.

    An operation that no tool can be made of stands in `left_out`, with a diagnostic.
    """
    return _Planning(api, policy, problems).plan()


def _with_published(operations: Iterable[Operation], policy: Policy) -> tuple[Operation, ...]:
    """Return operations with the arguments that clients or the manifest know by name."""
    stated = {name for entry in policy.manifest.operations.values() for name in entry.parameters}
    return tuple(
        replace(operation, published_arguments=published)
        if (published := policy.published_arguments.get(operation.key, frozenset()) | stated)
        else operation
        for operation in operations
    )


class _Planning:
    def __init__(self, api: Api, policy: Policy, problems: Problems) -> None:
        api = replace(api, operations=_with_published(with_names(api.operations), policy))
        self.api = api
        self.policy = policy
        self.problems = problems
        offered = offered_names(api)
        self.schemas = ToolSchemas(api.schemas, offered)
        self.types = Types(
            self.schemas.requests, self.schemas.responses, models=policy.manifest.models
        )
        self.planning = ToolPlanning(self.schemas, self.types, offered, policy, problems)
        self.left_out: list[LeftOut] = list(api.left_out)
        stated = entries_by_key(api.operations, api.left_out, policy, problems)
        own = with_wishes(stated, api.operations, problems)
        self.effective = effective_entries(
            api.operations, own, policy.intent, self.schemas.requests, problems
        )
        in_order = [*own, *(key for key in self.effective if key not in own)]
        self.entries = {key: self.effective[key].entry for key in in_order}

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
        toolsets = plan_toolsets(groups, workflows, self.policy, self.problems)
        search = plan_search(title, groups, workflows, toolsets, self.policy, self.problems)
        takes_files = any(
            takes_file(item, self.types) for tool in tools.values() for item in tool.body
        )
        prefix = f"{snake_case(server.name).upper()}_"
        variables = environment(
            api,
            served,
            prefix,
            takes_files=takes_files,
            has_toolsets=search is not None,
            asks_users=any(tool.shaping.confirm for tool in tools.values()),
        )
        settings = SettingPlanning(variables, self.schemas.requests, self.problems)
        plan = ServerPlan(
            name=server.name,
            distribution=f"{server.name}-mcp",
            package=Identifier(f"{snake_case(server.name)}_mcp"),
            env_prefix=prefix,
            title=title,
            description=shorten(one_line(api.description), _MAX_DESCRIPTION),
            instructions=server.instructions,
            api=replace(api, operations=served, schemas=needed_schemas(served, api.schemas)),
            base_servers=api.servers,
            environment=(
                *variables,
                *with_usage_of_tools(settings.variables(tools.values()), tools.values()),
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
            toolsets=toolsets,
            search=search,
            headers=self._headers(served),
        )
        return plan if plan.instructions else replace(plan, instructions=default_instructions(plan))

    def _headers(self, served: Iterable[Operation]) -> dict[str, tuple[Fixed, ...]]:
        """The default headers of each API that is called."""
        sources = sorted({operation.source for operation in served})
        found = {source: default_headers(self.policy, source) for source in sources}
        return {source: headers for source, headers in found.items() if headers}

    def _tools(self, selected: Sequence[Operation]) -> dict[str, ToolPlan]:
        """Plan a tool for each operation that can have one, by operation, with all its names."""
        chosen = chosen_names(self.entries, selected, self.policy, self.problems)
        naming = ToolNaming(
            selected,
            tool_name_limit(self.policy.manifest.server.name, self.policy.manifest.targets),
            reserved=alias_names(self.policy),
            prefixes={source.name: source.tool_prefix for source in self.api.sources},
        )
        issued = {**self.policy.issued_names, **chosen}
        names = naming.names(issued)
        types = call_types(selected, self.policy.published_calls, self.policy.issued_names)
        tools = {
            operation.key: tool
            for operation in sorted(selected, key=lambda operation: operation.key)
            if (tool := self._tool(operation, names[operation.key], types[operation.key]))
            is not None
        }
        aliases = aliases_of_tools(tools, self.entries, self.policy, self.problems)
        document_names = naming.document_names(names)
        self._report_shortened(naming, {key: names[key] for key in tools if key not in issued})
        return {
            key: replace(
                tool,
                aliases=aliases.get(tool.name, ()),
                document_name="" if key in chosen else document_names.get(key, ""),
            )
            for key, tool in tools.items()
        }

    def _report_shortened(self, naming: ToolNaming, names: Mapping[str, str]) -> None:
        """Report which new names are shorter than the words of the document."""
        whole = naming.shortened(names)
        if not whole:
            return
        key = min(whole)
        shown = [f"`{names[each]}` is short for `{whole[each]}`" for each in sorted(whole)[:3]]
        more = f", and {len(whole) - 3} more" if len(whole) > 3 else ""
        self.problems.note(
            "name-shortened",
            f"shortened {len(whole)} tool name{'s'[: len(whole) - 1]} to {naming.limit} characters",
            at=naming.operations[key].at,
            why=f"clients reject longer ones: {', '.join(shown)}{more}",
            help=f'to set another, write `operations: {{"{key}": {{name: ...}}}}` in mcpgen.yaml;'
            " the clients under `targets` decide what is too long",
        )

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
        sources = {tag: min(it.operation.source for it in by_tag[tag]) for tag in sorted(by_tag)}
        modules = module_names(sources)
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

    def _tool(self, operation: Operation, name: str, call_type: Identifier) -> ToolPlan | None:
        try:
            return self.planning.tool(operation, self.effective[operation.key], name, call_type)
        except OperationRefusedError as refused:
            self.left_out.append(leave_out(operation.key, refused, self.problems))
            return None
