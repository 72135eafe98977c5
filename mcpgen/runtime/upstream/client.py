"""The client of an API: from a handler's values to one HTTP exchange and back to a value."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeVar, overload
from urllib.parse import unquote, urlsplit

from mcpgen.runtime.absent import ABSENT, Absent
from mcpgen.runtime.auth.credentials import (
    AppliedCredentials,
    Credentials,
    credentials_from_environment,
)
from mcpgen.runtime.content import JsonObject, ResourceResult
from mcpgen.runtime.errors import (
    ConfigurationError,
    InvalidArgumentsError,
    ResourceNotFoundError,
    ToolError,
)
from mcpgen.runtime.settings import Settings
from mcpgen.runtime.upstream.base_url import BaseUrls
from mcpgen.runtime.upstream.building import RequestParts, build_parts
from mcpgen.runtime.upstream.default_headers import DefaultHeaders
from mcpgen.runtime.upstream.errors import TimeoutExceededError, UpstreamError
from mcpgen.runtime.upstream.files import FileContent, FileReader, ResourceNeededError
from mcpgen.runtime.upstream.http import HttpRequest, HttpResponse, Sender
from mcpgen.runtime.upstream.load import CircuitBreaker, ConcurrencyLimit, OverloadedError
from mcpgen.runtime.upstream.pagination import PaginationRule, Paging, Step
from mcpgen.runtime.upstream.parameters import percent_encode
from mcpgen.runtime.upstream.redaction import Redactor
from mcpgen.runtime.upstream.responses import decode_response, status_error
from mcpgen.runtime.upstream.retry import RetryBudget, RetryPolicy, retry_after_seconds
from mcpgen.runtime.upstream.rules import RequestRules

T = TypeVar("T")

DEADLINE_SECONDS = 60.0
_REQUIRED: Final = object()
ResourceReader = Callable[[str], Awaitable[ResourceResult]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Time and chance, so that tests can decide them."""

    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    chance: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep)


class ApiClient:
    """Calls one API with the server's own settings. One a server; closed by `aclose`.

    Base URL and credentials come from the environment, never from an argument.
    """

    def __init__(
        self,
        contract: JsonObject,
        environ: Mapping[str, str],
        *,
        send: Sender | None = None,
        surroundings: Surroundings | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        """Read the settings; nothing is connected, and the HTTP library is not imported, yet.

        Raises:
            ConfigurationError: a setting has a value that cannot be used.
        """
        self._name: str = contract["name"]
        self._surroundings = surroundings or Surroundings()
        self._base_urls = {
            source: BaseUrls(contract, environ, source=source)
            for source in ("", *contract.get("sources", ()))
        }
        self._credentials = credentials_from_environment(
            contract,
            environ,
            base_url=lambda source: self._base_urls[source].base_url(),
            clock=self._surroundings.clock,
        )
        self._settings = Settings(contract, environ)
        self._headers = {
            source: DefaultHeaders(about.get("headers", {}), self._settings)
            for source, about in {"": contract, **contract.get("sources", {})}.items()
        }
        self._ca_setting = f"{contract['env_prefix']}CA_FILE"
        self._ca_file = environ.get(self._ca_setting, "").strip()
        self.files = FileReader.from_environment(contract["env_prefix"], environ)
        self._credential_queries = frozenset(
            scheme["name"]
            for scheme in contract.get("security_schemes", {}).values()
            if scheme.get("in") == "query"
        )
        self._send = send
        self._owned_sender: Callable[[], Awaitable[None]] | None = None
        self._redactor: Redactor | None = None
        self._policy = RetryPolicy()
        self._budget = RetryBudget(self._surroundings.clock)
        self._limit = ConcurrencyLimit()
        self._breaker = CircuitBreaker(self._surroundings.clock, self._surroundings.chance)
        self._deadline_seconds = deadline_seconds

    @property
    def name(self) -> str:
        """The server's name, as in its contract."""
        return self._name

    @property
    def credentials(self) -> Credentials:
        """What the environment gives for the security schemes."""
        return self._credentials

    @property
    def surroundings(self) -> Surroundings:
        """The time that passes for this client."""
        return self._surroundings

    def redactor(self) -> Redactor:
        """Masks what this client knows to be secret at the moment."""
        # Fetched tokens are among those of the credentials.
        secrets = (*self._credentials.secrets, *self._settings.secrets)
        if self._redactor is None or self._redactor.secrets != secrets:
            self._redactor = Redactor(secrets)
        return self._redactor

    def setting(self, name: str) -> Any:
        """Return the value of a setting, typed as its schema says; ABSENT if it is not set.

        Raises:
            ConfigurationError: the server's contract has no such setting.
        """
        return self._settings.value(name)

    def paging(self, rule: PaginationRule, arguments: JsonObject) -> Paging:
        """The way through the pages that these arguments of a tool ask for."""
        return Paging(rule, arguments.get(rule.argument), self._credential_queries)

    def base_url(self, rules: RequestRules) -> str:
        """The base URL of an operation, without a slash at its end.

        Raises:
            ConfigurationError: none is configured or documented; says what to set.
        """
        return self._base_urls[rules.source].base_url(rules.servers)

    def bind(self, tool: str, rules: RequestRules) -> ToolApi:
        """The view of this client that the handler of one tool gets as `ctx.api`."""
        return ToolApi(self, tool, rules)

    async def exchange(
        self, rules: RequestRules, parts: RequestParts, accept: tuple[str, ...]
    ) -> tuple[HttpResponse, Any]:
        """Send a request and give back the response with its decoded value.

        `accept` are the media types that the caller can use; () stands for any.

        Raises:
            ToolError: no credential is configured, or the API gave no usable answer.
            ConfigurationError: the base URL is not configured.
        """
        parts = self._headers[rules.source].added_to(parts)
        operation = f"{parts.method} {parts.path}"
        base_url = self.base_url(rules)
        timeout_seconds = rules.timeout_seconds or self._deadline_seconds
        try:
            async with asyncio.timeout(timeout_seconds) as deadline:
                response, variables = await self._authorized(
                    operation, base_url, rules, parts, deadline.when() or 0.0
                )
            if 200 <= response.status < 300:
                return response, decode_response(response, accept, self.redactor())
            raise status_error(
                response,
                self.redactor(),
                retry_after=retry_after_seconds(response, self._surroundings.now()),
                credential_variables=variables,
            )
        except TimeoutError:
            self._breaker.record(failed=True)
            raise TimeoutExceededError(
                f"`{operation}` gave no complete answer within {timeout_seconds:g} seconds. "
                "It may have taken effect all the same."
            ) from None
        except UpstreamError as error:
            raise error.named_for(operation) from None

    async def _authorized(
        self,
        operation: str,
        base_url: str,
        rules: RequestRules,
        parts: RequestParts,
        deadline: float,
    ) -> tuple[HttpResponse, tuple[str, ...]]:
        """The response, and the variables of the credentials that were used."""
        requirement = self._credentials.choose(operation, rules.security)
        send = self._sender()
        policy = self._policy
        if rules.attempts is not None:
            policy = replace(policy, max_attempts=rules.attempts)

        async def attempt() -> HttpResponse:
            applied = await self._credentials.apply(requirement, send)
            request = assemble(base_url, parts, applied)
            return await self._with_retries(send, request, policy, deadline)

        response = await attempt()
        # A token may have been revoked before its time; a fresh one is tried once.
        if response.status == 401 and self._credentials.forget(requirement):
            response = await attempt()
        return response, self._credentials.variables(requirement)

    async def _with_retries(
        self, send: Sender, request: HttpRequest, policy: RetryPolicy, deadline: float
    ) -> HttpResponse:
        around = self._surroundings
        self._budget.count_request()
        attempts = 0
        while True:
            outcome = await self._attempt(send, request)
            if isinstance(outcome, HttpResponse) and outcome.status < 400:
                return outcome
            attempts += 1
            delay = policy.delay_seconds(
                request.method,
                outcome,
                attempts=attempts,
                remaining_seconds=deadline - asyncio.get_running_loop().time(),
                chance=around.chance(),
                now=around.now(),
            )
            if delay is None or not self._budget.take():
                if isinstance(outcome, UpstreamError):
                    raise outcome
                return outcome
            await around.sleep(delay)

    async def _attempt(self, send: Sender, request: HttpRequest) -> HttpResponse | UpstreamError:
        """What came of sending a request once, if that is worth trying now."""
        outcome: HttpResponse | UpstreamError
        try:
            self._breaker.check()
            async with self._limit:
                outcome = await send(request)
        except OverloadedError as refused:
            return refused
        except UpstreamError as error:
            outcome = error
        has_failed = isinstance(outcome, UpstreamError) or outcome.status >= 500
        self._breaker.record(failed=has_failed)
        return outcome

    def _sender(self) -> Sender:
        if self._send is None:
            # Here, because importing an HTTP library takes longer than listing the tools.
            from mcpgen.runtime.upstream.aiohttp_sender import AiohttpSender
            from mcpgen.runtime.upstream.trust import Authority

            authority = Authority(self._ca_setting, self._ca_file)
            sender = AiohttpSender(f"{self._name}-mcp", authority=authority)
            self._send, self._owned_sender = sender.send, sender.aclose
        return self._send

    async def aclose(self) -> None:
        """Close the connections, if any were opened."""
        if self._owned_sender is not None:
            close, self._owned_sender, self._send = self._owned_sender, None, None
            await close()


class ToolApi:
    """What a handler calls as `ctx.api`: the API, as the contract of one tool describes it."""

    last_response: HttpResponse | None = None
    last_value: Any = None  # of that response, even where the handler wants none
    paging: Paging | None = None  # set where several pages may be asked for
    notes: tuple[str, ...] = ()  # what the model is told beside the result
    read_resource: ResourceReader | None = None  # where the server has resources

    def __init__(self, client: ApiClient, tool: str, rules: RequestRules) -> None:
        self._client = client
        self._tool = tool
        self._rules = rules

    def setting(self, name: str, default: Any = _REQUIRED) -> Any:
        """Return the value of an environment variable that `mcpgen.yaml` takes a parameter from.

        `default` is returned if the variable is not set.

        Raises:
            ToolError: it is not set, and there is no default.
        """
        value = self._client.setting(name)
        if value is not ABSENT:
            return value
        if default is not _REQUIRED:
            return default
        raise ToolError(
            f"`{self._tool}` needs the setting {name}, which this server does not have, so nothing"
            f" was sent. The operator of the server can set {name}."
        )

    @overload
    async def request(
        self,
        method: str,
        path: str,
        *,
        path_params: Mapping[str, Any] = ...,
        query: Mapping[str, Any] = ...,
        headers: Mapping[str, Any] = ...,
        cookies: Mapping[str, Any] = ...,
        querystring: Any = ...,
        body: Any = ...,
        content_type: str | Absent = ...,
        returns: type[T],
    ) -> T: ...

    @overload
    async def request(
        self,
        method: str,
        path: str,
        *,
        path_params: Mapping[str, Any] = ...,
        query: Mapping[str, Any] = ...,
        headers: Mapping[str, Any] = ...,
        cookies: Mapping[str, Any] = ...,
        querystring: Any = ...,
        body: Any = ...,
        content_type: str | Absent = ...,
        returns: None,
    ) -> None: ...

    async def request(
        self,
        method: str,
        path: str,
        *,
        path_params: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, Any] | None = None,
        cookies: Mapping[str, Any] | None = None,
        querystring: Any = ABSENT,
        body: Any = ABSENT,
        content_type: str | Absent = ABSENT,
        returns: Any,
    ) -> Any:
        """Call the operation and give back what it answered, decoded.

        The maps are by wire name; a value that is ABSENT is not sent. How each one is spelled
        stands in the tool's contract. `returns` types the result and converts nothing: JSON comes
        as Python values, text as `str`, other bytes as `Media`, an empty answer as None.

        Raises:
            InvalidArgumentsError: a value cannot travel where it belongs; nothing was sent.
            UpstreamStatusError: the API answered with an error status.
            UpstreamError: it did not answer, or not with what the operation promises.
        """
        rules = self._rules
        accept = () if returns is None else (*rules.accept, *rules.also_answered)
        values = {
            "path": path_params or {},
            "query": query or {},
            "header": headers or {},
            "cookie": cookies or {},
        }

        async def spelled() -> RequestParts:
            while True:  # once more for each resource that is to be sent
                try:
                    return build_parts(
                        self._tool,
                        rules,
                        method,
                        path,
                        values=values,
                        querystring=querystring,
                        body=body,
                        content_type=content_type,
                        files=self._client.files,
                    )
                except ResourceNeededError as needed:
                    file = await self._file_of_resource(needed.uri)
                    self._client.files = self._client.files.holding(needed.uri, file)

        response, value = await self._client.exchange(rules, await spelled(), accept)
        if self.paging is not None:
            given = {name: item for name, item in values["query"].items() if item is not ABSENT}

            async def send(step: Step) -> tuple[HttpResponse, Any]:
                if isinstance(step, tuple):
                    parts = replace(await spelled(), query=step)
                    return await self._client.exchange(rules, parts, accept)
                values["query"] = {**values["query"], **step}
                return await self._client.exchange(rules, await spelled(), accept)

            response, value = await self.paging.gather(response, value, given, send)
            self.notes = (*self.notes, *self.paging.notes)
        self.last_response, self.last_value = response, value
        return None if returns is None else value

    async def _file_of_resource(self, uri: str) -> FileContent | None:
        """The content of one of the server's own resources; None where nothing has this URI."""
        if self.read_resource is None:
            return None
        try:
            found = (await self.read_resource(uri)).contents[0]
        except ResourceNotFoundError:
            return None
        content = found.blob if found.blob is not None else (found.text or "").encode()
        name = urlsplit(uri).path.rpartition("/")[2]
        return FileContent(content, unquote(name), found.mime_type)


def assemble(base_url: str, parts: RequestParts, applied: AppliedCredentials) -> HttpRequest:
    """Join a request's parts under the base URL; credentials win over arguments of the same name.

    Raises:
        InvalidArgumentsError: an argument spells the query parameter of a credential.
        ConfigurationError: the URL would leave the base URL.
    """
    _refuse_spoofed_credentials(parts, applied)
    secured = [f"{percent_encode(name)}={percent_encode(value)}" for name, value in applied.query]
    query = "&".join([*parts.query, *secured])
    url = f"{base_url}{parts.path}{'?' if query else ''}{query}"
    _check_inside(url, base_url)
    taken = {name.lower() for name, _ in applied.headers}
    headers = [(name, value) for name, value in parts.headers if name.lower() not in taken]
    headers += applied.headers
    cookies = [*parts.cookies, *(f"{name}={value}" for name, value in applied.cookies)]
    if cookies:
        headers.append(("Cookie", "; ".join(cookies)))
    return HttpRequest(
        parts.method,
        url,
        tuple(headers),
        parts.body,
        client_certificate=applied.client_certificate,
    )


def _refuse_spoofed_credentials(parts: RequestParts, applied: AppliedCredentials) -> None:
    """An exploded object chooses its own names; none of them may be a credential's."""
    if not applied.query and not applied.cookies:
        return
    reserved = {percent_encode(name) for name, _ in applied.query}
    reserved |= {name for name, _ in applied.cookies}
    for pair in (*parts.query, *parts.cookies):
        name = pair.partition("=")[0]
        if name in reserved:
            raise InvalidArgumentsError(
                parts.tool, (f"no argument may set `{name}`, which carries a credential",)
            )


def _check_inside(url: str, base_url: str) -> None:
    """Whatever the arguments were, the request goes to the configured origin and prefix."""
    target, base = urlsplit(url), urlsplit(base_url)
    is_inside = (target.scheme, target.netloc) == (base.scheme, base.netloc) and (
        target.path.startswith(f"{base.path}/")
    )
    if not is_inside or target.fragment:
        raise ConfigurationError("a request would have left the configured base URL")
