"""From a file or URL to a `Document`: bounded, closed, and with a place for every node."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import NoReturn
from urllib.parse import urlsplit

from msgspec.structs import replace

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.document import Document, SourceFile
from mcpgen.ir.json_pointer import pointer_tokens
from mcpgen.ir.json_types import JsonObject, JsonValue
from mcpgen.spec.limits import DEFAULT_LIMITS, Limits
from mcpgen.spec.source_file import ReadFile, read_bytes, read_source_file
from mcpgen.spec.urls import is_url

SUPPORTED_VERSIONS = ("2.0", "3.0", "3.1", "3.2")
_VERSION = re.compile(r"(\d+\.\d+)(?:\.\d+)?(?:-.*)?\Z", re.DOTALL)

# What people hand over by mistake, by a key at its root.
_OTHER_KINDS = {
    "asyncapi": "an AsyncAPI document, which describes messages and no HTTP operations",
    "arazzo": "an Arazzo document, which describes workflows over other documents",
    "overlay": "an OpenAPI Overlay, which changes another document",
    "swaggerVersion": "a Swagger 1.x resource listing",
    "apiVersion": "a Kubernetes manifest or a Google discovery document",
    "discoveryVersion": "a Google discovery document",
    "item": "a Postman collection",
    "resources": "no API description that mcpgen knows",
    "$schema": "a JSON Schema",
    "mcpServers": "a client's list of MCP servers",
}


def load(
    source: str, problems: Problems, *, limits: Limits = DEFAULT_LIMITS, known_etag: str = ""
) -> Document:
    """Read an API description from a file path or an http(s) URL.

    Nothing that the document refers to is opened here; `resolve` does that.

    Raises:
        RejectedError: it cannot be read, is unsafe to read, or is no OpenAPI document of a
            supported version; an `UnreachableError` where a URL gave nothing.
        NotModifiedError: the URL still has the document that it called `known_etag`.
    """
    if is_url(source):
        from mcpgen.spec.fetch import fetch  # most documents are files, and need no TLS

        fetched = fetch(source, problems, limits, known_etag=known_etag)
        name = PurePosixPath(urlsplit(fetched.url).path).name or "openapi"
        document = _document(fetched.content, name, fetched.url, problems, limits, url=fetched.url)
        return replace(document, etag=fetched.etag)
    path = Path(source)
    content = read_bytes(path, source, limits.max_document_bytes, problems)
    return _document(content, path.name, source, problems, limits, path=path)


def _document(
    content: bytes,
    name: str,
    shown_as: str,
    problems: Problems,
    limits: Limits,
    *,
    path: Path | None = None,
    url: str | None = None,
) -> Document:
    file = read_source_file(content, shown_as, problems, limits)
    version = _version(file, problems)
    root: JsonObject = file.value
    return Document(
        root=root,
        version=version,
        shown_as=shown_as,
        path=path,
        url=url,
        files=(SourceFile(name, content),),
        locate=lambda pointer: file.location(pointer_tokens(pointer)),
        secrets=file.mask(),
    )


def _version(file: ReadFile, problems: Problems) -> str:
    """Give "2.0" to "3.2", or say why the document has none that is supported."""
    root: JsonValue = file.value
    if not isinstance(root, dict):
        held = "nothing" if root is None else f"{_json_type(root)} at its root"
        _reject_kind(file, f"not an API description: expected an object, found {held}", problems)
    key = next((key for key in ("openapi", "swagger") if key in root), None)
    if key is None:
        kind = next((kind for known, kind in _OTHER_KINDS.items() if known in root), "")
        said = f"; this looks like {kind}" if kind else ""
        _reject_kind(
            file, f"not an API description: no `openapi` or `swagger` at its root{said}", problems
        )
    written = root[key]
    # `swagger: 2.0` without quotes is a number in YAML, and published so.
    found = _VERSION.match(written if isinstance(written, str) else repr(written))
    if found and found[1] in SUPPORTED_VERSIONS and (found[1] == "2.0") == (key == "swagger"):
        return found[1]
    shown = str(written)[:20]
    problems.error(
        "unsupported-version",
        f"`{key}: {shown}` is not supported; supported are "
        f"{', '.join(SUPPORTED_VERSIONS[:-1])} and {SUPPORTED_VERSIONS[-1]}",
        at=file.location((key,)),
        why="each version of OpenAPI has its own meaning for the same words",
        help='use `swagger: "2.0"` or an `openapi` version such as "3.1.0", if that is what it is',
    )
    raise RejectedError


def _reject_kind(file: ReadFile, message: str, problems: Problems) -> NoReturn:
    problems.error(
        "not-an-api-description",
        message,
        at=file.location(()),
        why="tools are made of the operations of an OpenAPI document",
        help="name an OpenAPI 2.0, 3.0, 3.1 or 3.2 document in JSON or YAML",
    )
    raise RejectedError


def _json_type(value: JsonValue) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", int: "a number"}
    return names.get(type(value), "a number")
