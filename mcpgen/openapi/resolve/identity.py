"""Detection whether two documents describe the same API, by title, hosts and operations."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

from mcpgen.ir.document import Document
from mcpgen.openapi.lower.lower import operations
from mcpgen.openapi.lower.nodes import Node
from mcpgen.text.uri_template import mask_variables

_MOST = 0.5
_NEARLY_ALL = 0.8
_SEVERAL = 3


class Identity(Struct, frozen=True):
    """Properties of a document that identify its API."""

    title: str
    hosts: frozenset[str]
    operations: frozenset[str]  # "GET /pets/{}"
    operation_ids: frozenset[str]

    def overlap(self, other: Identity) -> float:
        """Return the share of common operations, relative to the smaller document (0 to 1)."""
        return max(
            _share(self.operations, other.operations),
            _share(self.operation_ids, other.operation_ids),
        )

    def is_same_api(self, other: Identity) -> bool:
        """Return whether both describe the same API, possibly in different versions.

        Without a common title or host, more operations must be common. A title alone is weak
        evidence, since many are "FastAPI", and any two services may have `GET /health`.
        """
        overlap = self.overlap(other)
        has_title = self.title.casefold() == other.title.casefold()
        has_host = bool(self.hosts & other.hosts)
        if not (self.operations and other.operations):
            return has_title or has_host
        if has_title and has_host:
            return overlap > 0
        if has_title or has_host:
            return overlap > _MOST
        return overlap >= _NEARLY_ALL and len(self.operations & other.operations) >= _SEVERAL


def identify(document: Document) -> Identity:
    """Read the identity of a document."""
    root = Node(document.root, "")
    found = list(operations(document.root))
    return Identity(
        root.child("info").text("title").strip(),
        frozenset(_hosts(root)),
        frozenset(f"{each.method.upper()} {mask_variables(each.path)}" for each in found),
        frozenset(Node(each.node, "").text("operationId") for each in found) - {""},
    )


def _hosts(root: Node) -> set[str]:
    urls = [server.text("url") for server in root.child("servers").elements()]
    urls.append(f"//{root.text('host')}")  # of OpenAPI 2.0
    hosts: set[str] = set()
    for url in urls:
        try:
            hosts.add((urlsplit(url).hostname or "").lower())
        except ValueError:
            continue
    return hosts - {""}


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0
