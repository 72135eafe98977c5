"""Bodies whose members become arguments of the tool, beside its parameters.

Not every body can: a choice, a list and a value that is no object stay one argument, as does an
object with members that the document does not name. The handler receives the body in any case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from mcpgen.contract.flat_bodies import FlatBody
from mcpgen.ir.api import Operation
from mcpgen.ir.tool_plan import Argument
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.references import follow_references
from mcpgen.jsonschema.types import JsonObject, JsonSchema
from mcpgen.plan.arguments.arguments import BODY, ListedArgument
from mcpgen.plan.naming.names import assign_member_names, derive_argument_name
from mcpgen.plan.schemas.tool_schema import InputSchemas

_OPEN = ("patternProperties", "unevaluatedProperties", "additionalProperties")
_CHOICES = ("anyOf", "oneOf")
_CODE_SPAN = re.compile(r"`([^`\s]+)`")


def flatten_body(
    inputs: InputSchemas,
    listed: Sequence[ListedArgument],
    operation: Operation,
    names: Mapping[str, str],
    shapes: Shapes,
    offered: Mapping[str, str],
) -> tuple[InputSchemas, FlatBody | None]:
    """Return the input schemas with the members of the body as arguments, if it is flat.

    `inputs` are the schemas of the `listed` arguments. `names` are the names in the manifest for
    members, `offered` the safe names of members, both by API name.
    """
    item = next((it for it in listed if it.argument.location == BODY), None)
    body = None if item is None else _find_flat_body(inputs.listed, item, operation, shapes)
    if item is None or body is None:
        return inputs, None
    wire_names = {safe: wire for wire, safe in offered.items()}
    members = {wire_names.get(name, name): name for name in body["properties"]}
    others = [it.argument.name for it in listed if it is not item]
    named = assign_member_names(members, others, names, operation.published_members)
    argument = item.argument
    is_required = argument.required and argument.default is UNSET
    flat = FlatBody(
        argument.name,
        {named[it]: members[it] for it in members},
        is_required,
        body.get("additionalProperties") is False,
    )
    flattened = _list_members(inputs.listed, body, argument, flat, named)
    needs_all = not is_required and body.get("required")
    full = inputs.full or (inputs.listed if needs_all else None)
    return replace(inputs, listed=flattened, full=full), flat


def _find_flat_body(
    schema: JsonObject, item: ListedArgument, operation: Operation, shapes: Shapes
) -> JsonObject | None:
    """Return the listed schema of a body whose members can be arguments; None if they cannot.

    It is an object with described members and without others. An object whose schema does not
    mention other members counts as one without. An optional body is omitted instead of being null
    or empty, unless an example of the document is an empty object.
    """
    shape = shapes.of(item.argument.schema)
    is_open = any(shape.keywords.get(keyword, False) is not False for keyword in _OPEN)
    is_optional = not item.argument.required
    allowed = ({"object"}, {"object", "null"}) if is_optional else ({"object"},)
    if item.is_simplified or {*shape.types} not in allowed or is_open:
        return None
    if is_optional and _has_empty_example(operation):
        return None
    listed: JsonSchema = schema["properties"][item.argument.name]
    body = follow_references(listed, schema.get("$defs", {}))
    choices = [it for it in body.get("anyOf", ()) if it != {"type": "null"}]
    if "null" in shape.types and len(choices) == 1:
        body = follow_references(choices[0], schema.get("$defs", {}))
    if body.get("type") != "object" or not body.get("properties"):
        return None
    if not body.keys().isdisjoint(_CHOICES):
        return None
    about = listed.get("description", "") if isinstance(listed, dict) else ""
    return {**body, "description": about} if about else body


def _has_empty_example(operation: Operation) -> bool:
    """Return whether the document shows an empty object as the body, unlike an omitted one."""
    return any({} in item.examples for item in operation.body_content)


def _list_members(
    schema: JsonObject,
    body: JsonObject,
    argument: Argument,
    flat: FlatBody,
    named: Mapping[str, str],
) -> JsonObject:
    """Return the listed schema of a tool, with the members in place of the body."""
    needed = body.get("required", ())
    parameters = schema["properties"]
    required = {*schema.get("required", ())} - {argument.name}
    if flat.required:
        required |= {name for name, member in flat.members.items() if member in needed}
    wire_names = {name: wire for wire, name in named.items()}
    renamed = {wire: it for wire, it in named.items() if it == derive_argument_name(wire)}
    found: JsonObject = {}
    for name, described in parameters.items():
        if name != argument.name:
            found[name] = described
            continue
        for own, member in flat.members.items():
            member_schema = _rename_in_text(body["properties"][member], renamed)
            found[own] = _describe_member(member_schema, own, wire_names[own])
    ordered = sorted(found, key=lambda name: name not in required)
    listed = {**schema, "properties": {name: found[name] for name in ordered}}
    listed.pop("required", None)
    if required:
        listed["required"] = [name for name in ordered if name in required]
    about = _describe_body(body, flat)
    return {"type": "object", "description": about, **listed} if about else listed


def _rename_in_text(schema: JsonObject, names: Mapping[str, str]) -> JsonObject:
    """Return a schema whose description has the names of arguments in its code spans."""
    about = schema.get("description", "")
    if "`" not in about:
        return schema
    renamed = _CODE_SPAN.sub(lambda found: f"`{names.get(found[1], found[1])}`", about)
    return schema if renamed == about else {**schema, "description": renamed}


def _describe_member(schema: JsonObject, name: str, wire_name: str) -> JsonObject:
    """Return the schema of a member; one with another name states which member it is."""
    if name == derive_argument_name(wire_name):
        return schema
    about = schema.get("description", "")
    return {**schema, "description": f"`{wire_name}` of the request body. {about}".rstrip()}


def _describe_body(body: JsonObject, flat: FlatBody) -> str:
    """Return the text of the listing about the members of the body together."""
    names = flat.names
    about = _rename_in_text(body, names).get("description", "")
    needed = [names[member] for member in body.get("required", ()) if member in names]
    others = [name for name in flat.members if name not in needed]
    if flat.required or not needed or len(flat.members) < 2:
        return f"Request body: {about}" if about else ""
    shown = ", ".join(f"`{name}`" for name in needed)
    if not others:
        rule = f"Give all of {shown}, or none of them."
    else:
        rest = "any other member" if len(others) > 5 else ", ".join(f"`{it}`" for it in others)
        verb = "is" if len(needed) == 1 else "are"
        rule = f"{shown} {verb} required with {rest} of the request body."
    return f"Request body: {about} {rule}" if about else rule
