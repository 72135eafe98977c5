"""One API call with its retries, within the limits of the origins that it uses.

This is the only layer that repeats a request. Every request to the API counts as an attempt,
including the one with a fresh token after the API rejected a token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from mcpgen.runtime.process.memory_budget import calling_client
from mcpgen.runtime.upstream.errors import UpstreamError
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse, Sender
from mcpgen.runtime.upstream.resilience.origin_limits import Course, LimitsByOrigin
from mcpgen.runtime.upstream.resilience.retry import compute_delay

if TYPE_CHECKING:
    from mcpgen.runtime.auth.applied_credentials import AppliedCredentials
    from mcpgen.runtime.auth.credentials import Credentials
    from mcpgen.runtime.upstream.environment import Environment

_UNAUTHORIZED = 401


class ApiCall:
    """Sender of one request that retries until there is a response or no attempt is left."""

    def __init__(
        self,
        send: Sender,
        limits: LimitsByOrigin,
        environment: Environment,
        deadline: asyncio.Timeout,
        caller: str,
    ) -> None:
        """Initialize with a sender without retries, and the limits that all calls share."""
        self._send = send
        self._limits = limits
        self._environment = environment
        self._caller = caller
        self.course = Course(deadline)

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
        applied = await credentials.apply(requirement, self._send_for_token)
        request = make_request(applied)
        while True:
            attempts += 1
            outcome: HttpResponse | UpstreamError
            try:
                outcome = await limits.send(self._send, request, self._caller, self.course)
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
                    and credentials.forget(requirement)
                    and attempts < max(max_attempts, 2)
                ):
                    is_token_fresh = True
                    request = make_request(
                        await credentials.apply(requirement, self._send_for_token)
                    )
                    continue
            delay = compute_delay(
                request.method,
                outcome,
                attempts=attempts,
                max_attempts=max_attempts,
                remaining_seconds=self._compute_remaining_seconds(),
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

    def _compute_remaining_seconds(self) -> float:
        due = self.course.deadline.when() or 0.0
        return due - asyncio.get_running_loop().time()

    async def _send_for_token(self, request: HttpRequest) -> HttpResponse:
        """Send a request to an authorization server once, within the limits of its origin."""
        course = Course(self.course.deadline)  # the API has not been asked yet
        return await self._limits.get(request.url).send(self._send, request, self._caller, course)
