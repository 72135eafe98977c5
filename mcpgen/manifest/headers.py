"""Checks of the default headers in a manifest: reserved names, duplicates and secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mcpgen.contract.http_names import is_reserved_header
from mcpgen.diagnostics import Problems
from mcpgen.ir.manifest import HeaderEntry, Manifest, Tokens
from mcpgen.manifest.typed_file import TypedFile
from mcpgen.openapi.source.secrets import has_token_shape
from mcpgen.text.secret_names import is_secret_name


def check_headers(file: TypedFile[Manifest], problems: Problems) -> None:
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
                file.refuse(problems, at, f"duplicate header `{name}`", "remove one of them")
            elif is_reserved_header(name):
                file.refuse(
                    problems,
                    at,
                    f"the header `{name}` cannot be set",
                    "credentials belong to security schemes, and the HTTP client sets the others",
                )
            elif isinstance(header, str) and (is_secret or has_token_shape(header)):
                file.refuse(
                    problems,
                    at,
                    f"the value of the header `{name}` is a secret",
                    f"take it from the environment: `{name}: {{from_environment: NAME}}`",
                )
            elif is_secret and tokens == ("headers",) and hosts > 1:
                file.refuse(
                    problems,
                    at,
                    f"the header `{name}` would send a secret to several APIs",
                    "move it to `headers` of the source that needs it",
                )
            names.add(name.lower())


def check_idempotency_headers(file: TypedFile[Manifest], problems: Problems) -> None:
    """Report headers that cannot carry an idempotency key."""
    for operation, entry in file.value.operations.items():
        name = entry.idempotency_header or ""
        if name.endswith("\n") or is_reserved_header(name) or is_secret_name(name.lower()):
            file.refuse(
                problems,
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
