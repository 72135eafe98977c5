"""Planning of a server package from its API and the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from mcpgen.diagnostics import OperationRefusedError, Problems
from mcpgen.ir.api import Api, Operation, SkippedOperation, skip_operation
from mcpgen.ir.manifest import Manifest
from mcpgen.ir.tool_plan import Fixed, ModelPlan, ServerPlan, ToolGroupPlan, ToolPlan
from mcpgen.plan.arguments.arguments import takes_file
from mcpgen.plan.arguments.credentials import collect_confirmed_origins, with_destinations
from mcpgen.plan.arguments.environment import plan_environment
from mcpgen.plan.arguments.headers import plan_default_headers, report_steering
from mcpgen.plan.arguments.settings import SettingPlanning, count_tool_usage
from mcpgen.plan.naming.aliases import collect_alias_names, resolve_aliases
from mcpgen.plan.naming.names import assign_call_types, assign_module_names, find_safe_names
from mcpgen.plan.naming.tool_names import ToolNaming
from mcpgen.plan.naming.words import snake_case
from mcpgen.plan.policy import Policy
from mcpgen.plan.schemas.bundle import collect_needed_schemas
from mcpgen.plan.schemas.tool_schema import ToolSchemas
from mcpgen.plan.schemas.types import Types
from mcpgen.plan.skills.subjects import plan_skill_subjects
from mcpgen.plan.tools.annotations import report_contradiction
from mcpgen.plan.tools.descriptions import find_scope_sentences, write_instructions
from mcpgen.plan.tools.entries import choose_names, collect_entries, merge_entries
from mcpgen.plan.tools.extensions import (
    apply_extension_names,
    apply_extensions,
    plan_extension_prompts,
)
from mcpgen.plan.tools.handles import plan_handles
from mcpgen.plan.tools.jobs import JobPlanning
from mcpgen.plan.tools.listing import plan_search, plan_toolsets
from mcpgen.plan.tools.merged import plan_merged_tools
from mcpgen.plan.tools.scopes import plan_scopes
from mcpgen.plan.tools.select import select
from mcpgen.plan.tools.targets import find_name_limit
from mcpgen.plan.tools.tools import ToolPlanning
from mcpgen.plan.workflows.workflows import plan_workflows
from mcpgen.text.identifiers import Identifier
from mcpgen.text.prose import plain_line, shorten_at_sentence

_MAX_DESCRIPTION = 600


Count = Callable[[int, int], None]
"""Receives how many operations are planned, of how many."""


def plan_tools(
    api: Api, policy: Policy, problems: Problems, count: Count = lambda _done, _total: None
) -> ServerPlan:
    """Decide every name, type, default and order of the server that serves `api`.

    Operations that no tool can call are in `skipped`, each with a diagnostic. `count` is called
    before each operation.
    """
    return _Planning(api, policy, problems, count).plan()


def _with_published(operations: Iterable[Operation], policy: Policy) -> tuple[Operation, ...]:
    """Return operations with the arguments that clients or the manifest know by name."""
    stated = {name for entry in policy.manifest.operations.values() for name in entry.parameters}
    return tuple(
        replace(
            operation,
            published_arguments=published,
            published_members=policy.published_members.get(operation.key, {}),
        )
        if (published := policy.published_arguments.get(operation.key, frozenset()) | stated)
        else operation
        for operation in operations
    )


class _Planning:
    def __init__(self, api: Api, policy: Policy, problems: Problems, count: Count) -> None:
        self._count = count
        api = replace(
            api, operations=_with_published(apply_extension_names(api.operations), policy)
        )
        self.api = api
        self.policy = policy
        self.problems = problems
        offered = find_safe_names(api)
        self.schemas = ToolSchemas(api.schemas, offered, policy.form)
        self.types = Types(
            self.schemas.requests, self.schemas.responses, models=policy.manifest.models
        )
        self.planning = ToolPlanning(
            self.schemas,
            self.types,
            offered,
            policy,
            problems,
            scope_sentences=find_scope_sentences(api.operations),
        )
        self.skipped: list[SkippedOperation] = list(api.skipped)
        stated = collect_entries(api.operations, api.skipped, policy, problems)
        own = apply_extensions(stated, api.operations, problems)
        self.effective = merge_entries(
            api.operations, own, policy.intent, self.schemas.requests, problems
        )
        in_order = [*own, *(key for key in self.effective if key not in own)]
        self.entries = {key: self.effective[key].entry for key in in_order}

    def plan(self) -> ServerPlan:
        api, server = self.api, self.policy.manifest.server
        selected = select(api.operations, self.policy, self.entries, self.problems)
        tools, merged = plan_merged_tools(
            self._plan_tools(selected), self.skipped, self.policy, self.problems
        )
        served = tuple(
            tools[operation.key].operation for operation in selected if operation.key in tools
        )
        for operation in served:
            entry = self.effective[operation.key].entry
            report_contradiction(operation, entry, self.problems)
        report_steering(self.planning.steering, self.problems)
        groups = self._plan_groups(served, tools, merged)
        title = plain_line(server.title or api.title) or server.name
        workflows = plan_workflows(
            self.policy.workflows, tools, self.skipped, self.schemas, self.problems
        )
        toolsets = plan_toolsets(groups, workflows, self.policy, self.problems)
        handles = plan_handles(groups, workflows, self.policy)
        search = plan_search(
            title, groups, workflows, toolsets, handles, self.policy, self.problems
        )
        takes_files = any(
            takes_file(item, self.types) for tool in tools.values() for item in tool.body
        )
        prefix = f"{snake_case(server.name).upper()}_"
        variables = plan_environment(
            api,
            served,
            prefix,
            takes_files=takes_files,
            has_search=search is not None,
            has_handles=handles is not None,
            asks_users=any(tool.policies.confirm for tool in tools.values()),
        )
        settings = SettingPlanning(variables, self.schemas.requests, self.problems)
        plan = ServerPlan(
            name=server.name,
            distribution=f"{server.name}-mcp",
            package=Identifier(f"{snake_case(server.name)}_mcp"),
            env_prefix=prefix,
            title=title,
            description=shorten_at_sentence(plain_line(api.description), _MAX_DESCRIPTION),
            instructions=server.instructions,
            api=replace(
                api,
                operations=served,
                schemas=collect_needed_schemas(served, self.schemas.requests),
            ),
            base_servers=api.servers,
            environment=(
                *variables,
                *count_tool_usage(settings.variables(tools.values()), tools.values()),
            ),
            groups=groups,
            models=self._plan_models(tools.values()),
            has_models=self.policy.manifest.models,
            prompts=plan_extension_prompts(api.prompts, self.problems),
            skipped=tuple(sorted(self.skipped, key=lambda left: left.operation)),
            unselected=self._list_unselected(selected),
            workflows=workflows,
            budget=self.policy.manifest.budget,
            toolsets=toolsets,
            search=search,
            handles=handles,
            headers=self._plan_headers(served),
            scopes=plan_scopes(tools, merged, workflows, self.policy, self.problems),
            scope_includes=self.policy.manifest.authorization.includes,
            skills=plan_skill_subjects(toolsets, workflows, self.policy, self.problems),
            owner_notes=server.instructions,
            form=self.policy.form,
            code_bounds=self.policy.manifest.code_bounds,
        )
        plan = with_destinations(plan, collect_confirmed_origins(self.policy))
        return plan if plan.instructions else replace(plan, instructions=write_instructions(plan))

    def _list_unselected(self, selected: Sequence[Operation]) -> tuple[SkippedOperation, ...]:
        """Return the operations that the manifest excludes, with the key that excludes each."""
        keys = sorted({it.key for it in self.api.operations} - {it.key for it in selected})
        return tuple(
            SkippedOperation(key, "off", "`expose: off` in `operations`")
            if self.entries[key].expose == "off"
            else SkippedOperation(key, "not-selected", "excluded by `select`")
            for key in keys
        )

    def _plan_headers(self, served: Iterable[Operation]) -> dict[str, tuple[Fixed, ...]]:
        """Return the default headers of each API that is called."""
        sources = sorted({operation.source for operation in served})
        found = {source: plan_default_headers(self.policy, source) for source in sources}
        return {source: headers for source, headers in found.items() if headers}

    def _plan_tools(self, selected: Sequence[Operation]) -> dict[str, ToolPlan]:
        """Plan a tool for each operation that can have one, by operation, with all its names."""
        chosen = choose_names(self.entries, selected, self.policy, self.problems)
        naming = ToolNaming(
            selected,
            find_name_limit(self.policy.manifest.server.name, self.policy.manifest.targets),
            reserved=collect_alias_names(self.policy),
            prefixes={source.name: source.tool_prefix for source in self.api.sources},
        )
        issued = {**self.policy.issued_names, **chosen}
        present = {it.key for it in self.api.operations} | {it.operation for it in self.skipped}
        names = naming.names(issued, self.policy.issued_names.keys() - present)
        types = assign_call_types(selected, self.policy.published_calls, self.policy.issued_names)
        in_order = sorted(selected, key=lambda operation: operation.key)
        planned = {}
        for number, it in enumerate(in_order):
            self._count(number, len(in_order))
            planned[it.key] = self._plan_tool(it, names[it.key], types[it.key])
        tools = {key: tool for key, tool in planned.items() if tool is not None}
        self.planning.report()
        aliases = resolve_aliases(tools, self.entries, self.policy, self.problems)
        document_names = naming.find_current_names(names)
        self._report_shortened(naming, {key: names[key] for key in tools if key not in issued})
        jobs = JobPlanning(tools, self.schemas.responses, self.planning.locate_settings_of)
        return {
            key: replace(
                self.planning.try_apply(partial(jobs.plan, tool), tool),
                aliases=aliases.get(tool.name, ()),
                document_name="" if key in chosen else document_names.get(key, ""),
            )
            for key, tool in tools.items()
        }

    def _report_shortened(self, naming: ToolNaming, names: Mapping[str, str]) -> None:
        """Report which new names are shorter than the words of the document."""
        whole = naming.find_shortened(names)
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

    def _plan_models(self, tools: Iterable[ToolPlan]) -> dict[Identifier, ModelPlan]:
        """Return the classes that the signatures of the handlers need."""
        if not self.policy.manifest.models:
            return {}
        tools = list(tools)
        annotations = [argument.annotation for tool in tools for argument in tool.arguments]
        return self.types.collect_models([*annotations, *(tool.returns for tool in tools)])

    def _plan_groups(
        self,
        served: tuple[Operation, ...],
        tools: dict[str, ToolPlan],
        merged: Iterable[ToolPlan],
    ) -> tuple[ToolGroupPlan, ...]:
        by_tag: dict[str, list[ToolPlan]] = {}
        for operation in served:
            by_tag.setdefault(operation.tag, []).append(tools[operation.key])
        sources = {tag: min(it.operation.source for it in by_tag[tag]) for tag in sorted(by_tag)}
        modules = assign_module_names(sources)
        of_tag: dict[str, list[ToolPlan]] = {}
        for tool in merged:
            of_tag.setdefault(tool.operation.tag, []).append(tool)
        groups = []
        for tag, plans in by_tag.items():
            about = shorten_at_sentence(plain_line(self.api.tag_descriptions.get(tag, "")), 300)
            ordered = tuple(sorted(plans, key=lambda tool: tool.name))
            groups.append(
                ToolGroupPlan(tag, modules[tag], about, ordered, tuple(of_tag.get(tag, ())))
            )
        return tuple(sorted(groups, key=lambda group: group.module))

    def _plan_tool(self, operation: Operation, name: str, call_type: Identifier) -> ToolPlan | None:
        try:
            return self.planning.tool(operation, self.effective[operation.key], name, call_type)
        except OperationRefusedError as refused:
            self.skipped.append(skip_operation(operation.key, refused, self.problems))
            return None


def plan_by_hand(manifest: Manifest) -> ServerPlan:
    """Plan a server of hand-written tools, without an API."""
    name = manifest.server.name
    snake = snake_case(name)
    title = manifest.server.title or name.replace("-", " ").capitalize()
    return ServerPlan(
        name=name,
        distribution=f"{name}-mcp",
        package=Identifier(f"{snake}_mcp"),
        env_prefix=f"{snake.upper()}_",
        title=title,
        description="",
        instructions=manifest.server.instructions,
        api=Api(title, "", "", (), (), (), {}),
        base_servers=(),
        environment=(),
        groups=(),
        models={},
        has_asking_handlers=True,  # the handlers are not known yet
    )
