"""Idempotency keys: a header that the server fills in, instead of an argument.

The manifest names the header, or the document declares a parameter with one of the usual names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Location, OperationRefusedError, Place, Problems
from mcpgen.ir.api import Operation, Parameter
from mcpgen.ir.manifest_entries import KEY_METHODS, EffectiveEntry
from mcpgen.ir.workflow import Workflow
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.samples import Samples
from mcpgen.plan.arguments.overrides import (
    OverriddenOperation,
    WirePlace,
    change_parameter,
    find_argument_places,
    find_header,
    make_header,
    name_arguments,
)
from mcpgen.plan.tools.entries import names_of
from mcpgen.plan.tools.results import At

USUAL_NAMES = frozenset(
    {"idempotence-key", "idempotency-key", "x-idempotence-key", "x-idempotency-key"}
)
SETTING = "idempotency_header"
_EXAMPLE_KEY = "2f9c4d1e-6b0a-4c5e-9d57-1a3b8e7f6c20"
_SHOWN = 3

Outcome = Literal["", "supplied", "published", "unusable"]
"""Report: "" for none, that the server supplies the header, or why it is still an argument."""


class KeyHeader(Struct, frozen=True):
    """The header of an operation that carries its idempotency key."""

    operation: str  # its key
    header: str
    outcome: Outcome
    at: Place | Location


def apply_idempotency_key(
    adjusted: OverriddenOperation,
    effective: EffectiveEntry,
    kept: Collection[WirePlace],
    published: Collection[str],
    shapes: Shapes,
    at: At,
) -> tuple[OverriddenOperation, KeyHeader | None]:
    """Mark or add the header with the key; return also what to report about it, if anything.

    `kept` are the places that the manifest configures, `published` the published arguments.

    Raises:
        OperationRefusedError: the manifest names a header that the operation cannot have.
    """
    operation, configured = adjusted.sent, effective.entry.idempotency_header
    if operation.method not in KEY_METHODS:
        if configured and not effective.is_inherited(SETTING):
            raise OperationRefusedError(
                "idempotency-header",
                f"`{operation.key}` needs no idempotency key",
                at(SETTING),
                "a key is for POST and PATCH; other methods are repeatable without",
            )
        return adjusted, None
    declared = find_header(operation, USUAL_NAMES if configured is None else {configured.lower()})
    if configured == "" or (declared is None and not configured):
        return adjusted, None
    if declared is None:
        header = make_header(str(configured), at(SETTING), {"type": "string", "minLength": 1})
        added = replace(header, is_generated=True)
        sent = replace(operation, parameters=(*operation.parameters, added))
        return replace(adjusted, sent=sent), None
    place = ("header", declared.name)
    if any((fixed.location, fixed.wire_name) == place for fixed in adjusted.fixed):
        return adjusted, None  # a fixed value is no key: all requests would be one
    problem = Samples(shapes.schemas, "request").problem(declared.schema, _EXAMPLE_KEY)
    if problem and configured:
        raise OperationRefusedError(
            "idempotency-header",
            f"the header `{declared.name}` of `{operation.key}` cannot be a generated key",
            at(SETTING),
            f"a key is a UUID, which the document does not accept: {problem}",
        )
    outcome: Outcome = "" if configured else "supplied"
    if problem:
        return adjusted, KeyHeader(operation.key, declared.name, "unusable", declared.at)
    if place in kept or operation.declared is not None:
        return _generate_header(adjusted, declared, is_argument=True), None
    if not configured and name_arguments(operation)[place] in published:
        adjusted = _generate_header(adjusted, declared, is_argument=True)
        return adjusted, KeyHeader(operation.key, declared.name, "published", declared.at)
    adjusted = _generate_header(adjusted, declared, is_argument=False)
    return adjusted, KeyHeader(operation.key, declared.name, outcome, declared.at)


def _generate_header(
    adjusted: OverriddenOperation, header: Parameter, *, is_argument: bool
) -> OverriddenOperation:
    """Let the server supply the header: always, or if a call has no value for it."""
    place, required = header.wire_place, header.required or not is_argument
    generated = replace(header, is_generated=True, required=required)
    adjusted = replace(adjusted, sent=change_parameter(adjusted.sent, place, lambda _: generated))
    if is_argument:
        return adjusted
    offered = change_parameter(adjusted.offered, place, lambda _: None)
    return replace(adjusted, offered=offered)


def find_workflow_places(
    operation: Operation, workflows: Sequence[Workflow], shapes: Shapes
) -> Iterator[WirePlace]:
    """Yield the places of the arguments that workflow steps pass to an operation."""
    if not workflows:
        return
    names = names_of(operation)
    places = find_argument_places(operation, shapes)
    for workflow in workflows:
        for step in workflow.steps:
            if step.operation in names:
                for argument in step.arguments:
                    if argument.location:
                        yield (argument.location, argument.name)
                    elif argument.name in places:
                        yield places[argument.name]


def report_idempotency_keys(found: Sequence[KeyHeader], problems: Problems) -> None:
    """Report once for all operations how the headers that the document declares are handled."""
    for outcome, code, verb, why, advice in _REPORTS:
        headers = [each for each in found if each.outcome == outcome]
        if not headers:
            continue
        count = f"{len(headers)} operation{'s'[: len(headers) - 1]}"
        shown = ", ".join(f"`{each.operation}`" for each in headers[:_SHOWN])
        more = f" and {len(headers) - _SHOWN} more" if len(headers) > _SHOWN else ""
        problems.note(
            code,
            f"{verb} `{headers[0].header}` of {count}",
            at=headers[0].at,
            why=f"{shown}{more}: {why}",
            help=advice.format(header=headers[0].header),
        )


_REPORTS = (
    (
        "supplied",
        "idempotency-key",
        "the server supplies the header",
        "each request gets a fresh key, which its retries repeat; tools have no argument for it",
        'to keep the argument, set `idempotency_header: ""` for the operation, or for `"*"`',
    ),
    (
        "published",
        "idempotency-argument",
        "kept the argument for the header",
        "clients know the argument; a call without it gets a key from the server",
        "to remove the argument, set `idempotency_header: {header}` for the operations",
    ),
    (
        "unusable",
        "idempotency-argument",
        "kept the argument for the header",
        "its schema accepts no UUID, so the server cannot supply it, and POST is not repeated",
        "an overlay can correct the schema of the parameter",
    ),
)
