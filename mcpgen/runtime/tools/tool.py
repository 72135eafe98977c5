"""Tools and groups of tools: the contract of each tool and the handler that serves it."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property
from inspect import CO_VARKEYWORDS
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from mcpgen.contract.limits import CHARACTERS_PER_TOKEN, DEFAULT_LIMITS, Limits
from mcpgen.contract.toolset_names import EVERYTHING, normalize_toolset_name
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, InvalidArgumentsError, UnknownToolsetError
from mcpgen.runtime.tools.results import ResultShape
from mcpgen.runtime.upstream.request.parameters import UnsendableError
from mcpgen.runtime.upstream.request.rules import RequestRules
from mcpgen.runtime.upstream.response.pagination import PaginationRule

if TYPE_CHECKING:
    from mcpgen.jsonschema.validation import SchemaValidator


_NO_REQUEST: JsonObject = {"method": "", "path": ""}  # of a workflow, whose steps send theirs
_LISTED_TOOLS: WeakKeyDictionary[ModuleType, dict[str, JsonObject]] = WeakKeyDictionary()
Handler = Callable[..., Awaitable[Any]]
HandlerT = TypeVar("HandlerT", bound=Handler)


class Tool:
    """One tool of a contract; validators are compiled on its first call."""

    def __init__(self, name: str, contract: JsonObject) -> None:
        self.name = name
        self.contract = contract
        self.operation: str = contract["operation"]
        """The operation that the tool calls: "GET /pets/{petId}"."""
        self.input_schema: JsonObject = (
            contract.get("input_schema") or contract["listing"]["inputSchema"]
        )
        """Schema that arguments are validated against; may be stricter than the listed one."""
        self.keywords: Mapping[str, str] = contract.get("arguments", {})
        """The handler's keyword for each argument."""
        self.defaults: Mapping[str, Any] = contract.get("defaults", {})
        """Values of arguments that a call omits."""
        self.handler: Handler | None = None

    @property
    def generated_handler(self) -> Handler:
        """The handler that `ToolGroup.handler` registered.

        Raises:
            ConfigurationError: there is none.
        """
        if self.handler is None:
            raise ConfigurationError(f"no handler for `{self.name}`")
        return self.handler

    def make_listed(self) -> Tool:
        """Return a copy that is listed, even if the tool is exposed as a resource or a prompt."""
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

        `positional` are the parameters before them, and `described` begins the message. With
        `in_part` it may name some arguments, and accept the others by `**`.

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
            shown += ", *"
            for keyword, is_optional in expected.items():
                shown += f", {keyword}=ABSENT" if is_optional else f", {keyword}"
        raise ConfigurationError(
            f"{described} of `{self.name}` must take ({shown}), as its contract says"
        )

    @cached_property
    def pagination(self) -> PaginationRule | None:
        """Pagination rule, if the caller may request several pages."""
        entry = self.contract.get("pagination")
        return None if entry is None else msgspec.convert(entry, PaginationRule)

    @cached_property
    def _argument_keywords(self) -> Mapping[str, str]:
        """The keyword for each argument; "" for the one that is not passed to the handler."""
        if self.pagination is None:
            return self.keywords
        return {**self.keywords, self.pagination.argument: ""}

    @cached_property
    def _are_keywords_names(self) -> bool:
        """Whether a handler's keywords equal the argument names and values need no conversion."""
        are_alike = all(name == keyword for name, keyword in self._argument_keywords.items())
        return are_alike and "wire_names" not in self.contract

    @cached_property
    def rules(self) -> RequestRules:
        """Rules that build the HTTP request.

        Raises:
            ConfigurationError: the contract asks for what cannot be sent.
        """
        return msgspec.convert(self.contract.get("request", _NO_REQUEST), RequestRules)

    def prepare_arguments(self, arguments: JsonObject) -> dict[str, Any]:
        """Validate arguments and map them to the handler's keywords.

        Raises:
            InvalidArgumentsError: they are invalid; one sentence for each violation.
        """
        keywords = self._argument_keywords
        if self.defaults:
            arguments = {**self.defaults, **arguments}
        if not arguments.keys() <= keywords.keys():
            from mcpgen.jsonschema.violations import unknown_names

            unknown = [name for name in arguments if name not in keywords]
            raise InvalidArgumentsError(self.name, (unknown_names((), unknown, list(keywords)),))
        if not self._input_validator.is_valid(arguments):
            raise InvalidArgumentsError(self.name, self._input_validator.problems(arguments))
        if self._are_keywords_names:
            given = arguments
        elif "wire_names" in self.contract:
            given = self._rename_members(arguments)
        else:
            given = {keywords[name]: value for name, value in arguments.items() if keywords[name]}
        return self._add_default_members(given) if "members" in self.contract else given

    def _add_default_members(self, given: dict[str, Any]) -> dict[str, Any]:
        """Add the members that an object lacks and the contract has a default for."""
        members: Mapping[str, JsonObject] = self.contract["members"]
        return {
            keyword: {**members[keyword], **value}
            if keyword in members and isinstance(value, dict)
            else value
            for keyword, value in given.items()
        }

    def _rename_members(self, arguments: JsonObject) -> dict[str, Any]:
        """Map arguments to keywords, with nested members under the API's names."""
        from mcpgen.runtime.tools.wire_names import rename_members

        schema, names = self.input_schema, self.contract["wire_names"]
        given: dict[str, Any] = {}
        for name, keyword in self.keywords.items():
            if name not in arguments:
                continue
            about = schema["properties"][name]
            try:
                given[keyword] = rename_members(arguments[name], about, schema, names)
            except UnsendableError as error:
                raise InvalidArgumentsError(self.name, (f"`/{name}` {error}",)) from None
        return given

    def make_result_shape(self, server: str, limits: Limits = DEFAULT_LIMITS) -> ResultShape:
        """Return the result shape of the contract, within the limits of the server."""
        schema = self.contract["listing"].get("outputSchema")
        return ResultShape(
            operation=self.operation,
            result_key=self.contract.get("result_key", ""),
            uri=f"{server}:/{self.name}",
            output=_make_validator(schema) if schema is not None else None,
            max_characters=limits.max_result_tokens * CHARACTERS_PER_TOKEN,
        )

    @cached_property
    def _input_validator(self) -> SchemaValidator:
        return _make_validator(self.input_schema)


def _make_validator(schema: JsonObject) -> SchemaValidator:
    from mcpgen.jsonschema.validation import SchemaValidator  # not before there is a call

    return SchemaValidator(schema)


class ToolGroup:
    """The tools of one tag, from the JSON file beside the module with their handlers."""

    def __init__(self, tag: str, tools: Mapping[str, Tool]) -> None:
        self.tag = tag
        self.tools = tools

    @classmethod
    def load(cls, module_name: str, file_name: str) -> ToolGroup:
        """Read the contract beside the module: `ToolGroup.load(__name__, "pets.json")`.

        A tool that clients list has its schemas, title and description in `listing.json`.

        Raises:
            ConfigurationError: a file is missing or damaged, or `listing.json` lacks a tool.
        """
        contract = _read_json(module_name, file_name)
        try:
            entries: dict[str, JsonObject] = contract["tools"]
            for name, entry in entries.items():
                if "listing" not in entry:
                    entry["listing"] = _find_listed(name, module_name)
            return cls(contract["tag"], {name: Tool(name, it) for name, it in entries.items()})
        except (KeyError, AttributeError, TypeError):
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


def _read_json(module_name: str, file_name: str) -> Any:
    """Read a file beside the module."""
    spec = sys.modules[module_name].__spec__
    if spec is None or spec.origin is None:
        raise ConfigurationError(f"`{module_name}` has no file, so none lies beside it")
    path = str(Path(spec.origin).with_name(file_name))
    try:
        # The loader reads from a zip archive as well as from a folder.
        return msgspec.json.decode(spec.loader.get_data(path))  # type: ignore[union-attr]
    except OSError:
        raise ConfigurationError(f"`{file_name}` is missing beside `{module_name}`") from None
    except ValueError:
        raise ConfigurationError(f"`{file_name}` of `{module_name}` is damaged") from None


def _find_listed(name: str, module_name: str) -> JsonObject:
    """Return a tool as `_generated/listing.json` has it, decoded once for all groups."""
    package_name = module_name.partition("._generated")[0] + "._generated"
    package = sys.modules[package_name]
    if package not in _LISTED_TOOLS:
        tools = _read_json(package_name, "listing.json")
        try:
            _LISTED_TOOLS[package] = {tool["name"]: tool for tool in tools}
        except (KeyError, TypeError):
            raise ConfigurationError(f"`listing.json` of `{package_name}` is damaged") from None
    found = _LISTED_TOOLS[package].get(name)
    if found is None:
        raise ConfigurationError(f"`listing.json` of `{package_name}` has no tool `{name}`")
    return found


def select_lines(
    names: Iterable[str], toolsets: Mapping[str, JsonObject], lines: Sequence[bytes]
) -> list[bytes]:
    """Return the lines of the tools that belong to one of these toolsets.

    Names are normalized: `Code Scanning` and `code-scanning` stand for `code_scanning`.

    Raises:
        UnknownToolsetError: there is no such toolset.
    """
    known = {normalize_toolset_name(name): toolset["tools"] for name, toolset in toolsets.items()}
    wanted: set[str] = set()
    for name in names:
        if normalize_toolset_name(name) in known:
            wanted.update(known[normalize_toolset_name(name)])
        elif normalize_toolset_name(name) == EVERYTHING:
            return list(lines)
        else:
            raise UnknownToolsetError(_describe_unknown_toolsets(name.strip(), sorted(known)))
    return [line for line in lines if json.loads(line)["name"] in wanted]


def _describe_unknown_toolsets(name: str, known: list[str]) -> str:
    from difflib import get_close_matches  # only on the way to an error

    close = get_close_matches(normalize_toolset_name(name), known, n=1)
    hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(known)}"
    return f"unknown toolset `{name}`; {hint}"
