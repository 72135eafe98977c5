"""Clock, randomness and sleep of an API client, which tests replace."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from mcpgen.runtime.upstream.request.idempotency import make_idempotency_key


@dataclass(frozen=True, slots=True)
class Environment:
    """Sources of time and randomness for the requests of one client."""

    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    chance: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep)
    idempotency_key: Callable[[], str] = make_idempotency_key
