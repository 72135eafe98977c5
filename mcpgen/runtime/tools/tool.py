"""Tools and groups of tools: the contract of each tool and the handler that serves it."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence, Set
from functools import cached_property
from inspect import CO_VARKEYWORDS
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from mcpgen.contract.flat_bodies import FlatBody, gather_schema
from mcpgen.contract.limits import BYTES_PER_TOKEN, Limits
from mcpgen.contract.toolset_names import EVERYTHING, normalize_toolset_name
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, InvalidArgumentsError, UnknownToolsetError
from mcpgen.runtime.tools.result_shape import ResultShape
from mcpgen.runtime.upstream.request.parameters import UnsendableError
from mcpgen.runtime.upstream.request.rules import RequestRules
from mcpgen.runtime.upstream.response.next_page import PaginationRule

if TYPE_CHECKING:
    from mcpgen.jsonschema.validation import SchemaValidator
    from mcpgen.runtime.tools.projection import Projection


_MAX_HINTS = 5  # for unknown members
_MAX_SHOWN = 80  # characters of one
_CONVERSIONS = ("members", "wire_names")  # entries of a contract
_NO_REQUEST: JsonObject = {"method": "", "path": ""}  # of a workflow, whose steps send theirs
_LISTED_TOOLS: WeakKeyDictionary[ModuleType, dict[str, JsonObject]] = WeakKeyDictionary()
Handler = Callable[..., Awaitable[Any]]
HandlerT = TypeVar("HandlerT", bound=Handler)


class Tool:
    """One tool of a contract; validators are compiled on its first call."""

    # What each call needs is in slots, as in `Redactor`.
    __slots__ = (
        "__dict__",
        "_can_skip_conversion",
        "_known_arguments",
        "_own_arguments",
        "_validator",
        "continuation",
        "contract",
        "defaults",
        "fields",
        "flat_body",
        "handler",
        "keywords",
        "name",
        "operation",
        "pagination",
    )

    def __init__(self, name: str, contract: JsonObject) -> None:
        self.name = name
        self.contract = contract
        self.operation: str = contract["operation"]
        """The operation that the tool calls: "GET /pets/{petId}"."""
        flat_body = contract.get("flat_body")
        self.flat_body = None if flat_body is None else msgspec.convert(flat_body, FlatBody)
        """The arguments that are members of the body, which the handler gets; None for none."""
        self.keywords: Mapping[str, str] = contract.get("arguments", {})
        """The handler's keyword for each argument."""
        self.defaults: Mapping[str, Any] = contract.get("defaults", {})
        """Values of arguments that a call omits."""
        self.continuation: str = contract.get("continuation", "")
        """The argument for the place where a result goes on; "" if there is none."""
        self.fields: str = contract.get("fields", "")
        """The argument for the members to return; "" if there is none."""
        pagination = contract.get("pagination")
        self.pagination = (
            None if pagination is None else msgspec.convert(pagination, PaginationRule)
        )
        """Pagination rule, if the caller may request several pages."""
        pages = "" if self.pagination is None else self.pagination.argument
        # The arguments that are not passed to the handler.
        self._own_arguments = frozenset((pages, self.continuation, self.fields)) - {""}
        self._known_arguments = self._own_arguments.union(self.keywords)
        # Whether a handler's keywords equal the argument names and values need no conversion.
        are_alike = all(name == keyword for name, keyword in self.keywords.items())
        self._can_skip_conversion = are_alike and contract.keys().isdisjoint(_CONVERSIONS)
        self._validator: SchemaValidator | None = None
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

    @property
    def listed_schema(self) -> JsonObject:
        """Schema of the arguments as clients see it."""
        schema: JsonObject = self.contract["listing"]["inputSchema"]
        return schema

    @cached_property
    def input_schema(self) -> JsonObject:
        """Schema that arguments are validated against; may be stricter than the listed one.

        The members of a flat body are inside of the body.
        """
        checked: JsonObject | None = self.contract.get("input_schema")
        if checked is not None:
            return checked
        return gather_schema(self.listed_schema, self.flat_body)

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
        required = {*self.contract.get("input_schema", self.listed_schema).get("required", ())}
        required |= self.defaults.keys()
        if self.flat_body is not None and self.flat_body.required:
            required.add(self.flat_body.argument)
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

    @property
    def argument_names(self) -> frozenset[str]:
        """The names of all arguments that clients can pass."""
        if self.flat_body is not None:
            return frozenset(self._listed_names)
        return self._known_arguments

    @cached_property
    def rules(self) -> RequestRules:
        """Rules that build the HTTP request.

        Raises:
            ConfigurationError: the contract asks for what cannot be sent.
        """
        rules = msgspec.convert(self.contract.get("request", _NO_REQUEST), RequestRules)
        if self.flat_body is None or rules.body is None:
            return rules
        wire_names: JsonObject = self.contract.get("wire_names", {})
        arguments = {wire_names.get(it, it): name for it, name in self.flat_body.names.items()}
        return replace(rules, body=replace(rules.body, arguments=arguments))

    def prepare_arguments(self, arguments: JsonObject, is_gathered: bool = False) -> dict[str, Any]:
        """Validate arguments and map them to the handler's keywords.

        `is_gathered` states that the members of a flat body are inside of it already.

        Raises:
            InvalidArgumentsError: they are invalid; one sentence for each violation.
        """
        passed = arguments
        if self.flat_body is not None:
            arguments = self._gather(arguments, self.flat_body, is_gathered)
        if self.defaults:
            arguments = {**self.defaults, **arguments}
        if not self._known_arguments.issuperset(arguments):
            raise self._make_unknown_error(arguments, (*self.keywords, *self._own_arguments))
        validator = self._validator or self._input_validator
        if not validator.is_valid(arguments):
            raise InvalidArgumentsError(self.name, self._describe_problems(arguments, passed))
        own = self._own_arguments
        if own and not own.isdisjoint(arguments):
            arguments = {name: value for name, value in arguments.items() if name not in own}
        return arguments if self._can_skip_conversion else self._convert(arguments)

    def _gather(self, arguments: JsonObject, flat: FlatBody, is_gathered: bool) -> JsonObject:
        """Return arguments in which the members of a flat body are inside of it."""
        if is_gathered:
            return flat.drop_empty(arguments)
        if not arguments.keys() <= self._listed_names:
            raise self._make_unknown_error(arguments, self._listed_names)
        return flat.gather(arguments)

    def _convert(self, arguments: JsonObject) -> dict[str, Any]:
        """Convert valid arguments to the keyword arguments of the handler."""
        if "wire_names" in self.contract:
            arguments = self._rename_members(arguments)
        else:
            arguments = {self.keywords[name]: value for name, value in arguments.items()}
        return self._add_default_members(arguments) if "members" in self.contract else arguments

    def select_fields(self, arguments: JsonObject) -> JsonObject:
        """Return the members to return, nested by name; {} for all.

        Raises:
            InvalidArgumentsError: the output schema describes no such member.
        """
        chosen: list[str] = arguments.get(self.fields, [])
        if not chosen:
            return {}
        from mcpgen.jsonschema.result_members import ResultMembers, nest_names

        members = ResultMembers(
            self.contract["listing"]["outputSchema"], self.contract.get("result_key", "")
        )
        found: list[tuple[str, ...]] = []
        problems: list[str] = []
        for number, path in enumerate(chosen):
            names = members.find(path)
            if names is not None:
                found.append(names)
                continue
            suggestion = members.suggest(path) if len(problems) < _MAX_HINTS else ""
            hint = f"; did you mean `{suggestion}`?" if suggestion else ""
            shown = path if len(path) <= _MAX_SHOWN else f"{path[:_MAX_SHOWN]}…"
            problems.append(f"`/{self.fields}/{number}`: the result has no member `{shown}`{hint}")
        if problems:
            raise InvalidArgumentsError(self.name, tuple(problems))
        return nest_names(found)

    def accepts(self, arguments: JsonObject) -> bool:
        """Return whether arguments are valid."""
        if self.flat_body is not None:
            if not arguments.keys() <= self._listed_names:
                return False
            arguments = self.flat_body.gather(arguments)
        return self._input_validator.is_valid({**self.defaults, **arguments})

    @cached_property
    def _listed_names(self) -> Set[str]:
        """The arguments that clients know of a tool with a flat body."""
        properties: JsonObject = self.listed_schema["properties"]
        return properties.keys()

    def _make_unknown_error(
        self, arguments: JsonObject, known: Collection[str]
    ) -> InvalidArgumentsError:
        from mcpgen.runtime.tools.argument_hints import describe_unknown

        body = self.contract.get("request", {}).get("body", {}).get("argument", "")
        problems = describe_unknown(arguments, known, self.listed_schema, body, self.flat_body)
        return InvalidArgumentsError(self.name, problems)

    def _describe_problems(self, gathered: JsonObject, passed: JsonObject) -> tuple[str, ...]:
        """Return a sentence for each violation; `passed` are the arguments of the caller."""
        flat = self.flat_body
        if flat is None:
            return self._input_validator.problems(gathered)
        from mcpgen.runtime.tools.argument_hints import describe_whole_body, is_whole_body

        problems = self._input_validator.problems(gathered, self._name_place)
        if flat.argument in flat.members and is_whole_body(passed, flat):
            problems += (describe_whole_body(passed[flat.argument], flat),)
        return problems

    def _name_place(self, path: Sequence[str | int]) -> str:
        """Return what callers call the place at `path` of gathered arguments."""
        from mcpgen.jsonschema.violations import name_place

        located = path if self.flat_body is None else self.flat_body.locate(tuple(path))
        return name_place(located) if located or not path else "the request body"

    def _add_default_members(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Add the members that an object lacks and the contract has a default for."""
        members: Mapping[str, JsonObject] = self.contract["members"]
        return {
            keyword: {**members[keyword], **value}
            if keyword in members and isinstance(value, dict)
            else value
            for keyword, value in arguments.items()
        }

    def _rename_members(self, arguments: JsonObject) -> dict[str, Any]:
        """Map arguments to keywords, with nested members under the API's names."""
        from mcpgen.runtime.tools.wire_names import rename_members

        schema, names = self.input_schema, self.contract["wire_names"]
        converted: dict[str, Any] = {}
        for name, keyword in self.keywords.items():
            if name not in arguments:
                continue
            about = schema["properties"][name]
            try:
                converted[keyword] = rename_members(arguments[name], about, schema, names)
            except UnsendableError as error:
                problem = f"{self._name_place((name,))} {error}"
                raise InvalidArgumentsError(self.name, (problem,)) from None
        return converted

    def make_result_shape(
        self, server: str, limits: Limits, projection: Projection | None
    ) -> ResultShape:
        """Return the result shape of the contract, within the limits of the server."""
        schema = self.contract["listing"].get("outputSchema")
        return ResultShape(
            operation=self.operation,
            result_key=self.contract.get("result_key", ""),
            uri=f"{server}:/{self.name}",
            output=_make_validator(schema) if schema is not None else None,
            projection=projection,
            max_bytes=limits.max_result_tokens * BYTES_PER_TOKEN,
        )

    @property
    def _input_validator(self) -> SchemaValidator:
        if self._validator is None:
            self._validator = _make_validator(self.input_schema)
        return self._validator


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
    names: Iterable[str],
    toolsets: Mapping[str, JsonObject],
    lines: Sequence[bytes],
    *,
    always: Iterable[str] = (),
) -> list[bytes]:
    """Return the lines of the tools that belong to one of these toolsets, and of `always`.

    Names are normalized: `Code Scanning` and `code-scanning` stand for `code_scanning`.

    Raises:
        UnknownToolsetError: there is no such toolset.
    """
    known = {normalize_toolset_name(name): toolset["tools"] for name, toolset in toolsets.items()}
    selected = set(always)
    for name in names:
        if normalize_toolset_name(name) in known:
            selected.update(known[normalize_toolset_name(name)])
        elif normalize_toolset_name(name) == EVERYTHING:
            return list(lines)
        else:
            raise UnknownToolsetError(_describe_unknown_toolsets(name.strip(), sorted(known)))
    return [line for line in lines if json.loads(line)["name"] in selected]


def _describe_unknown_toolsets(name: str, known: list[str]) -> str:
    from difflib import get_close_matches  # only on the way to an error

    close = get_close_matches(normalize_toolset_name(name), known, n=1)
    hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(known)}"
    return f"unknown toolset `{name}`; {hint}"
