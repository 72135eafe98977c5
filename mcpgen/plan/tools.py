"""From an operation to the tool that calls it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from msgspec.structs import replace

from mcpgen.diagnostics import OperationRefusedError, Problems
from mcpgen.ir.api import Operation
from mcpgen.ir.identifiers import Identifier
from mcpgen.ir.manifest import EffectiveEntry
from mcpgen.ir.tool_plan import Argument, Fixed, Pagination, Shaping, ToolPlan
from mcpgen.plan.adjusting import Adjusted, WirePlace, adjust, argument_places
from mcpgen.plan.annotations import tool_annotations
from mcpgen.plan.arguments import plan_arguments, selectable, why_unsendable
from mcpgen.plan.declared_defaults import DeclaredDefaults
from mcpgen.plan.descriptions import tool_description, tool_title
from mcpgen.plan.headers import default_headers, with_headers
from mcpgen.plan.intent import with_hints
from mcpgen.plan.naming import identifier, pascal_case
from mcpgen.plan.pagination import recognised, with_pages
from mcpgen.plan.policy import Policy
from mcpgen.plan.property_names import wire_names
from mcpgen.plan.results import accepted, also_answered, planned_result
from mcpgen.plan.shaping import At, PlannedShaping, paged
from mcpgen.plan.token_cost import token_cost
from mcpgen.plan.tool_schema import ToolSchemas
from mcpgen.plan.types import Types
from mcpgen.plan.wiring import wired

T = TypeVar("T")


class ToolPlanning:
    """Makes the tools of one server, whose schemas and types they share."""

    def __init__(
        self,
        schemas: ToolSchemas,
        types: Types,
        offered: Mapping[str, str],
        policy: Policy,
        problems: Problems,
    ) -> None:
        """Take what the tools share; `offered` is as of `offered_names`."""
        self._schemas = schemas
        self._types = types
        self._offered = offered
        self._policy = policy
        self._problems = problems
        self._headers: dict[str, tuple[Fixed, ...]] = {}  # by source
        self._defaults = DeclaredDefaults(schemas.requests, problems)

    def tool(
        self, operation: Operation, effective: EffectiveEntry, name: str, call_type: Identifier
    ) -> ToolPlan:
        """Plan the tool of an operation with the settings of the manifest.

        Raises:
            OperationRefusedError: no tool can call the operation.
        """
        hint, entry = pascal_case(name), effective.entry
        adjusted = self._adjusted(operation, effective)
        listed = plan_arguments(adjusted, self._types, hint)
        operation = adjusted.sent
        self._tell_of_unsendable(operation)
        inputs = self._schemas.input(listed, operation)
        notes = ("Some arguments nest further than listed.",) if inputs.is_cut else ()
        title = entry.title or tool_title(operation, name)
        arguments = tuple(item.argument for item in listed)
        pages, shaping = self._shaping(operation, effective, arguments)
        if pages is not None:
            inputs = with_pages(inputs, pages)
        result = planned_result(operation, hint, shaping, self._schemas, self._types)
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
            output_schema=result.schema,
            result_key=result.key,
            returns=result.returns,
            annotations=with_hints(tool_annotations(operation, title), entry),
            accept=accepted(operation),
            token_cost=0,
            body=selectable(operation, self._types),
            pagination=pages,
            shaping=shaping,
            exposed_as=entry.expose,
            stated=effective,
            also_answered=also_answered(operation),
            fixed=adjusted.fixed,
            members=adjusted.members,
            wire_names=wire_names(inputs.full or inputs.listed, self._offered),
        )
        return replace(tool, token_cost=token_cost(tool))

    def _adjusted(self, operation: Operation, effective: EffectiveEntry) -> Adjusted:
        """The operation as the manifest has it; where that cannot be followed, as it is."""
        if operation.declared is not None:
            return self._with_headers(wired(operation, operation.declared), ())
        at = self._place_of(effective)

        def adjusted() -> Adjusted:
            requests = self._schemas.requests
            entry = effective.entry
            wanted = adjust(operation, entry, requests, lambda name: at("parameters", name))
            return self._defaults.apply(wanted)

        entries = effective.entry.parameters
        places = argument_places(operation, self._schemas.requests) if entries else {}
        stated = {places[name] for name in entries if name in places}
        return self._with_headers(self._followed(adjusted, Adjusted(operation, operation)), stated)

    def _with_headers(self, adjusted: Adjusted, stated: Collection[WirePlace]) -> Adjusted:
        """The operation with the default headers of its API; `stated` are decided otherwise."""
        source = adjusted.sent.source
        if source not in self._headers:
            self._headers[source] = default_headers(self._policy, source)
        headers = self._headers[source]
        requests = self._schemas.requests
        return self._followed(lambda: with_headers(adjusted, headers, stated, requests), adjusted)

    def _shaping(
        self, operation: Operation, effective: EffectiveEntry, arguments: tuple[Argument, ...]
    ) -> tuple[Pagination | None, Shaping]:
        """How its list goes on, and what is done around its handler."""
        responses, at = self._schemas.responses, self._place_of(effective)
        described = recognised(operation, self._schemas.requests, responses)

        def shaped() -> tuple[Pagination | None, Shaping]:
            pages = paged(described, operation, effective, at)
            shaping = PlannedShaping(operation, arguments, pages, responses, at).of(effective)
            return pages, shaping

        return self._followed(shaped, (described, Shaping()))

    def _followed(self, take_over: Callable[[], T], otherwise: T) -> T:
        """What the manifest makes of an operation; a problem where it cannot be followed."""
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

    def _place_of(self, effective: EffectiveEntry) -> At:
        """The place of a setting of an operation, in the entry that states it."""
        return lambda *inside: self._policy.intent.locate(effective.tokens(*inside))

    def _tell_of_unsendable(self, operation: Operation) -> None:
        """Report the media types of a body that stay unused beside others that can be written."""
        content = () if operation.request_body is None else operation.request_body.content
        for item in content:
            if why := why_unsendable(item, self._types):
                self._problems.note(
                    "body-media-type",
                    f"`{operation.key}` takes its body as `{item.media_type}` as well, which "
                    "generated servers cannot write; it is sent in another way",
                    at=item.at,
                    why=why,
                )
