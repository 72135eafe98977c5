"""Keys of test cases: hashes of everything that the cases of a tool are made from."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.jsonschema.references import definition_name
from mcpgen.jsonschema.types import JsonSchema
from mcpgen.plan.cases.calls import CaseContext

# A match ends before the value, so that no text which looks like a reference hides one.
_REFERENCE = re.compile(r"""'\$ref': (?=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))""")
_IDENTIFIER = re.compile(r"'\$(?:id|anchor|dynamicAnchor)': ")


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
        self._start = f"{salt}\n{context!r}"
        self._named = {name: _Spelled.of(schema) for name, schema in schemas.items()}
        # A schema with an identifier can be referred to without its name.
        identified = {name for name, it in self._named.items() if it.is_identified}
        self._everywhere = identified.union(_iterate_references(self._start))

    def of(self, tool: ToolPlan) -> str:
        """Return the key of a tool, as `prepare_tool` returns it."""
        text = repr(tool)
        key = hashlib.sha256(f"{self._start}\n{text}\n".encode("utf-8", "surrogatepass"))
        for name in sorted(self._collect_schema_names(text)):
            key.update(f"{name!r} {self._named[name].digest}\n".encode("utf-8", "surrogatepass"))
        return key.hexdigest()

    def _collect_schema_names(self, text: str) -> set[str]:
        """Return the names of the schemas that a text refers to, directly or not."""
        found: set[str] = set()
        waiting = [*self._everywhere, *_iterate_references(text)]
        while waiting:
            name = waiting.pop()
            if name in self._named and name not in found:
                found.add(name)
                waiting += self._named[name].references
        return found


def prepare_tool(tool: ToolPlan) -> ToolPlan:
    """Return a tool as its cases are made from it: without names for the next plan."""
    operation = replace(tool.operation, published_arguments=frozenset(), published_members={})
    return replace(tool, operation=operation)


class _Spelled(Struct, frozen=True):
    """The properties of a named schema that keys depend on."""

    digest: str
    references: frozenset[str]  # names of schemas
    is_identified: bool

    @classmethod
    def of(cls, schema: JsonSchema) -> _Spelled:
        text = repr(schema)
        return cls(
            hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
            frozenset(_iterate_references(text)),
            bool(_IDENTIFIER.search(text)),
        )


def _iterate_references(text: str) -> Iterator[str]:
    """Yield the names in all `$ref`s of a text that `repr` made, and in what looks like one."""
    for found in _REFERENCE.finditer(text):
        with suppress(SyntaxError, ValueError):
            yield definition_name(ast.literal_eval(found[1]))
