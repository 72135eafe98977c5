"""Evidence of bundles, and of the version in the registry."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from mcpgen.factory.bundle.description import Bundle
from mcpgen.factory.bundle.published import LocalServer, Published
from mcpgen.jsonschema.types import JsonObject


def collect_bundle_evidence(version: str, bundles: Sequence[Bundle]) -> JsonObject:
    """Return what `.mcpgen/evidence/bundle.json` records: formats, paths and hashes.

    Paths are relative to the output folder, which is not recorded.
    """
    formats = [bundle.format for bundle in bundles]
    return {
        "outcome": "passed",
        "result": f"{version}: {', '.join(formats)}",
        "version": version,
        "formats": formats,
        "bundles": [_describe(bundle) for bundle in bundles],
    }


def _describe(bundle: Bundle) -> JsonObject:
    described: JsonObject = {"format": bundle.format, "path": bundle.path}
    if isinstance(bundle.content, bytes):
        return described | {"sha256": hashlib.sha256(bundle.content).hexdigest()}
    return described | {"files": len(bundle.content), "sha256": _hash_folder(bundle.content)}


def _hash_folder(files: Mapping[str, bytes]) -> str:
    """Hash files with their paths, sorted by path."""
    digest = hashlib.sha256()
    for path, content in sorted(files.items()):
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def collect_published_evidence(local: LocalServer, published: Published) -> JsonObject:
    """Return what `.mcpgen/evidence/published.json` records."""
    is_same = published.version == local.version
    if not published.version:
        result = f"not in {published.registry}"
    elif is_same:
        result = f"{published.version} in {published.registry}"
    else:
        result = f"{published.version} in {published.registry}, {local.version} here"
    return {
        "outcome": "passed" if is_same else "failed",
        "result": result,
        "registry": published.registry,
        "name": local.name,
        "version": published.version,
        "local_version": local.version,
        "status": published.status,
        "published_at": published.published_at,
    }
