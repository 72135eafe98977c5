"""Arguments of mcpgen's own, which are not sent to the API: pages, parts of results, members."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from mcpgen.ir.tool_plan import Argument, Pagination
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.arguments.media_types import is_json
from mcpgen.plan.schemas.tool_schema import MANY_MEMBERS, InputSchemas, OutputSchema
from mcpgen.plan.tools.pagination import ARGUMENT
from mcpgen.text.media_types import JSON_LINES, is_text

CONTINUATION: Final = "continue_from"
FIELDS: Final = "fields"
_SELECTORS = frozenset({"field", "fieldmask", "includefields", "onlyfields", "select"})
"""Names of parameters, besides `fields` and without `_`, by which an API itself selects members."""


def describe_pages(pages: Pagination) -> Mapping[str, JsonObject]:
    """Return the argument for the number of pages."""
    assumed = " Paging is assumed from parameter names." if pages.is_assumed else ""
    return {
        ARGUMENT: {
            "type": "integer",
            "minimum": 1,
            "maximum": pages.most,
            "description": f"How many pages to fetch and join, 1 to {pages.most}; 1 by default. "
            f"Not sent to the API.{assumed}",
        }
    }


def describe_continuation(
    annotations: JsonObject, accept: Iterable[str], taken: Iterable[str]
) -> Mapping[str, JsonObject]:
    """Return the argument for the position at which a cut result continues, or nothing.

    The same request is sent again, so that tools need it whose calls have no effect and whose
    results are JSON or text. `taken` are the names of the other arguments.
    """
    has_text = any(
        is_json(it) or is_text(it) or it in JSON_LINES or it.startswith("*") for it in accept
    )
    if not annotations.get("readOnlyHint") or not has_text:
        return {}
    described = "Where a cut result goes on, as its note says."
    schema = {"type": "string", "default": "", "description": described}
    return {_choose_name(CONTINUATION, taken): schema}


def describe_fields(
    arguments: Sequence[Argument],
    output: OutputSchema | None,
    taken: Iterable[str],
    published: Collection[str] = (),
) -> Mapping[str, JsonObject]:
    """Return the argument for the members to return, or nothing.

    It is for results with many members. An API that can select members has an argument for it. A
    `published` one stays as long as there is a choice of members.
    """
    if output is None:
        return {}
    name = _choose_name(FIELDS, taken)
    paths = output.paths
    is_useful = len(paths) >= MANY_MEMBERS and not any(map(_is_selector, arguments))
    if not (is_useful or (name in published and len(paths) > 1)):
        return {}
    nested = next((path for path in paths if "." in path), paths[1])
    description = f"Members to return: `{paths[0]}`, `{nested}`; all by default."
    items = {"type": "string"}
    schema: JsonObject = {"type": "array", "items": items, "default": []}
    return {name: {**schema, "description": description}}


def _is_selector(argument: Argument) -> bool:
    if argument.location != "query":
        return False
    name = re.sub(r"[^a-z]", "", argument.wire_name.lower())
    return name.startswith(FIELDS) or name in _SELECTORS


def _choose_name(name: str, taken: Iterable[str]) -> str:
    """Return the name of an argument, with a prefix if another argument has it."""
    others = {*taken}
    while name in others:
        name = f"result_{name}"
    return name


def add_arguments(inputs: InputSchemas, arguments: Mapping[str, JsonObject]) -> InputSchemas:
    """Return the input schemas with further optional arguments."""

    def add(schema: JsonObject) -> JsonObject:
        return {**schema, "properties": {**schema.get("properties", {}), **arguments}}

    full = None if inputs.full is None else add(inputs.full)
    return replace(inputs, listed=add(inputs.listed), full=full)
