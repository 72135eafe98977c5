"""Conversion of discriminators (Discriminator Object) to plain JSON Schema keywords."""

from __future__ import annotations

from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.openapi.lower.nodes import Source, object_of

_MAX_STEPS = 16


def make_explicit(out: JsonObject, schema: JsonObject, pointer: str, source: Source) -> None:
    """Constrain the discriminating property in each variant of `out`.

    `out` is the lowered `schema`; the variants are the members of its `oneOf` or `anyOf`. If a
    variant constrains the property itself, only `required` is added. A discriminator without
    variants, as in a base schema, adds nothing.
    """
    discriminator = schema["discriminator"]
    if isinstance(discriminator, str):  # OpenAPI 2.0: only the name, in a base schema
        return
    described = object_of(discriminator)
    name = described.get("propertyName")
    if not isinstance(name, str):
        source.warn(
            "discriminator",
            "missing `propertyName` of the discriminator",
            f"{pointer}/discriminator",
        )
        return
    mapping = object_of(described.get("mapping"))
    default = described.get("defaultMapping")
    for keyword in ("oneOf", "anyOf"):
        for raw, lowered in zip(schema.get(keyword) or (), out.get(keyword) or (), strict=False):
            reference = raw.get("$ref") if isinstance(raw, dict) else None
            if not isinstance(reference, str) or not isinstance(lowered, dict):
                continue
            if isinstance(default, str) and _matches(default, reference):
                continue
            _constrain(lowered, name, _list_values(mapping, reference), reference, source)


def _constrain(
    variant: JsonObject, name: str, values: list[str], reference: str, source: Source
) -> None:
    variant["required"] = [name]
    if not _has_own_constraint(name, reference, source):
        variant["properties"] = {
            name: {"const": values[0]} if len(values) == 1 else {"enum": values}
        }


def _list_values(mapping: JsonObject, reference: str) -> list[str]:
    """Return the values of the property that select the schema at `reference`."""
    mapped = sorted(str(key) for key, target in mapping.items() if _matches(target, reference))
    return mapped or [reference.rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")]


def _matches(target: JsonValue, reference: str) -> bool:
    if not isinstance(target, str):
        return False
    return target == reference or ("/" not in target and reference.endswith("/" + target))


def _has_own_constraint(name: str, reference: str, source: Source) -> bool:
    """Return whether the schema at `reference` constrains the property, also through `allOf`."""
    waiting: list[JsonValue] = [{"$ref": reference}]
    for _ in range(_MAX_STEPS):
        if not waiting:
            return False
        schema = object_of(waiting.pop())
        inner = object_of(object_of(schema.get("properties")).get(name))
        if isinstance(inner.get("$ref"), str):
            found = source.target(inner["$ref"])
            inner = object_of(found.value) if found else {}
        if "const" in inner or "enum" in inner:
            return True
        if isinstance(schema.get("$ref"), str):
            found = source.target(schema["$ref"])
            waiting.append(found.value if found else {})
        elif isinstance(schema.get("allOf"), list):
            waiting.extend(schema["allOf"])
    return False
