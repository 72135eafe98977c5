"""`mcpgen.tests.yaml`, read and checked: its shape by its types, and what no schema says."""

from __future__ import annotations

from collections.abc import Collection

from mcpgen.diagnostics import Problems, RejectedError, did_you_mean
from mcpgen.ir.tests_file import TESTS_FILE, CasesFile, LocatedTests
from mcpgen.spec.typed_file import TypedFile, read_typed


def read_tests(content: bytes, operations: Collection[str], problems: Problems) -> LocatedTests:
    """Read the cases; `operations` are the keys that `upstream` may speak of.

    Raises:
        RejectedError: it is no YAML, or says what cannot be followed.
    """
    read = read_typed(content, TESTS_FILE, CasesFile, "tests", problems)
    seen: set[str] = set()
    for number, case in enumerate(read.value.cases):
        at = ("cases", str(number))
        if case.id in seen:
            read.refuse(problems, (*at, "id"), f"`{case.id}` names two cases", "name it apart")
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
    hint = did_you_mean(operation, operations, "`mcpgen.lock` lists what it has")
    read.refuse(problems, place, f"the API has no operation `{operation}`", hint)
