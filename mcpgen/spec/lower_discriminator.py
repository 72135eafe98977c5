"""Discriminators (OpenAPI, Discriminator Object) said in plain JSON Schema."""

from __future__ import annotations

from mcpgen.ir.json_types import JsonObject, JsonValue
from mcpgen.spec.lower_source import Source, object_of

_MAX_STEPS = 16


def make_explicit(out: JsonObject, schema: JsonObject, pointer: str, source: Source) -> None:
    """Give each variant of `out` the value of the discriminating property that selects it.

    `out` is `schema` lowered; the variants are the members of its `oneOf` or `anyOf`. A variant
    that says the value itself is only told that the property is required. A discriminator without
    variants, as in a base that others extend, adds nothing that a validator could check.
    """
    discriminator = schema["discriminator"]
    if isinstance(discriminator, str):  # OpenAPI 2.0: the name alone, in a base schema
        return
    described = object_of(discriminator)
    name = described.get("propertyName")
    if not isinstance(name, str):
        source.warn(
            "discriminator", "a discriminator needs `propertyName`", f"{pointer}/discriminator"
        )
        return
    mapping = object_of(described.get("mapping"))
    default = described.get("defaultMapping")
    for keyword in ("oneOf", "anyOf"):
        for raw, lowered in zip(schema.get(keyword) or (), out.get(keyword) or (), strict=False):
            reference = raw.get("$ref") if isinstance(raw, dict) else None
            if not isinstance(reference, str) or not isinstance(lowered, dict):
                continue
            if isinstance(default, str) and _names(default, reference):
                continue
            _select(lowered, name, _values(mapping, reference), reference, source)


def _select(
    variant: JsonObject, name: str, values: list[str], reference: str, source: Source
) -> None:
    variant["required"] = [name]
    if not _says_itself(name, reference, source):
        variant["properties"] = {
            name: {"const": values[0]} if len(values) == 1 else {"enum": values}
        }


def _values(mapping: JsonObject, reference: str) -> list[str]:
    """What the property says when the value is of the schema at `reference`."""
    mapped = sorted(str(key) for key, target in mapping.items() if _names(target, reference))
    return mapped or [reference.rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")]


def _names(target: JsonValue, reference: str) -> bool:
    if not isinstance(target, str):
        return False
    return target == reference or ("/" not in target and reference.endswith("/" + target))


def _says_itself(name: str, reference: str, source: Source) -> bool:
    """Whether the schema at `reference` constrains the property, in itself or by `allOf`."""
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
