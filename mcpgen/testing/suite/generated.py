"""The generated tests of a package: its cases, run against the mock API."""

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
from mcpgen.runtime.tools.search import OUTPUT_SCHEMA
from mcpgen.runtime.tools.tool import Tool, ToolGroup
from mcpgen.runtime.transports.memory import MemoryConnection
from mcpgen.runtime.upstream.client import ApiClient, Environment
from mcpgen.runtime.upstream.http.messages import Sender
from mcpgen.testing.callers_credentials import take_from_settings
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
    compare_projection,
    compare_request,
    compare_result,
    compare_text,
    idempotency_key,
    is_same,
    text_of,
)
from mcpgen.testing.suite.hand_written import require
from mcpgen.testing.suite.virtual_time import VirtualTimeLoop
from mcpgen.text.hosts import is_private
from mcpgen.text.media_types import essence_of, is_json

_USABLE_URL = re.compile(r"https?://[A-Za-z0-9.\-:]+(/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*)?\Z")
_DEFAULT_ORIGIN = "https://upstream.example"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a case; `differences` is empty if the case passed or was not run."""

    case: Case
    differences: tuple[str, ...]

    @property
    def has_passed(self) -> bool:
        """Whether the case was run without differences."""
        return not self.differences and not self.case.untested


class Suite:
    """The generated tests of one package. Failing checks raise AssertionError."""

    def __init__(self, package: str, folder: Path) -> None:
        """Test an importable package; `folder` contains `cases.json` and `upstream.json`."""
        self.package = package
        self.folder = folder

    @property
    def revisions(self) -> tuple[str, ...]:
        """The served revisions of MCP that are tested: one with a handshake, one without."""
        served = {revision.name for revision in self._server.definition.revisions}
        return tuple(revision for revision in (LEGACY, MODERN) if revision in served)

    @cached_property
    def cases(self) -> Sequence[Case]:
        """The cases of `cases.json`, in its order."""
        return read_cases(json.loads((self.folder / "cases.json").read_bytes()))

    @cached_property
    def _api(self) -> Description:
        return Description(json.loads((self.folder / "upstream.json").read_bytes()))

    @cached_property
    def _server(self) -> ServerPackage:
        # Overrides of handlers are tested by the user, in `tests/`.
        server = ServerPackage.load(self.package, generated_only=True)
        # The mock is every origin of the document, so no credential leaves this process.
        for about in (server.contract, *server.contract.get("sources", {}).values()):
            if origins := about.get("credential_origins"):
                about["credential_origins"] = dict.fromkeys(origins, True)
        take_from_settings(server.contract)
        return server

    @cached_property
    def _registry(self) -> ToolRegistry:
        return self._server.load_hot(self._environ(""))

    @cached_property
    def _loop(self) -> VirtualTimeLoop:
        """The event loop of all calls: a new one for each would take a fifth of the time."""
        loop = VirtualTimeLoop()
        weakref.finalize(self, loop.close)
        return loop

    # Calls

    def run(self, case: Case) -> None:
        """Call the tool, and compare the requests and the result with the case."""
        differences = self._try_case(case)
        require(not differences, "\n  ".join([f"{case.id}:", *differences]))

    def results(
        self, tools: Collection[str] | None = None, *, cases: Iterable[Case] | None = None
    ) -> Iterator[CaseResult]:
        """Run the cases of some tools, or of all, one after the other in this process.

        `cases` replaces the cases of `cases.json`.
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
        secrets = [value for parts in self._secrets.values() for value in parts.values()]
        send = serve_pages(mock, case.replies, secrets) if case.replies else mock.send
        environ = {**self._environ(base_url, case.configured, operation), **case.settings}
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            client = self._client(case, environ, send, has_search=is_searched)
            async with client:
                result = await client.call_tool(*self._choose_call(case, is_searched=is_searched))
                waited = round(loop.time() - started, 3)
        except RpcError as error:
            return [f"the call failed with a protocol error: {error}"]
        least = case.expect.get("waits_seconds", 0.0)
        return [
            *self._check_requests(case, mock),
            *self._check_result(case, mock, result),
            *([f"waited {waited:g} seconds, expected {least:g}"] if waited < least else []),
        ]

    def _choose_call(self, case: Case, *, is_searched: bool) -> tuple[str, JsonObject]:
        """Return the name and the arguments of the call, directly or through the search tools."""
        if not is_searched:
            return case.tool, case.arguments
        arguments = {"name": case.tool, "arguments": case.arguments}
        return self._server.contract["search"]["call"], arguments

    def _client(
        self, case: Case, environ: Mapping[str, str], send: Sender, *, has_search: bool
    ) -> Client:
        """Return a client of a server that has only the tool of this case, which is faster."""
        environment = Environment(clock=asyncio.get_running_loop().time, chance=lambda: 0.5)
        api = ApiClient(self._server.contract, environ, send=send, environment=environment)
        merged = self._registry.merged.get(case.tool)
        names = [case.tool] if merged is None else [it.name for it in merged.members.values()]
        tools = {name: self._tools[name] for name in names if name in self._tools}
        registry = ToolRegistry(
            [ToolGroup("", tools)],
            api,
            merged=None if merged is None else ToolGroup("", {case.tool: merged.tool}),
        )
        dispatcher = Dispatcher(
            self._server.add_search(registry, environ) if has_search else registry
        )
        connection = MemoryConnection(self._definition, dispatcher)
        return Client(
            connection, MODERN, answers=_ACCEPTING_USER, timeout_seconds=_PATIENCE_SECONDS
        )

    @cached_property
    def _definition(self) -> ServerDefinition:
        return self._server.definition.replace(revisions=REVISIONS)

    @cached_property
    def _tools(self) -> Mapping[str, Tool]:
        """The tools of one operation each; `WorkflowSuite` tests the others."""
        tools = self._registry.tools
        return {
            name: tool.make_listed() for name, tool in tools.items() if "request" in tool.contract
        }

    def _check_requests(self, case: Case, mock: MockUpstream) -> Iterator[str]:
        expected = case.expect.get("request")
        if expected is None:
            if mock.requests:
                yield f"`{mock.requests[0]}` was sent, expected no request"
            return
        expected_requests = case.expect.get("requests") or [expected] * case.expect.get(
            "attempts", 1
        )
        if len(mock.requests) != len(expected_requests):
            yield f"{_format_count(len(mock.requests))} sent, expected {len(expected_requests)}"
        for expected, sent in zip(expected_requests, mock.requests, strict=False):
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
        expected = case.expect["is_error"]
        if is_error != expected:
            yield f"isError is {is_error}, expected {expected}; it says: {text_of(result)[:500]}"
        yield from compare_text(case.expect.get("text", {}), text_of(result))
        status = result.get("_meta", {}).get(STATUS_KEY)
        if "status" in case.expect and status != case.expect["status"]:
            yield f"the result has the status {status}, expected {case.expect['status']}"
        yield from self._find_leaks(result, case.settings)
        response = join_pages(case, mock.requests)
        if not is_error and not expected and response is not None:
            tool = self._find_tool(case)
            # Derived from the listed schema: the result key itself may be at fault.
            listed = tool.contract["listing"].get("outputSchema", {}).get("properties", {})
            is_wrapped = bool(tool.contract.get("result_key")) and listed.keys() <= {"result"}
            if "kept" in case.expect and is_json(essence_of(response.header("Content-Type"))):
                yield from compare_projection(case.expect["kept"], response, result)
            else:
                yield from compare_result(response, result, is_wrapped=is_wrapped)

    def _find_tool(self, case: Case) -> Tool:
        """Return the tool that serves a case: itself, or the member of a merged one."""
        merged = self._registry.merged.get(case.tool)
        if merged is None:
            return self._registry.tools[case.tool]
        return merged.choose(case.arguments)[0]

    def _find_leaks(self, result: JsonObject, settings: Mapping[str, str]) -> Iterator[str]:
        """Yield credentials, secret settings and tracebacks that the result contains."""
        shown = json.dumps(result, ensure_ascii=False)
        for name in settings.keys() & self._secret_settings:
            if settings[name].startswith(PLACEHOLDER) and settings[name] in shown:
                yield f"the result contains the value of {name}"
        for scheme, parts in self._secrets.items():
            pair = f"{parts.get('username', '')}:{parts.get('password', '')}"
            spellings = [*parts.values(), b64encode(pair.encode()).decode()]
            if any(secret in shown for secret in spellings):
                yield f"the result contains the credential of `{scheme}`"
        if _TRACEBACK.search(shown):
            yield f"the result contains a traceback: {shown[:500]}"

    # The server as a whole

    def check_tool_list(self) -> None:
        """Check that `tools/list` contains exactly the tools of the contracts, in each era.

        A server with search tools lists the others with the toolset `all`.
        """
        server = ServerPackage.load(self.package, generated_only=True)
        if server.has_search:
            server.list_toolsets([EVERYTHING])
        expected = {tool["name"]: tool for tool in self._list_contracts()}
        definition = server.definition
        for revision in [row.name for row in (*definition.legacy[:1], *definition.modern[:1])]:
            listed = {
                tool["name"]: tool for tool in asyncio.run(self._list_tools(server, revision))
            }
            require(
                list(listed) == list(expected),
                f"{revision} lists {list(listed)}, the contracts have {list(expected)}",
            )
            for name, tool in listed.items():
                require(is_same(expected[name], tool), f"`{name}` is not listed as in its contract")

    def _list_contracts(self) -> list[JsonObject]:
        """Return the Tool objects that the contracts have, by name."""
        listed = {
            name: {"name": name, **tool.contract["listing"]}
            for name, tool in self._registry.listed.items()
        }
        tools = self._server.definition.tools
        for name in self._server.contract.get("handles", {}).values():
            listed[name] = {} if tools is None else tools.items[name]
        return [tool for _, tool in sorted(listed.items())]

    async def _list_tools(self, server: ServerPackage, revision: str) -> list[JsonObject]:
        client = Client.in_memory(server, self._environ(""), revision=revision)
        async with client:
            return await client.list_tools()

    def check_search(self) -> None:
        """Check that the search tools find, describe and call each tool."""
        called: dict[str, Case] = {}
        for case in self.cases:
            if case.expect.get("request") and not case.untested:
                called.setdefault(case.tool, case)
        wrong = self._loop.run_until_complete(self._find_search_problems())
        for case in called.values():
            wrong += self._try_case(case, is_searched=True)
        require(not wrong, "\n  ".join(["through the search:", *wrong]))

    async def _find_search_problems(self) -> list[str]:
        names = self._server.contract["search"]
        wrong: list[str] = []
        async with Client.in_memory(self._server, self._environ("")) as client:
            listed = {tool["name"]: tool for tool in await client.list_tools()}
            wrong += [f"`{name}` is not listed" for name in names.values() if name not in listed]
            described = listed.get(names["describe"], {}).get("inputSchema", {})
            whole = (
                {OUTPUT_SCHEMA: True} if OUTPUT_SCHEMA in described.get("properties", {}) else {}
            )
            for name, tool in self._registry.listed.items():
                query = {"query": name, "limit": 1}
                found = json.loads(text_of(await client.call_tool(names["search"], query)))
                if [entry["name"] for entry in found["tools"]] != [name]:
                    wrong.append(f"`{name}` is not found by its name")
                shown = await client.call_tool(names["describe"], {"name": name, **whole})
                if not is_same(
                    json.loads(text_of(shown)), {"name": name, **tool.contract["listing"]}
                ):
                    wrong.append(f"`{name}` is not described as in its contract")
        return wrong

    def check_operations(self) -> None:
        """Check that every operation is called by one tool, and every tool calls an operation."""
        called: dict[str, list[str]] = {key: [] for key in self._api.operations}
        for name, tool in self._tools.items():
            request = tool.contract["request"]
            require(
                tool.operation in called, f"`{name}` calls an unknown operation `{tool.operation}`"
            )
            described = self._api.operations[tool.operation]
            require(
                (described.method, described.path) == (request["method"], request["path"]),
                f"`{name}` is for `{tool.operation}` and calls another operation",
            )
            called[tool.operation].append(name)
        for key, names in called.items():
            require(len(names) == 1, f"`{key}` is called by {names or 'no tool'}")

    def check_docstrings(self) -> None:
        """Check that the docstring of each handler names its operation."""
        for name, tool in self._registry.tools.items():
            docstring = getattr(tool.handler, "__doc__", None) or ""
            require(
                f"`{tool.operation}`" in docstring,
                f"the docstring of `{name}` does not name `{tool.operation}`",
            )

    def check_cases(self) -> None:
        """Check that every tool has a case with a request, or a reason why it has none."""
        covered = {case.tool for case in self.cases if case.untested or case.expect.get("request")}
        missing = sorted((self._tools.keys() | self._registry.merged.keys()) - covered)
        require(not missing, f"no case calls {', '.join(missing)}")

    def check_snapshot(self) -> None:
        """Check that the tools and their order are those of the reviewed `tools.json`."""
        listed = map(snapshot_entry, self._list_contracts())
        for actual, expected in zip_longest(listed, self._snapshot):
            found = {**(actual or {}), "departs": (expected or {}).get("departs", [])}
            off = {key for key in found | (expected or {}) if _at(found, key) != _at(expected, key)}
            name = (expected or found).get("name")
            require(not off, f"`{name}` is not as in tools.json: {', '.join(sorted(off))}")

    def check_annotations(self) -> None:
        """Check the annotations of each tool against its HTTP method and the manifest."""
        declared = {entry["name"]: entry.get("departs", []) for entry in self._snapshot}
        for name, tool in self._tools.items():
            annotations = tool.contract["listing"].get("annotations", {})
            method = self._api.operations[tool.operation].method
            off = [
                it
                for it in find_contradicting_hints(method, annotations)
                if it not in declared[name]
            ]
            require(not off, f"`{name}` calls {method}, and its {', '.join(off)} contradicts it")

    @cached_property
    def _snapshot(self) -> list[JsonObject]:
        tools: list[JsonObject] = json.loads((self.folder / "tools.json").read_bytes())["tools"]
        return tools

    def check_stdio(self, revision: str) -> None:
        """Check that the server answers over stdio, and exits with 0 at the end of its input.

        Its standard output must contain only messages.
        """
        server = ServerPackage.load(self.package)
        expected = {tool["name"] for tool in asyncio.run(self._list_tools(server, revision))}
        listing = list_tools_at_end_of_input(self.package, self._no_credentials, revision)
        names, are_all = asyncio.run(listing)
        missing = expected.difference(names) if are_all else set(names) - expected
        require(bool(names) and not missing, f"over stdio, the server lists {names}")

    def check_http(self) -> None:
        """Check that the server serves both eras over HTTP and rejects foreign origins."""
        wrong = asyncio.run(self._find_http_problems())
        require(not wrong, "\n  ".join(["over HTTP:", *wrong]))

    async def _find_http_problems(self) -> list[str]:
        wrong: list[str] = []
        server = ServerPackage.load(self.package)
        async with serve_over_http(self.package, self._no_credentials) as url:
            for revision in self.revisions:
                expected = {tool["name"] for tool in await self._list_tools(server, revision)}
                async with Client.over_http(url, revision=revision) as client:
                    names = [tool["name"] for tool in await client.list_tools()]
                wrong += [
                    f"{revision} does not list `{name}`" for name in expected.difference(names)
                ]
            return wrong + await find_accepted_foreign_requests(url)

    def check_handlers(self) -> None:
        """Check that the additions and overrides in `handlers/` fit the generated tools."""
        ServerPackage.load(self.package).load_hot(self._environ(""))

    # Settings

    def _base_url(self, operation: str) -> str:
        """Return the base URL to configure; "" if that of the document is usable."""
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

        It would not start with a placeholder for a certificate file.
        """
        return self._environ("", configured=())

    @cached_property
    def _secret_settings(self) -> frozenset[str]:
        environment = self._server.contract.get("environment", ())
        return frozenset(it["name"] for it in environment if "schema" in it and it["secret"])

    def _environ(
        self, base_url: str, configured: Collection[str] | None = None, operation: str = ""
    ) -> dict[str, str]:
        """Return settings with credentials for some security schemes, or for all."""
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
"""A user who accepts everything."""

_PARTS = frozenset(
    {"access_token", "certificate_file", "key_file", "password", "username", "value"}
)


_PATIENCE_SECONDS = 3600.0  # in virtual time; longer than any wait of a server
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
