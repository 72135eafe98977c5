"""Valid objects with given members."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.jsonschema.samples import CannotSampleError, sample
from mcpgen.jsonschema.schemas import Schemas
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue


def fit_members(
    members: Mapping[str, JsonValue], schema: JsonSchema, example: JsonValue, schemas: Schemas
) -> JsonObject:
    """Return a valid object with as many of these members as the schema allows.

    If the schema declares properties, undeclared members are skipped; so are invalid ones. Missing
    required members come from `example`, or else from a sample.
    """
    names = schemas.property_names(schema)
    told = {name: value for name, value in members.items() if name in names or not names}
    whole = sample_required_members(schema, example, schemas)
    if schemas.fits(schema, whole | told):
        return whole | told
    for name, value in told.items():
        if schemas.fits(schema, {**whole, name: value}):
            whole[name] = value
    return whole


def sample_required_members(schema: JsonSchema, example: JsonValue, schemas: Schemas) -> JsonObject:
    """Return the required members of an object, if valid those of the example; {} if unknown."""
    try:
        least = sample(schema, schemas=schemas, which="smallest")
    except CannotSampleError:
        least = {}
    if not isinstance(least, dict):
        return {}
    known = example if isinstance(example, dict) else {}
    likelier = {name: known.get(name, value) for name, value in least.items()}
    return likelier if schemas.fits(schema, likelier) else least
