"""The check of each requirement, by its id."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from mcpgen.factory.validate.checks import (
    auth,
    client_features,
    exchange,
    http,
    http_headers,
    http_modern,
    http_sessions,
    http_streams,
    lifecycle,
    lists,
    messages,
    modern,
    prompts,
    resources,
    sse,
    stdio,
    subscriptions,
    tasks,
    tools,
    utilities,
)
from mcpgen.factory.validate.checks.calls import call_tools, call_tools_as_full_client
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck
from mcpgen.factory.validate.probe import Probe

_MODULES = (
    exchange,
    messages,
    lifecycle,
    modern,
    stdio,
    tools,
    resources,
    prompts,
    lists,
    utilities,
    client_features,
    subscriptions,
    tasks,
    http,
    http_streams,
    http_sessions,
    http_headers,
    http_modern,
    sse,
    auth,
)

# Exchanges that passive checks examine, besides those of active checks.
PREPARATIONS: tuple[Callable[[Probe], Awaitable[object]], ...] = (
    call_tools,
    call_tools_as_full_client,
    client_features.call_tools_as_form_client,
    utilities.call_tools_with_log_level,
)

ACTIVE: Mapping[str, ActiveCheck] = {
    requirement: check for module in _MODULES for requirement, check in module.ACTIVE.items()
}
PASSIVE: Mapping[str, PassiveCheck] = {
    requirement: check for module in _MODULES for requirement, check in module.PASSIVE.items()
}
