"""Keys of test cases: hashes of everything that the cases of a tool are made from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.jsonschema.references import definition_name
from mcpgen.jsonschema.types import JsonSchema
from mcpgen.plan.cases.calls import CaseContext

# In JSON, a text that looks like a reference has a backslash before its quotes.
_REFERENCE = re.compile(rb'"\$ref":("(?:[^"\\]|\\.)*")')
_IDENTIFIER = re.compile(rb'"\$(?:id|anchor|dynamicAnchor)":')


class CaseKeys:
    """The keys of the tools of one server.

    A key covers the context, the whole tool, and the named schemas that any text of these refers
    to, directly or not. Their positions in their files are not part of it.
    """

    def __init__(
        self, context: CaseContext, schemas: Mapping[str, JsonSchema], salt: str = ""
    ) -> None:
        """Initialize with what all tools share.

        `salt` is a part of each key: the versions of the code and the libraries that make cases.
        """
        start = _encode([salt, context])
        self._start = hashlib.sha256(start)
        self._named = {name: _Spelled.of(schema) for name, schema in schemas.items()}
        # A schema with an identifier can be referred to without its name.
        identified = {name for name, it in self._named.items() if it.is_identified}
        self._everywhere = identified | _find_references(start)

    def of(self, tool: ToolPlan) -> str:
        """Return the key of a tool, as `prepare_tool` returns it."""
        # In JSON, a reference of a declared request to an input could be a constant as well.
        declared = tool.operation.declared
        if declared is not None:
            tool = replace(tool, operation=replace(tool.operation, declared=None))
        text = _encode([tool, repr(declared)])
        key = self._start.copy()
        key.update(text)
        for name in sorted(self._collect_schema_names(text)):
            key.update(_encode([name, self._named[name].digest]))
        return key.hexdigest()

    def _collect_schema_names(self, text: bytes) -> set[str]:
        """Return the names of the schemas that a text refers to, directly or not."""
        found: set[str] = set()
        waiting = [*self._everywhere, *_find_references(text)]
        while waiting:
            name = waiting.pop()
            if name in self._named and name not in found:
                found.add(name)
                waiting += self._named[name].references
        return found


def prepare_tool(tool: ToolPlan) -> ToolPlan:
    """Return a tool as its cases are made from it: without names for the next plan."""
    if not (tool.operation.published_arguments or tool.operation.published_members):
        return tool
    operation = replace(tool.operation, published_arguments=frozenset(), published_members={})
    return replace(tool, operation=operation)


class _Spelled(Struct, frozen=True):
    """The properties of a named schema that keys depend on."""

    digest: str
    references: frozenset[str]  # names of schemas
    is_identified: bool

    @classmethod
    def of(cls, schema: JsonSchema) -> _Spelled:
        text = _encode(schema)
        return cls(
            hashlib.sha256(text).hexdigest(),
            _find_references(text),
            _IDENTIFIER.search(text) is not None,
        )


def _find_references(text: bytes) -> frozenset[str]:
    """Return the names in all `$ref`s of a JSON text."""
    return frozenset(
        definition_name(msgspec.json.decode(found)) for found in set(_REFERENCE.findall(text))
    )


def _encode(value: Any) -> bytes:
    """Encode a value as JSON, without sorting the members of objects."""
    return _encoder.encode(value)


def _convert(value: Any) -> Any:
    """Convert an object that has no JSON type to a value that has one."""
    if isinstance(value, str):
        return str(value)  # of a subclass
    return None if callable(value) else repr(value)  # `Place.locate` finds a line, of no effect


_encoder = msgspec.json.Encoder(enc_hook=_convert)
