"""Replacement of credentials in the files of a document, before they are copied to a project."""

from __future__ import annotations

from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.document import Document, SourceFile
from mcpgen.openapi.source.secrets import REDACTED
from mcpgen.text.json_pointer import json_pointer
from mcpgen.text.lines import text_lines


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
