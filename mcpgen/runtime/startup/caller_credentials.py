"""Checks of `credentials` in the contract: whether callers can provide their credentials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mcpgen.runtime.errors import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from mcpgen.runtime.content import JsonObject

_WAYS_TO_AUTHORIZE: Final = ("AUTH_ISSUER", "AUTH_INTROSPECTION_URL", "AUTH_TOKENS_FILE")


def find_authorization_setting(prefix: str, environ: Mapping[str, str]) -> str:
    """Return the setting that makes the server authorize its callers; "" if it does not."""
    names = (prefix + name for name in _WAYS_TO_AUTHORIZE)
    return next((name for name in names if environ.get(name, "").strip()), "")


def find_forwarded_tokens(
    contract: JsonObject, environ: Mapping[str, str]
) -> list[ConfigurationError]:
    """Return an error if callers' tokens for this server would be sent to the API.

    MCP forbids that ("Access Token Usage").
    """
    setting = find_authorization_setting(contract.get("env_prefix", ""), environ)
    sources = contract.get("credentials", {})
    return [
        ConfigurationError(
            f"{setting} cannot be set: with authorization, the header `Authorization` of a caller"
            f" contains the token for this server, which is never sent to the API as `{scheme}`."
            " Use another `header` under `credentials` in mcpgen.yaml",
            setting=setting,
        )
        for scheme, source in sources.items()
        if setting and source.get("header", "").lower() == "authorization"
    ]


def find_blocked_tools(
    contract: JsonObject,
    security: Mapping[str, Sequence[Mapping[str, Sequence[str]]]],
    environ: Mapping[str, str],
    *,
    is_http: bool,
) -> dict[str, list[str]]:
    """Return the tools whose callers cannot provide a credential, by the reason.

    `security` has the security requirements of each tool.
    """
    obstacles = dict(_iterate_obstacles(contract, environ, is_http=is_http))
    blocked: dict[str, list[str]] = {}
    for tool, alternatives in security.items():
        found = [
            next((obstacles[name] for name in requirement if name in obstacles), "")
            for requirement in alternatives
        ]
        if found and all(found):
            blocked.setdefault(found[0], []).append(tool)
    return blocked


def _iterate_obstacles(
    contract: JsonObject, environ: Mapping[str, str], *, is_http: bool
) -> Iterator[tuple[str, str]]:
    """Yield each scheme that no caller can use, with the reason."""
    prefix = contract.get("env_prefix", "")
    exchange = f"{prefix}EXCHANGE_TOKEN_URL"
    needs_callers = (
        f"callers must be authorized for their credentials of the API: set {prefix}AUTH_ISSUER"
    )
    is_authorized = bool(find_authorization_setting(prefix, environ))
    for name, source in contract.get("credentials", {}).items():
        kind = source["from"]
        if kind == "header" and not is_http:
            yield (
                name,
                (
                    f"callers send the credential in the header `{source['header']}`, which needs"
                    " --http"
                ),
            )
        elif kind == "exchange" and not is_http:
            yield name, "callers' access tokens are exchanged, which needs --http"
        elif kind == "exchange" and not environ.get(exchange, "").strip():
            yield name, f"callers' access tokens are exchanged: set {exchange}"
        elif kind in ("exchange", "user") and is_http and not is_authorized:
            yield name, needs_callers
