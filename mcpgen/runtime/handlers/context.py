"""Context of a handler: the API, the client that called, and questions to the client's user."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from msgspec import Struct

from mcpgen.runtime.content import JsonObject, ModelMessage, Text, ToolResult
from mcpgen.runtime.errors import (
    ClientCannotError,
    InvalidArgumentsError,
    ProtocolError,
    ToolError,
    UnknownToolError,
)
from mcpgen.runtime.handlers.client_answers import Elicited, check_answer, read_elicitation
from mcpgen.runtime.process.memory_budget import decoding_budget
from mcpgen.runtime.protocol.client_requests import check_client_can, check_form
from mcpgen.runtime.protocol.jsonrpc import INVALID_PARAMS, LOG_LEVELS, TASKS_EXTENSION
from mcpgen.runtime.protocol.messages import Change
from mcpgen.runtime.protocol.request import Request
from mcpgen.runtime.protocol.shapes import shape_model_messages

if TYPE_CHECKING:
    from mcpgen.runtime.tools.results import ToolOutcome
    from mcpgen.runtime.upstream.client import ToolApi

NOTIFICATION_BURST: Final = 32  # of progress and log messages, for each call
NOTIFICATIONS_PER_SECOND: Final = 20.0
MAX_NESTING: Final = 8  # of tools that call tools


class ToolProvider(Protocol):
    """Provider of generated tools: `ToolRegistry`, `ToolSearch` or a fake of a test."""

    async def call(self, name: str, arguments: JsonObject, context: Context) -> ToolResult:
        """Run a tool for a client; raise `UnknownToolError` or `InvalidArgumentsError`."""

    async def run(
        self, name: str, arguments: JsonObject, context: Context, *, is_gathered: bool = False
    ) -> ToolOutcome:
        """Run a tool for another tool; raise `ToolError` if it fails."""

    async def aclose(self) -> None:
        """Release all resources."""


class Host(Protocol):
    """Interface of the dispatcher that a context uses."""

    @property
    def tools(self) -> ToolProvider:
        """The provider of the tools that a handler may call."""

    def announce(self, change: Change) -> None:
        """Notify every subscribed client of a change."""

    async def find_refusal(self, request: Request) -> ToolResult | None:
        """Count a call for the rate limit; return the refusal if the call exceeds the limit."""

    def ask_client(
        self, call: Request, method: str, params: JsonObject, timeout_seconds: float | None
    ) -> asyncio.Future[JsonObject]:
        """Send a request to a legacy client; the future receives its result or a ToolError."""


class Task:
    """The task of a call (`ctx.task`); this one is of a call that cannot become a task.

    A handler whose work is long calls `begin` when that work starts. If the client supports
    tasks, it gets a task for its answer and asks for the result later; otherwise `begin` does
    nothing, and the client waits. The handler need not know which.
    """

    is_supported = False
    """Whether this call can become a task: server and client both support them."""
    resumed_state: JsonObject | None = None
    """State of the job that a process continues after another one has ended; None in all other
    calls. Policies of generated tools use it."""
    is_cancelled = False
    """Whether the client has cancelled the task: the handler then gets `CancelledError`."""

    @property
    def is_begun(self) -> bool:
        """Whether the client got the task instead of a result."""
        return False

    @property
    def id(self) -> str:
        """The task's id; "" before it begins."""
        return ""

    async def begin(
        self,
        message: str = "",
        *,
        poll_seconds: float = 1.0,
        job_state: JsonObject | None = None,
    ) -> None:
        """Answer the call with a task; what follows belongs to the task.

        Until then questions to the user are part of the call, and afterwards of the task. Do not
        change anything before, unless it may be repeated: a client that answers questions calls
        again. `message` is the first status message, and `poll_seconds` how often the client
        should ask. With `job_state`, another process can continue the call: policies of generated
        tools use it.

        Raises:
            ToolError: there are too many tasks.
            StoreUnavailableError: the task cannot be stored.
        """

    def require(self, tool: str) -> None:
        """Check that this call can become a task.

        Raises:
            ClientCannotError: it cannot.
        """
        if not self.is_supported:
            raise ClientCannotError(
                f"`{tool}` runs as a task only, and this client did not declare the extension"
                f" `{TASKS_EXTENSION}`",
                {"extensions": {TASKS_EXTENSION: {}}},
            )

    def report(self, message: str) -> None:
        """Set the status message of the task, which the user or the model may see."""

    async def ask(self, requests: dict[str, JsonObject]) -> dict[str, JsonObject]:
        """Show requests to the client with the task; return its answers by the same keys."""
        raise NotImplementedError


class UrlRequiredError(BaseException):
    """Raised to end a handler whose user must visit a URL first (2025-11-25).

    Not an `Exception`, for the same reason as `InputRequiredError`.
    """

    def __init__(self, elicitation: JsonObject) -> None:
        super().__init__("the user must go to a URL first")
        self.elicitation = elicitation


class InputRequiredError(BaseException):
    """Raised to end a handler whose client must answer and call again (2026-07-28).

    Not an `Exception`, so that a handler's own `except Exception` does not catch it.
    """

    def __init__(self, requests: Mapping[str, JsonObject]) -> None:
        super().__init__("the client must answer first")
        self.requests = requests


class Questions:
    """Counts of the questions to the user during a call: asked, and declined or unanswered.

    A task does not wait longer than `timeout_seconds` for an answer.
    """

    asked = 0
    declined = 0

    def __init__(self, timeout_seconds: float) -> None:
        self.timeout_seconds = timeout_seconds

    def count(self, requests: Mapping[str, JsonObject], answers: Mapping[str, JsonObject]) -> None:
        """Count the requests to the client by their answers."""
        for key, answer in answers.items():
            self.asked += 1
            if requests[key]["method"] == "elicitation/create":
                self.declined += not read_elicitation(answer).is_accepted


class ClientRequest(Struct, frozen=True):
    """A request to the client; created by `ask_form`, `ask_url`, `ask_model` or `ask_roots`."""

    method: str
    params: JsonObject


def ask_form(message: str, schema: JsonObject) -> ClientRequest:
    """Ask the user to fill in a form; `schema` is a flat object schema. Never for secrets."""
    return ClientRequest(
        "elicitation/create", {"mode": "form", "message": message, "requestedSchema": schema}
    )


def ask_url(message: str, url: str, elicitation_id: str) -> ClientRequest:
    """Ask the user to visit a URL, outside of the client."""
    params = {"mode": "url", "message": message, "url": url, "elicitationId": elicitation_id}
    return ClientRequest("elicitation/create", params)


def ask_model(
    prompt: str | Sequence[ModelMessage], *, max_tokens: int = 1000, **more: Any
) -> ClientRequest:
    """Ask the client's model; `prompt` is the user's text, or messages as (role, content).

    `more` are other members of the request under their wire names: `systemPrompt`, `tools`. The
    answer contains the tool calls that the model requests (`sampled_content`). To continue, ask
    again with that content as a message of the assistant, followed by a message of the user with a
    `ToolUseResult` for each `ToolUse`.
    """
    messages = (("user", Text(prompt)),) if isinstance(prompt, str) else prompt
    return ClientRequest(
        "sampling/createMessage",
        {"messages": list(messages), "maxTokens": max_tokens, **more},
    )


def ask_roots() -> ClientRequest:
    """Ask for the client's roots: the folders that it works in."""
    return ClientRequest("roots/list", {})


class Context:
    """The call that a handler serves, with one interface for every revision of MCP.

    A request that the client does not support raises `ClientCannotError`. On 2026-07-28 the client
    answers by calling again: the handler then runs from its start, and receives the answers so
    far. Therefore ask before you change anything.
    """

    api: ToolApi  # set by the tool registry, for the tool that is called
    owner: Request  # the client's call, to which the memory of responses is counted
    state: JsonObject
    """What the handler stores while the client answers: JSON, without anything that the client's
    user must not see."""
    client_timeout_seconds: float | None = None
    """Timeout of the next requests to the client; None for 60 seconds. It does not apply to clients
    of 2026-07-28, which answer by calling again."""

    task: Task = Task()
    """The task that this call can become, for work that takes long."""

    questions: Questions | None = None
    """Counts what the user is asked, for a handler that must know."""

    attempts: int | None = None
    """Maximum attempts of a repeatable request; None for the number in the tool's contract."""

    _request_count = 0
    _called = 0
    _allowance: float = NOTIFICATION_BURST
    _at = 0.0

    def __init__(
        self,
        call: Request,
        host: Host,
        flush: Callable[[], None],
        state: JsonObject | None = None,
        scope: str = "",
    ) -> None:
        """Create the context of a call; `state` is the result of `to_json` in the round before."""
        self._call = self.owner = call
        self._host = host
        self._flush = flush
        self._used: JsonObject = state["answers"] if state else {}
        self.state = state["state"] if state else {}
        self._scope = scope  # "" but in a call within the call: "fill-1/"

    @property
    def is_nested(self) -> bool:
        """Whether another tool made this call."""
        return bool(self._scope)

    @property
    def principal(self) -> str:
        """The principal that the transport authenticated; "" without authentication."""
        return self._call.principal

    def report_progress(
        self, progress: float, total: float | None = None, message: str = ""
    ) -> None:
        """Report progress to the client, if it requested that, or in the message of the task.

        Each `progress` must be greater than the one before. Reports above the rate limit are
        dropped, and so are those of a tool that another tool called.
        """
        if self.task.is_begun:
            self.task.report(message or _describe_progress(progress, total))
            return
        is_wanted = self._call.progress_token is not None and not self._scope
        if is_wanted and self._may_notify():
            self._call.report_progress(progress, total, message)
            self._flush()

    def log(self, level: str, data: Any, logger: str = "") -> None:
        """Send a log message to the client, if it requested this level. Never log secrets.

        Messages above the rate limit are dropped, unless they are errors.
        """
        if LOG_LEVELS.index(level) >= LOG_LEVELS.index("error") or self._may_notify():
            self._call.log(level, data, logger)
            self._flush()

    def release_connection(self) -> None:
        """Close the connection during a long call; the client reconnects for the answer.

        This affects only clients of 2025-11-25 over HTTP.
        """
        self._call.release_connection()
        self._flush()

    def announce_change(self, kind: str, uri: str = "") -> None:
        """Notify every subscribed client of a change.

        `kind` is "tools", "prompts" or "resources" for a list, "resource" for the one at `uri`.
        """
        self._host.announce(Change(kind, uri))

    def to_json(self) -> JsonObject:
        """Return the state for the next round: the answers so far and the handler's state."""
        return {"answers": self._used, "state": self.state}

    async def elicit(self, message: str, schema: JsonObject, *, key: str = "") -> Elicited:
        """Ask the user to fill in a form; never for passwords or other secrets.

        `schema` is an object schema whose properties are strings, numbers, booleans and enums.
        `key` identifies the question if the handler asks different ones in different rounds.

        Raises:
            ClientCannotError: the client cannot ask its user.
        """
        return read_elicitation(await self._ask_one(key, ask_form(message, schema)))

    async def elicit_url(
        self, message: str, url: str, elicitation_id: str, *, key: str = ""
    ) -> Elicited:
        """Ask the user to open a URL, for example to enter data that the client must not see.

        Raises:
            ClientCannotError: the client cannot open URLs.
        """
        return read_elicitation(await self._ask_one(key, ask_url(message, url, elicitation_id)))

    def require_url(
        self, message: str, url: str, elicitation_id: str, *, key: str = ""
    ) -> NoReturn:
        """End the call, because the user must visit a URL first.

        The client opens the URL for its user and calls again. A client does not know whether the
        user has finished there, so check that before; then `finish_elicitation` notifies the
        client.

        Raises:
            ClientCannotError: the client cannot open URLs.
            ToolError: the user declined.
        """
        call, request = self._call, self._prepare(ask_url(message, url, elicitation_id))
        if self.task.is_begun:
            raise ToolError(f"{message} The user must visit {url} first: call again after that.")
        if not call.revision.is_modern:
            raise UrlRequiredError(request["params"])
        key = self._scope + self._make_key(key, request["method"])
        answer = call.input_responses.get(key)
        if answer is not None and not read_elicitation(answer).is_accepted:
            raise ToolError(f"The user would not go to {url}, which this call needs.")
        raise InputRequiredError({key: request})

    def finish_elicitation(self, elicitation_id: str) -> None:
        """Notify clients that the user has finished an elicitation at a URL.

        Only clients of 2025-11-25 support this. Any later call may do it, in any process.
        """
        self._host.announce(Change("elicitation", elicitation_id))

    async def sample(
        self,
        prompt: str | Sequence[ModelMessage],
        *,
        max_tokens: int = 1000,
        key: str = "",
        **more: Any,
    ) -> JsonObject:
        """Send messages to the client's model (`ask_model`); return its `CreateMessageResult`.

        Raises:
            ClientCannotError: the client does not support sampling, or not with tools.
        """
        return await self._ask_one(key, ask_model(prompt, max_tokens=max_tokens, **more))

    async def list_roots(self, *, key: str = "") -> list[JsonObject]:
        """Return the client's roots, each with `uri` and perhaps `name`.

        Raises:
            ClientCannotError: the client does not support roots.
        """
        roots: list[JsonObject] = (await self._ask_one(key, ask_roots()))["roots"]
        return roots

    async def ask(self, requests: Mapping[str, ClientRequest]) -> dict[str, JsonObject]:
        """Send several requests to the client at once; return the answers by the same keys.

        Raises:
            ClientCannotError: the client does not support one of them; none was sent.
            ProtocolError: an answer does not match its request.
        """
        shaped = {f"{self._scope}{key}": self._prepare(it) for key, it in requests.items()}
        if self.task.is_begun:
            answers = await self._ask_in_task(shaped)
        elif self._call.revision.is_modern:
            answers = self._collect_answers(shaped)
        else:
            answers = await self._ask_legacy_client(shaped)
        for key, answer in answers.items():
            check_answer(shaped[key], answer)
        if self.questions is not None:
            self.questions.count(shaped, answers)
        return {key.removeprefix(self._scope): answer for key, answer in answers.items()}

    def _collect_answers(self, requests: dict[str, JsonObject]) -> dict[str, JsonObject]:
        """Return the answers of a modern client, or end the handler until they are complete."""
        answers = {**self._call.input_responses, **self._used}
        found = {key: answers[key] for key in requests if key in answers}
        self._used.update(found)  # in place: calls within the call have them as well
        if len(found) < len(requests):
            raise InputRequiredError({k: it for k, it in requests.items() if k not in found})
        return found

    async def _ask_in_task(self, requests: dict[str, JsonObject]) -> dict[str, JsonObject]:
        """Show requests with the task, and wait for the answers."""
        questions = self.questions
        if questions is None:
            return await self.task.ask(requests)
        try:
            async with asyncio.timeout(questions.timeout_seconds):
                return await self.task.ask(requests)
        except TimeoutError:
            questions.asked += 1
            questions.declined += 1
            raise ToolError(
                f"The user did not answer within {questions.timeout_seconds:g} seconds, so nothing"
                " was sent."
            ) from None

    async def call_by_name(
        self,
        name: str,
        arguments: JsonObject,
        scope: str,
        call: Callable[[Context], Awaitable[ToolResult]],
        questions: Questions,
    ) -> ToolResult:
        """Make a call for this handler that counts as a call of the client itself.

        It has a rate limit, a span, a line in the log and in the audit file as any call of a
        client, and secrets in its result are masked before the handler sees it. `scope` is as for
        `run_tool`, and `questions` counts what the user is asked.

        Raises:
            ProtocolError: the call cannot be audited.
        """
        inner = self._make_inner_context(scope)
        inner.questions = questions
        inner.owner = request = self._call.make_inner(name, arguments, scope)
        try:
            request.authorize()
            result = await self._host.find_refusal(request) or await call(inner)
        except InputRequiredError:
            self.state = {**self.state, f"{scope}/": inner.state}
            request.finish({"resultType": "input_required"})
            raise
        except ProtocolError as error:
            request.finish_with_error(error.code, error.message)
            raise
        except (InvalidArgumentsError, UnknownToolError, ClientCannotError) as error:
            request.finish_with_error(INVALID_PARAMS, str(error))
            raise
        else:
            request.finish({"isError": result.is_error})
        finally:
            request.close()
            decoding_budget.release(request)
        return result if self._call.screen is None else self._call.screen.mask_result(result)

    async def _ask_legacy_client(self, requests: dict[str, JsonObject]) -> dict[str, JsonObject]:
        """Send requests to a legacy client and wait for all of its answers."""
        futures = [
            self._host.ask_client(
                self._call, it["method"], it["params"], self.client_timeout_seconds
            )
            for it in requests.values()
        ]
        self._flush()
        try:
            return dict(zip(requests, await asyncio.gather(*futures), strict=True))
        except ToolError:  # one was refused, or came too late
            for answer in futures:
                answer.cancel()
            await asyncio.wait(futures)  # the client hears of it before the call is answered
            raise

    async def call_tool(self, name: str, arguments: JsonObject) -> Any:
        """Call a generated tool of this server, checked and overridden as for a client.

        Return the handler's value: the decoded response of the API.

        Raises:
            ToolError: there is no such tool, the arguments break its schema, or it failed.
        """
        self._called += 1
        scope = f"{name}-{self._called}"
        return (await self.run_tool(name, arguments, scope, is_gathered=False)).value

    async def run_tool(
        self,
        name: str,
        arguments: JsonObject,
        scope: str,
        *,
        attempts: int | None = None,
        is_gathered: bool = True,
    ) -> ToolOutcome:
        """Call a generated tool and return its whole outcome.

        The arguments are those of the handler, in which a body is one argument; unless
        `is_gathered`, they are those of clients, which can be members of the body.
        `scope` identifies this call among those of the handler and is the same in every round.
        `attempts` is the maximum for a repeatable request, in place of the one in its contract.

        Raises:
            ToolError: as `call_tool`.
        """
        inner = self._make_inner_context(scope)
        inner.attempts = attempts
        try:
            return await self._host.tools.run(name, arguments, inner, is_gathered=is_gathered)
        except InputRequiredError:
            self.state = {**self.state, f"{scope}/": inner.state}
            raise

    def _may_notify(self) -> bool:
        """Return whether the rate limit allows a notification: a burst, then a steady rate."""
        now = time.monotonic()
        earned = (now - self._at) * NOTIFICATIONS_PER_SECOND
        self._allowance, self._at = min(NOTIFICATION_BURST, self._allowance + earned), now
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True

    async def _ask_one(self, key: str, request: ClientRequest) -> JsonObject:
        key = self._make_key(key, request.method)
        return (await self.ask({key: request}))[key]

    def _make_key(self, key: str, method: str) -> str:
        """Return the key of a request: the given one, or one that is the same in every round."""
        self._request_count += 1
        return key or f"{method.partition('/')[0]}-{self._request_count}"

    def _make_inner_context(self, scope: str) -> Context:
        """Return the context of a nested call, with its own requests and state."""
        if self._scope.count("/") >= MAX_NESTING:
            raise ToolError(f"Tools call each other more than {MAX_NESTING} deep.")
        state = {"answers": self._used, "state": self.state.get(f"{scope}/", {})}
        inner = Context(self._call, self._host, self._flush, state, f"{self._scope}{scope}/")
        inner.task = self.task
        inner.questions = self.questions
        return inner

    def _prepare(self, request: ClientRequest) -> JsonObject:
        """Convert a request to the shape of this revision.

        Raises:
            ClientCannotError: this client cannot do it.
            ToolError: no client can do it while this method is answered.
            ValueError: no client can do it at all.
        """
        revision, params = self._call.revision, dict(request.params)
        if revision.is_modern and self._call.method not in revision.may_require_input:
            raise ToolError(
                f"In {revision.name} nothing can be asked of the client while "
                f"{self._call.method} is answered: only tools, prompts and resources may ask."
            )
        if request.method == "sampling/createMessage":
            params["messages"] = shape_model_messages(params["messages"], revision)
        check_client_can(request.method, params, revision, self._call.client_capabilities)
        if "requestedSchema" in params:
            check_form(params["requestedSchema"], revision)
        if "url" not in revision.elicitation_modes:
            params.pop("mode", None)  # forms were all there was
        if revision.is_modern:
            params.pop("elicitationId", None)  # the answer comes with the same call
        return {"method": request.method, "params": params}


def _describe_progress(progress: float, total: float | None) -> str:
    return f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
