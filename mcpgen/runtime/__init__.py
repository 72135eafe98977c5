"""Public names of the runtime, which generated servers import.

Importing this package costs nothing; each name brings its module when it is first used, so that
a server answers `tools/list` before what only calls need is imported.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcpgen.absent import ABSENT as ABSENT
    from mcpgen.absent import Absent as Absent
    from mcpgen.jsonschema.values import compare as compare
    from mcpgen.jsonschema.values import value_at as value_at
    from mcpgen.jsonschema.values import without_absent as without_absent
    from mcpgen.runtime.content import Annotations as Annotations
    from mcpgen.runtime.content import Audio as Audio
    from mcpgen.runtime.content import Completion as Completion
    from mcpgen.runtime.content import Content as Content
    from mcpgen.runtime.content import EmbeddedResource as EmbeddedResource
    from mcpgen.runtime.content import Image as Image
    from mcpgen.runtime.content import ModelMessage as ModelMessage
    from mcpgen.runtime.content import PromptMessage as PromptMessage
    from mcpgen.runtime.content import PromptResult as PromptResult
    from mcpgen.runtime.content import ResourceContents as ResourceContents
    from mcpgen.runtime.content import ResourceLink as ResourceLink
    from mcpgen.runtime.content import ResourceResult as ResourceResult
    from mcpgen.runtime.content import Text as Text
    from mcpgen.runtime.content import ToolResult as ToolResult
    from mcpgen.runtime.content import ToolUse as ToolUse
    from mcpgen.runtime.content import ToolUseResult as ToolUseResult
    from mcpgen.runtime.errors import ClientCannotError as ClientCannotError
    from mcpgen.runtime.errors import ConfigurationError as ConfigurationError
    from mcpgen.runtime.errors import ProtocolError as ProtocolError
    from mcpgen.runtime.errors import ResourceNotFoundError as ResourceNotFoundError
    from mcpgen.runtime.errors import ToolError as ToolError
    from mcpgen.runtime.handlers.client_answers import Elicited as Elicited
    from mcpgen.runtime.handlers.client_answers import sampled_content as sampled_content
    from mcpgen.runtime.handlers.context import Context as Context
    from mcpgen.runtime.handlers.context import ask_form as ask_form
    from mcpgen.runtime.handlers.context import ask_model as ask_model
    from mcpgen.runtime.handlers.context import ask_roots as ask_roots
    from mcpgen.runtime.handlers.context import ask_url as ask_url
    from mcpgen.runtime.handlers.features import Features as Features
    from mcpgen.runtime.handlers.overrides import CallNext as CallNext
    from mcpgen.runtime.handlers.overrides import after as after
    from mcpgen.runtime.handlers.overrides import before as before
    from mcpgen.runtime.handlers.overrides import override as override
    from mcpgen.runtime.media import Media as Media
    from mcpgen.runtime.serving import serve as serve
    from mcpgen.runtime.tools.tool import ToolGroup as ToolGroup
    from mcpgen.runtime.upstream.errors import UpstreamError as UpstreamError
    from mcpgen.runtime.upstream.errors import UpstreamStatusError as UpstreamStatusError
    from mcpgen.runtime.workflows import End as End
    from mcpgen.runtime.workflows import GoTo as GoTo
    from mcpgen.runtime.workflows import Retry as Retry
    from mcpgen.runtime.workflows import Workflow as Workflow

_HOMES = {
    "mcpgen.absent": "ABSENT Absent",
    "mcpgen.runtime.content": """
        Annotations Audio Completion Content EmbeddedResource Image ModelMessage PromptMessage
        PromptResult ResourceContents ResourceLink ResourceResult Text ToolResult ToolUse
        ToolUseResult
    """,
    "mcpgen.runtime.handlers.client_answers": "Elicited sampled_content",
    "mcpgen.runtime.handlers.context": "Context ask_form ask_model ask_roots ask_url",
    "mcpgen.runtime.errors": """
        ClientCannotError ConfigurationError ProtocolError ResourceNotFoundError ToolError
    """,
    "mcpgen.runtime.handlers.features": "Features",
    "mcpgen.runtime.media": "Media",
    "mcpgen.runtime.handlers.overrides": "CallNext after before override",
    "mcpgen.runtime.serving": "serve",
    "mcpgen.runtime.tools.tool": "ToolGroup",
    "mcpgen.jsonschema.values": "compare value_at without_absent",
    "mcpgen.runtime.upstream.errors": "UpstreamError UpstreamStatusError",
    "mcpgen.runtime.workflows": "End GoTo Retry Workflow",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
