"""Reading and validation of `mcpgen.yaml`, by its JSON Schema and by further checks."""

from __future__ import annotations

import re

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.file_set import MANIFEST_FILE
from mcpgen.ir.manifest import EFFECTS, LocatedManifest, Manifest, is_bulk_key
from mcpgen.manifest.headers import check_headers, check_idempotency_headers
from mcpgen.manifest.typed_file import TypedFile, read_typed

SERVER_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
_SCHEMA_COMMENT = re.compile(rb"^#[ \t]*yaml-language-server:[ \t]*\$schema=(\S+)", re.MULTILINE)
_MAX_NAME = 60
_OF_ONE_OPERATION = (
    ("name",),
    ("aliases",),
    ("title",),
    ("description",),
    ("poll",),
    ("result", "select"),
)
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
    _check_server(file, problems)
    _check_sources(file, problems)
    _check_rules(file, problems)
    _check_wide_entries(file, problems)
    check_headers(file, problems)
    check_idempotency_headers(file, problems)
    if len(problems) > before:
        raise RejectedError
    return LocatedManifest(
        file.value, lambda tokens: file.at(*tokens), file.stated, _find_schema_file(content)
    )


def _find_schema_file(content: bytes) -> str:
    found = _SCHEMA_COMMENT.search(content)
    return "" if found is None else found[1].decode("utf-8", "replace").removeprefix("./")


def is_server_name(text: str) -> bool:
    """Return whether `text` is a valid server name."""
    return bool(SERVER_NAME.match(text)) and len(text) <= _MAX_NAME


def _check_server(file: TypedFile[Manifest], problems: Problems) -> None:
    name = file.value.server.name
    if not is_server_name(name):
        file.refuse(problems, ("server", "name"), f"invalid server name `{name}`", NAME_RULE)


def _check_sources(file: TypedFile[Manifest], problems: Problems) -> None:
    sources = file.value.sources
    if not sources and not file.value.tools and (file.value.select or file.value.operations):
        key = "select" if file.value.select else "operations"
        file.refuse(
            problems,
            (key,),
            f"`{key}` without a document: `sources` is empty",
            f"add a source, or remove `{key}`",
        )
    names = [source.name for source in sources]
    for number, name in enumerate(names):
        if is_bulk_key(f"{name}:"):
            file.refuse(
                problems,
                ("sources", str(number), "name"),
                f"reserved name of a source: `{name}`",
                f"use another name: keys of `operations` for many operations begin with `{name}:`",
            )
        if name in names[:number]:
            file.refuse(
                problems,
                ("sources", str(number), "name"),
                f"duplicate source name `{name}`" if name else "missing `name` of a second source",
                "write a unique `name`",
            )
    documents = [source.document for source in sources]
    for number, document in enumerate(documents):
        if document in documents[:number]:
            file.refuse(
                problems,
                ("sources", str(number), "document"),
                f"duplicate document `{document}` of two sources",
                "remove one of the two",
            )


def _check_rules(file: TypedFile[Manifest], problems: Problems) -> None:
    for number, rule in enumerate(file.value.select):
        if (rule.include is None) == (rule.exclude is None):
            file.refuse(
                problems,
                ("select", str(number)),
                "expected one `include` or one `exclude` in a rule",
                "split it in two",
            )


def _check_wide_entries(file: TypedFile[Manifest], problems: Problems) -> None:
    """Report unknown effects, and settings that only a single operation can have."""
    stated = file.stated.get("operations") or {}
    for key in filter(is_bulk_key, file.value.operations):
        if key.startswith("effect:") and key.removeprefix("effect:") not in EFFECTS:
            effects = ", ".join(f"`effect:{effect}`" for effect in EFFECTS)
            file.refuse(problems, ("operations", key), f"unknown effect `{key}`", f"use {effects}")
        for setting in _OF_ONE_OPERATION:
            value = stated.get(key)
            for token in setting:
                value = value.get(token) if isinstance(value, dict) else None
            if value is not None:
                file.refuse(
                    problems,
                    ("operations", key, *setting),
                    f"`{'.'.join(setting)}` cannot be set for many operations",
                    "set it in the entry of one operation",
                )
