"""`server.json`: the entry of the MCP registry (schema 2025-12-11), from that of the project."""

from __future__ import annotations

from mcpgen.factory.bundle.description import Bundle, BundleDescription
from mcpgen.factory.bundle.json_file import encode_file
from mcpgen.jsonschema.types import JsonObject


def build_server_json(description: BundleDescription) -> Bundle:
    """Return the folder with the file: its versions are the package's, its remote the public URL.

    Everything else is as the owner of the project wrote it.
    """
    entry: JsonObject = {**description.registry_entry, "version": description.version}
    if "packages" in entry:
        entry["packages"] = [
            {**it, "version": description.version} if _is_own(it, description) else it
            for it in entry["packages"]
        ]
    if description.repository and "repository" not in entry:
        entry |= _describe_repository(description.repository)
    if description.public_url:
        remote = {"type": "streamable-http", "url": description.public_url}
        others = [it for it in entry.get("remotes", ()) if it.get("url") != description.public_url]
        known = [it for it in entry.get("remotes", ()) if it.get("url") == description.public_url]
        entry["remotes"] = [*others, *(known or [remote])]
    return Bundle("server-json", "server-json", {"server.json": encode_file(entry)})


def _is_own(package: JsonObject, description: BundleDescription) -> bool:
    return (package.get("registryType"), package.get("identifier")) == (
        "pypi",
        description.distribution,
    )


def _describe_repository(url: str) -> JsonObject:
    """Return the member `repository`; the registry accepts the two hosts that it can check."""
    for host in ("github", "gitlab"):
        if url.startswith(f"https://{host}.com/"):
            return {"repository": {"url": url, "source": host}}
    return {}
