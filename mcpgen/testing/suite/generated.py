"""The proof that a generated package carries: its cases, run against the mock upstream."""

from __future__ import annotations

import asyncio
import json
import re
import weakref
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import zip_longest
from pathlib import Path
from urllib.parse import urlsplit

from mcpgen.contract.placeholders import PLACEHOLDER
from mcpgen.contract.snapshot import find_contradicting_hints, snapshot_entry
from mcpgen.contract.toolset_names import EVERYTHING
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.handlers.dispatcher import Dispatcher
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.protocol.versions import REVISIONS
from mcpgen.runtime.tools.registry import ToolRegistry
from mcpgen.runtime.tools.results import STATUS_KEY
from mcpgen.runtime.tools.tool import Tool, ToolGroup
from mcpgen.runtime.transports.memory import MemoryConnection
from mcpgen.runtime.upstream.client import ApiClient
from mcpgen.runtime.upstream.environment import Environment
from mcpgen.runtime.upstream.http.messages import Sender
from mcpgen.testing.client.client import LEGACY, MODERN, Answer, Client, RpcError
from mcpgen.testing.client.processes import (
    find_accepted_foreign_requests,
    list_tools_at_end_of_input,
    serve_over_http,
)
from mcpgen.testing.mock.description import Description, base_path
from mcpgen.testing.mock.paging import join_pages, serve_pages
from mcpgen.testing.mock.replies import Reply
from mcpgen.testing.mock.upstream import MockUpstream
from mcpgen.testing.suite.cases import Case, read_cases
from mcpgen.testing.suite.compare import (
    compare_request,
    compare_result,
    idempotency_key,
    same,
    text_of,
)
from mcpgen.testing.suite.hand_written import demand
from mcpgen.testing.suite.projected_results import compare_projection
from mcpgen.testing.suite.virtual_time import VirtualTimeLoop
from mcpgen.text.hosts import is_private
from mcpgen.text.media_types import essence_of, is_json

_USABLE_URL = re.compile(r"https?://[A-Za-z0-9.\-:]+(/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*)?\Z")
_DEFAULT_ORIGIN = "https://upstream.example"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came of a case; `differences` is empty where all was as it must be."""

    case: Case
    differences: tuple[str, ...]

    @property
    def has_passed(self) -> bool:
        """Whether the case was run, and nothing was off."""
        return not self.differences and not self.case.untested


class Suite:
    """The generated tests of one package. A check raises AssertionError and says what is off."""

    def __init__(self, package: str, folder: Path) -> None:
        """Take the importable package and the folder with `cases.json` and `upstream.json`."""
        self.package = package
        self.folder = folder

    @property
    def revisions(self) -> tuple[str, ...]:
        """One revision of MCP of each era that the server serves: they begin differently."""
        served = {revision.name for revision in self._server.definition.revisions}
        return tuple(revision for revision in (LEGACY, MODERN) if revision in served)

    @cached_property
    def cases(self) -> Sequence[Case]:
        """The calls of `cases.json`, in its order."""
        return read_cases(json.loads((self.folder / "cases.json").read_bytes()))

    @cached_property
    def _api(self) -> Description:
        return Description(json.loads((self.folder / "upstream.json").read_bytes()))

    @cached_property
    def _server(self) -> ServerPackage:
        # Alone: whoever overrides a handler tests in `tests/` what comes of it.
        server = ServerPackage.load(self.package, generated_only=True)
        # The mock is every origin of the document, so no credential leaves this process.
        for about in (server.contract, *server.contract.get("sources", {}).values()):
            if origins := about.get("credential_origins"):
                about["credential_origins"] = dict.fromkeys(origins, True)
        return server

    @cached_property
    def _registry(self) -> ToolRegistry:
        return self._server.load_hot(self._environ(""))

    @cached_property
    def _loop(self) -> VirtualTimeLoop:
        """What runs all calls, since making a loop for each takes a fifth of the time."""
        loop = VirtualTimeLoop()
        weakref.finalize(self, loop.close)
        return loop

    # Calls

    def run(self, case: Case) -> None:
        """Call the tool, and compare what was sent and what came back with the case."""
        differences = self._try_case(case)
        demand(not differences, "\n  ".join([f"{case.id}:", *differences]))

    def results(
        self, tools: Collection[str] | None = None, *, cases: Iterable[Case] | None = None
    ) -> Iterator[CaseResult]:
        """Run the cases of some tools, or all of them, one after the other in this process.

        A case without a generated sample has no differences and has not passed. `cases` are run in
        place of those of `cases.json`.
        """
        for case in self.cases if cases is None else cases:
            if tools is None or case.tool in tools:
                yield CaseResult(case, () if case.untested else tuple(self._try_case(case)))

    def _try_case(self, case: Case, *, is_searched: bool = False) -> list[str]:
        return self._loop.run_until_complete(self._run_case(case, is_searched=is_searched))

    async def _run_case(self, case: Case, *, is_searched: bool) -> list[str]:
        operation = case.expect.get("operation", "")
        base_url = self._base_url(operation)
        mock = MockUpstream(self._api, secrets=self._secrets, base_url=base_url)
        mock.prefers = operation
        if case.reply is not None:
            mock.reply_with(Reply.from_json(case.reply))
        send = serve_pages(mock, case.replies) if case.replies else mock.send
        environ = {**self._environ(base_url, case.configured, operation), **case.settings}
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            client = self._client(case, environ, send, has_search=is_searched)
            async with client:
                result = await client.call_tool(*self._choose_call(case, is_searched=is_searched))
                waited = round(loop.time() - started, 3)
        except RpcError as error:
            return [f"the call was refused by the protocol: {error}"]
        least = case.expect.get("waits_seconds", 0.0)
        return [
            *self._check_requests(case, mock),
            *self._check_result(case, mock, result),
            *([f"waited {waited:g} seconds, expected {least:g}"] if waited < least else []),
        ]

    def _choose_call(self, case: Case, *, is_searched: bool) -> tuple[str, JsonObject]:
        """What a client calls, itself or by the tool that calls those which are not listed."""
        if not is_searched:
            return case.tool, case.arguments
        arguments = {"name": case.tool, "arguments": case.arguments}
        return self._server.contract["search"]["call"], arguments

    def _client(
        self, case: Case, environ: Mapping[str, str], send: Sender, *, has_search: bool
    ) -> Client:
        """A client of a server of one tool, which a call is answered by as by the whole one."""
        environment = Environment(clock=asyncio.get_running_loop().time, chance=lambda: 0.5)
        api = ApiClient(self._server.contract, environ, send=send, environment=environment)
        tools = {case.tool: self._tools[case.tool]} if case.tool in self._tools else {}
        registry = ToolRegistry([ToolGroup("", tools)], api)
        dispatcher = Dispatcher(self._server.add_search(registry) if has_search else registry)
        connection = MemoryConnection(self._definition, dispatcher)
        return Client(
            connection, MODERN, answers=_ACCEPTING_USER, timeout_seconds=_PATIENCE_SECONDS
        )

    @cached_property
    def _definition(self) -> ServerDefinition:
        return self._server.definition.replace(revisions=REVISIONS)

    @cached_property
    def _tools(self) -> Mapping[str, Tool]:
        """The tools of one operation each, all to be called; `WorkflowSuite` is for the others."""
        tools = self._registry.tools
        return {
            name: tool.make_listed() for name, tool in tools.items() if "request" in tool.contract
        }

    def _check_requests(self, case: Case, mock: MockUpstream) -> Iterator[str]:
        expected = case.expect.get("request")
        if expected is None:
            if mock.requests:
                yield f"`{mock.requests[0]}` was sent, expected nothing to be"
            return
        wanted = case.expect.get("requests") or [expected] * case.expect.get("attempts", 1)
        if len(mock.requests) != len(wanted):
            yield f"{_format_count(len(mock.requests))} sent, expected {len(wanted)}"
        for expected, sent in zip(wanted, mock.requests, strict=False):
            operation = case.expect["operation"]
            if sent.operation != operation:
                yield f"`{sent.operation or sent}` was called, expected `{operation}`"
            yield from sent.problems
            yield from compare_request(expected, sent)
        keys = {idempotency_key(sent) for sent in mock.requests}
        if len(keys) > 1 and "requests" not in case.expect:
            yield f"{_format_count(len(mock.requests))} sent with {len(keys)} idempotency keys"

    def _check_result(self, case: Case, mock: MockUpstream, result: JsonObject) -> Iterator[str]:
        is_error = result.get("isError", False)
        wanted = case.expect["is_error"]
        if is_error != wanted:
            yield f"isError is {is_error}, expected {wanted}; it says: {text_of(result)[:500]}"
        told = case.expect.get("text", {})
        for part in told.get("contains", ()):
            if part not in text_of(result):
                yield f"the text has no `{part}`: {text_of(result)[:500]}"
        for part in told.get("not_contains", ()):
            if part in text_of(result):
                yield f"the text has `{part}`: {text_of(result)[:500]}"
        status = result.get("_meta", {}).get(STATUS_KEY)
        if "status" in case.expect and status != case.expect["status"]:
            yield f"the result tells of the status {status}, expected {case.expect['status']}"
        yield from self._find_leaks(result, case.settings)
        response = join_pages(case, mock.requests)
        if not is_error and not wanted and response is not None:
            tool = self._registry.tools[case.tool]
            # By what is listed, where that says it: what decides it may be at fault.
            listed = tool.contract["listing"].get("outputSchema", {}).get("properties", {})
            is_wrapped = bool(tool.contract.get("result_key")) and listed.keys() <= {"result"}
            if "kept" in case.expect and is_json(essence_of(response.header("Content-Type"))):
                yield from compare_projection(case.expect["kept"], response, result)
            else:
                yield from compare_result(response, result, is_wrapped=is_wrapped)

    def _find_leaks(self, result: JsonObject, settings: Mapping[str, str]) -> Iterator[str]:
        """What no result may show: credentials, and how the server is made inside."""
        shown = json.dumps(result, ensure_ascii=False)
        for name in settings.keys() & self._secret_settings:
            if settings[name].startswith(PLACEHOLDER) and settings[name] in shown:
                yield f"the result shows the value of {name}"
        for scheme, parts in self._secrets.items():
            pair = f"{parts.get('username', '')}:{parts.get('password', '')}"
            spellings = [*parts.values(), b64encode(pair.encode()).decode()]
            if any(secret in shown for secret in spellings):
                yield f"the result shows the credential of `{scheme}`"
        if _TRACEBACK.search(shown):
            yield f"the result shows a traceback: {shown[:500]}"

    # The server as a whole

    def check_tool_list(self) -> None:
        """Both eras list exactly the tools of the prepared list and of the tools' contracts.

        A server whose tools are searched for lists them when it is asked for all of them.
        """
        server = ServerPackage.load(self.package, generated_only=True)
        if server.has_search:
            server.list_toolsets([EVERYTHING])
        expected = {
            name: {"name": name, **tool.contract["listing"]}
            for name, tool in self._registry.tools.items()
            if "exposed_as" not in tool.contract
        }
        definition = server.definition
        for revision in [row.name for row in (*definition.legacy[:1], *definition.modern[:1])]:
            listed = {
                tool["name"]: tool for tool in asyncio.run(self._list_tools(server, revision))
            }
            demand(
                list(listed) == sorted(expected),
                f"{revision} lists {list(listed)}, the contracts have {sorted(expected)}",
            )
            for name, tool in listed.items():
                demand(same(expected[name], tool), f"`{name}` is listed unlike its contract")

    async def _list_tools(self, server: ServerPackage, revision: str) -> list[JsonObject]:
        client = Client.in_memory(server, self._environ(""), revision=revision)
        async with client:
            return await client.list_tools()

    def check_search(self) -> None:
        """The tools that are listed in place of the others find, show and call each of them."""
        called: dict[str, Case] = {}
        for case in self.cases:
            if case.expect.get("request") and not case.untested:
                called.setdefault(case.tool, case)
        wrong = self._loop.run_until_complete(self._find_search_problems())
        for case in called.values():
            wrong += self._try_case(case, is_searched=True)
        demand(not wrong, "\n  ".join(["through the search:", *wrong]))

    async def _find_search_problems(self) -> list[str]:
        names = self._server.contract["search"]
        wrong: list[str] = []
        async with Client.in_memory(self._server, self._environ("")) as client:
            listed = {tool["name"] for tool in await client.list_tools()}
            wrong += [f"`{name}` is not listed" for name in names.values() if name not in listed]
            for name, tool in self._registry.listed.items():
                query = {"query": name, "limit": 1}
                found = json.loads(text_of(await client.call_tool(names["search"], query)))
                if [entry["name"] for entry in found["tools"]] != [name]:
                    wrong.append(f"`{name}` is not found by its name")
                shown = await client.call_tool(names["describe"], {"name": name})
                if not same(json.loads(text_of(shown)), {"name": name, **tool.contract["listing"]}):
                    wrong.append(f"`{name}` is described unlike its contract")
        return wrong

    def check_operations(self) -> None:
        """Every operation is called by one tool, and every tool calls one of the operations."""
        called: dict[str, list[str]] = {key: [] for key in self._api.operations}
        for name, tool in self._tools.items():
            request = tool.contract["request"]
            demand(tool.operation in called, f"`{name}` calls an unknown `{tool.operation}`")
            described = self._api.operations[tool.operation]
            demand(
                (described.method, described.path) == (request["method"], request["path"]),
                f"`{name}` is for `{tool.operation}` and calls another operation",
            )
            called[tool.operation].append(name)
        for key, names in called.items():
            demand(len(names) == 1, f"`{key}` is called by {names or 'no tool'}")

    def check_docstrings(self) -> None:
        """Each handler's docstring names its operation."""
        for name, tool in self._registry.tools.items():
            said = getattr(tool.handler, "__doc__", None) or ""
            demand(
                f"`{tool.operation}`" in said,
                f"the docstring of `{name}` does not name `{tool.operation}`",
            )

    def check_cases(self) -> None:
        """Every tool has a call that sends something, or a case that says why it has none."""
        covered = {case.tool for case in self.cases if case.untested or case.expect.get("request")}
        missing = sorted(self._tools.keys() - covered)
        demand(not missing, f"no case calls {', '.join(missing)}")

    def check_snapshot(self) -> None:
        """What is told of each tool, and in which order, is what `tools.json` was reviewed with."""
        listed = [
            {"name": name, **tool.contract["listing"]}
            for name, tool in sorted(self._registry.tools.items())
            if "exposed_as" not in tool.contract
        ]
        for told, expected in zip_longest(map(snapshot_entry, listed), self._snapshot):
            found = {**(told or {}), "departs": (expected or {}).get("departs", [])}
            off = {key for key in found | (expected or {}) if _at(found, key) != _at(expected, key)}
            name = (expected or found).get("name")
            demand(not off, f"`{name}` is not as in tools.json: {', '.join(sorted(off))}")

    def check_annotations(self) -> None:
        """What a tool says that it does is what its method does, but for what a manifest says."""
        declared = {entry["name"]: entry.get("departs", []) for entry in self._snapshot}
        for name, tool in self._tools.items():
            annotations = tool.contract["listing"].get("annotations", {})
            method = self._api.operations[tool.operation].method
            off = [
                it
                for it in find_contradicting_hints(method, annotations)
                if it not in declared[name]
            ]
            demand(not off, f"`{name}` calls {method} and has other {', '.join(off)}")

    @cached_property
    def _snapshot(self) -> list[JsonObject]:
        tools: list[JsonObject] = json.loads((self.folder / "tools.json").read_bytes())["tools"]
        return tools

    def check_stdio(self, revision: str) -> None:
        """Started over stdio, the server answers what is asked before its input ends, and leaves.

        Its standard output has messages alone.
        """
        server = ServerPackage.load(self.package)
        expected = {tool["name"] for tool in asyncio.run(self._list_tools(server, revision))}
        asked = list_tools_at_end_of_input(self.package, self._no_credentials, revision)
        names, are_all = asyncio.run(asked)
        missing = expected.difference(names) if are_all else set(names) - expected
        demand(bool(names) and not missing, f"over stdio the tools are {names}")

    def check_http(self) -> None:
        """Started over HTTP, the server serves both eras and turns strangers away."""
        wrong = asyncio.run(self._find_http_problems())
        demand(not wrong, "\n  ".join(["over HTTP:", *wrong]))

    async def _find_http_problems(self) -> list[str]:
        wrong: list[str] = []
        server = ServerPackage.load(self.package)
        async with serve_over_http(self.package, self._no_credentials) as url:
            for revision in self.revisions:
                expected = {tool["name"] for tool in await self._list_tools(server, revision)}
                async with Client.over_http(url, revision=revision) as client:
                    names = [tool["name"] for tool in await client.list_tools()]
                wrong += [f"{revision} has no `{name}`" for name in expected.difference(names)]
            return wrong + await find_accepted_foreign_requests(url)

    def check_handlers(self) -> None:
        """What `handlers/` adds and overrides fits the tools that are generated."""
        ServerPackage.load(self.package).load_hot(self._environ(""))

    # Settings

    def _base_url(self, operation: str) -> str:
        """Where the API must be configured to be; "" where the document says it in full."""
        described = self._api.operations.get(operation)
        bases = self._api.base_urls if described is None else described.base_urls
        return _choose_base_url(next(iter(bases), ""))

    @cached_property
    def _secrets(self) -> dict[str, dict[str, str]]:
        """A placeholder for every part of every security scheme."""
        secrets: dict[str, dict[str, str]] = {}
        for at, variable in enumerate(self._server.contract.get("environment", ())):
            part = variable.get("part", "value")
            if variable.get("scheme") and part in _PARTS:
                secrets.setdefault(variable["scheme"], {})[part] = f"placeholder-{part}-{at}"
        return secrets

    @property
    def _no_credentials(self) -> dict[str, str]:
        """Settings of a process that only lists its tools.

        With a placeholder for the file of a certificate it would not start.
        """
        return self._environ("", configured=())

    @cached_property
    def _secret_settings(self) -> frozenset[str]:
        environment = self._server.contract.get("environment", ())
        return frozenset(it["name"] for it in environment if "schema" in it and it["secret"])

    def _environ(
        self, base_url: str, configured: Collection[str] | None = None, operation: str = ""
    ) -> dict[str, str]:
        """Settings with the credentials of some security schemes, or of all of them.

        `base_url` is where the API of the operation is.
        """
        contract = self._server.contract
        environ = {
            variable["name"]: self._secrets[variable["scheme"]][variable.get("part", "value")]
            for variable in contract.get("environment", ())
            if variable.get("scheme") and variable.get("part", "value") in _PARTS
            if configured is None or variable["scheme"] in configured
        }
        if base_url:
            described = self._api.operations.get(operation)
            source = "" if described is None else described.source
            about = contract["sources"][source] if source else contract
            environ[f"{about['env_prefix']}BASE_URL"] = base_url
        return environ


_ACCEPTING_USER: Mapping[str, Answer] = {
    "elicitation/create": lambda _: {"action": "accept", "content": {}}
}
"""A user who agrees to everything."""

_PARTS = frozenset(
    {"access_token", "certificate_file", "key_file", "password", "username", "value"}
)


_PATIENCE_SECONDS = 3600.0  # of the clock that jumps, beyond whatever a server waits for
_TRACEBACK = re.compile(r'Traceback \(most recent|File \\?"[^"]*\.py|[\w/.-]+\.py:\d+')


def _at(entry: JsonObject | None, key: str) -> object:
    return (entry or {}).get(key, [] if key == "departs" else None)


def _format_count(requests: int) -> str:
    return f"{requests} request{' was' if requests == 1 else 's were'}"


@cache
def _choose_base_url(described: str) -> str:
    is_usable = _USABLE_URL.match(described) and not is_private(urlsplit(described).hostname or "")
    return "" if is_usable else _DEFAULT_ORIGIN + _plain(base_path(described))


def _plain(path: str) -> str:
    return path if re.fullmatch(r"[A-Za-z0-9\-._~/]*", path) else ""
