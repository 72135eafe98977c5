"""Tools: the contract of each, its handler, and the one way in which it is called."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from inspect import CO_VARKEYWORDS
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mcpgen.runtime.absent import ABSENT, Absent
from mcpgen.runtime.content import JsonObject, ToolResult
from mcpgen.runtime.errors import (
    CallRefusedError,
    ClientCannotError,
    ConfigurationError,
    InvalidArgumentsError,
    ProtocolError,
    UnknownToolError,
)
from mcpgen.runtime.overrides import Hook, hooked_handlers
from mcpgen.runtime.results import ResultShape, result_of, result_of_exception, with_notes
from mcpgen.runtime.upstream.client import ApiClient
from mcpgen.runtime.upstream.http import HeaderFields
from mcpgen.runtime.upstream.pagination import PaginationRule
from mcpgen.runtime.upstream.parameters import UnsendableError
from mcpgen.runtime.upstream.rules import RequestRules

if TYPE_CHECKING:
    from mcpgen.runtime.calls import Offered
    from mcpgen.runtime.context import Context
    from mcpgen.runtime.narrowing import Narrowing
    from mcpgen.runtime.validation import SchemaValidator

_NO_REQUEST: JsonObject = {"method": "", "path": ""}  # of a workflow, whose steps send theirs
Handler = Callable[..., Awaitable[Any]]
HandlerT = TypeVar("HandlerT", bound=Handler)


class Tool:
    """One tool of a contract. What a call needs is prepared when the first one comes."""

    def __init__(self, name: str, contract: JsonObject) -> None:
        self.name = name
        self.contract = contract
        self.handler: Handler | None = None

    @property
    def operation(self) -> str:
        """The operation that the tool calls: "GET /pets/{petId}"."""
        operation: str = self.contract["operation"]
        return operation

    @property
    def generated_handler(self) -> Handler:
        """The handler that `ToolGroup.handler` gave it.

        Raises:
            ConfigurationError: there is none.
        """
        if self.handler is None:
            raise ConfigurationError(f"no handler for `{self.name}`")
        return self.handler

    def listed(self) -> Tool:
        """The same tool for clients to call, though it is exposed as something else."""
        contract = {key: value for key, value in self.contract.items() if key != "exposed_as"}
        tool = Tool(self.name, contract)
        tool.handler = self.handler
        return tool

    def check_signature(
        self,
        function: Handler,
        positional: Sequence[str],
        described: str,
        *,
        in_part: bool = False,
    ) -> None:
        """Compare a function's parameters with the arguments of the contract.

        `positional` is what it takes before them, and `described` begins the message. With
        `in_part` it may name some, and take the others by `**`.

        Raises:
            ConfigurationError: they differ.
        """
        if not isinstance(function, FunctionType):
            raise ConfigurationError(f"{described} of `{self.name}` is no function")
        # By its code object: `inspect` takes 20 times longer.
        code = function.__code__
        keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        optional = set(function.__kwdefaults__ or ())
        required = set(self.input_schema.get("required", ()))
        required |= self.defaults.keys()
        expected = {keyword: name not in required for name, keyword in self.keywords.items()}
        found = {keyword: keyword in optional for keyword in keywords}
        named = expected
        if in_part and code.co_flags & CO_VARKEYWORDS:
            named = {name: expected[name] for name in expected.keys() & found.keys()}
        if code.co_argcount == len(positional) and found == named:
            return
        shown = ", ".join(positional)
        if expected:
            shown += ", *, " + ", ".join(_parameter(*item) for item in expected.items())
        raise ConfigurationError(
            f"{described} of `{self.name}` must take ({shown}), as its contract says"
        )

    @cached_property
    def keywords(self) -> Mapping[str, str]:
        """The handler's keyword for each argument."""
        arguments: Mapping[str, str] = self.contract.get("arguments", {})
        return arguments

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """What the handler gets of arguments that a call leaves out."""
        defaults: Mapping[str, Any] = self.contract.get("defaults", {})
        return defaults

    @cached_property
    def pagination(self) -> PaginationRule | None:
        """How its list goes on, where the caller may ask for several pages."""
        entry = self.contract.get("pagination")
        return None if entry is None else PaginationRule.from_json(entry)

    @cached_property
    def _known(self) -> Mapping[str, str]:
        """The keyword for each argument; "" for the one that no handler gets."""
        if self.pagination is None:
            return self.keywords
        return {**self.keywords, self.pagination.argument: ""}

    @cached_property
    def _are_keywords_names(self) -> bool:
        """Whether a handler gets its arguments as they are called and as they are."""
        are_alike = all(name == keyword for name, keyword in self._known.items())
        return are_alike and "wire_names" not in self.contract

    @property
    def input_schema(self) -> JsonObject:
        """What arguments are validated against, which may say more than what is listed."""
        schema: JsonObject = (
            self.contract.get("input_schema") or self.contract["listing"]["inputSchema"]
        )
        return schema

    @cached_property
    def rules(self) -> RequestRules:
        """How its request travels.

        Raises:
            ConfigurationError: the contract asks for what cannot be sent.
        """
        return RequestRules.from_json(self.contract.get("request", _NO_REQUEST))

    def checked(self, arguments: JsonObject) -> dict[str, Any]:
        """Arguments by the handler's keywords, once they are known to fit the schema.

        Raises:
            InvalidArgumentsError: they do not; one sentence for each violation.
        """
        keywords = self._known
        if self.defaults:
            arguments = {**self.defaults, **arguments}
        if not arguments.keys() <= keywords.keys():
            raise InvalidArgumentsError(self.name, (_unknown(arguments, keywords),))
        if not self._input_validator.is_valid(arguments):
            raise InvalidArgumentsError(self.name, self._input_validator.problems(arguments))
        if self._are_keywords_names:
            given = arguments
        elif "wire_names" in self.contract:
            given = self._in_wire_names(arguments)
        else:
            given = {keywords[name]: value for name, value in arguments.items() if keywords[name]}
        return self._with_members(given) if "members" in self.contract else given

    def _with_members(self, given: dict[str, Any]) -> dict[str, Any]:
        """Add the members that an object lacks and the contract has a default for."""
        members: Mapping[str, JsonObject] = self.contract["members"]
        return {
            keyword: {**members[keyword], **value}
            if keyword in members and isinstance(value, dict)
            else value
            for keyword, value in given.items()
        }

    def _in_wire_names(self, arguments: JsonObject) -> dict[str, Any]:
        """Arguments by keyword, the members inside them called as the API calls them."""
        from mcpgen.runtime.wire_names import renamed

        schema, names = self.input_schema, self.contract["wire_names"]
        given: dict[str, Any] = {}
        for name, keyword in self.keywords.items():
            if name not in arguments:
                continue
            about = schema["properties"][name]
            try:
                given[keyword] = renamed(arguments[name], about, schema, names)
            except UnsendableError as error:
                raise InvalidArgumentsError(self.name, (f"`/{name}` {error}",)) from None
        return given

    def result_shape(self, server: str) -> ResultShape:
        """What the contract says of the tool's result."""
        return ResultShape(
            operation=self.operation,
            result_key=self.contract.get("result_key", ""),
            uri=f"{server}:/{self.name}",
            output=self._output if "outputSchema" in self.contract["listing"] else None,
        )

    @cached_property
    def _input_validator(self) -> SchemaValidator:
        return _validator(self.input_schema)

    @cached_property
    def _output_validator(self) -> SchemaValidator:
        return _validator(self.contract["listing"]["outputSchema"])

    def _output(self) -> SchemaValidator:
        return self._output_validator


def _validator(schema: JsonObject) -> SchemaValidator:
    from mcpgen.runtime.validation import SchemaValidator  # not before there is a call

    return SchemaValidator(schema)


def _unknown(arguments: JsonObject, known: Mapping[str, str]) -> str:
    from mcpgen.runtime.validation import unknown_names

    return unknown_names((), [name for name in arguments if name not in known], list(known))


@dataclass(frozen=True, slots=True)
class Run:
    """What a tool gave to another one that called it.

    `value` is what the API answered, decoded, or what an override made of it; without a request
    there is no `status`.
    """

    operation: str
    value: Any
    status: int | None = None
    headers: HeaderFields = ()

    def header(self, name: str) -> str | Absent:
        """The text of a response's header, whatever its case."""
        wanted = name.lower()
        return next((text for key, text in self.headers if key.lower() == wanted), ABSENT)


class ToolGroup:
    """The tools of one tag: a JSON file beside the module that holds their handlers."""

    def __init__(self, tag: str, tools: Mapping[str, Tool]) -> None:
        self.tag = tag
        self.tools = tools

    @classmethod
    def load(cls, module_name: str, file_name: str) -> ToolGroup:
        """Read the contract that lies beside the module: `ToolGroup.load(__name__, "pets.json")`.

        Raises:
            ConfigurationError: there is none, or it is damaged.
        """
        spec = sys.modules[module_name].__spec__
        if spec is None or spec.origin is None:
            raise ConfigurationError(f"`{module_name}` has no file, so none lies beside it")
        path = str(Path(spec.origin).with_name(file_name))
        try:
            # The loader reads from a zip archive as well as from a folder.
            contract = msgspec.json.decode(spec.loader.get_data(path))  # type: ignore[union-attr]
            tools = {name: Tool(name, entry) for name, entry in contract["tools"].items()}
            return cls(contract["tag"], tools)
        except OSError:
            raise ConfigurationError(f"`{file_name}` is missing beside `{module_name}`") from None
        except (ValueError, KeyError, AttributeError, TypeError):
            raise ConfigurationError(f"`{file_name}` of `{module_name}` is damaged") from None

    def handler(self, name: str) -> Callable[[HandlerT], HandlerT]:
        """Make the decorated function the handler of a tool.

        Raises:
            ConfigurationError: the contract has no such tool, or the function's keywords are not
                the tool's arguments.
        """
        tool = self.tools.get(name)
        if tool is None:
            raise ConfigurationError(f"a handler is for the tool `{name}`, which has no contract")
        if tool.handler is not None:
            raise ConfigurationError(f"the tool `{name}` has two handlers")

        def register(function: HandlerT) -> HandlerT:
            tool.check_signature(function, ("ctx",), "the handler")
            tool.handler = function
            return function

        return register

    def check_complete(self) -> None:
        """Raise ConfigurationError when a tool has no handler."""
        if missing := [name for name, tool in self.tools.items() if tool.handler is None]:
            raise ConfigurationError(f"no handler for {', '.join(f'`{name}`' for name in missing)}")


def _parameter(keyword: str, is_optional: bool) -> str:
    return f"{keyword}=ABSENT" if is_optional else keyword


class Toolbox:
    """Every tool of a server, ready to be called."""

    def __init__(
        self,
        groups: Iterable[ToolGroup],
        client: ApiClient,
        hooks: Iterable[Hook] = (),
        *,
        aliases: Mapping[str, str] = MappingProxyType({}),
        features: Offered | None = None,
    ) -> None:
        """Join groups, and put the hooks of `handlers/` around their handlers.

        `aliases` lead from former names of tools to the ones that they have. A resource of
        `features` may be given as a file argument.

        Raises:
            ConfigurationError: a tool has no handler, two groups have one of the same name, or a
                hook does not fit.
        """
        self._client = client
        self.features = features
        self._tools: dict[str, Tool] = {}
        self._shapes: dict[str, ResultShape] = {}
        for group in groups:
            group.check_complete()
            for name, tool in group.tools.items():
                if name in self._tools:
                    raise ConfigurationError(f"two groups have a tool called `{name}`")
                self._tools[name] = tool
        self._handlers = hooked_handlers(self._tools.values(), hooks)
        self._narrowings: dict[str, Narrowing] = {}
        for tool in self._tools.values():
            if "shaping" in tool.contract:
                self._shape(tool)
        self._listed = {
            name: tool for name, tool in self._tools.items() if "exposed_as" not in tool.contract
        }
        self._aliases = {alias: self._tools[name] for alias, name in aliases.items()}

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools, by name."""
        return self._tools

    @property
    def listed(self) -> Mapping[str, Tool]:
        """Those of the tools that clients may call: what is exposed otherwise is not among them."""
        return self._listed

    async def call(
        self, name: str, arguments: JsonObject, context: Context, *, is_listed: bool = True
    ) -> ToolResult:
        """Validate the arguments, run the handler, and tell how it went.

        What is exposed as a resource or a prompt is not listed, and no client can call it.

        Raises:
            UnknownToolError: there is no such tool.
            InvalidArgumentsError: the arguments break the schema; nothing was sent.
            ProtocolError: the handler ended the request itself.
            ClientCannotError: the client lacks what the handler asked of it.
        """
        tool = self.find(name) if is_listed else self._tools[name]
        try:
            handling = self._handling(tool, arguments, context)
            api = context.api
            value = await handling
            if value is None:
                value = api.last_value
            response, notes = api.last_response, api.notes
            if tool.name in self._narrowings:
                narrow = self._narrowings[tool.name].of(value)
                value, notes = narrow.value, (*notes, *narrow.notes)
            is_cut_off = response is not None and response.is_cut_off
            result = result_of(value, self._shape_of(tool), is_cut_off=is_cut_off)
            if not notes:
                return result
            return with_notes(result, map(self._client.redactor().clean, notes))
        except (ClientCannotError, InvalidArgumentsError, ProtocolError):
            raise
        except Exception as error:  # noqa: BLE001  (the boundary: nothing may end the server)
            return result_of_exception(error, tool=name)

    async def run(self, name: str, arguments: JsonObject, context: Context) -> Run:
        """Call a tool from within another one: checked, hooked and sent as if a client had.

        Raises:
            CallRefusedError: there is no such tool, or the arguments break its schema.
            ToolError: it failed.
        """
        try:
            tool = self._tools.get(name) or self.find(name)
            handling = self._handling(tool, arguments, context, context.attempts)
            api = context.api
            value = await handling
        except UnknownToolError:
            raise CallRefusedError(f"No tool is named `{name}`.") from None
        except InvalidArgumentsError as error:
            raise CallRefusedError(str(error)) from None
        if value is None:
            value = api.last_value
        response = api.last_response
        if response is None:
            return Run(tool.operation, value)
        return Run(tool.operation, value, response.status, response.headers)

    def find(self, name: str) -> Tool:
        """Give the tool that a client calls so, by its name or a former one.

        Raises:
            UnknownToolError: there is none; what is exposed otherwise is no tool.
        """
        tool = self._listed.get(name) or self._aliases.get(name)
        if tool is None:
            raise UnknownToolError(name)
        return tool

    def _handling(
        self, tool: Tool, arguments: JsonObject, context: Context, attempts: int | None = None
    ) -> Awaitable[Any]:
        """The work of a tool's handler, which has its view of the API in the context.

        Where it gives None, what the API answered counts: the document did not promise it, and it
        is not thrown away.

        Raises:
            InvalidArgumentsError: the arguments break the schema.
        """
        keywords = tool.checked(arguments)
        rules = tool.rules if attempts is None else replace(tool.rules, attempts=attempts)
        api = context.api = self._client.bind(tool.name, rules)
        if self.features is not None:
            api.read_resource = partial(self.features.read_resource, context=context)
        if tool.pagination is not None:
            api.paging = self._client.paging(tool.pagination, arguments)
        return self._handlers[tool.name](context, **keywords)

    def _shape(self, tool: Tool) -> None:
        """Put around a tool what its contract wants there."""
        from mcpgen.runtime.narrowing import Narrowing  # for the few tools that ask for it
        from mcpgen.runtime.shaping import shaped

        entry = tool.contract["shaping"]
        around = self._client.surroundings
        self._handlers[tool.name] = shaped(self._handlers[tool.name], tool.name, entry, around)
        if "result" in entry:
            self._narrowings[tool.name] = Narrowing.from_json(entry["result"])

    def _shape_of(self, tool: Tool) -> ResultShape:
        shape = self._shapes.get(tool.name)
        if shape is None:
            shape = self._shapes[tool.name] = tool.result_shape(self._client.name)
        return shape

    async def aclose(self) -> None:
        """Close the connections to the API."""
        await self._client.aclose()
