"""The shape of a tool's results, from its contract and the limits of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from mcpgen.contract.limits import BYTES_PER_TOKEN, DEFAULT_LIMITS

if TYPE_CHECKING:
    from mcpgen.jsonschema.validation import SchemaValidator
    from mcpgen.runtime.tools.projection import Projection


class ResultShape(Struct, frozen=True):
    """Result shape from a tool's contract.

    `uri` names bytes that have no name of their own. `output` validates against the listed output
    schema; None if the tool lists none. `projection` selects the parts of a value that are
    in the result; None for all parts.
    """

    operation: str
    result_key: str = ""
    uri: str = ""
    output: SchemaValidator | None = None
    projection: Projection | None = None
    max_bytes: int = DEFAULT_LIMITS.max_result_tokens * BYTES_PER_TOKEN
