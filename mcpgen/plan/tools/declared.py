"""Resources and prompts of the manifest, with their content or the operation that returns it."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from mcpgen.diagnostics import Problems, did_you_mean
from mcpgen.ir.limits import list_stated_limits
from mcpgen.ir.manifest import LocatedManifest
from mcpgen.ir.manifest_entries import PromptEntry, ResourceEntry
from mcpgen.ir.tool_plan import MEMBER, DeclaredPlan, ServerPlan, ToolPlan
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.tools.entries import find_entry_key, names_of
from mcpgen.text.uri_template import UriTemplate

_PLACEHOLDER = re.compile(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_]*)\}(?!\})")
_IN_PATH = re.compile(r"\{([^{}]*)\}")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_NAME = re.compile(r"[A-Za-z0-9_.\-]{1,64}\Z")
_WHY = "mcpgen follows the manifest to the letter, or not at all"


def with_declared(
    plan: ServerPlan, intent: LocatedManifest, has_file: Callable[[str], bool], problems: Problems
) -> ServerPlan:
    """Add the resources and prompts of the manifest to a plan; `has_file` checks project files."""
    return _Declaring(plan, intent, has_file, problems).plan()


class _Declaring:
    def __init__(
        self,
        plan: ServerPlan,
        intent: LocatedManifest,
        has_file: Callable[[str], bool],
        problems: Problems,
    ) -> None:
        self._plan = plan
        self._manifest = intent.manifest
        self._locate = intent.locate
        self._has_file = has_file
        self._problems = problems
        self._tools = {name: tool for tool in plan.tools for name in names_of(tool.operation)}

    def plan(self) -> ServerPlan:
        server = self._manifest.server
        exposed = [it for it in self._plan.tools if it.exposed_as not in {"tool", MEMBER}]
        resources = [self._plan_exposed(tool) for tool in exposed if tool.exposed_as != "prompt"]
        prompts = [
            self._plan_exposed_prompt(tool) for tool in exposed if tool.exposed_as == "prompt"
        ]
        for name, resource in self._manifest.resources.items():
            resources += self._plan_resource(name, resource)
        prompts += [
            self._plan_prompt(name, prompt) for name, prompt in self._manifest.prompts.items()
        ]
        stated = {prompt.listing["name"] for prompt in prompts}
        prompts += [each for each in self._plan.prompts if each.listing["name"] not in stated]
        return replace(
            self._plan,
            icons=tuple(_drop_empty(msgspec.to_builtins(icon)) for icon in server.icons),
            revisions=tuple(sorted(server.revisions, reverse=True)),
            limits=list_stated_limits(self._manifest.limits),
            resources=self._sort_unique("resources", resources, _build_uri),
            prompts=self._sort_unique("prompts", prompts, lambda item: item.listing["name"]),
        )

    def _sort_unique(
        self, kind: str, items: Iterable[DeclaredPlan], key: Callable[[DeclaredPlan], str]
    ) -> tuple[DeclaredPlan, ...]:
        found: dict[str, DeclaredPlan] = {}
        for item in items:
            if key(item) in found:
                name = item.listing["name"]
                tokens = (kind, name) if name in getattr(self._manifest, kind) else ("operations",)
                self._refuse(tokens, f"two {kind} are `{key(item)}`", "give each one of its own")
            found[key(item)] = item
        return tuple(item for _, item in sorted(found.items()))

    # -- operations that are exposed as something else ------------------------------------------

    def _plan_exposed(self, tool: ToolPlan) -> DeclaredPlan:
        """Return the resource or template for an operation that is exposed as one."""
        path = {item.wire_name: item.name for item in tool.arguments if item.location == "path"}
        needed = [item.name for item in tool.arguments if item.required]
        tokens = self._find_entry(tool)
        if tool.operation.method != "GET":
            self._refuse(
                tokens,
                f"a {tool.exposed_as} must be a GET, but this is `{tool.operation.key}`",
                "leave it a tool",
            )
        elif tool.exposed_as == "resource" and needed:
            self._refuse(
                tokens,
                f"`{tool.operation.key}` requires arguments: {_format_names(needed)}",
                "expose it as `template`" if path else "leave it a tool",
            )
        elif tool.exposed_as == "template" and not path:
            self._refuse(
                tokens,
                f"the path of `{tool.operation.key}` has no parameters",
                "expose it as `resource`",
            )
        elif others := [name for name in needed if name not in path.values()]:
            self._refuse(
                tokens,
                f"the path of `{tool.operation.key}` lacks {_format_names(others)}",
                "fix them under `parameters`, or write a resource with `{?name}` in its `uri`",
            )
        route = _IN_PATH.sub(lambda found: f"{{{path.get(found[1], '')}}}", tool.operation.path)
        uri = f"{self._plan.name}://{route.lstrip('/')}"
        key = "uriTemplate" if tool.exposed_as == "template" else "uri"
        about = {**_describe(tool), "mimeType": _choose_media_type(tool)}
        listing = {"name": tool.name, key: uri, **about}
        values = {name: _list_values(tool, name) for name in path.values()}
        return DeclaredPlan(_drop_empty(listing), {"tool": tool.name}, _drop_empty(values))

    def _plan_exposed_prompt(self, tool: ToolPlan) -> DeclaredPlan:
        """Return the prompt whose message is the response of an operation."""
        properties = tool.input_schema["properties"]
        arguments: list[JsonObject] = []
        for item in tool.arguments:
            about = properties[item.name].get("description", "")
            argument = {"name": item.name, "description": about, "required": item.required}
            arguments.append(_drop_empty(argument))
            if item.required and item.location == "body":
                self._refuse(
                    self._find_entry(tool),
                    f"`{tool.operation.key}` needs a body, and a prompt's arguments are texts",
                    "leave it a tool",
                )
        listing = {"name": tool.name, **_describe(tool), "arguments": arguments}
        values = {item.name: _list_values(tool, item.name) for item in tool.arguments}
        return DeclaredPlan(_drop_empty(listing), {"tool": tool.name}, _drop_empty(values))

    def _find_entry(self, tool: ToolPlan) -> tuple[str, ...]:
        return ("operations", find_entry_key(tool.operation, self._manifest), "expose")

    # -- what the manifest writes out -----------------------------------------------------------

    def _plan_resource(self, name: str, entry: ResourceEntry) -> Sequence[DeclaredPlan]:
        present = [key for key in ("text", "file", "operation") if getattr(entry, key)]
        if entry.text == "":
            present.append("text")
        if len(present) != 1:
            shown = " and ".join(f"`{key}`" for key in present) or "none"
            self._refuse(
                ("resources", name),
                f"a resource holds one of `text`, `file` and `operation`; this one has {shown}",
                "keep one of them",
            )
            return ()
        variables = self._parse_variables(name, entry)
        if variables is None:
            return ()
        content: JsonObject | None = {"text": entry.text}
        media_type = entry.media_type
        tool: ToolPlan | None = None
        if entry.file:
            content = self._plan_file(name, entry.file)
            media_type = media_type or mimetypes.guess_type(entry.file)[0] or ""
        elif entry.operation:
            tool = self._find_tool(name, entry, variables)
            content = None if tool is None else {"tool": tool.name}
            media_type = media_type or ("" if tool is None else _choose_media_type(tool))
        elif variables:
            self._refuse(
                ("resources", name, "uri"),
                f"the URI has {_format_names(variables)}, and a text has no use for it",
                "leave the braces out, or name an `operation`",
            )
        if content is None:
            return ()
        about = {} if tool is None else _describe(tool)
        listing = {
            "name": name,
            "uriTemplate" if variables else "uri": entry.uri,
            "title": entry.title or about.get("title", ""),
            "description": entry.description or about.get("description", ""),
            "mimeType": media_type or "text/plain",
        }
        values = {} if tool is None else {each: _list_values(tool, each) for each in variables}
        return [DeclaredPlan(_drop_empty(listing), content, _drop_empty(values))]

    def _parse_variables(self, name: str, entry: ResourceEntry) -> tuple[str, ...] | None:
        """Return the variables of a resource's URI; None if it is invalid."""
        try:
            template = UriTemplate(entry.uri)
            template.match("")
        except ValueError as error:
            self._refuse(("resources", name, "uri"), f"no URI template: {error}", "see RFC 6570")
            return None
        if not _ABSOLUTE.match(entry.uri):
            self._refuse(
                ("resources", name, "uri"),
                f"`{entry.uri}` is no absolute URI",
                f"begin it with a scheme: `{self._plan.name}://{entry.uri.lstrip('/')}`",
            )
            return None
        return template.variables

    def _plan_file(self, name: str, path: str) -> JsonObject | None:
        package, tokens = f"src/{self._plan.package}/", ("resources", name, "file")
        if not path.startswith(package) or ".." in path.split("/"):
            message = f"`{path}` is not installed with the server"
            self._refuse(tokens, message, f"put it below `{package}`")
            return None
        if not self._has_file(path):
            self._refuse(tokens, f"no file is at `{path}`", "check its path and name")
            return None
        return {"file": path.removeprefix(package)}

    def _find_tool(
        self, name: str, entry: ResourceEntry, variables: Sequence[str]
    ) -> ToolPlan | None:
        """Return the tool of a resource; its arguments are the variables of the URI."""
        tokens, at_uri = ("resources", name, "operation"), ("resources", name, "uri")
        tool = self._tools.get(entry.operation)
        if tool is None:
            self._refuse(
                tokens,
                f"`{entry.operation}` is not an operation of this server",
                did_you_mean(entry.operation, self._tools, "name one that `select` keeps"),
            )
            return None
        arguments = [item.name for item in tool.arguments]
        needed = [item.name for item in tool.arguments if item.required]
        if tool.operation.method != "GET":
            self._refuse(tokens, f"`{tool.operation.key}` is no GET", "name one that only reads")
        elif unknown := [each for each in variables if each not in arguments]:
            others = f"its arguments are {_format_names(arguments)}"
            self._refuse(
                at_uri,
                f"`{tool.operation.key}` has no argument `{unknown[0]}`",
                did_you_mean(unknown[0], arguments, others),
            )
        elif missing := [each for each in needed if each not in variables]:
            message = f"`{tool.operation.key}` needs {_format_names(missing)}"
            self._refuse(at_uri, message, f"put `{{{missing[0]}}}` into the URI")
        else:
            return tool
        return None

    def _plan_prompt(self, name: str, entry: PromptEntry) -> DeclaredPlan:
        if not _NAME.match(name):
            self._refuse(
                ("prompts", name),
                f"`{name}` cannot be a prompt's name",
                "use up to 64 letters, digits, `_`, `.` and `-`",
            )
        for number, message in enumerate(entry.messages):
            for used in _PLACEHOLDER.findall(message.text):
                if used not in entry.arguments:
                    self._refuse(
                        ("prompts", name, "messages", str(number), "text"),
                        f"`{{{used}}}` is not an argument of `{name}`",
                        did_you_mean(
                            f"{{{used}}}",
                            [f"{{{argument}}}" for argument in entry.arguments],
                            f"add it to `arguments`, or write `{{{{{used}}}}}` for the braces",
                        ),
                    )
        listing: JsonObject = {
            "name": name,
            "title": entry.title,
            "description": entry.description,
            "arguments": [
                _drop_empty({"name": each, "description": argument.description})
                | {"required": argument.required}
                for each, argument in entry.arguments.items()
            ],
        }
        messages = [{"role": each.role, "text": each.text} for each in entry.messages]
        values = {each: argument.values for each, argument in entry.arguments.items()}
        return DeclaredPlan(_drop_empty(listing), {"messages": messages}, _drop_empty(values))

    def _refuse(self, tokens: tuple[str, ...], message: str, help: str) -> None:
        code = "expose" if tokens[0] == "operations" else tokens[0].removesuffix("s")
        self._problems.error(code, message, at=self._locate(tokens), why=_WHY, help=help)


def _build_uri(item: DeclaredPlan) -> str:
    uri: str = item.listing.get("uri") or item.listing["uriTemplate"]
    return uri


def _describe(tool: ToolPlan) -> JsonObject:
    return {"title": tool.title, "description": tool.description}


def _choose_media_type(tool: ToolPlan) -> str:
    """Return the media type of a tool's result as a resource, or "" if it is uncertain."""
    accepted = tool.accept[0] if len(tool.accept) == 1 else ""
    return "" if "*" in accepted else accepted


def _list_values(tool: ToolPlan, argument: str) -> tuple[str, ...]:
    """Return the strings in the enum of an argument."""
    listed = tool.input_schema["properties"].get(argument, {}).get("enum", ())
    return tuple(value for value in listed if isinstance(value, str))


def _drop_empty(entry: Mapping[str, object]) -> JsonObject:
    return {key: value for key, value in entry.items() if value not in ("", (), [], None, False)}


def _format_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
