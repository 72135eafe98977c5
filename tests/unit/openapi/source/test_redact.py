"""Tests that files written into a project contain no credential of the document."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.openapi.lower.lower import lower
from mcpgen.openapi.resolve.resolve import resolve
from mcpgen.openapi.source.load import load
from mcpgen.openapi.source.secrets import redact_secrets

SECRET = "s3cr3t-0123456789abcdef"
DOCUMENT = f"""
openapi: 3.0.3
info: {{title: {SECRET}, version: '1'}}
servers: [{{url: 'https://robot:{SECRET}@api.example/v1'}}]
paths:
  /a:
    get:
      parameters:
        - {{name: token, in: query, schema: {{type: string, default: {SECRET}}}}}
      responses: {{'200': {{description: ok}}}}
"""


def read(path: Path, text: str) -> tuple[str, object]:
    path.write_text(text)
    problems = Problems()
    document = resolve(load(str(path), problems), problems)
    (file,) = redact_secrets(document, problems).files
    return file.content.decode(), lower(document, problems).operations[0].parameters[0].schema


def test_only_credentials_are_redacted(tmp_path: Path) -> None:
    kept, _ = read(tmp_path / "a.yaml", DOCUMENT)
    assert f"title: {SECRET}," in kept  # the same text, where it is no credential
    assert "https://robot:REDACTED@api.example/v1" in kept
    assert "default: REDACTED" in kept
    assert len(kept.splitlines()) == len(DOCUMENT.splitlines())


def test_a_redacted_document_is_parsed_without_further_changes(tmp_path: Path) -> None:
    kept, _ = read(tmp_path / "a.yaml", DOCUMENT)
    again, _ = read(tmp_path / "b.yaml", kept)
    assert again == kept


def test_a_credential_that_cannot_be_located_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    escaped = DOCUMENT.replace(f"default: {SECRET}", f'default: "\\x73{SECRET[1:]}"')
    path.write_text(escaped)
    problems = Problems()
    document = resolve(load(str(path), problems), problems)
    with pytest.raises(RejectedError):
        redact_secrets(document, problems)
    assert [problem.code for problem in problems] == ["secret-in-document"]
