"""Interface of the provider of prompts, resources, completions and hand-written tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from mcpgen.runtime.content import (
    Completion,
    JsonObject,
    PromptResult,
    ResourceResult,
    ToolResult,
)
from mcpgen.runtime.handlers.context import Context


class FeatureProvider(Protocol):
    """Provider of everything but generated tools: `Features` or `DeclaredFeatures`."""

    def has_tool(self, name: str) -> bool:
        """Return whether this provider has the tool."""
        ...

    async def call_tool(self, name: str, arguments: JsonObject, context: Context) -> ToolResult:
        """Run a tool of this provider."""
        ...

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], context: Context
    ) -> PromptResult:
        """Return the messages of a prompt."""
        ...

    async def read_resource(self, uri: str, context: Context) -> ResourceResult:
        """Return the contents of a resource."""
        ...

    async def complete(self, params: JsonObject, context: Context) -> Completion:
        """Suggest values for an argument of a prompt or a template."""
        ...
