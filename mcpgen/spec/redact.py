"""The files of a document without the credentials in them, fit to be written and committed."""

from __future__ import annotations

import re

from msgspec.structs import replace

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.document import Document, SourceFile
from mcpgen.ir.json_pointer import json_pointer
from mcpgen.spec.secrets import REDACTED

_LINE = re.compile(r"(?:[^\r\n]*(?:\r\n|\r|\n))|[^\r\n]+")


def without_secrets(document: Document, problems: Problems) -> Document:
    """Give the document with `REDACTED` in its files where a credential stands in a string.

    `root` stays as it is: nothing that lowering makes of it holds a credential.

    Raises:
        RejectedError: a credential is spelled in its file in a way that it cannot be found there.
    """
    files = {file.name: file for file in document.files}
    for secret in document.secrets:
        at = document.locate(json_pointer(secret.tokens))
        name = _file_of(at, document)
        text = _redacted(files[name].content.decode("utf-8", "surrogateescape"), at, secret.text)
        if text is None:
            problems.error(
                "secret-in-document",
                "a credential stands in the document, spelled with escapes",
                at=at,
                why="the document is copied into the project, where the credential would stay",
                help="remove it here, and revoke it where it was issued",
            )
            raise RejectedError
        files[name] = SourceFile(name, text.encode("utf-8", "surrogateescape"))
    return replace(document, files=tuple(files.values()))


def _file_of(at: Location, document: Document) -> str:
    root, *others = document.files
    if at.file == document.shown_as:
        return root.name
    return next((file.name for file in others if at.file.endswith(file.name)), root.name)


def _redacted(text: str, at: Location, secret: str) -> str | None:
    """Replace the first `secret` from the place on; None if none is there."""
    lines = _LINE.findall(text)
    start = sum(map(len, lines[: at.line - 1])) + max(at.column - 1, 0)
    found = text.find(secret, start)
    return None if found < 0 else text[:found] + REDACTED + text[found + len(secret) :]
