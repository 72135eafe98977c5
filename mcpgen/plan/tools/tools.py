"""Planning of a tool from its operation and its settings in the manifest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from mcpgen.contract.flat_bodies import FlatBody
from mcpgen.diagnostics import OperationRefusedError, Problems
from mcpgen.ir.api import Operation
from mcpgen.ir.manifest_entries import EffectiveEntry
from mcpgen.ir.tool_plan import Fixed, Pagination, ResultPolicies, ToolPlan, ViewPlan
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.arguments.arguments import (
    BODY,
    ListedArgument,
    ParameterSchemas,
    explain_unsendable,
    plan_arguments,
    select_media_types,
)
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
)
from mcpgen.plan.naming.names import to_class_name, to_identifier, wire_names
from mcpgen.plan.policy import Policy
from mcpgen.plan.schemas.flat_bodies import flatten_body
from mcpgen.plan.schemas.tool_schema import InputSchemas, ToolSchemas
from mcpgen.plan.schemas.types import Types
from mcpgen.plan.tools.annotations import (
    choose_effect,
    decide_hints,
    is_repeatable,
    plan_annotations,
)
from mcpgen.plan.tools.descriptions import write_tool_description, write_tool_title
from mcpgen.plan.tools.own_arguments import (
    add_arguments,
    describe_continuation,
    describe_fields,
    describe_pages,
)
from mcpgen.plan.tools.pagination import recognize_pagination
from mcpgen.plan.tools.results import (
    At,
    ResultPolicyPlanning,
    limit_pages,
    list_accepted_types,
    list_other_types,
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
        *,
        scope_sentences: frozenset[str] = frozenset(),
    ) -> None:
        """Initialize the shared parts.

        `offered` is the result of `find_safe_names`, `scope_sentences` of `find_scope_sentences`.
        """
        self._schemas = schemas
        self._types = types
        self._parameters = ParameterSchemas(types)
        self._offered = offered
        self._policy = policy
        self._problems = problems
        self._scope_sentences = scope_sentences
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
        listed = plan_arguments(adjusted, self._types, self._parameters, hint)
        operation = adjusted.sent
        self._report_unsendable(operation)
        inputs = self._schemas.input(listed, operation)
        renamed = wire_names(inputs.full or inputs.listed, self._offered)
        inputs, flat_body = self._flatten(inputs, listed, adjusted, effective)
        notes = ("Some arguments nest further than listed.",) if inputs.is_cut else ()
        title = entry.title or write_tool_title(operation, name)
        arguments = tuple(item.argument for item in listed)
        is_trusted = self._policy.manifest.server.is_trusted
        decision = decide_hints(operation, is_trusted=is_trusted)
        annotations = plan_annotations(decision, title, entry)
        effect = choose_effect(decision, entry)
        pages, policies = self._plan_policies(adjusted, effective, annotations, effect)
        accept = list_accepted_types(operation)
        paging = {} if pages is None else describe_pages(pages)
        taken = (*inputs.listed["properties"], *paging)
        output, returns = plan_result(operation, hint, policies, self._schemas, self._types)
        output_schema = None if output is None else output.schema
        result_key = "" if output is None else output.result_key
        continuation: Mapping[str, JsonObject] = {}
        fields: Mapping[str, JsonObject] = {}
        if entry.expose == "tool" and operation.method != "HEAD" and returns.source != "None":
            continuation = describe_continuation(annotations, accept, taken)
            taken = (*taken, *continuation)
            published = self._policy.published_arguments.get(operation.key, ())
            fields = describe_fields(arguments, output, taken, published)
        inputs = add_arguments(inputs, {**paging, **continuation, **fields})
        tool = ToolPlan(
            name=name,
            function=to_identifier(name),
            call_type=call_type,
            title=title,
            description=write_tool_description(operation, notes, entry, self._scope_sentences),
            operation=operation,
            arguments=arguments,
            input_schema=inputs.listed,
            full_input_schema=inputs.full,
            output_schema=output_schema,
            result_key=result_key,
            returns=returns,
            annotations=annotations,
            effect=effect,
            hint_reasons=decision.reasons,
            accept=accept,
            token_cost=0,
            body=select_media_types(operation, self._types),
            flat_body=flat_body,
            pagination=pages,
            continuation="".join(continuation),
            fields="".join(fields),
            policies=policies,
            view=self._plan_view(operation, effective, policies, result_key),
            exposed_as=entry.expose,
            stated=effective,
            output_is_cut=output is not None and output.is_cut,
            also_answered=list_other_types(operation, accept),
            fixed=adjusted.fixed,
            hidden=adjusted.hidden,
            members=adjusted.members,
            wire_names=renamed,
        )
        return replace(tool, token_cost=token_cost(tool))

    def _flatten(
        self,
        inputs: InputSchemas,
        listed: Sequence[ListedArgument],
        adjusted: OverriddenOperation,
        effective: EffectiveEntry,
    ) -> tuple[InputSchemas, FlatBody | None]:
        """Return the input schemas with the members of the body as arguments, if they can be."""
        names = {name: own for (where, name), own in adjusted.names.items() if where == BODY}
        flat = None
        if (effective.entry.arguments or self._policy.form.arguments) == "flat":
            inputs, flat = flatten_body(
                inputs, listed, adjusted.offered, names, self._schemas.requests, self._offered
            )
        if names and flat is None:
            self._refuse_member_names(adjusted, effective)
        return inputs, flat

    def _refuse_member_names(
        self, adjusted: OverriddenOperation, effective: EffectiveEntry
    ) -> None:
        at = self._locate_settings(effective)
        for name, parameter_entry in effective.entry.parameters.items():
            if parameter_entry.name and name.startswith(f"{BODY}."):
                self._problems.error(
                    "parameter-name",
                    f"the argument `{name}` of `{adjusted.sent.key}` cannot be called"
                    f" `{parameter_entry.name}`",
                    at=at("parameters", name),
                    why="a property of a nested body keeps its name",
                    help="remove `name`, or set `arguments: flat` if the body is an object",
                )

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
            overridden = apply_overrides(
                operation, entry, requests, lambda name: at("parameters", name)
            )
            return self._defaults.apply(overridden)

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
        adjusted, found = hide_steering_headers(adjusted, operation, {*published, *stated})
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
            entries = effective.entry.parameters
            places = find_argument_places(operation, requests) if entries else {}
            kept = {places[name] for name in entries if name in places}
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
        self,
        adjusted: OverriddenOperation,
        effective: EffectiveEntry,
        annotations: JsonObject,
        effect: str,
    ) -> tuple[Pagination | None, ResultPolicies]:
        """Return the pagination and the result policies of a tool."""
        operation = adjusted.sent
        responses, at = self._schemas.responses, self._locate_settings(effective)
        described = recognize_pagination(operation, self._schemas.requests, responses)
        fixed = {item.wire_name for item in adjusted.fixed if item.location == BODY}
        if described is not None and not fixed.isdisjoint(described.body[:1]):
            described = None  # all requests have the same value
        repeats = is_repeatable(operation, effect)

        def plan_policies() -> tuple[Pagination | None, ResultPolicies]:
            pages = limit_pages(described, operation, effective, at, repeats=repeats)
            planning = ResultPolicyPlanning(operation, annotations, responses, at)
            return pages, planning.of(effective)

        return self.try_apply(plan_policies, (described if repeats else None, ResultPolicies()))

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
