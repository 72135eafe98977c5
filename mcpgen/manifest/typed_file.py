"""Reading of a configuration file into a msgspec type, validated by the type's JSON Schema."""

from __future__ import annotations

import functools
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import jsonschema_rs
import msgspec
from msgspec import Struct

from mcpgen.diagnostics import Location, Problems, RejectedError, did_you_mean
from mcpgen.ir.file_set import TESTS_FILE
from mcpgen.ir.manifest import Manifest
from mcpgen.ir.tests_file import CasesFile, LocatedTests
from mcpgen.jsonschema.dialects import JSON_SCHEMA_2020_12
from mcpgen.jsonschema.types import JsonObject
from mcpgen.openapi.source.source_file import ReadFile, read_source_file
from mcpgen.openapi.source.source_text import DEFAULT_LIMITS
from mcpgen.openapi.validate.violations import describe_violations

T = TypeVar("T", bound=msgspec.Struct)

STORED_SCHEMA: Final = Path(__file__).with_name("manifest.schema.json")
"""The JSON Schema of the manifest, which `make update-docs` writes."""

_WHY = "mcpgen does not ignore invalid settings in this file"


class TypedFile(Struct, Generic[T], frozen=True):
    """The value of a configuration file, with the location of each part."""

    value: T
    _file: ReadFile
    _code: str
    _problems: Problems  # to report faults

    @property
    def stated(self) -> JsonObject:
        """The file as JSON, without defaults."""
        stated: JsonObject = self._file.value
        return stated

    def at(self, tokens: tuple[str, ...]) -> Location:
        """Return the location of the value at these keys and list indexes."""
        return self._file.location(tokens)

    def refuse(self, tokens: tuple[str, ...], message: str, help: str) -> None:
        """Report a value that is invalid although its type is correct."""
        self._problems.error(self._code, message, at=self.at(tokens), why=_WHY, help=help)


def read_typed(
    content: bytes, shown_as: str, type_: type[T], code: str, problems: Problems
) -> TypedFile[T]:
    """Read YAML or JSON into a msgspec type; its diagnostics have the code `code`.

    Raises:
        RejectedError: it cannot be decoded, or is invalid by the type's JSON Schema.
    """
    file = read_source_file(content, shown_as, problems, DEFAULT_LIMITS)
    schema = _find_schema(type_)
    errors = _compile_validator(type_).iter_errors(file.value)
    is_wrong = False
    for found in describe_violations(errors, shown_as, schema):
        is_wrong = True
        at = file.location(found.tokens)
        problems.error(code, found.message, at=at, why=_WHY, help=found.help)
    if is_wrong:
        raise RejectedError
    return TypedFile(msgspec.convert(file.value, type_), file, code, problems)


@functools.cache
def json_schema(type_: type[msgspec.Struct]) -> JsonObject:
    """Return the JSON Schema (2020-12) of files of this type.

    Objects whose type allows unknown members, as in standards, may have members that begin with
    `x-`, but no others.
    """
    schema = msgspec.json.schema(type_)
    for definition in schema["$defs"].values():
        if "properties" in definition and "additionalProperties" not in definition:
            definition |= {"patternProperties": {"^x-": {}}, "additionalProperties": False}
    return {"$schema": JSON_SCHEMA_2020_12, **schema}


@functools.cache
def _compile_validator(type_: type[msgspec.Struct]) -> Any:
    return jsonschema_rs.Draft202012Validator(_find_schema(type_))


@functools.cache
def _find_schema(type_: type[msgspec.Struct]) -> JsonObject:
    """Return the JSON Schema of a type, for the manifest from its file: deriving takes 20 ms."""
    if type_ is Manifest:
        stored: JsonObject = msgspec.json.decode(STORED_SCHEMA.read_bytes())
        return stored
    return json_schema(type_)


def read_tests(content: bytes, operations: Collection[str], problems: Problems) -> LocatedTests:
    """Read the test cases; `operations` are the keys of the API's operations.

    Raises:
        RejectedError: the file is invalid.
    """
    read = read_typed(content, TESTS_FILE, CasesFile, "tests", problems)
    seen: set[str] = set()
    for number, case in enumerate(read.value.cases):
        at = ("cases", str(number))
        if case.id in seen:
            read.refuse((*at, "id"), f"duplicate id `{case.id}`", "write a unique id")
        seen.add(case.id)
        named = [
            ((*at, "upstream", str(entry), "operation"), upstream.operation)
            for entry, upstream in enumerate(case.upstream)
        ]
        if case.expect.request and case.expect.request.operation:
            named.append(((*at, "expect", "request", "operation"), case.expect.request.operation))
        for place, operation in named:
            if operation not in operations:
                hint = did_you_mean(operation, operations, "`mcpgen.lock` lists the operations")
                read.refuse(place, f"unknown operation `{operation}`", hint)
    if problems.has_errors:
        raise RejectedError
    return LocatedTests(read.value.cases, read.at)
