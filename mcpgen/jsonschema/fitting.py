"""Objects of a schema that say what they are told to, as far as the schema lets them."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.jsonschema.samples import CannotSampleError, sample
from mcpgen.jsonschema.schemas import JsonSchema, JsonValue, Schemas
from mcpgen.jsonschema.types import JsonObject


def fitted(
    members: Mapping[str, JsonValue], schema: JsonSchema, example: JsonValue, schemas: Schemas
) -> JsonObject:
    """Give a valid object with these members, and what else the schema demands.

    Members that the schema does not declare are left out, where it declares any; so are those that
    would not be valid. What is missing comes from `example`, else from a sample.
    """
    names = schemas.property_names(schema)
    told = {name: value for name, value in members.items() if name in names or not names}
    whole = required_part(schema, example, schemas)
    if schemas.fits(schema, whole | told):
        return whole | told
    for name, value in told.items():
        if schemas.fits(schema, {**whole, name: value}):
            whole[name] = value
    return whole


def required_part(schema: JsonSchema, example: JsonValue, schemas: Schemas) -> JsonObject:
    """Give what a schema demands of an object, as an example has it; {} where no value is known."""
    try:
        least = sample(schema, schemas=schemas, which="smallest")
    except CannotSampleError:
        least = {}
    if not isinstance(least, dict):
        return {}
    known = example if isinstance(example, dict) else {}
    likelier = {name: known.get(name, value) for name, value in least.items()}
    return likelier if schemas.fits(schema, likelier) else least
