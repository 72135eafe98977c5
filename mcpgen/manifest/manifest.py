"""Reading and validation of `mcpgen.yaml`, by its JSON Schema and by further checks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mcpgen.contract.http_names import is_reserved_header
from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.manifest import HeaderEntry, LocatedManifest, Manifest
from mcpgen.ir.manifest_entries import EFFECTS, Tokens, is_bulk_key
from mcpgen.manifest.credential_sources import check_credentials
from mcpgen.manifest.typed_file import TypedFile, read_typed
from mcpgen.text.secret_names import is_secret_name
from mcpgen.text.secret_values import has_token_shape


def check_headers(file: TypedFile[Manifest]) -> None:
    """Report headers that a manifest must not set, and secrets in their values."""
    manifest = file.value
    hosts = len(manifest.sources) + len(manifest.tools)
    for tokens, headers in _iterate_headers(manifest):
        names: set[str] = set()
        for name, header in headers.items():
            at = (*tokens, name)
            is_secret = is_secret_name(name.lower())
            if isinstance(header, HeaderEntry) and header.secret is not None:
                is_secret = header.secret
            if name.lower() in names:
                file.refuse(at, f"duplicate header `{name}`", "remove one of them")
            elif is_reserved_header(name):
                file.refuse(
                    at,
                    f"the header `{name}` cannot be set",
                    "credentials belong to security schemes, and the HTTP client sets the others",
                )
            elif isinstance(header, str) and (is_secret or has_token_shape(header)):
                file.refuse(
                    at,
                    f"the value of the header `{name}` is a secret",
                    f"take it from the environment: `{name}: {{from_environment: NAME}}`",
                )
            elif is_secret and tokens == ("headers",) and hosts > 1:
                file.refuse(
                    at,
                    f"the header `{name}` would send a secret to several APIs",
                    "move it to `headers` of the source that needs it",
                )
            names.add(name.lower())


def check_idempotency_headers(file: TypedFile[Manifest]) -> None:
    """Report headers that cannot carry an idempotency key."""
    for operation, entry in file.value.operations.items():
        name = entry.idempotency_header or ""
        if name.endswith("\n") or is_reserved_header(name) or is_secret_name(name.lower()):
            file.refuse(
                ("operations", operation, "idempotency_header"),
                f"the header `{name.strip()}` cannot carry an idempotency key",
                "name the header of the API for that: `Idempotency-Key`",
            )


def _iterate_headers(
    manifest: Manifest,
) -> Iterator[tuple[Tokens, Mapping[str, str | HeaderEntry]]]:
    yield ("headers",), manifest.headers
    for number, source in enumerate(manifest.sources):
        yield ("sources", str(number), "headers"), source.headers


SERVER_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
_SCHEMA_COMMENT = re.compile(rb"^#[ \t]*yaml-language-server:[ \t]*\$schema=(\S+)", re.MULTILINE)
_MAX_NAME = 60
_OF_ONE_OPERATION = ("name", "aliases", "title", "description", "poll", "result.select", "view")
NAME_RULE = (
    "use lower-case words of letters and digits, joined by `-`, beginning with a letter, "
    f"{_MAX_NAME} characters at most"
)


def read_manifest(
    content: bytes, problems: Problems, shown_as: str = MANIFEST_FILE
) -> LocatedManifest:
    """Read the manifest; `shown_as` is its name in diagnostics.

    Raises:
        RejectedError: it is invalid.
    """
    file = read_typed(content, shown_as, Manifest, "manifest", problems)
    before = len(problems)
    name = file.value.server.name
    if not is_server_name(name):
        file.refuse(("server", "name"), f"invalid server name `{name}`", NAME_RULE)
    _check_sources(file)
    _check_rules(file)
    _check_wide_entries(file)
    check_headers(file)
    check_idempotency_headers(file)
    check_credentials(file)
    if len(problems) > before:
        raise RejectedError
    comment = _SCHEMA_COMMENT.search(content)
    schema = "" if comment is None else comment[1].decode("utf-8", "replace").removeprefix("./")
    return LocatedManifest(file.value, file.at, file.stated, schema)


def is_server_name(text: str) -> bool:
    """Return whether `text` is a valid server name."""
    return bool(SERVER_NAME.match(text)) and len(text) <= _MAX_NAME


def _check_sources(file: TypedFile[Manifest]) -> None:
    sources = file.value.sources
    if not sources and not file.value.tools and (file.value.select or file.value.operations):
        key = "select" if file.value.select else "operations"
        file.refuse(
            (key,),
            f"`{key}` without a document: `sources` is empty",
            f"add a source, or remove `{key}`",
        )
    names = [source.name for source in sources]
    for number, name in enumerate(names):
        if is_bulk_key(f"{name}:"):
            file.refuse(
                ("sources", str(number), "name"),
                f"reserved name of a source: `{name}`",
                f"use another name: keys of `operations` for many operations begin with `{name}:`",
            )
        if name in names[:number]:
            file.refuse(
                ("sources", str(number), "name"),
                f"duplicate source name `{name}`" if name else "missing `name` of a second source",
                "write a unique `name`",
            )
    documents = [source.document for source in sources]
    for number, document in enumerate(documents):
        if document in documents[:number]:
            file.refuse(
                ("sources", str(number), "document"),
                f"duplicate document `{document}` of two sources",
                "remove one of the two",
            )


def _check_rules(file: TypedFile[Manifest]) -> None:
    for number, rule in enumerate(file.value.select):
        if (rule.include is None) == (rule.exclude is None):
            file.refuse(
                ("select", str(number)),
                "expected one `include` or one `exclude` in a rule",
                "split it in two",
            )


def _check_wide_entries(file: TypedFile[Manifest]) -> None:
    """Report unknown effects, and settings that only a single operation can have."""
    stated = file.stated.get("operations") or {}
    for key in filter(is_bulk_key, file.value.operations):
        if key.startswith("effect:") and key.removeprefix("effect:") not in EFFECTS:
            effects = ", ".join(f"`effect:{effect}`" for effect in EFFECTS)
            file.refuse(("operations", key), f"unknown effect `{key}`", f"use {effects}")
        for setting in _OF_ONE_OPERATION:
            value = stated.get(key)
            tokens = setting.split(".")
            for token in tokens:
                value = value.get(token) if isinstance(value, dict) else None
            if value is not None:
                file.refuse(
                    ("operations", key, *tokens),
                    f"`{setting}` cannot be set for many operations",
                    "set it in the entry of one operation",
                )
