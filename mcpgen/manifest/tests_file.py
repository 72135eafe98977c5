"""Reading and validation of `mcpgen.tests.yaml`, by its JSON Schema and by further checks."""

from __future__ import annotations

from collections.abc import Collection

from mcpgen.diagnostics import Problems, RejectedError, did_you_mean
from mcpgen.ir.tests_file import TESTS_FILE, CasesFile, LocatedTests
from mcpgen.manifest.typed_file import TypedFile, read_typed


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
            read.refuse(problems, (*at, "id"), f"duplicate id `{case.id}`", "write a unique id")
        seen.add(case.id)
        for entry, upstream in enumerate(case.upstream):
            place = (*at, "upstream", str(entry), "operation")
            _check_operation(read, place, upstream.operation, operations, problems)
        if case.expect.request and case.expect.request.operation:
            place = (*at, "expect", "request", "operation")
            _check_operation(read, place, case.expect.request.operation, operations, problems)
    if problems.has_errors:
        raise RejectedError
    return LocatedTests(read.value.cases, lambda tokens: read.at(*tokens))


def _check_operation(
    read: TypedFile[CasesFile],
    place: tuple[str, ...],
    operation: str,
    operations: Collection[str],
    problems: Problems,
) -> None:
    if operation in operations:
        return
    hint = did_you_mean(operation, operations, "`mcpgen.lock` lists the operations")
    read.refuse(problems, place, f"unknown operation `{operation}`", hint)
