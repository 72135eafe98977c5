"""Registry of a server's tools: validate arguments, run handlers, convert results."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from msgspec import convert
from msgspec.structs import replace

from mcpgen.runtime.content import Content, JsonObject, ToolResult
from mcpgen.runtime.errors import (
    CallRefusedError,
    ClientCannotError,
    ConfigurationError,
    ConnectionNeededError,
    InvalidArgumentsError,
    ProtocolError,
    ToolError,
    UnknownToolError,
)
from mcpgen.runtime.handlers.overrides import Hook, wrap_handlers
from mcpgen.runtime.media import Media
from mcpgen.runtime.process.memory_budget import run_in_worker
from mcpgen.runtime.tools.continuation import Rest, check_pointer
from mcpgen.runtime.tools.projection import Cut, Projection, select_members
from mcpgen.runtime.tools.result_shape import ResultShape
from mcpgen.runtime.tools.results import (
    TRUNCATED_KEY,
    ToolOutcome,
    add_notes,
    make_error_result,
    make_result,
)
from mcpgen.runtime.tools.tool import Tool, ToolGroup
from mcpgen.runtime.upstream.client import ApiClient, ToolApi
from mcpgen.runtime.upstream.http.messages import HttpResponse
from mcpgen.runtime.upstream.response.json_decoding import LONG_BYTES
from mcpgen.text.json_pointer import pointer_tokens

if TYPE_CHECKING:
    from mcpgen.runtime.auth.access import Access
    from mcpgen.runtime.auth.scopes import ScopeRules
    from mcpgen.runtime.handlers.context import Context
    from mcpgen.runtime.handlers.features import Features
    from mcpgen.runtime.stored_results.prepared import PreparedResult
    from mcpgen.runtime.stored_results.service import StoredResults
    from mcpgen.runtime.tools.merged import MergedTool
    from mcpgen.runtime.upstream.auth.account_store import AccountStore


class AccountConnector(Protocol):
    """Interface of what asks users to connect accounts: `connect.links.Connector`."""

    async def ask(self, needed: ConnectionNeededError, context: Context) -> NoReturn:
        """End a call by asking its user; raise ToolError if that is not possible."""


class UserConnections(Protocol):
    """Interface of what lets users connect accounts: `connect.service.ConnectService`."""

    client: ApiClient | None
    """The client of the API, which is set once there is one."""

    @property
    def accounts(self) -> AccountStore:
        """The connected accounts."""

    @property
    def connector(self) -> AccountConnector:
        """Asks users to connect accounts."""


_ASKING_POLICIES = frozenset({"confirm", "task"})


class ToolRegistry:
    """All tools of a server, ready to be called."""

    def __init__(
        self,
        groups: Iterable[ToolGroup],
        client: ApiClient,
        hooks: Iterable[Hook] = (),
        *,
        merged: ToolGroup | None = None,
        aliases: Mapping[str, str] = MappingProxyType({}),
        features: Features | None = None,
        scopes: ScopeRules | None = None,
    ) -> None:
        """Join groups, and wrap their handlers in the hooks of `handlers/`.

        `merged` are tools without handlers that tools of the groups serve. `aliases` map former
        names of tools to the current ones. A resource of `features` may be passed as a file
        argument. `scopes` are required of authorized callers, also where one tool calls another;
        the transport checks only the tool that the client names.

        Raises:
            ConfigurationError: a tool has no handler, two groups have a tool of the same name, or
                a hook does not fit.
        """
        self._client = client
        self.redactor = client.get_redactor
        """Returns a redactor of the secrets that the server currently has."""
        self.limits = client.limits
        self.connector: AccountConnector | None = None
        """Asks users to connect accounts; set if they can."""
        self.features = features
        self.results: StoredResults | None = None
        """Stores results that are too long; set if the server has handles."""
        self._scopes = scopes
        self.tools: dict[str, Tool] = {}
        self._shapes: dict[str, ResultShape] = {}
        for group in groups:
            group.check_complete()
            for name, tool in group.tools.items():
                if name in self.tools:
                    raise ConfigurationError(f"two groups have a tool called `{name}`")
                self.tools[name] = tool
        self._handlers = wrap_handlers(self.tools.values(), hooks)
        self._hooked = {
            name for name, tool in self.tools.items() if self._handlers[name] is not tool.handler
        }
        self._projections: dict[str, Projection] = {}
        for tool in self.tools.values():
            if "shaping" in tool.contract:
                self._apply_policies(tool)
        self.listed = {
            name: tool for name, tool in self.tools.items() if "exposed_as" not in tool.contract
        }
        """The tools that clients may call: those that are not exposed as a resource or a prompt."""
        self.merged: dict[str, MergedTool] = {}
        if merged is not None:
            self._add_merged_tools(merged)
        self._aliases = {alias: self.tools[name] for alias, name in aliases.items()}

    def _add_merged_tools(self, group: ToolGroup) -> None:
        from mcpgen.runtime.tools.merged import MergedTool  # few servers have any

        for name, tool in group.tools.items():
            self.listed[name] = tool
            self.merged[name] = MergedTool(tool, self.tools)

    def may_ask(self, tool: Tool) -> bool:
        """Return whether a call may ask the user or become a task: by a policy, a hook, a step."""
        if tool.name in self.merged:
            return any(map(self.may_ask, self.merged[tool.name].members.values()))
        policies = tool.contract.get("shaping", {})
        return (
            tool.name in self._hooked
            or "steps" in tool.contract
            or not policies.keys().isdisjoint(_ASKING_POLICIES)
        )

    def _select(self, rest: Rest) -> Rest:
        """Return what is known about a call of a merged tool, with the tool that serves it."""
        merged = self.merged[rest.tool.name]
        tool, arguments = merged.choose(rest.arguments)
        selection = {merged.scope: rest.arguments[merged.scope]}
        return Rest(
            tool,
            arguments,
            through=rest.through,
            called_as=merged.tool.name,
            selection=selection,
        )

    async def call(
        self,
        name: str,
        arguments: JsonObject,
        context: Context,
        *,
        is_listed: bool = True,
        through: str = "",
        max_bytes: int | None = None,
    ) -> ToolResult:
        """Validate the arguments, run the handler, and return the result.

        A tool that is exposed as a resource or a prompt is not listed, and no client can call it.
        `through` is the tool by which the client calls this one. `max_bytes` is the limit of the
        result, in place of that of the server.

        Raises:
            UnknownToolError: there is no such tool.
            InvalidArgumentsError: the arguments break the schema; nothing was sent.
            ProtocolError: the handler ended the request itself.
            ClientCannotError: the client lacks what the handler asked of it.
        """
        results = self.results if is_listed else None
        if results is not None and name == results.tool:
            return await results.call(arguments, context)
        tool = (self.listed if is_listed else self.tools).get(name) or self.find(name)
        rest = Rest(tool, arguments, through)
        try:
            if tool.name in self.merged:
                rest = self._select(rest)
                tool, arguments = rest.tool, rest.arguments
            handling = self._start_handler(tool, arguments, context)
            api = context.api
            value = await handling
            if value is None:  # a response that the document does not describe is not dropped
                value = api.last_value
            paging = api.paging
            if paging is not None and paging.pages:
                rest.paging = paging
            rest.is_replaced = tool.name in self._hooked
            response = api.last_response
            # A workflow has no response of its own, and its value may hold those of its steps.
            is_long = response is None and "request" not in tool.contract
            if is_long or (response is not None and len(response.body) > LONG_BYTES):
                result = await run_in_worker(
                    self._make_result, rest, value, response, api.notes, max_bytes
                )
            else:
                result = self._make_result(rest, value, response, api.notes, max_bytes)
            if results is None or max_bytes is not None:
                return result
            if not (TRUNCATED_KEY in result.meta or isinstance(value, Media)):
                return result
            return await self._store(results, rest, result, api, context)
        except InvalidArgumentsError as invalid:
            if not rest.called_as:
                raise
            raise InvalidArgumentsError(rest.called_as, invalid.problems) from None
        except (ClientCannotError, ProtocolError):
            raise
        except ConnectionNeededError as needed:
            return await self._ask_to_connect(needed, context, name)
        except RecursionError:
            error = ToolError(f"`{tool.operation}` answered with JSON that is nested too deeply.")
            return make_error_result(error, tool=name)
        except Exception as error:  # noqa: BLE001  (the boundary: nothing may end the server)
            return make_error_result(error, tool=name)

    def _make_result(
        self,
        rest: Rest,
        value: Any,
        response: HttpResponse | None,
        notes: tuple[str, ...],
        max_bytes: int | None,
    ) -> ToolResult:
        tool = rest.tool
        shape = self._shapes.get(tool.name) or self._make_shape(tool)
        if shape.projection is not None:
            value = select_members(value, shape.projection.select)
            rest.is_projected = bool(shape.projection.select)
        if tool.fields and tool.fields in rest.arguments and not isinstance(value, ToolResult):
            fields = tool.select_fields(rest.arguments)
            value = select_members(value, fields)
            rest.is_projected |= bool(fields)
        if tool.continuation and tool.continuation in rest.arguments:
            value = rest.open(value)
        if max_bytes is not None:
            shape = replace(shape, max_bytes=max_bytes)
        rest.value = value
        is_cut_off = response is not None and response.is_cut_off
        if shape.projection is None and not notes:
            return make_result(value, shape, rest, (), is_cut_off)
        return self._show(rest, shape, notes, is_cut_off, value)

    def _make_shape(self, tool: Tool) -> ResultShape:
        client, projection = self._client, self._projections.get(tool.name)
        shape = tool.make_result_shape(client.name, client.limits, projection)
        self._shapes[tool.name] = shape
        return shape

    async def _store(
        self,
        results: StoredResults,
        rest: Rest,
        result: ToolResult,
        api: ToolApi,
        context: Context,
    ) -> ToolResult:
        """Store a value whose result is cut; return the result that refers to it.

        The result stays as it is if the value cannot be stored. A part of a result is followed by
        the calls that led to it.
        """
        value = rest.value
        if rest.place or isinstance(value, ToolResult | Content):
            return result
        if context.task.resumed_state is not None and context.owner.access is None:
            return result  # of a job that a process continues by itself: its caller is not here
        shape, response = self._shapes[rest.tool.name], api.last_response
        is_cut_off = response is not None and response.is_cut_off
        show = partial(self._show, rest, shape, api.notes, is_cut_off)
        preparer = results.start(rest.tool, self.redactor())
        await run_in_worker(preparer.prepare, value, shape, show)
        return await results.save(preparer, context.owner) or result

    def _show(
        self,
        rest: Rest,
        shape: ResultShape,
        notes: tuple[str, ...],
        is_cut_off: bool,
        value: Any,
        prepared: PreparedResult | None = None,
    ) -> ToolResult:
        """Return a result within the limits; `prepared` is the value in the store."""
        cuts: tuple[Cut, ...] = ()
        if shape.projection is not None:
            value, cuts = shape.projection.cut(value, is_rest=bool(rest.place))
        result = make_result(value, shape, rest, cuts, is_cut_off, prepared)
        if not notes:
            return result
        return add_notes(result, map(self._client.get_redactor().clean, notes))

    async def _ask_to_connect(
        self, needed: ConnectionNeededError, context: Context, name: str
    ) -> ToolResult:
        """Ask the user to connect an account, or explain in the result how to."""
        try:
            if self.connector is not None:
                await self.connector.ask(needed, context)
        except ToolError as error:
            return make_error_result(error, tool=name)
        return make_error_result(needed, tool=name)

    async def run(
        self, name: str, arguments: JsonObject, context: Context, *, is_gathered: bool = False
    ) -> ToolOutcome:
        """Call a tool for another one: validated, hooked and sent as for a client.

        `is_gathered` is as in `Tool.prepare_arguments`.

        Raises:
            CallRefusedError: there is no such tool, or the arguments break its schema.
            ToolError: it failed.
        """
        try:
            tool = self.tools.get(name) or self.find(name)
            if tool.name in self.merged:
                tool, arguments = self.merged[tool.name].choose(arguments)
            handling = self._start_handler(
                tool, arguments, context, context.attempts, is_gathered=is_gathered
            )
            api = context.api
            value = await handling
        except UnknownToolError:
            raise CallRefusedError(f"Unknown tool `{name}`.") from None
        except InvalidArgumentsError as error:
            raise CallRefusedError(str(error)) from None
        except ConnectionNeededError as needed:
            if self.connector is not None:
                await self.connector.ask(needed, context)
            raise
        if value is None:
            value = api.last_value
        response = api.last_response
        if response is None:
            return ToolOutcome(tool.operation, value)
        return ToolOutcome(tool.operation, value, response.status, response.headers)

    def find(self, name: str) -> Tool:
        """Find a listed tool by its name or a former name.

        Raises:
            UnknownToolError: there is none, or it is exposed as a resource or a prompt.
        """
        tool = self.listed.get(name) or self._aliases.get(name)
        if tool is None:
            raise UnknownToolError(name)
        return tool

    def check_scopes(self, name: str, access: Access | None) -> None:
        """Raise ToolError if an authorized caller lacks a scope that a tool requires."""
        if self._scopes is not None and access is not None and access.principal:
            missing = self._scopes.find_missing_for(name, access.scopes)
            if missing:
                raise ToolError(
                    f"`{self.tools[name].operation}` was not sent: the access token lacks the scope"
                    f" {', '.join(f'`{scope}`' for scope in sorted(missing))}."
                )

    def _start_handler(
        self,
        tool: Tool,
        arguments: JsonObject,
        context: Context,
        attempts: int | None = None,
        is_gathered: bool = False,
    ) -> Awaitable[Any]:
        """Validate the arguments and start a tool's handler, with `context.api` set."""
        if self._scopes is not None:
            self.check_scopes(tool.name, context.owner.access)
        keywords = tool.prepare_arguments(arguments, is_gathered)
        if tool.continuation and tool.continuation in arguments:
            check_pointer(tool, arguments)
        if tool.fields and tool.fields in arguments:
            tool.select_fields(arguments)  # unknown ones are rejected before the request
        rules = tool.rules if attempts is None else replace(tool.rules, attempts=attempts)
        api = context.api = self._client.bind(tool.name, rules, context.owner)
        if self.features is not None:
            api.read_resource = partial(self.features.read_resource, context=context)
        if tool.pagination is not None:
            pointer = "" if tool.name in self._hooked else arguments.get(tool.continuation)
            tokens = pointer_tokens(pointer or "")
            api.paging = self._client.start_paging(tool.pagination, arguments, tokens)
        return self._handlers[tool.name](context, **keywords)

    def _apply_policies(self, tool: Tool) -> None:
        from mcpgen.runtime.tools.result_policies import apply_policies  # few tools need it

        name, entry = tool.name, tool.contract["shaping"]
        handler = self._handlers[name]
        self._handlers[name] = apply_policies(handler, name, entry, self._client.environment)
        if "result" in entry:
            self._projections[name] = convert(entry["result"], Projection)

    async def aclose(self) -> None:
        """Close the connections to the API."""
        await self._client.aclose()
