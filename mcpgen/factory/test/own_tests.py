"""The user's expectations of a server: cases and recorded tools, checked or rewritten."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import yaml
from msgspec import UNSET, Struct, to_builtins
from msgspec.structs import replace

from mcpgen.contract.snapshot import snapshot_entry
from mcpgen.diagnostics import Location, Problems
from mcpgen.factory.junit import Group
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.factory.test.run import Selection
from mcpgen.ir.file_set import TESTS_FILE
from mcpgen.ir.tests_file import CaseEntry, RequestEntry
from mcpgen.pipeline.project.project_folder import read_file
from mcpgen.pipeline.project.read_inputs import parse_own_cases
from mcpgen.runtime.content import JsonObject
from mcpgen.testing.client.client import Client, NoAnswerError, RpcError
from mcpgen.testing.client.connections import ConnectionLostError
from mcpgen.testing.mock.replies import Reply
from mcpgen.testing.mock.upstream import MockUpstream, RecordedRequest
from mcpgen.testing.suite.cases import PLACES
from mcpgen.testing.suite.compare import compare_request, compare_text, is_same, text_of

TOOLS_FILE = "tests/tools.json"
_NOWHERE = "http://127.0.0.1:9"  # no API is called, but settings must be complete


def list_custom_tools(package: GeneratedPackage) -> list[JsonObject]:
    """Return the snapshot of each listed tool that is not generated, in the listed order.

    Raises:
        RpcError, NoAnswerError, ConnectionLostError: the server does not list its tools.
    """
    generated = {tool["name"] for tool in package.read_tools()}.union(package.search_tools)
    return [
        snapshot_entry(tool)
        for tool in asyncio.run(_list_tools(package))
        if tool["name"] not in generated
    ]


async def _list_tools(package: GeneratedPackage) -> list[JsonObject]:
    environment = package.environment(package.mock_environment(_NOWHERE))
    async with await Client.over_stdio(package.mock_command, environment) as client:
        return await client.list_tools()


def read_record(content: bytes) -> list[JsonObject]:
    """Parse a record.

    Raises:
        ValueError: it is invalid.
    """
    try:
        return [{**entry, "name": str(entry["name"])} for entry in json.loads(content)["tools"]]
    except (KeyError, TypeError) as error:
        raise ValueError(f"it has no tools ({error})") from None


def format_record(tools: Sequence[JsonObject]) -> bytes:
    """Return a record with one line per tool."""
    lines = ",\n".join(json.dumps(tool, sort_keys=True, ensure_ascii=False) for tool in tools)
    return f'{{"tools": [\n{lines}\n]}}\n'.encode()


def compare_tools(tools: Sequence[JsonObject], recorded: Sequence[JsonObject]) -> Group:
    """Compare each tool with its record."""
    group = Group(TOOLS_FILE)
    found = {tool["name"]: tool for tool in tools}
    expected = {tool["name"]: tool for tool in recorded}
    for name in {**expected, **found}:
        if name not in found:
            group.failed.append((name, "recorded, but not listed"))
        elif name not in expected:
            group.failed.append((name, "listed, but not recorded"))
        elif changed := sorted(
            key
            for key in found[name].keys() | expected[name].keys()
            if found[name].get(key) != expected[name].get(key)
        ):
            group.failed.append((name, f"differs from its record: {', '.join(changed)}"))
        else:
            group.passed.append(name)
    return group


class Observed(Struct, frozen=True):
    """The requests and the result of a case's call."""

    case: CaseEntry
    requests: tuple[RecordedRequest, ...]
    result: JsonObject
    problem: str = ""  # why there is no result

    def differences(self) -> list[str]:
        """Return the differences from the expectations."""
        if self.problem:
            return [self.problem]
        return [
            *_check_requests(self.case, self.requests),
            *compare_expected_result(self.case, self.result),
        ]


def summarize(observed: Sequence[Observed]) -> Group:
    """Return the passed and failed cases."""
    group = Group(TESTS_FILE)
    for each in observed:
        group.add(each.case.id, each.differences())
    return group


def observe(package: GeneratedPackage, cases: Sequence[CaseEntry]) -> tuple[Observed, ...]:
    """Run cases one after the other on one server."""
    try:
        return asyncio.run(_observe(package, cases))
    except (RpcError, NoAnswerError, ConnectionLostError) as error:
        problem = f"the server did not start: {error}"
        return tuple(Observed(case, (), {}, problem) for case in cases)


async def _observe(package: GeneratedPackage, cases: Sequence[CaseEntry]) -> tuple[Observed, ...]:
    mock = MockUpstream(package.upstream())
    try:
        environment = package.environment(package.mock_environment(await mock.start()))
        async with await Client.over_stdio(package.mock_command, environment) as client:
            return tuple([await _call(client, mock, case) for case in cases])
    finally:
        await mock.stop()


async def _call(client: Client, mock: MockUpstream, case: CaseEntry) -> Observed:
    mock.forget()
    for upstream in case.upstream:
        mock.reply_with(Reply.from_json(to_builtins(upstream.reply)), upstream.operation)
    try:
        result = await client.call_tool(case.call.tool, case.call.arguments)
    except (RpcError, NoAnswerError, ConnectionLostError) as error:
        return Observed(case, (), {}, f"the call was not answered: {error}")
    return Observed(case, tuple(mock.requests), result)


def _check_requests(case: CaseEntry, requests: Sequence[RecordedRequest]) -> Iterator[str]:
    for request in requests:
        yield from request.problems
    expected = case.expect.request
    if expected is UNSET:
        return
    if expected is None:
        yield from (f"`{request}` was sent, expected no request" for request in requests)
    elif len(requests) != 1:
        yield f"{len(requests)} requests were sent, expected one"
    else:
        yield from compare_expected_request(expected, requests[0])


def compare_expected_request(expected: RequestEntry, sent: RecordedRequest) -> Iterator[str]:
    """Yield the differences between a request and the expected one."""
    if expected.operation and expected.operation != sent.operation:
        yield f"`{sent.operation or sent}` was called, expected `{expected.operation}`"
    # What the case does not mention may have any value.
    yield from compare_request({**decode_values(sent), **to_builtins(expected)}, sent)


def decode_values(sent: RecordedRequest) -> JsonObject:
    """Return the values of a request by place and name, as in a case."""
    decoded = sent.decoded
    found: JsonObject = {
        place: {name: reading.value for name, reading in getattr(decoded, place).items()}
        for place in PLACES
    }
    for name in ("body", "querystring"):
        if (reading := getattr(decoded, name)) is not None:
            found[name] = reading.value
    return found


def compare_expected_result(case: CaseEntry, result: JsonObject) -> Iterator[str]:
    """Yield the differences between a result and the expected one."""
    expect, text = case.expect, text_of(result)
    if result.get("isError", False) is not expect.is_error:
        yield f"isError is {not expect.is_error}, expected {expect.is_error}; it says: {text[:500]}"
    yield from compare_text(to_builtins(expect.text), text)
    if expect.structured is not UNSET:
        structured = result.get("structuredContent")
        if not is_same(expect.structured, structured):
            yield f"structured content: {structured}, expected {expect.structured}"


_PLACES: Final = (*PLACES, "body")
_LONGEST_LINE: Final = 100

Place = tuple[str, ...]
"""The path of a value below `expect`: ("request", "query")."""


def renew(observed: Observed) -> Iterator[tuple[Place, Any]]:
    """Yield the observed values that differ from the expectations of a case.

    Nothing is yielded if the call had the wrong outcome, or if a request was invalid.
    """
    expect = observed.case.expect
    if observed.problem or observed.result.get("isError", False) is not expect.is_error:
        return
    if any(request.problems for request in observed.requests):
        return
    structured = observed.result.get("structuredContent")
    if expect.structured is not UNSET and not is_same(expect.structured, structured):
        yield ("structured",), structured
    if isinstance(expect.request, RequestEntry) and len(observed.requests) == 1:
        yield from _renew_request(expect.request, observed)


def _renew_request(expected: RequestEntry, observed: Observed) -> Iterator[tuple[Place, Any]]:
    (sent,) = observed.requests
    if expected.operation not in ("", sent.operation):
        return
    found = decode_values(sent)
    for place in _PLACES:
        alone = RequestEntry(**{place: getattr(expected, place)})
        if place in found and any(compare_expected_request(alone, sent)):
            yield ("request", place), found[place]


def update_case(case: CaseEntry, recorded: Sequence[tuple[Place, Any]]) -> CaseEntry:
    """Return a case with replaced expectations."""
    expect = case.expect
    for place, value in recorded:
        if place == ("structured",):
            expect = replace(expect, structured=value)
        elif isinstance(expect.request, RequestEntry):
            request = replace(expect.request, **{place[-1]: value})
            expect = replace(expect, request=request)
    return replace(case, expect=expect)


def rewrite(content: bytes, recorded: Sequence[tuple[int, Place, Any]]) -> bytes:
    """Return the file with replaced expectations; the rest of the text stays as it is.

    `recorded` contains the number of a case, the path in it, and the value. Aliases and merge keys
    are replaced in the wrong place or not at all: the caller must parse the result to check it.
    """
    text = content.decode("utf-8-sig")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    spans = []
    for number, place, value in recorded:
        if node := _find_node(root, ("cases", number, "expect", *place)):
            start = node.start_mark.index
            end = start + len(text[start : _find_end(node)].rstrip())
            gap = " " if start == end else ""  # an empty value starts at its colon
            spans.append((start, end, gap + _format_value(text, start, value)))
    for start, end, replacement in sorted(spans, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text.encode()


def _find_node(node: yaml.Node | None, path: Sequence[str | int]) -> yaml.Node | None:
    for step in path:
        if node is None:
            return None
        entries = enumerate(node.value) if isinstance(step, int) else _list_members(node)
        node = next((value for key, value in entries if key == step), None)
    return node


def _list_members(node: yaml.Node) -> Iterator[tuple[str, yaml.Node]]:
    return ((key.value, value) for key, value in node.value)


def _find_end(node: yaml.Node) -> int:
    """Return the end of a value; the mark of a block includes the whitespace after it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        last = node.value[-1]
        return _find_end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _format_value(text: str, start: int, value: Any) -> str:
    """Format a value as JSON, which is YAML too, on several lines if it is long."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    short = _json(value)
    if len(line) + len(short) <= _LONGEST_LINE:
        return short
    margin = len(line) - len(line.lstrip(" ")) + (2 if line.strip() else 0)
    newline = "\r\n" if "\r\n" in text else "\n"
    return _json(value, indent=2).replace("\n", newline + " " * margin)


def _json(value: Any, indent: int | None = None) -> str:
    shown = json.dumps(value, ensure_ascii=False, indent=indent)
    # YAML requires escapes that JSON does not.
    is_plain = shown.replace("\n", "").isprintable()
    return shown if is_plain else json.dumps(value, indent=indent)


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
