"""The dialects of JSON Schema in which a server may describe its tools."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import jsonschema_rs


JSON_SCHEMA_2020_12: Final = "https://json-schema.org/draft/2020-12/schema"
JSON_SCHEMA_DRAFT_07: Final = "http://json-schema.org/draft-07/schema"


def find_dialect(schema: Mapping[str, Any]) -> str:
    """Return the dialect that a schema declares by `$schema`, by default 2020-12.

    Raises:
        ValueError: the dialect is neither 2020-12 nor draft 07.
    """
    declared = schema.get("$schema", JSON_SCHEMA_2020_12)
    dialect = declared.removesuffix("#") if isinstance(declared, str) else declared
    if dialect not in {JSON_SCHEMA_2020_12, JSON_SCHEMA_DRAFT_07}:
        raise ValueError(
            f"the JSON Schema dialect {declared!r} is not supported: leave `$schema` out for "
            f"2020-12, or declare {JSON_SCHEMA_2020_12!r} or {JSON_SCHEMA_DRAFT_07!r}"
        )
    return str(dialect)


@functools.cache
def meta_schema() -> jsonschema_rs.Draft202012Validator:
    """Return the validator of schemas.

    Unlike `jsonschema_rs.meta` it never asks the network for a dialect that it does not know.
    """
    import jsonschema_rs  # which most commands do without

    return jsonschema_rs.Draft202012Validator({"$ref": JSON_SCHEMA_2020_12})
