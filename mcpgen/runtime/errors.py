"""Exceptions at run time: errors for the model, for the client, and for the operator."""

from __future__ import annotations

from mcpgen.contract.extras import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["ConfigurationError"]  # what is not defined here is exported by this


class ToolError(Exception):
    """The call failed in a way that the model can act on; becomes a result with `isError: true`.

    The text is shown to the model unchanged: one or two sentences, without secrets and internals.
    Generated and hand-written handlers raise it. For prompts, resources and completions, which have
    no such result, the text becomes that of the JSON-RPC error.
    """


class UnknownToolError(Exception):
    """No tool has this name. A protocol error in every revision."""


class InvalidArgumentsError(Exception):
    """Arguments break the tool's input schema; a protocol error or `isError`, by revision.

    `problems` has one sentence for each violation, naming the argument (as a JSON Pointer) and
    the rule.
    """

    def __init__(self, tool: str, problems: tuple[str, ...]) -> None:
        super().__init__(f"arguments of `{tool}`: " + "; ".join(problems))
        self.tool = tool
        self.problems = problems


class ProtocolError(Exception):
    """Becomes a JSON-RPC error of the request that is being answered."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ClientCannotError(ToolError):
    """The handler used a capability that this client did not declare.

    `required` contains the missing capabilities, as `ClientCapabilities` on the wire. A handler may
    catch this and continue without; uncaught, it is reported as the client's revision defines.
    """

    def __init__(self, message: str, required: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.required = required or {}


class CallRefusedError(ToolError):
    """A tool called another one that does not exist or does not take such arguments.

    Nothing was sent, and repeating the call would fail again.
    """


class StoreUnavailableError(ToolError):
    """The state store cannot be reached, does not answer, or is full.

    The operation may have happened. The message states why, and contains no credential.
    """


class ConnectionNeededError(ToolError):
    """The caller must connect an account at the API first, or with more scopes."""

    def __init__(self, scheme: str, scopes: Iterable[str], *, is_extension: bool = False) -> None:
        """`scopes` are all that the account needs; `is_extension`: it is connected with fewer."""
        what = "needs more permissions of" if is_extension else "needs"
        super().__init__(
            f"This call {what} an account of the user at the API (`{scheme}`), so nothing was sent."
        )
        self.scheme = scheme
        self.scopes = frozenset(scopes)
        self.is_extension = is_extension


class ResourceNotFoundError(Exception):
    """No resource has this URI. A protocol error in every revision."""

    def __init__(self, uri: str, advice: str = "") -> None:
        super().__init__(f"no resource is at {uri}{advice and f': {advice}'}")
        self.uri = uri


class UsageError(ConfigurationError):
    """An option of the server's command line is invalid."""


class UnknownToolsetError(UsageError):
    """The server was started with a toolset that it does not have."""
