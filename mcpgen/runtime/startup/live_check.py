"""Live check for `--check-env --live`: send one harmless request and explain its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from mcpgen.absent import ABSENT
from mcpgen.runtime.errors import ConfigurationError, InvalidArgumentsError, ToolError
from mcpgen.runtime.tools.tool import Tool
from mcpgen.runtime.upstream.client import ApiClient
from mcpgen.runtime.upstream.errors import (
    ConnectError,
    MalformedResponseError,
    TimeoutExceededError,
    UpstreamStatusError,
)
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse, Sender

if TYPE_CHECKING:
    from mcpgen.runtime.package import ServerPackage

LIVE_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class LiveOutcome:
    """Outcome of the request, or the reason why none was sent."""

    is_ok: bool
    operation: str = ""  # "GET /me"; "" if nothing was sent
    host: str = ""
    status: int | None = None  # of the last response
    message: str = ""
    advice: str = ""  # how to fix a failure

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as `--json` prints it."""
        return asdict(self)

    def to_lines(self) -> Iterator[str]:
        """Yield the outcome as text."""
        at = f" at {self.host}" if self.host else ""
        attempt = f"live: {self.operation}{at}" if self.operation else "live"
        if self.is_ok:
            yield f"{attempt} returned {self.status}"
            return
        yield f"{attempt} failed: {self.message}"
        if self.advice:
            yield f"  {self.advice}"


class _RecordingSender:
    """Sender that records the host and the response status of its last request."""

    def __init__(self, send: Sender) -> None:
        self._send = send
        self.host = ""
        self.status: int | None = None

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.host, self.status = urlsplit(request.url).netloc, None
        response = await self._send(request)
        self.status = response.status
        return response


def check_live(
    package: ServerPackage, environ: Mapping[str, str], *, send: Sender | None = None
) -> LiveOutcome:
    """Send one harmless request within `LIVE_SECONDS` and report its outcome.

    The request is a GET operation without required arguments, sent by its generated handler;
    operations that need credentials are preferred. If there is none, an OAuth 2 token is requested.
    """
    return asyncio.run(_check(package, environ, send))


async def _check(
    package: ServerPackage, environ: Mapping[str, str], send: Sender | None
) -> LiveOutcome:
    from mcpgen.runtime.startup.limits import read_limits
    from mcpgen.runtime.upstream.http.configured import make_sender

    contract = package.contract
    sender = make_sender(contract, environ, read_limits(contract, environ))
    recorder = _RecordingSender(send or sender.send)
    try:
        client = ApiClient(contract, environ, send=recorder.send, deadline_seconds=LIVE_SECONDS)
        return await _send_request(package, client, recorder)
    except ConfigurationError as error:
        return LiveOutcome(False, message=f"{error}")
    finally:
        await sender.aclose()


async def _send_request(
    package: ServerPackage, client: ApiClient, recorder: _RecordingSender
) -> LiveOutcome:
    simple = [
        tool
        for group in package.import_tool_groups()
        for tool in group.tools.values()
        if _is_harmless(tool)
    ]
    callable_ = [tool for tool in simple if _has_settings(tool, client)]
    if callable_:
        tool = min(callable_, key=lambda it: (not _needs_credentials(it), it.name))
        return await _record_outcome(
            tool.operation, lambda: _call(tool, client), tool, client, recorder
        )
    scheme = client.credentials.find_token_scheme()
    if scheme:
        operation = f"token request of `{scheme}`"
        return await _record_outcome(
            operation, lambda: client.credentials.apply({scheme: ()}, recorder.send),
            None, client, recorder,
        )  # fmt: skip
    if simple:
        return LiveOutcome(False, message="every operation that can be tried lacks a setting")
    return LiveOutcome(
        False,
        message="nothing was sent because every GET operation needs arguments",
        advice="Call a tool instead, for example with `mcpgen call`.",
    )


def _is_harmless(tool: Tool) -> bool:
    """Return whether a tool is read-only and can be called without arguments."""
    request, listing = tool.contract.get("request", {}), tool.contract["listing"]
    if request.get("method") != "GET" or not listing["annotations"].get("readOnlyHint", False):
        return False
    try:
        tool.prepare_arguments({})
    except InvalidArgumentsError:
        return False
    return True


def _has_settings(tool: Tool, client: ApiClient) -> bool:
    try:
        client.credentials.choose(tool.operation, tool.rules.security)
        client.find_base_url(tool.rules)
    except (ConfigurationError, ToolError):
        return False
    needed = tool.contract["request"].get("needs_settings", ())
    return all(client.settings.get(name) is not ABSENT for name in needed)


def _needs_credentials(tool: Tool) -> bool:
    return bool(tool.rules.security) and all(tool.rules.security)


async def _call(tool: Tool, client: ApiClient) -> None:
    """Run a tool's generated handler once, without hooks and retries."""
    ctx: Any = SimpleNamespace(api=client.bind(tool.name, replace(tool.rules, attempts=1)))
    await tool.generated_handler(ctx, **tool.prepare_arguments({}))


async def _record_outcome(
    operation: str,
    work: Callable[[], Any],
    tool: Tool | None,
    client: ApiClient,
    recorder: _RecordingSender,
) -> LiveOutcome:
    try:
        async with asyncio.timeout(LIVE_SECONDS):
            await work()
    except TimeoutError:
        message = f"no complete response within {LIVE_SECONDS:g} seconds"
        advice = "The host may be unreachable from here: check the base URL, firewall and proxy."
        return LiveOutcome(False, operation, recorder.host, recorder.status, message, advice)
    except (ToolError, ConfigurationError) as error:
        variables: tuple[str, ...] = ()
        if tool is not None:
            chosen = client.credentials.choose(tool.operation, tool.rules.security)
            variables = client.credentials.list_variables(chosen)
        message = client.get_redactor().clean(str(error))
        advice = _suggest_fix(error, variables)
        return LiveOutcome(False, operation, recorder.host, recorder.status, message, advice)
    return LiveOutcome(True, operation, recorder.host, recorder.status)


def _suggest_fix(error: Exception, variables: tuple[str, ...]) -> str:
    credential = " and ".join(variables) or "the credential"
    match error:
        case UpstreamStatusError(status=401):
            return (
                f"The API does not accept {credential}: the value may be wrong, expired, revoked,"
                " or meant for another environment."
            )
        case UpstreamStatusError(status=403):
            return (
                f"The API accepts {credential} but does not allow this operation: it may lack a"
                " scope or a permission."
            )
        case UpstreamStatusError(status=404):
            return "The host responds, but not at this path: check the path of the base URL."
        case UpstreamStatusError(status=429):
            return "The API limits the rate of requests: wait, then try again."
        case UpstreamStatusError(status=status) if 300 <= status < 400:
            return "Set the base URL to the address that the API redirects to."
        case UpstreamStatusError(status=status) if status >= 500:
            return "The API itself fails: try again later, or check the base URL."
        case TimeoutExceededError() | ConnectError():
            return "Check the host in the base URL, DNS, the firewall and the certificate."
        case MalformedResponseError():
            return "The response is not from this API: check the base URL."
        case _:
            return ""
