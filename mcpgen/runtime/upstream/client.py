"""Client of an API: it sends a handler's values as an HTTP request and decodes the response."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.absent import ABSENT, Absent
from mcpgen.contract.base_url import BaseUrls, UnconfirmedOriginError
from mcpgen.contract.limits import DEFAULT_LIMITS, Limits
from mcpgen.runtime.content import JsonObject, ResourceResult
from mcpgen.runtime.errors import (
    ConfigurationError,
    InvalidArgumentsError,
    ResourceNotFoundError,
    ToolError,
)
from mcpgen.runtime.process.caller_secrets import CallerSecrets, get_caller_secrets
from mcpgen.runtime.process.memory_budget import (
    LARGE_RESPONSE_BYTES,
    calling_client,
    decoding_budget,
    run_in_worker,
)
from mcpgen.runtime.startup.limits import read_limits
from mcpgen.runtime.startup.server_secrets import list_server_secrets
from mcpgen.runtime.startup.settings import Settings
from mcpgen.runtime.upstream.auth.credentials import read_credentials
from mcpgen.runtime.upstream.auth.schemes import AppliedCredentials
from mcpgen.runtime.upstream.errors import (
    TimeoutExceededError,
    UpstreamError,
    make_timeout_error,
)
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse, Sender
from mcpgen.runtime.upstream.request.building import RequestParts, build_parts
from mcpgen.runtime.upstream.request.default_headers import (
    DefaultHeaders,
    add_idempotency_key,
    make_idempotency_key,
    make_missing_error,
)
from mcpgen.runtime.upstream.request.files import FileContent, FileReader, ResourceNeededError
from mcpgen.runtime.upstream.request.parameters import percent_encode
from mcpgen.runtime.upstream.request.rules import RequestRules
from mcpgen.runtime.upstream.resilience import (
    ConcurrencyLimit,
    Course,
    LimitsByOrigin,
    compute_delay,
    parse_retry_after,
)
from mcpgen.runtime.upstream.response.json_decoding import LONG_BYTES
from mcpgen.runtime.upstream.response.next_page import PaginationRule, Step
from mcpgen.runtime.upstream.response.pagination import Paging
from mcpgen.runtime.upstream.response.redaction import Redactor
from mcpgen.runtime.upstream.response.results import decode_response, make_status_error
from mcpgen.text.hosts import origin_of

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    from mcpgen.runtime.auth.access import Access
    from mcpgen.runtime.protocol.request import Request
    from mcpgen.runtime.state.store import Store
    from mcpgen.runtime.telemetry.observer import Observation
    from mcpgen.runtime.telemetry.upstream import ObservedSender
    from mcpgen.runtime.upstream.auth.account_store import AccountStore
    from mcpgen.runtime.upstream.auth.credentials import Credentials
    from mcpgen.runtime.upstream.http.sender import HttpSender

    class _Values(TypedDict, total=False):
        """The values of a request, by location."""

        path_params: Mapping[str, Any]
        query: Mapping[str, Any]
        headers: Mapping[str, Any]
        cookies: Mapping[str, Any]
        querystring: Any
        body: Any
        content_type: str | Absent


_UNAUTHORIZED = 401


class ApiCall(Struct):
    """Sender of one request that retries until there is a response or no attempt is left."""

    _send: Sender  # without retries
    _limits: LimitsByOrigin  # which all calls share
    _environment: Environment
    _caller: str
    _course: Course
    _access: Access | None = None  # of the caller, for credentials of their own

    async def run(
        self,
        base_url: str,
        requirement: Mapping[str, Sequence[str]],
        credentials: Credentials,
        make_request: Callable[[AppliedCredentials], HttpRequest],
        *,
        max_attempts: int,
        has_key: bool,
    ) -> HttpResponse:
        """Send the request and return the response, whatever its status.

        `has_key` states whether the request carries an idempotency key.

        Raises:
            UpstreamError: no response came.
            ToolError: no access token could be fetched.
        """
        calling_client.set(self._caller)  # for the memory of a large response
        environment, limits = self._environment, self._limits.get(base_url)
        limits.budget.count_request()
        attempts, is_token_fresh = 0, False
        access = self._access
        applied = await credentials.apply(requirement, self._send_for_token, access)
        request = make_request(applied)
        while True:
            attempts += 1
            outcome: HttpResponse | UpstreamError
            try:
                outcome = await limits.send(self._send, request, self._caller, self._course)
            except UpstreamError as error:
                outcome = error
            else:
                if outcome.status < 400:
                    return outcome
                # A token may be revoked before it expires. The API has done nothing yet, so
                # even a POST is safe to repeat; one repetition is always possible.
                if (
                    outcome.status == _UNAUTHORIZED
                    and not is_token_fresh
                    and credentials.forget(requirement, access, applied)
                    and attempts < max(max_attempts, 2)
                ):
                    is_token_fresh = True
                    applied = await credentials.apply(requirement, self._send_for_token, access)
                    request = make_request(applied)
                    continue
            due = self._course.deadline.when() or 0.0
            delay = compute_delay(
                request.method,
                outcome,
                attempts=attempts,
                max_attempts=max_attempts,
                remaining_seconds=due - asyncio.get_running_loop().time(),
                chance=environment.chance(),
                now=environment.now(),
                has_key=has_key,
            )
            if delay is None or not limits.budget.take():
                if not isinstance(outcome, UpstreamError):
                    return outcome
                try:
                    raise outcome
                finally:
                    del outcome  # breaks the cycle of the error and this frame
            await environment.sleep(delay)

    async def _send_for_token(self, request: HttpRequest) -> HttpResponse:
        """Send a request to an authorization server once, within the limits of its origin."""
        course = Course(self._course.deadline)  # the API has not been asked yet
        return await self._limits.get(request.url).send(self._send, request, self._caller, course)


class Environment(Struct, frozen=True):
    """Sources of time and randomness for the requests of one client."""

    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    chance: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    idempotency_key: Callable[[], str] = make_idempotency_key


T = TypeVar("T")

_REQUIRED: Final = object()
ResourceReader = Callable[[str], Awaitable[ResourceResult]]


class ApiClient:
    """Client of one API with the server's settings; each server has one and closes it.

    Base URL and credentials come from the environment, never from an argument.
    """

    def __init__(
        self,
        contract: JsonObject,
        environ: Mapping[str, str],
        *,
        send: Sender | None = None,
        environment: Environment | None = None,
        deadline_seconds: float | None = None,
        accounts: AccountStore | None = None,
        store: Store | None = None,
    ) -> None:
        """Read the settings, without opening a connection.

        `deadline_seconds` replaces the time-out of the settings. `accounts` are those that users
        connect over HTTP, and `store` is what the replicas of a server share.

        Raises:
            ConfigurationError: a setting has an invalid value.
        """
        self.name: str = contract["name"]
        self.environment = environment or Environment()
        self.limits = read_limits(contract, environ)
        self._base_urls = {
            source: BaseUrls(contract, environ, source=source)
            for source in ("", *contract.get("sources", ()))
        }
        self.credentials = read_credentials(
            contract,
            environ,
            base_urls=self._base_urls,
            clock=self.environment.clock,
            accounts=accounts,
            store=store,
        )
        self.settings = Settings(contract, environ)
        self._fixed_secrets = (*self.settings.secrets, *list_server_secrets(contract, environ))
        self._headers = {
            source: DefaultHeaders(about.get("headers", {}), self.settings)
            for source, about in {"": contract, **contract.get("sources", {})}.items()
        }
        self.files = FileReader.from_environment(contract["env_prefix"], environ)
        self._credential_queries = frozenset(
            scheme["name"]
            for scheme in contract.get("security_schemes", {}).values()
            if scheme.get("in") == "query"
        )
        self._slots: dict[tuple[str, str, str], ConcurrencyLimit] = {}
        """Of operations with a limit of their own, by source, method and path."""
        self._send = send
        self._owned_sender: Callable[[], Awaitable[None]] | None = None
        self._make_observed: type[ObservedSender] | None = None  # with telemetry
        self._has_fixed_secrets = not (
            self.credentials.find_token_scheme() or self.credentials.has_callers_secrets
        )
        self._redacted: tuple[str, ...] = self.credentials.secrets
        self._redactor = Redactor((*self._redacted, *self._fixed_secrets))
        self._limits = LimitsByOrigin(self.environment.clock, self.environment.chance, self.limits)
        self._deadline_seconds = deadline_seconds or self.limits.timeout_seconds
        self._make_sender = partial(_make_sender, contract, environ, self.limits)

    def get_redactor(self) -> Redactor:
        """Return a redactor of the current secrets, including fetched tokens."""
        if self._has_fixed_secrets:  # every message of a call asks for this
            return self._redactor
        secrets = self.credentials.secrets  # with the tokens that were fetched so far
        if secrets != self._redacted:
            self._redacted = secrets
            self._redactor = Redactor((*secrets, *self._fixed_secrets))
        caller = get_caller_secrets()
        return self._redactor if caller is None else self._extend_redactor(caller)

    def _extend_redactor(self, caller: CallerSecrets) -> Redactor:
        """Return a redactor that also masks the secrets of the current request."""
        base, extended = caller.redactor
        if base is not self._redactor:
            extended = self._redactor.extend(caller.values)
            caller.redactor = (self._redactor, extended)
        redactor: Redactor = extended
        return redactor

    def start_paging(
        self, rule: PaginationRule, arguments: JsonObject, wanted: tuple[str, ...] = ()
    ) -> Paging:
        """Start the pagination that the arguments of a tool call request.

        `wanted` is the place where the result begins; pages before that are not returned.
        """
        pages = arguments.get(rule.argument)
        return Paging(
            rule,
            None if pages is None else min(pages, self.limits.max_pages),
            self._credential_queries,
            self.limits.max_pages_bytes,
            self.limits.max_pages,
            wanted,
        )

    def find_base_url(self, rules: RequestRules) -> str:
        """Return the base URL of an operation, without a trailing slash.

        Raises:
            ConfigurationError: no base URL is configured or documented.
        """
        return self._base_urls[rules.source].base_url(rules.servers)

    def find_unconfirmed_origin(self, rules: RequestRules) -> str:
        """Return the unconfirmed origin that would receive credentials; "" if there is none.

        "" is also returned if a call would fail because another setting is missing.
        """
        operation = f"{rules.method} {rules.path}"
        try:
            possible = self.credentials.choose_possible(rules.security)
            requirement = self._confirm_credentials(
                operation, self.find_base_url(rules), rules, possible
            )
        except UnconfirmedOriginError as error:
            return error.origin
        except (ConfigurationError, ToolError):
            return ""
        return origin_of(self.credentials.find_unconfirmed_url(requirement))

    def bind(self, tool: str, rules: RequestRules, owner: Request | None = None) -> ToolApi:
        """Return the view of this client that is `ctx.api` in the handler of one tool."""
        return ToolApi(self, tool, rules, owner=owner)

    async def exchange(
        self,
        rules: RequestRules,
        parts: RequestParts,
        accept: tuple[str, ...],
        *,
        owner: Request | None = None,
    ) -> tuple[HttpResponse, Any]:
        """Send a request and return the response with its decoded value.

        `accept` contains the media types that the handler can use; () stands for any. `owner` is
        the MCP request that waits for the response: limits are shared fairly among its clients,
        and it owns the memory that is reserved for the response.

        Raises:
            ToolError: no credential is configured, or the API sent no usable response.
            ConfigurationError: the base URL is not configured.
        """
        parts = self._headers[rules.source].add_to(parts)
        parts, has_key = add_idempotency_key(parts, rules, self.environment.idempotency_key)
        operation = f"{parts.method} {parts.path}"
        if self.settings.secrets:  # a setting may be a part of the path
            operation = self.get_redactor().mask(operation)
        base_url = self.find_base_url(rules)
        access = None if owner is None else owner.access
        requirement = self._confirm_credentials(
            operation,
            base_url,
            rules,
            self.credentials.choose(operation, rules.security, access),
        )
        private_setting = self._base_urls[rules.source].private_addresses_setting(rules.servers)
        timeout_seconds = rules.timeout_seconds or self._deadline_seconds
        course = Course(asyncio.timeout(timeout_seconds))
        caller = "" if owner is None else owner.caller
        send = self._get_sender()
        if owner is not None and owner.observation is not None:
            send = self._observe(send, owner.observation, base_url, rules)
        call = ApiCall(send, self._limits, self.environment, caller, course, access)
        try:
            async with course.deadline:
                run = partial(
                    call.run,
                    base_url,
                    requirement,
                    self.credentials,
                    partial(
                        assemble,
                        base_url,
                        parts,
                        private_addresses_setting=private_setting,
                        limits=self.limits,
                    ),
                    max_attempts=rules.attempts or self.limits.max_attempts,
                    has_key=has_key,
                )
                if rules.max_concurrent is None:
                    response = await run()
                else:
                    async with self._hold_slot(rules, rules.max_concurrent, caller):
                        response = await run()
                if 200 <= response.status < 300:
                    return await _decode(response, accept, self.get_redactor(), owner)
            raise make_status_error(
                response,
                self.get_redactor(),
                retry_after=parse_retry_after(response, self.environment.now()),
                credential_variables=self.credentials.list_variables(requirement),
                advice=self.credentials.explain_refused(requirement, response.status),
            )
        except TimeoutError:
            raise make_timeout_error(
                operation, timeout_seconds, has_sent=bool(course.requests_sent)
            ) from None
        except UpstreamError as error:
            raise error.add_operation(operation) from None

    @asynccontextmanager
    async def _hold_slot(
        self, rules: RequestRules, max_concurrent: int, caller: str
    ) -> AsyncGenerator[None]:
        """Wait until fewer calls of the operation are under way than `max_concurrent`.

        Raises:
            OverloadedError: too many calls wait already.
        """
        operation = rules.source, rules.method, rules.path
        slots = self._slots.get(operation)
        if slots is None:
            slots = ConcurrencyLimit(max_concurrent, self.limits.max_queued)
            self._slots[operation] = slots
        await slots.acquire(caller)
        try:
            yield
        finally:
            slots.release(caller)

    def _confirm_credentials(
        self,
        operation: str,
        base_url: str,
        rules: RequestRules,
        requirement: Mapping[str, Sequence[str]],
    ) -> Mapping[str, Sequence[str]]:
        """Return the chosen credentials, which only confirmed origins may receive."""
        own = rules.servers
        if not own or self._base_urls[rules.source].is_confirmed(base_url, own):
            return requirement
        if any(not alternative for alternative in rules.security):
            requirement = {}  # they are optional: another origin is asked without them
        if requirement or not self.settings.secret_names.isdisjoint(
            (*rules.needs_settings, *rules.uses_settings)
        ):
            raise UnconfirmedOriginError(f"`{operation}`", base_url)
        return requirement

    def _observe(
        self, send: Sender, observation: Observation, base_url: str, rules: RequestRules
    ) -> Sender:
        """Return a sender that records each request. Only the configured origin gets its trace."""
        if self._make_observed is None:
            from mcpgen.runtime.telemetry.upstream import ObservedSender

            self._make_observed = ObservedSender
            if observation.observer.metrics is not None:
                observation.observer.metrics.watch_limits(self._limits.describe)
        is_trusted = not rules.servers or self._is_main_origin(base_url, rules.source)
        return self._make_observed(send, observation, base_url, rules.path, is_trusted).send

    def _is_main_origin(self, url: str, source: str) -> bool:
        """Return whether a URL has the origin of the API's base URL."""
        try:
            return origin_of(url) == origin_of(self._base_urls[source].base_url())
        except ConfigurationError:
            return False

    async def send_to_issuer(self, request: HttpRequest) -> HttpResponse:
        """Send a request of no tool call to an authorization server, within its limits.

        Raises:
            UpstreamError: there is no response.
        """
        course = Course(asyncio.timeout(self._deadline_seconds))
        try:
            async with course.deadline:
                limits = self._limits.get(request.url)
                return await limits.send(self._get_sender(), request, "", course)
        except TimeoutError:
            seconds = self._deadline_seconds
            raise TimeoutExceededError(f"was not answered within {seconds:g} seconds.") from None

    def _get_sender(self) -> Sender:
        if self._send is None:
            sender = self._make_sender()
            self._send, self._owned_sender = sender.send, sender.aclose
        return self._send

    async def aclose(self) -> None:
        """Close the connections, if any were opened."""
        if self._owned_sender is not None:
            close, self._owned_sender, self._send = self._owned_sender, None, None
            await close()


class ToolApi(Struct, eq=False):
    """The object `ctx.api` of a handler: the API, restricted to the contract of one tool."""

    _client: ApiClient
    _tool: str
    _rules: RequestRules
    last_response: HttpResponse | None = None
    last_value: Any = None  # of that response, even if the handler needs none
    paging: Paging | None = None  # set if several pages may be requested
    notes: tuple[str, ...] = ()  # added to the result for the model
    read_resource: ResourceReader | None = None  # set if the server has resources
    owner: Request | None = None  # not the context, which refers to this object

    def setting(self, name: str, default: Any = _REQUIRED) -> Any:
        """Return the value of a setting that `mcpgen.yaml` binds to a parameter.

        `default` is returned if the variable is not set.

        Raises:
            ToolError: it is not set, and there is no default.
        """
        value = self._client.settings.get(name)
        if value is not ABSENT:
            return value
        if default is not _REQUIRED:
            return default
        raise make_missing_error(self._tool, name)

    @overload
    async def request(
        self, method: str, path: str, *, returns: type[T], **values: Unpack[_Values]
    ) -> T: ...

    @overload
    async def request(
        self, method: str, path: str, *, returns: None, **values: Unpack[_Values]
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
        """Call the operation and return its decoded response.

        The mappings are keyed by wire name; ABSENT values are not sent. The tool's contract
        defines how each value is serialized. `returns` types the result and converts nothing: JSON
        becomes Python values, text `str`, other bytes `Media`, and an empty response None.

        Raises:
            InvalidArgumentsError: a value cannot be serialized; nothing was sent.
            UpstreamStatusError: the API answered with an error status.
            UpstreamError: there is no response, or one that the operation does not declare.
        """
        rules = self._rules
        accept = () if returns is None else (*rules.accept, *rules.also_answered)
        values = {
            "path": path_params or {},
            "query": query or {},
            "header": headers or {},
            "cookie": cookies or {},
        }

        async def build() -> RequestParts:
            while True:  # once more for each resource that is a file argument
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
                    file = await self._read_resource_file(needed.uri)
                    self._client.files = self._client.files.with_resource(needed.uri, file)

        exchange = partial(self._client.exchange, rules, accept=accept, owner=self.owner)
        parts = await build()
        response, value = await exchange(parts)
        if self.paging is not None:
            self.paging.sent = parts.query
            rule = self.paging.rule
            siblings = rule.find_siblings(values["query"], body)
            siblings = {name: item for name, item in siblings.items() if item is not ABSENT}

            async def send(step: Step) -> tuple[HttpResponse, Any]:
                nonlocal body
                if isinstance(step, tuple):
                    return await exchange(replace(await build(), query=step))
                values["query"], body = rule.move(values["query"], body, step)
                return await exchange(await build())

            response, value = await self.paging.gather(response, value, siblings, send)
            self.notes = (*self.notes, *self.paging.notes)
        self.last_response, self.last_value = response, value
        return None if returns is None else value

    async def _read_resource_file(self, uri: str) -> FileContent | None:
        """Read one of the server's own resources; return None if none has this URI."""
        if self.read_resource is None:
            return None
        try:
            found = (await self.read_resource(uri)).contents[0]
        except ResourceNotFoundError:
            return None
        content = found.blob if found.blob is not None else (found.text or "").encode()
        name = urlsplit(uri).path.rpartition("/")[2]
        return FileContent(content, unquote(name), found.mime_type)


def _make_sender(contract: JsonObject, environ: Mapping[str, str], limits: Limits) -> HttpSender:
    # Imported here because `tools/list` does not need it.
    from mcpgen.runtime.upstream.http.configured import make_sender

    return make_sender(contract, environ, limits)


async def _decode(
    response: HttpResponse, accept: tuple[str, ...], redactor: Redactor, owner: Request | None
) -> tuple[HttpResponse, Any]:
    if len(response.body) <= LONG_BYTES:
        return response, decode_response(response, accept, redactor)
    if owner is not None and len(response.body) > LARGE_RESPONSE_BYTES:
        await decoding_budget.take(owner, len(response.body))
    return response, await run_in_worker(decode_response, response, accept, redactor)


def assemble(
    base_url: str,
    parts: RequestParts,
    applied: AppliedCredentials,
    private_addresses_setting: str = "",
    limits: Limits = DEFAULT_LIMITS,
) -> HttpRequest:
    """Join a request's parts with the base URL and credentials, which override arguments.

    `private_addresses_setting` is that of the request (`HttpRequest`).

    Raises:
        InvalidArgumentsError: an argument has the name of a credential's query parameter or cookie.
        ConfigurationError: the URL would be outside of the base URL.
    """
    _reject_spoofed_credentials(parts, applied)
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
        limits.max_response_bytes,
        limits.stream_seconds,
        client_certificate=applied.client_certificate,
        private_addresses_setting=private_addresses_setting,
    )


def _reject_spoofed_credentials(parts: RequestParts, applied: AppliedCredentials) -> None:
    """Reject members of exploded objects that have the name of a credential."""
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
    """Check that the URL is below the base URL, whatever the arguments are."""
    target, base = urlsplit(url), urlsplit(base_url)
    is_inside = (target.scheme, target.netloc) == (base.scheme, base.netloc) and (
        target.path.startswith(f"{base.path}/")
    )
    if not is_inside or target.fragment:
        raise ConfigurationError("invalid request URL: it is outside of the configured base URL")
