"""Public names of the runtime, which generated servers import.

Importing this package costs nothing; each name brings its module when it is first used, so that
a server answers `tools/list` before what only calls need is imported.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcpgen.absent import ABSENT, Absent
    from mcpgen.jsonschema.values import compare, value_at, without_absent
    from mcpgen.runtime.content import (
        Annotations,
        Audio,
        Completion,
        Content,
        EmbeddedResource,
        Image,
        ModelMessage,
        PromptMessage,
        PromptResult,
        ResourceContents,
        ResourceLink,
        ResourceResult,
        Text,
        ToolResult,
        ToolUse,
        ToolUseResult,
    )
    from mcpgen.runtime.errors import (
        ClientCannotError,
        ConfigurationError,
        ProtocolError,
        ResourceNotFoundError,
        ToolError,
    )
    from mcpgen.runtime.handlers.client_answers import Elicited, sampled_content
    from mcpgen.runtime.handlers.context import Context, ask_form, ask_model, ask_roots, ask_url
    from mcpgen.runtime.handlers.features import Features
    from mcpgen.runtime.handlers.overrides import CallNext, after, before, override
    from mcpgen.runtime.media import Media
    from mcpgen.runtime.serving import serve
    from mcpgen.runtime.tools.tool import ToolGroup
    from mcpgen.runtime.workflows.actions import End, GoTo, Retry
    from mcpgen.runtime.workflows.workflow import Workflow

__all__ = [
    "ABSENT",
    "Absent",
    "Annotations",
    "Audio",
    "CallNext",
    "ClientCannotError",
    "Completion",
    "ConfigurationError",
    "Content",
    "Context",
    "Elicited",
    "EmbeddedResource",
    "End",
    "Features",
    "GoTo",
    "Image",
    "Media",
    "ModelMessage",
    "PromptMessage",
    "PromptResult",
    "ProtocolError",
    "ResourceContents",
    "ResourceLink",
    "ResourceNotFoundError",
    "ResourceResult",
    "Retry",
    "Text",
    "ToolError",
    "ToolGroup",
    "ToolResult",
    "ToolUse",
    "ToolUseResult",
    "Workflow",
    "after",
    "ask_form",
    "ask_model",
    "ask_roots",
    "ask_url",
    "before",
    "compare",
    "override",
    "sampled_content",
    "serve",
    "value_at",
    "without_absent",
]

_HOMES = {
    "mcpgen.absent": ("ABSENT", "Absent"),
    "mcpgen.runtime.content": (
        "Annotations",
        "Audio",
        "Completion",
        "Content",
        "EmbeddedResource",
        "Image",
        "ModelMessage",
        "PromptMessage",
        "PromptResult",
        "ResourceContents",
        "ResourceLink",
        "ResourceResult",
        "Text",
        "ToolResult",
        "ToolUse",
        "ToolUseResult",
    ),
    "mcpgen.runtime.handlers.client_answers": ("Elicited", "sampled_content"),
    "mcpgen.runtime.handlers.context": ("Context", "ask_form", "ask_model", "ask_roots", "ask_url"),
    "mcpgen.runtime.errors": (
        "ClientCannotError",
        "ConfigurationError",
        "ProtocolError",
        "ResourceNotFoundError",
        "ToolError",
    ),
    "mcpgen.runtime.handlers.features": ("Features",),
    "mcpgen.runtime.media": ("Media",),
    "mcpgen.runtime.handlers.overrides": ("CallNext", "after", "before", "override"),
    "mcpgen.runtime.serving": ("serve",),
    "mcpgen.runtime.tools.tool": ("ToolGroup",),
    "mcpgen.runtime.workflows.actions": ("End", "GoTo", "Retry"),
    "mcpgen.jsonschema.values": ("compare", "value_at", "without_absent"),
    "mcpgen.runtime.workflows.workflow": ("Workflow",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
