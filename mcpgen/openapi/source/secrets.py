"""Credentials in a document: their detection, and their replacement before files are copied."""

from __future__ import annotations

import re

from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.document import Document, Secret, SourceFile
from mcpgen.jsonschema.types import JsonValue
from mcpgen.text.json_pointer import Path, json_pointer, path_tokens
from mcpgen.text.prose import text_lines
from mcpgen.text.secret_values import (
    MIN_SECRET_LENGTH,
    REDACTED,
    find_token,
    is_opaque,
    is_secret_default,
)

_CONTAINERS = (dict, list)
_USERINFO = re.compile(r"://[^/\s@:{}]*:(?P<secret>[^/\s@{}]+)@")
_SHOWN_TO_READERS = frozenset({"description", "example", "examples", "summary"})


def find_secrets(root: JsonValue) -> tuple[Secret, ...]:
    """Find credentials in server URLs, in security schemes, and in defaults of secret parameters.

    Examples are ignored: their credentials are fictitious, and they are never sent.
    """
    secrets: list[Secret] = []
    seen: set[int] = set()

    def visit(node: JsonValue, path: Path, name: str) -> None:
        """Search an object or array, which belongs to the parameter or property `name`."""
        seen.add(id(node))
        if isinstance(node, list):
            for index, value in enumerate(node):
                if isinstance(value, _CONTAINERS) and id(value) not in seen:
                    visit(value, (path, index), name)
            return
        if "in" in node and isinstance(node.get("name"), str):
            name = node["name"]
        is_map = path is not None and path[1] == "properties"
        for key, value in node.items():
            if isinstance(value, str):
                if (
                    len(value) >= MIN_SECRET_LENGTH
                    and key not in _SHOWN_TO_READERS
                    and not (key == "$ref" and value.startswith("#"))
                    and (found := _extract_secret(path, key, value, name))
                    and found != REDACTED
                ):
                    secrets.append(Secret(path_tokens((path, key)), found))
            elif (
                isinstance(value, _CONTAINERS)
                and key not in _SHOWN_TO_READERS
                and id(value) not in seen
            ):
                visit(value, (path, key), key if is_map else name)

    if isinstance(root, _CONTAINERS):
        visit(root, None, "")
    return tuple(secrets)


def _extract_secret(path: Path, key: str, value: str, name: str) -> str:
    """Return the credential in one string, or ""."""
    if key == "url" and (userinfo := _USERINFO.search(value)):
        return userinfo["secret"]
    if shaped := find_token(value):
        return shaped
    if key == "default":
        return value if is_secret_default(name, value) else ""
    if not key.startswith("x-") or not is_opaque(value):
        return ""
    within = path_tokens(path)[:2]
    return value if "securitySchemes" in within or "securityDefinitions" in within else ""


def redact_secrets(document: Document, problems: Problems) -> Document:
    """Replace the credentials in the document's files by `REDACTED`.

    `root` is unchanged; lowering ignores the credentials in it.

    Raises:
        RejectedError: a credential is written with escapes, so that the text does not contain it.
    """
    files = {file.name: file for file in document.files}
    for secret in document.secrets:
        at = document.locate(json_pointer(secret.tokens))
        name = _find_file(at, document)
        text = _redact(files[name].content.decode("utf-8", "surrogateescape"), at, secret.text)
        if text is None:
            problems.error(
                "secret-in-document",
                "credential in the document, written with escapes",
                at=at,
                why="the document is copied into the project, and the credential with it",
                help="remove it from the document, and revoke it",
            )
            raise RejectedError
        files[name] = SourceFile(name, text.encode("utf-8", "surrogateescape"))
    return replace(document, files=tuple(files.values()))


def _find_file(at: Location, document: Document) -> str:
    root, *others = document.files
    if at.file == document.shown_as:
        return root.name
    return next((file.name for file in others if at.file.endswith(file.name)), root.name)


def _redact(text: str, at: Location, secret: str) -> str | None:
    """Replace the first `secret` at or after the location; None if there is none."""
    lines = text_lines(text)
    start = sum(map(len, lines[: at.line - 1])) + max(at.column - 1, 0)
    found = text.find(secret, start)
    return None if found < 0 else text[:found] + REDACTED + text[found + len(secret) :]
