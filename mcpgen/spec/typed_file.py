"""A configuration file read into a type, every departure from the type told by its place."""

from __future__ import annotations

import functools
from typing import Any, Generic, TypeVar

import jsonschema_rs
import msgspec
from msgspec import Struct

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.json_schema import JSON_SCHEMA_2020_12
from mcpgen.ir.json_types import JsonObject
from mcpgen.spec.limits import DEFAULT_LIMITS
from mcpgen.spec.source_file import ReadFile, read_source_file
from mcpgen.spec.violations import violations_of

T = TypeVar("T", bound=msgspec.Struct)

_WHY = "mcpgen follows this file to the letter, or not at all"


class TypedFile(Struct, Generic[T], frozen=True):
    """What a file says, and where it says so."""

    value: T
    _file: ReadFile
    _code: str

    @property
    def stated(self) -> JsonObject:
        """What the file says, as JSON."""
        stated: JsonObject = self._file.value
        return stated

    def at(self, *tokens: str) -> Location:
        """The place of what stands at these keys and list indexes."""
        return self._file.location(tokens)

    def refuse(self, problems: Problems, tokens: tuple[str, ...], message: str, help: str) -> None:
        """Report a value that fits its type and cannot be followed."""
        problems.error(self._code, message, at=self.at(*tokens), why=_WHY, help=help)


def read_typed(
    content: bytes, shown_as: str, type_: type[T], code: str, problems: Problems
) -> TypedFile[T]:
    """Read YAML or JSON into a msgspec type; its diagnostics bear `code`.

    Raises:
        RejectedError: it cannot be decoded, or departs from the type's JSON Schema.
    """
    file = read_source_file(content, shown_as, problems, DEFAULT_LIMITS)
    schema = json_schema(type_)
    errors = _validator(type_).iter_errors(file.value)
    is_wrong = False
    for found in violations_of(errors, shown_as, schema):
        is_wrong = True
        at = file.location(found.tokens)
        problems.error(code, found.message, at=at, why=_WHY, help=found.help)
    if is_wrong:
        raise RejectedError
    return TypedFile(msgspec.convert(file.value, type_), file, code)


@functools.cache
def json_schema(type_: type[msgspec.Struct]) -> JsonObject:
    """Give the JSON Schema (2020-12) of files that hold this type.

    Objects whose type does not forbid unknown members, as those of standards, may have others that
    begin with `x-`, and no more.
    """
    schema = msgspec.json.schema(type_)
    for definition in schema["$defs"].values():
        if "properties" in definition and "additionalProperties" not in definition:
            definition |= {"patternProperties": {"^x-": {}}, "additionalProperties": False}
    return {"$schema": JSON_SCHEMA_2020_12, **schema}


@functools.cache
def _validator(type_: type[msgspec.Struct]) -> Any:
    return jsonschema_rs.Draft202012Validator(json_schema(type_))
