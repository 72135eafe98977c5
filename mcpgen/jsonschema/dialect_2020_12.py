"""JSON Schema 2020-12: its name, and what judges whether a value is one of its schemas."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import jsonschema_rs

JSON_SCHEMA_2020_12: Final = "https://json-schema.org/draft/2020-12/schema"


@functools.cache
def meta_schema() -> jsonschema_rs.Draft202012Validator:
    """Return the validator of schemas.

    Unlike `jsonschema_rs.meta` it never asks the network for a dialect that it does not know.
    """
    import jsonschema_rs  # which most commands do without

    return jsonschema_rs.Draft202012Validator({"$ref": JSON_SCHEMA_2020_12})
