"""Server Objects: absolute where the document's own place tells how, and free of secrets."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit, urlunsplit

from mcpgen.ir.api import Server, ServerVariable
from mcpgen.runtime.hosts import is_private
from mcpgen.spec.lower_source import Node, Source, object_of

_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


def read_servers(node: Node, source: Source) -> tuple[Server, ...]:
    """The servers at `node`, in the document's order."""
    servers = []
    for child in node.elements():
        if isinstance(child.value, dict):
            server = _server(child, source)
            if server is not None:
                servers.append(server)
    return tuple(servers)


def _server(node: Node, source: Source) -> Server | None:
    pointer = f"{node.pointer}/url"
    url = absolute(node.text("url").strip(), pointer, source)
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
                f"the server variable `{name}` has no default; its setting is needed",
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


def absolute(url: str, pointer: str, source: Source) -> str | None:
    """`url` without user, query and fragment, joined to where the document came from.

    A relative one stays relative when nobody knows where the document came from. None when it is
    no address that a request can go to.
    """
    base = source.document.url
    if any(character.isspace() or ord(character) < 32 for character in url):
        source.warn("server-url", "a server URL holds white space; it was dropped", pointer)
        return None
    if base and not _PLACEHOLDER.match(url):
        url = urljoin(base, url)
    try:
        parts = urlsplit(url)
    except ValueError:
        source.warn("server-url", "a server URL cannot be read as one; it was dropped", pointer)
        return None
    if parts.scheme and parts.scheme not in ("http", "https") and "{" not in parts.scheme:
        source.warn(
            "server-url",
            f"servers are reached over http and https, not `{parts.scheme}`; it was dropped",
            pointer,
        )
        return None
    host = parts.netloc
    if "@" in host:
        source.warn(
            "server-credentials",
            "a server URL holds a user or password; they were removed",
            pointer,
            why="credentials come from the environment",
        )
        host = host.rsplit("@", 1)[1]
    if is_private(parts.hostname or ""):
        source.warn(
            "private-server",
            f"`{parts.hostname}` is an address of a private network",
            pointer,
            why="requests would go to whatever answers there, so whoever runs the server has to "
            "configure the base URL",
        )
    if parts.query or parts.fragment:
        source.warn("server-url", "the query or fragment of a server URL was removed", pointer)
    return urlunsplit((parts.scheme, host, parts.path, "", "")).rstrip("/")
