"""Reading and decoding of one JSON or YAML file, with the position of each value."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path, PurePosixPath
from typing import Protocol

from msgspec import Struct

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.document import Secret
from mcpgen.jsonschema.types import JsonValue
from mcpgen.openapi.source.json_reader import JsonPositions, read_json
from mcpgen.openapi.source.limits import Limits
from mcpgen.openapi.source.secrets import find_secrets
from mcpgen.openapi.source.source_text import SourceText, decode
from mcpgen.openapi.source.yaml_composer import HAS_C_PARSER, compose_yaml
from mcpgen.text.json_pointer import json_pointer

_JSON_START = re.compile(r'\s*(?:\{\s*["}]|\[\s*[\[{"\]])')


class Positions(Protocol):
    """Text positions of the values of a file."""

    def offset(self, tokens: tuple[str, ...]) -> tuple[int, int]:
        """Return offset and width of the value at `tokens`, or of its nearest existing parent."""


class ReadFile(Struct):
    """A decoded file with its text and the positions of its values."""

    value: JsonValue
    source: SourceText
    positions: Positions
    _secrets: tuple[Secret, ...] | None = None

    def mask(self) -> tuple[Secret, ...]:
        """Mask the credentials of the file in excerpts; return them."""
        if self._secrets is None:
            self._secrets = find_secrets(self.value)
            self.source.secrets = tuple(secret.text for secret in self._secrets)
        return self._secrets

    def location(self, tokens: tuple[str, ...]) -> Location:
        """Return the location of the value at `tokens`, or of its nearest existing parent."""
        if self._secrets is None:  # deferred: a file without problems needs no excerpt
            self.mask()
        offset, width = self.positions.offset(tokens)
        return self.source.location(offset, json_pointer(tokens), width)


def read_source_file(content: bytes, shown_as: str, problems: Problems, limits: Limits) -> ReadFile:
    """Decode JSON or YAML 1.2; the content determines the format, not the file name.

    Only a file that looks like JSON and is invalid JSON (trailing commas, comments) is read as YAML
    if its name ends in .yaml or .yml.

    Raises:
        RejectedError: it is invalid, or exceeds a limit.
    """
    source = decode(content, shown_as, problems)
    if not _JSON_START.match(source.text):
        return _read_yaml(source, problems, limits)
    attempt = Problems()
    try:
        value = read_json(source, attempt, limits)
    except RejectedError:
        is_only_syntax = {problem.code for problem in attempt} == {"json-syntax"}
        if is_only_syntax and PurePosixPath(shown_as).suffix.lower() in {".yaml", ".yml"}:
            with contextlib.suppress(RejectedError):
                return _read_yaml(source, Problems(), limits)
        problems.extend(attempt)
        raise
    problems.extend(attempt)
    return ReadFile(value, source, JsonPositions(source.text))


def _read_yaml(source: SourceText, problems: Problems, limits: Limits) -> ReadFile:
    if not HAS_C_PARSER and len(source.text) > 1_000_000:
        problems.note(
            "yaml-slow",
            "PyYAML has no libyaml: reading this document takes ten times as long",
            at=Location(source.shown_as),
            help="install PyYAML from a wheel, which includes libyaml",
        )
    value, positions = compose_yaml(source, problems, limits)
    return ReadFile(value, source, positions)


def read_bytes(path: Path, shown_as: str, max_bytes: int, problems: Problems) -> bytes:
    """Read a file of at most `max_bytes` bytes.

    Raises:
        RejectedError: it is larger, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problems.error(
            "unreadable",
            f"cannot read {shown_as}: {reason}",
            at=Location(shown_as),
            why="there is no document to generate from",
            help="pass the path or the http(s) URL of an OpenAPI document",
        )
        raise RejectedError from None
    if len(content) > max_bytes:
        problems.error(
            "too-large",
            f"{shown_as} is larger than {max_bytes:,} bytes",
            at=Location(shown_as),
            why="the whole document is read into memory",
            help="split the API into several documents",
        )
        raise RejectedError
    return content
