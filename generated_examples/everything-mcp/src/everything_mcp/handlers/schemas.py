"""Input schemas: derived from signatures, or written by hand where a signature is too general."""

from typing import Annotated, Literal, TypedDict

from mcpgen.runtime import ABSENT, Absent, Context, Features
from msgspec import Meta

features = Features()


class Address(TypedDict, total=False):
    """Where somebody lives."""

    street: str
    city: str


@features.tool(annotations={"readOnlyHint": True, "idempotentHint": True})
def test_typed_arguments(
    ctx: Context,
    *,
    count: Annotated[int, Meta(ge=1, le=10)],
    unit: Literal["kg", "lb"] = "kg",
    address: Address | Absent = ABSENT,
) -> str:
    """Take arguments of several types; each is validated before this runs.

    Args:
        count: How many, 1 to 10.
        unit: What they are weighed in.
        address: Where they go, if anywhere.
    """
    where = "nowhere" if isinstance(address, Absent) else address.get("city", "somewhere")
    return f"{count} {unit} to {where}"


@features.tool(
    input_schema={
        "type": "object",
        "properties": {
            "region": {
                "type": "string",
                "description": "Where it runs.",
                "x-mcp-header": "Region",
            },
        },
        "required": ["region"],
        "additionalProperties": False,
    }
)
def test_x_mcp_header(ctx: Context, *, region: str) -> str:
    """Take an argument that clients repeat in the header `Mcp-Param-Region`, for gateways."""
    return f"Running in {region}"


@features.tool(
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    }
)
def json_schema_2020_12_tool(
    ctx: Context, *, name: str = "somebody", phone: str = "", email: str = ""
) -> str:
    """Take arguments with rules between them, which no signature can say."""
    return f"{name} is reached at {phone or email}"
