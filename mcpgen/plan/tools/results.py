"""Results of tools: accepted media types, output schema and return type."""

from __future__ import annotations

from msgspec import Struct

from mcpgen.ir.api import Operation
from mcpgen.ir.tool_plan import Annotation, ResultPolicies
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.arguments.media_types import is_json, rank_media_types
from mcpgen.plan.schemas.projection import Projection
from mcpgen.plan.schemas.tool_schema import ToolSchemas, list_response_schemas
from mcpgen.plan.schemas.types import Types
from mcpgen.text.media_types import essence_of


class PlannedResult(Struct, frozen=True):
    """Output schema of a tool (None without one), and the return type of its handler."""

    schema: JsonObject | None
    key: str  # of a wrapped result; "" for an object
    returns: Annotation


def plan_result(
    operation: Operation, hint: str, policies: ResultPolicies, schemas: ToolSchemas, types: Types
) -> PlannedResult:
    """Plan the result of an operation; `hint` names the class that an inline object needs."""
    found, is_sure = list_response_schemas(operation)
    if not found:
        return PlannedResult(None, "", _returns_without_json(operation))
    schema = found[0] if len(found) == 1 else {"anyOf": found}
    narrowing = Projection(schemas.responses)
    output = schemas.output(narrowing.project(found, dict(policies.select)))
    if not is_sure or len(found) > 1:
        return PlannedResult(output.schema, output.result_key, Annotation("object"))
    typed = types.of(schema, "response", f"{hint}Result")
    returns = typed.annotation if "|" not in typed.source else Annotation("object")
    if "Literal[" in returns.source or returns.source == "None":
        returns = Annotation("object")
    return PlannedResult(output.schema, output.result_key, returns)


def _returns_without_json(operation: Operation) -> Annotation:
    """Return the type of a result without JSON: `None` if no response has content."""
    successful = [item for item in operation.responses if item.status.startswith("2")]
    described = successful or [item for item in operation.responses if item.status == "default"]
    is_empty = described and not any(item.content for item in described)
    return Annotation("None") if is_empty or operation.method == "HEAD" else Annotation("object")


def list_accepted_types(operation: Operation) -> tuple[str, ...]:
    """Return the media types to accept: only JSON if there is JSON, so that the API chooses it."""
    for prefix in ("2", "default", ""):
        content = [
            item
            for response in operation.responses
            if response.status.startswith(prefix)
            for item in response.content
        ]
        names = list(
            dict.fromkeys(essence_of(item.media_type) for item in rank_media_types(content))
        )
        if names:
            of_json = ["application/json" if "*" in it else it for it in names if is_json(it)]
            return tuple(of_json or names)
    return ("*/*",)


def also_answered(operation: Operation) -> tuple[str, ...]:
    """Return the media types of successful responses that `list_accepted_types` omits."""
    names = {
        essence_of(item.media_type)
        for response in operation.responses
        if response.status.startswith("2")
        for item in response.content
    }
    return tuple(sorted(names - set(list_accepted_types(operation))))
