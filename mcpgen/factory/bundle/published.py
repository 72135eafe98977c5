"""The version of a server in the MCP registry, by the registry's API (`/v0.1/servers`)."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from msgspec import Struct

from mcpgen.pipeline.project.project_folder import read_file
from mcpgen.pipeline.project.surfaces import find_package_version

OFFICIAL_REGISTRY: Final = "https://registry.modelcontextprotocol.io"
_TIMEOUT_SECONDS: Final = 20
_MAX_BYTES: Final = 1_000_000
_OFFICIAL: Final = "io.modelcontextprotocol.registry/official"


class UnusableRegistryError(Exception):
    """The registry cannot be reached, or its answer is invalid."""


class LocalServer(Struct, frozen=True):
    """Name and version of a project for the registry; "" if it states none."""

    name: str  # "io.github.shop/petstore-mcp"
    version: str


class Published(Struct, frozen=True):
    """The latest version in a registry."""

    registry: str  # the host
    version: str = ""  # "" if the registry does not have the server
    status: str = ""  # "active", "deprecated", "deleted"
    published_at: str = ""


def read_local_server(target: Path) -> LocalServer:
    """Read the name in `server.json` and the version of the package."""
    try:
        entry = json.loads(read_file(target, "server.json") or b"")
        name = entry["name"]
    except (ValueError, KeyError, TypeError, RecursionError):
        name = ""
    version = find_package_version(partial(read_file, target))
    return LocalServer(name if isinstance(name, str) else "", version)


def find_published(registry: str, name: str) -> Published:
    """Ask a registry for the latest version of a server.

    Raises:
        UnusableRegistryError: it cannot be reached, or its answer is invalid.
    """
    parts = urlsplit(registry)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UnusableRegistryError("it is not an http or https URL")
    host = parts.netloc.rpartition("@")[2]
    url = f"{registry.rstrip('/')}/v0.1/servers/{quote(name, safe='')}/versions/latest"
    content = _fetch(url)
    if content is None:
        return Published(host)
    try:
        answer = json.loads(content)
        server = answer["server"]
        found, version = server["name"], server["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UnusableRegistryError("its answer is not that of a registry") from None
    if found != name or not isinstance(version, str) or not version:
        raise UnusableRegistryError("its answer is about another server, or states no version")
    meta = answer.get("_meta")
    official = meta.get(_OFFICIAL) if isinstance(meta, dict) else None
    return Published(
        host, version, _read_text(official, "status"), _read_text(official, "publishedAt")
    )


def _fetch(url: str) -> bytes | None:
    """Fetch a JSON document; None if there is none (404)."""
    request = urllib.request.Request(  # noqa: S310  (`find_published` checks the scheme)
        url, headers={"Accept": "application/json", "User-Agent": "mcpgen"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310
            content: bytes = answer.read(_MAX_BYTES + 1)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.NOT_FOUND:
            return None
        raise UnusableRegistryError(f"it returned {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        reason = getattr(error.reason, "strerror", None) or str(error.reason)
        raise UnusableRegistryError(reason) from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise UnusableRegistryError(str(error) or type(error).__name__) from None
    if len(content) > _MAX_BYTES:
        raise UnusableRegistryError(f"its answer is larger than {_MAX_BYTES:,} bytes")
    return content


def _read_text(value: Any, key: str) -> str:
    text = value.get(key) if isinstance(value, dict) else None
    return text if isinstance(text, str) else ""
