"""Merged tools: one tool for several similar operations, of which an argument selects one."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError, InvalidArgumentsError, ToolError
from mcpgen.runtime.tools.tool import Tool


class MergedTool:
    """A tool for several operations. An argument selects which of its `members` is called."""

    def __init__(self, tool: Tool, tools: Mapping[str, Tool]) -> None:
        """Find the members of `tool` among `tools`.

        Raises:
            ConfigurationError: there is no such tool.
        """
        self.tool = tool
        self.scope: str = tool.contract["scope"]
        """The argument that selects the operation."""
        self.members: dict[str, Tool] = {}
        for choice, name in tool.contract["members"].items():
            if name not in tools:
                raise ConfigurationError(f"`{tool.name}` needs the tool `{name}`, which is missing")
            self.members[choice] = tools[name]

    def choose(self, arguments: JsonObject) -> tuple[Tool, JsonObject]:
        """Return the tool of the selected operation, and the arguments for it.

        Raises:
            InvalidArgumentsError: no operation is selected.
            ToolError: the selected operation lacks an argument, or does not have it. The schema of
                the merged tool allows that, so it is a result for the model in every revision.
        """
        choice = arguments.get(self.scope)
        member = self.members.get(choice) if isinstance(choice, str) else None
        if member is None:
            choices = ", ".join(f"`{it}`" for it in self.members)
            problem = "is not one of" if self.scope in arguments else "is required, one of"
            raise InvalidArgumentsError(self.tool.name, (f"`/{self.scope}` {problem} {choices}",))
        rest = {name: value for name, value in arguments.items() if name != self.scope}
        selected = f"`{self.scope}` `{choice}`"
        problems = [
            f"`/{name}` is required for {selected} and was not given"
            for name in member.listed_schema.get("required", ())
            if name not in rest and name not in member.defaults
        ]
        for name in rest.keys() - member.argument_names:
            others = [it for it, tool in self.members.items() if name in tool.argument_names]
            if others:
                shown = ", ".join(f"`{it}`" for it in others)
                problems.append(f"`/{name}` is not for {selected}, only for {shown}")
        if problems:
            raise ToolError(f"arguments of `{self.tool.name}`: {'; '.join(sorted(problems))}")
        return member, rest
