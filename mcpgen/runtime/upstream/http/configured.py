"""The HTTP client that the settings of a server describe."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.contract.limits import Limits
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.upstream.http.connecting import Authority
from mcpgen.runtime.upstream.http.proxies import read_proxies
from mcpgen.runtime.upstream.http.sender import HttpSender


def make_sender(contract: JsonObject, environ: Mapping[str, str], limits: Limits) -> HttpSender:
    """Return a client with the certificate authority, the proxies and the limits of a server.

    Raises:
        ConfigurationError: the URL of a proxy is invalid.
    """
    setting = f"{contract['env_prefix']}CA_FILE"
    return HttpSender(
        f"{contract['name']}-mcp",
        authority=Authority(setting, environ.get(setting, "").strip()),
        limits=limits,
        proxies=read_proxies(contract, environ),
    )
