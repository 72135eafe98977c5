"""Lowering of Server Objects: absolute URLs without credentials, and reports of private hosts."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit, urlunsplit

from mcpgen.ir.api import Server, ServerVariable
from mcpgen.openapi.lower.nodes import Node, Source, object_of
from mcpgen.text.hosts import canonical_host, is_private, is_unusual_spelling

_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


def read_servers(node: Node, source: Source) -> tuple[Server, ...]:
    """Lower the servers at `node`, in the document's order."""
    objects = (child for child in node.elements() if isinstance(child.value, dict))
    return tuple(server for child in objects if (server := _server(child, source)) is not None)


def _server(node: Node, source: Source) -> Server | None:
    pointer = f"{node.pointer}/url"
    url = normalize_url(node.text("url").strip(), pointer, source)
    if url is None:
        return None
    declared = dict(node.child("variables").members())
    variables = []
    for name in dict.fromkeys(_PLACEHOLDER.findall(url)):
        child = declared.get(name, Node(None, node.pointer))
        described = object_of(child.value)
        allowed = described.get("enum")
        enum = tuple(str(item) for item in allowed) if isinstance(allowed, list) else ()
        default = described.get("default")
        if default is None:
            source.warn(
                "server-variable",
                f"missing default of the server variable `{name}`; its setting is required",
                child.pointer,
            )
        variables.append(
            ServerVariable(
                name=name,
                default="" if default is None else str(default),
                enum=enum,
                description=child.text("description"),
            )
        )
    return Server(url=url, variables=tuple(variables), description=node.text("description"))


def normalize_url(url: str, pointer: str, source: Source) -> str | None:
    """Remove user, query and fragment of a server URL, and resolve it against the document's URL.

    A relative URL remains relative if the document is a file. An invalid URL returns None.
    """
    base = source.document.url
    if any(character.isspace() or not character.isprintable() for character in url):
        source.warn(
            "server-url",
            "invalid server URL: it has white space or a control character; it was dropped",
            pointer,
        )
        return None
    if base and not _PLACEHOLDER.match(url):
        url = urljoin(base, url)
    try:
        parts = urlsplit(url)
        has_port = "{" in parts.netloc or parts.port != 0
    except ValueError:  # an invalid IPv6 address or port
        has_port = False
    if not has_port:
        source.warn("server-url", "invalid server URL; it was dropped", pointer)
        return None
    if parts.scheme and parts.scheme not in ("http", "https") and "{" not in parts.scheme:
        source.warn(
            "server-url",
            f"unsupported scheme `{parts.scheme}` of a server URL; it was dropped",
            pointer,
        )
        return None
    host = parts.netloc
    if "@" in host:
        source.warn(
            "server-credentials",
            "server URL with a user or password; they were removed",
            pointer,
            why="a server reads credentials from its environment",
        )
        host = host.rsplit("@", 1)[1]
    report_host(url, pointer, source)
    if is_unusual_spelling(parts.hostname or ""):
        port = host.rpartition(":")[2] if ":" in host else ""
        host = canonical_host(parts.hostname or "") + (f":{port}" if port else "")
    if parts.query or parts.fragment:
        source.warn("server-url", "server URL with a query or fragment; it was removed", pointer)
    return urlunsplit((parts.scheme, host, parts.path, "", "")).rstrip("/")


def report_host(url: str, pointer: str, source: Source) -> None:
    """Report a private host, or an address in an unusual spelling."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return
    if not host or "{" in host:
        return
    canonical = canonical_host(host)
    if is_unusual_spelling(host):
        source.warn(
            "unusual-host",
            f"`{host}` is an unusual spelling of the address {canonical}",
            pointer,
            why="such spellings can disguise an address; it is treated as its usual spelling",
            help=f"write {canonical}",
        )
    if is_private(host):
        source.warn(
            "private-server",
            f"`{canonical}` is a private address",
            pointer,
            why="requests would go to the operator's network, so the operator has to permit it:"
            " with the base URL of the API, or with `<PREFIX>ALLOW_PRIVATE=1`",
        )
