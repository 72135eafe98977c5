"""Planning of a tool from its operation and its settings in the manifest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from msgspec.structs import replace

from mcpgen.diagnostics import OperationRefusedError, Problems
from mcpgen.ir.api import Operation
from mcpgen.ir.manifest_entries import EffectiveEntry
from mcpgen.ir.tool_plan import Argument, Fixed, Pagination, ResultPolicies, ToolPlan, ViewPlan
from mcpgen.plan.arguments.arguments import explain_unsendable, plan_arguments, select_media_types
from mcpgen.plan.arguments.declared_defaults import DeclaredDefaults
from mcpgen.plan.arguments.headers import (
    SteeringParameter,
    apply_default_headers,
    hide_steering_headers,
    plan_default_headers,
)
from mcpgen.plan.arguments.idempotency import (
    KeyHeader,
    apply_idempotency_key,
    find_workflow_places,
    report_idempotency_keys,
)
from mcpgen.plan.arguments.input_refs import wire_operation
from mcpgen.plan.arguments.overrides import (
    OverriddenOperation,
    WirePlace,
    apply_overrides,
    find_argument_places,
    name_arguments,
)
from mcpgen.plan.naming.names import to_class_name, to_identifier, wire_names
from mcpgen.plan.policy import Policy
from mcpgen.plan.schemas.tool_schema import ToolSchemas
from mcpgen.plan.schemas.types import Types
from mcpgen.plan.tools.annotations import derive_annotations, state_defaults
from mcpgen.plan.tools.descriptions import write_tool_description, write_tool_title
from mcpgen.plan.tools.entries import apply_hints
from mcpgen.plan.tools.pagination import add_page_argument, recognize_pagination
from mcpgen.plan.tools.results import (
    At,
    ResultPolicyPlanning,
    also_answered,
    limit_pages,
    list_accepted_types,
    plan_result,
)
from mcpgen.plan.tools.targets import token_cost
from mcpgen.plan.tools.views import plan_view
from mcpgen.text.identifiers import Identifier

T = TypeVar("T")


class ToolPlanning:
    """Planning of the tools of one server, which share schemas and types."""

    def __init__(
        self,
        schemas: ToolSchemas,
        types: Types,
        offered: Mapping[str, str],
        policy: Policy,
        problems: Problems,
    ) -> None:
        """Initialize the shared parts; `offered` is the result of `find_safe_names`."""
        self._schemas = schemas
        self._types = types
        self._offered = offered
        self._policy = policy
        self._problems = problems
        self._headers: dict[str, tuple[Fixed, ...]] = {}  # by source
        self._defaults = DeclaredDefaults(schemas.requests, problems)
        self._key_headers: list[KeyHeader] = []
        self.steering: list[SteeringParameter] = []

    def tool(
        self, operation: Operation, effective: EffectiveEntry, name: str, call_type: Identifier
    ) -> ToolPlan:
        """Plan the tool of an operation with the settings of the manifest.

        Raises:
            OperationRefusedError: no tool can call the operation.
        """
        hint, entry = to_class_name(name), effective.entry
        adjusted = self._with_key(self._apply_overrides(operation, effective), effective)
        listed = plan_arguments(adjusted, self._types, hint)
        operation = adjusted.sent
        self._report_unsendable(operation)
        inputs = self._schemas.input(listed, operation)
        notes = ("Some arguments nest further than listed.",) if inputs.is_cut else ()
        title = entry.title or write_tool_title(operation, name)
        arguments = tuple(item.argument for item in listed)
        pages, policies = self._plan_policies(operation, effective, arguments)
        if pages is not None:
            inputs = add_page_argument(inputs, pages)
        output_schema, result_key, returns = plan_result(
            operation, hint, policies, self._schemas, self._types
        )
        tool = ToolPlan(
            name=name,
            function=to_identifier(name),
            call_type=call_type,
            title=title,
            description=write_tool_description(operation, notes, entry),
            operation=operation,
            arguments=arguments,
            input_schema=inputs.listed,
            full_input_schema=inputs.full,
            output_schema=output_schema,
            result_key=result_key,
            returns=returns,
            annotations=state_defaults(apply_hints(derive_annotations(operation, title), entry)),
            accept=list_accepted_types(operation),
            token_cost=0,
            body=select_media_types(operation, self._types),
            pagination=pages,
            policies=policies,
            view=self._plan_view(operation, effective, policies, result_key),
            exposed_as=entry.expose,
            stated=effective,
            also_answered=also_answered(operation),
            fixed=adjusted.fixed,
            hidden=adjusted.hidden,
            members=adjusted.members,
            wire_names=wire_names(inputs.full or inputs.listed, self._offered),
        )
        return replace(tool, token_cost=token_cost(tool))

    def _apply_overrides(
        self, operation: Operation, effective: EffectiveEntry
    ) -> OverriddenOperation:
        """Return the operation with the manifest's overrides; on errors, unchanged."""
        if operation.declared is not None:
            return self._with_headers(wire_operation(operation, operation.declared), ())
        at = self._locate_settings(effective)

        def apply() -> OverriddenOperation:
            requests = self._schemas.requests
            entry = effective.entry
            wanted = apply_overrides(
                operation, entry, requests, lambda name: at("parameters", name)
            )
            return self._defaults.apply(wanted)

        entries = effective.entry.parameters
        places = find_argument_places(operation, self._schemas.requests) if entries else {}
        stated = {places[name] for name in entries if name in places}
        found = self.try_apply(apply, OverriddenOperation(operation, operation))
        return self._with_headers(self._without_steering(found, operation, entries), stated)

    def _without_steering(
        self, adjusted: OverriddenOperation, operation: Operation, stated: Collection[str]
    ) -> OverriddenOperation:
        """Return the operation without steering headers; published and configured ones stay."""
        published = self._policy.published_arguments.get(operation.key, frozenset())
        adjusted, found = hide_steering_headers(
            adjusted, name_arguments(operation), {*published, *stated}
        )
        self.steering += [it for it in found if it.argument not in stated]
        return adjusted

    def _with_headers(
        self, adjusted: OverriddenOperation, stated: Collection[WirePlace]
    ) -> OverriddenOperation:
        """Return the operation with the default headers of its API, except `stated` ones."""
        source = adjusted.sent.source
        if source not in self._headers:
            self._headers[source] = plan_default_headers(self._policy, source)
        headers = self._headers[source]
        requests = self._schemas.requests
        return self.try_apply(
            lambda: apply_default_headers(adjusted, headers, stated, requests), adjusted
        )

    def _with_key(
        self, adjusted: OverriddenOperation, effective: EffectiveEntry
    ) -> OverriddenOperation:
        """Return the operation with the header that carries its idempotency key."""
        operation, requests = adjusted.offered, self._schemas.requests

        def with_key() -> tuple[OverriddenOperation, KeyHeader | None]:
            places = find_argument_places(operation, requests)
            kept = {places[name] for name in effective.entry.parameters if name in places}
            kept.update(find_workflow_places(operation, self._policy.workflows, requests))
            published = self._policy.published_arguments.get(operation.key, frozenset())
            at = self._locate_settings(effective)
            return apply_idempotency_key(adjusted, effective, kept, published, requests, at)

        unchanged: tuple[OverriddenOperation, KeyHeader | None] = (adjusted, None)
        adjusted, key_header = self.try_apply(with_key, unchanged)
        if key_header is not None:
            self._key_headers.append(key_header)
        return adjusted

    def report(self) -> None:
        """Report what concerns many tools at once."""
        report_idempotency_keys(self._key_headers, self._problems)

    def _plan_policies(
        self, operation: Operation, effective: EffectiveEntry, arguments: tuple[Argument, ...]
    ) -> tuple[Pagination | None, ResultPolicies]:
        """Return the pagination and the result policies of a tool."""
        responses, at = self._schemas.responses, self._locate_settings(effective)
        described = recognize_pagination(operation, self._schemas.requests, responses)

        def plan_policies() -> tuple[Pagination | None, ResultPolicies]:
            pages = limit_pages(described, operation, effective, at)
            policies = ResultPolicyPlanning(operation, arguments, pages, responses, at).of(
                effective
            )
            return pages, policies

        return self.try_apply(plan_policies, (described, ResultPolicies()))

    def _plan_view(
        self,
        operation: Operation,
        effective: EffectiveEntry,
        policies: ResultPolicies,
        result_key: str,
    ) -> ViewPlan | None:
        responses, at = self._schemas.responses, self._locate_settings(effective)
        return self.try_apply(
            lambda: plan_view(operation, effective, policies, result_key, responses, at), None
        )

    def try_apply(self, take_over: Callable[[], T], otherwise: T) -> T:
        """Return the result of `take_over`; report why the operation was refused, if it was."""
        try:
            return take_over()
        except OperationRefusedError as refused:
            self._problems.error(
                refused.code,
                str(refused),
                at=refused.at,
                why="mcpgen follows the manifest to the letter, or not at all",
                help=refused.help,
            )
            return otherwise

    def locate_settings_of(self, tool: ToolPlan) -> At:
        """Return a function that locates the settings of a tool in the manifest."""
        return self._locate_settings(tool.stated)

    def _locate_settings(self, effective: EffectiveEntry) -> At:
        """Return a function that locates a setting of an operation in the manifest."""
        return lambda *inside: self._policy.intent.locate(effective.tokens(*inside))

    def _report_unsendable(self, operation: Operation) -> None:
        """Report the media types of a body that cannot be sent, if others can."""
        content = () if operation.request_body is None else operation.request_body.content
        for item in content:
            if why := explain_unsendable(item, self._types):
                self._problems.note(
                    "body-media-type",
                    f"`{operation.key}` takes its body as `{item.media_type}` as well, which "
                    "generated servers cannot write; it is sent in another way",
                    at=item.at,
                    why=why,
                )
