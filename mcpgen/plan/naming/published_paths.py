"""The paths of operations as they were published, if they name their parameters otherwise now."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

from msgspec.structs import replace

from mcpgen.ir.api import Api, Operation
from mcpgen.text.uri_template import mask_variables

_VARIABLE = re.compile(r"\{([^{}]*)\}")


def with_published_paths(api: Api, known: Collection[str]) -> Api:
    """Return the API with the paths of `known` operations, which earlier runs published.

    `/pets/{id}` and `/pets/{petId}` are the same path (OpenAPI, Paths Object), and requests contain
    the name in the style `matrix` only. So the operation keeps its key, and its parameter the name
    that clients, the manifest and `handlers/` know.
    """
    keys = {operation.key for operation in api.operations}
    gone = find_unique_paths(set(known) - keys)
    published = {
        key: gone[path].partition(" ")[2]
        for path, key in find_unique_paths(keys - set(known)).items()
        if path in gone
    }
    if not published:
        return api
    return replace(
        api,
        operations=tuple(
            _rename_variables(operation, published[operation.key])
            if operation.key in published
            else operation
            for operation in api.operations
        ),
    )


def find_unique_paths(keys: Collection[str]) -> dict[str, str]:
    """Return operation keys by their form without names of variables, if the form is unique."""
    count = Counter(map(mask_variables, keys))
    return {path: key for key in keys if count[path := mask_variables(key)] == 1}


def _rename_variables(operation: Operation, path: str) -> Operation:
    """Return an operation with another path, which differs in the names of variables only."""
    now, published = _VARIABLE.findall(operation.path), _VARIABLE.findall(path)
    is_sent = any(each.style == "matrix" for each in operation.parameters)
    if is_sent or not len(set(now)) == len(set(published)) == len(now):
        return operation
    names = dict(zip(now, published, strict=True))
    parameters = tuple(
        replace(each, name=names.get(each.name, each.name)) if each.location == "path" else each
        for each in operation.parameters
    )
    return replace(operation, path=path, parameters=parameters)
