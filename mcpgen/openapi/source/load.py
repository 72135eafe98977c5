"""Loading of an OpenAPI document from a file or URL, and detection of its OpenAPI version."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import NoReturn
from urllib.parse import urlsplit

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.document import Document, SourceFile
from mcpgen.jsonschema.types import JsonValue
from mcpgen.openapi.source.source_file import ReadFile, read_bytes, read_source_file
from mcpgen.openapi.source.source_text import DEFAULT_LIMITS, Limits, describe_type
from mcpgen.openapi.source.urls import is_url
from mcpgen.text.json_pointer import pointer_tokens

SUPPORTED_VERSIONS = ("2.0", "3.0", "3.1", "3.2")
_VERSION = re.compile(r"(\d+\.\d+)(?:\.\d+)?(?:-.*)?\Z", re.DOTALL)

# Other formats that users pass by mistake, by a key at their root.
_OTHER_KINDS = {
    "asyncapi": "an AsyncAPI document, which describes messages, not HTTP operations",
    "arazzo": "an Arazzo document, which describes workflows over other documents",
    "overlay": "an OpenAPI Overlay, which changes another document",
    "swaggerVersion": "a Swagger 1.x resource listing",
    "apiVersion": "a Kubernetes manifest or a Google discovery document",
    "discoveryVersion": "a Google discovery document",
    "item": "a Postman collection",
    "resources": "an API description in an unknown format",
    "$schema": "a JSON Schema",
    "mcpServers": "a client's list of MCP servers",
}


def load(
    source: str, problems: Problems, *, limits: Limits = DEFAULT_LIMITS, known_etag: str = ""
) -> Document:
    """Read an API description from a file path or an http(s) URL.

    The files of its references are not opened; `resolve` opens them.

    Raises:
        RejectedError: it cannot be read, exceeds a limit, or is not an OpenAPI document of a
            supported version; the subclass `UnreachableError` if the download failed.
        NotModifiedError: the entity tag of the URL's document is still `known_etag`.
    """
    path = url = None
    etag = ""
    if is_url(source):
        from mcpgen.openapi.source.fetch import fetch  # slow; most documents are files

        fetched = fetch(source, problems, limits, known_etag=known_etag)
        content, url, etag = fetched.content, fetched.url, fetched.etag
        source, name = url, PurePosixPath(urlsplit(url).path).name or "openapi"
    else:
        path = Path(source)
        name, content = path.name, read_bytes(path, source, limits.max_document_bytes, problems)
    file = read_source_file(content, source, problems, limits)
    return Document(
        root=file.value,
        version=_detect_version(file, problems),
        shown_as=source,
        path=path,
        url=url,
        files=(SourceFile(name, content),),
        locate=lambda pointer: file.location(pointer_tokens(pointer)),
        secrets=file.mask(),
        etag=etag,
    )


def _detect_version(file: ReadFile, problems: Problems) -> str:
    """Return "2.0" to "3.2"; reject other documents."""
    root: JsonValue = file.value
    if not isinstance(root, dict):
        actual = "nothing" if root is None else f"{describe_type(root)} at its root"
        _reject_kind(file, f"not an OpenAPI document: expected an object, found {actual}", problems)
    key = next((key for key in ("openapi", "swagger") if key in root), None)
    if key is None:
        kind = next((kind for known, kind in _OTHER_KINDS.items() if known in root), "")
        hint = f"; this looks like {kind}" if kind else ""
        _reject_kind(
            file, f"not an OpenAPI document: missing `openapi` or `swagger`{hint}", problems
        )
    written = root[key]
    # `swagger: 2.0` without quotes is a number in YAML; published documents have it.
    found = _VERSION.match(written if isinstance(written, str) else repr(written))
    if found and found[1] in SUPPORTED_VERSIONS and (found[1] == "2.0") == (key == "swagger"):
        return found[1]
    shown = str(written)[:20]
    problems.error(
        "unsupported-version",
        f"unsupported version `{key}: {shown}`; expected "
        f"{', '.join(SUPPORTED_VERSIONS[:-1])} or {SUPPORTED_VERSIONS[-1]}",
        at=file.location((key,)),
        why="the same keys have different meanings in each version of OpenAPI",
        help='if the document follows a supported version, write `swagger: "2.0"` or for example'
        ' `openapi: "3.1.0"`',
    )
    raise RejectedError


def _reject_kind(file: ReadFile, message: str, problems: Problems) -> NoReturn:
    problems.error(
        "not-an-api-description",
        message,
        at=file.location(()),
        why="tools are generated from the operations of an OpenAPI document",
        help="pass an OpenAPI 2.0, 3.0, 3.1 or 3.2 document in JSON or YAML",
    )
    raise RejectedError
