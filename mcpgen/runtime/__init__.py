"""What generated servers import: the whole of MCP's server side in one small library.

Importing this package costs nothing; each name brings its module when it is first used, so that
a server answers `tools/list` before what only calls need is imported.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcpgen.runtime.absent import ABSENT, Absent
    from mcpgen.runtime.client_answers import Elicited, sampled_content
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
    from mcpgen.runtime.context import Context, ask_form, ask_model, ask_roots, ask_url
    from mcpgen.runtime.errors import (
        ClientCannotError,
        ConfigurationError,
        ProtocolError,
        ResourceNotFoundError,
        ToolError,
    )
    from mcpgen.runtime.features import Features
    from mcpgen.runtime.media import Media
    from mcpgen.runtime.overrides import CallNext, after, before, override
    from mcpgen.runtime.serving import serve
    from mcpgen.runtime.tools import ToolGroup
    from mcpgen.runtime.workflow_actions import End, GoTo, Retry
    from mcpgen.runtime.workflow_values import compare, value_at, without_absent
    from mcpgen.runtime.workflows import Workflow

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
    "absent": ("ABSENT", "Absent"),
    "content": (
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
    "client_answers": ("Elicited", "sampled_content"),
    "context": ("Context", "ask_form", "ask_model", "ask_roots", "ask_url"),
    "errors": (
        "ClientCannotError",
        "ConfigurationError",
        "ProtocolError",
        "ResourceNotFoundError",
        "ToolError",
    ),
    "features": ("Features",),
    "media": ("Media",),
    "overrides": ("CallNext", "after", "before", "override"),
    "serving": ("serve",),
    "tools": ("ToolGroup",),
    "workflow_actions": ("End", "GoTo", "Retry"),
    "workflow_values": ("compare", "value_at", "without_absent"),
    "workflows": ("Workflow",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
