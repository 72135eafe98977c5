"""The user's expectations of a server: test cases and recorded tools.

`mcpgen test --update` rewrites these two files, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.factory.test.custom_tools import (
    TOOLS_FILE,
    compare_tools,
    format_record,
    list_custom_tools,
    read_record,
)
from mcpgen.factory.test.own_cases import observe, summarize
from mcpgen.factory.test.recording import renew, rewrite, update_case
from mcpgen.factory.test.results import Group
from mcpgen.factory.test.selection import Selection
from mcpgen.ir.tests_file import TESTS_FILE, CaseEntry
from mcpgen.pipeline.project.project_folder import read_file
from mcpgen.pipeline.project.tests_file import parse_own_cases
from mcpgen.testing.client.client import NoAnswerError, RpcError
from mcpgen.testing.client.connections import ConnectionLostError


class Updated(Struct, frozen=True):
    """A rewritten file."""

    path: str
    before: bytes
    after: bytes


class OwnTests(Struct, frozen=True):
    """The results of the user's expectations, and the rewritten files."""

    groups: tuple[Group, ...] = ()
    updated: tuple[Updated, ...] = ()


def run_own_tests(
    package: GeneratedPackage,
    cases: Sequence[CaseEntry],
    problems: Problems,
    *,
    selection: Selection,
    update: bool,
) -> OwnTests:
    """Run the selected cases, and compare the tools of `handlers/` with their record.

    `update` returns rewritten files with the observed values, without writing them. An invalid
    record is reported to `problems`.
    """
    found = _run_cases(package, cases, problems, selection=selection, update=update)
    if not selection([TOOLS_FILE]):
        return found
    tools = _compare_tools(package, problems, update=update)
    return OwnTests((*found.groups, *tools.groups), (*found.updated, *tools.updated))


def write_updated(target: Path, updated: Sequence[Updated]) -> None:
    """Write rewritten files.

    Raises:
        OSError: a file cannot be written.
    """
    for file in updated:
        (target / file.path).write_bytes(file.after)


def _run_cases(
    package: GeneratedPackage,
    cases: Sequence[CaseEntry],
    problems: Problems,
    *,
    selection: Selection,
    update: bool,
) -> OwnTests:
    chosen = [case for case in cases if selection([case.id, case.call.tool, TESTS_FILE])]
    if not chosen:
        return OwnTests()
    observed = observe(package, chosen)
    recorded = {each.case.id: [*renew(each)] for each in observed} if update else {}
    if not any(recorded.values()):
        return OwnTests((summarize(observed),))
    before = read_file(package.directory, TESTS_FILE) or b""
    after = rewrite(
        before,
        [
            (number, place, value)
            for number, case in enumerate(cases)
            for place, value in recorded.get(case.id, ())
        ],
    )
    read = parse_own_cases(after, package.directory, Problems())
    expected = [update_case(case, recorded.get(case.id, ())) for case in cases]
    if read is None or list(read.cases) != expected:
        problems.error(
            "not-rewritten",
            f"{TESTS_FILE} was not changed: some cases share an expectation",
            at=Location(TESTS_FILE),
            why="an alias or a merge key refers to it",
            help="copy it into each case, or change it by hand",
        )
        return OwnTests((summarize(observed),))
    now = [replace(each, case=update_case(each.case, recorded[each.case.id])) for each in observed]
    return OwnTests((summarize(now),), (Updated(TESTS_FILE, before, after),))


def _compare_tools(package: GeneratedPackage, problems: Problems, *, update: bool) -> OwnTests:
    before = read_file(package.directory, TOOLS_FILE)
    if before is None and not update:
        return OwnTests()
    try:
        recorded = read_record(before) if before else []
    except ValueError as error:
        problems.error(
            "record",
            f"{TOOLS_FILE} is not a record of tools: {error}",
            at=Location(TOOLS_FILE),
            why="the tools of `handlers/` are compared with it",
            help="restore it, or delete it and run `mcpgen test --update`",
        )
        return OwnTests()
    try:
        found = list_custom_tools(package)
    except (RpcError, NoAnswerError, ConnectionLostError) as error:
        return OwnTests(
            (Group(TOOLS_FILE, failed=[("tools/list", f"the request failed: {error}")]),)
        )
    if not update or found == recorded:
        return OwnTests((compare_tools(found, recorded),) if recorded or found else ())
    after = format_record(found)
    return OwnTests((compare_tools(found, found),), (Updated(TOOLS_FILE, before or b"", after),))
