"""One file, read and decoded, whatever its format."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path, PurePosixPath
from typing import Protocol

from msgspec import Struct

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.document import Secret
from mcpgen.ir.json_pointer import json_pointer
from mcpgen.ir.json_types import JsonValue
from mcpgen.spec.json_reader import JsonPositions, read_json
from mcpgen.spec.limits import Limits
from mcpgen.spec.secrets import find_secrets
from mcpgen.spec.source_text import SourceText, decode
from mcpgen.spec.yaml_composer import HAS_C_PARSER, compose_yaml

_JSON_START = re.compile(r'\s*(?:\{\s*["}]|\[\s*[\[{"\]])')


class Positions(Protocol):
    """A way from reference tokens to the offset and width of a value."""

    def offset(self, tokens: tuple[str, ...]) -> tuple[int, int]:
        """The place of the value, or the last one on the way to it."""


class ReadFile(Struct):
    """A decoded file with a way back to its text."""

    value: JsonValue
    source: SourceText
    positions: Positions
    _secrets: tuple[Secret, ...] | None = None

    def mask(self) -> tuple[Secret, ...]:
        """Hide the credentials in the file from excerpts of it, and give them."""
        if self._secrets is None:
            self._secrets = find_secrets(self.value)
            self.source.secrets = tuple(secret.text for secret in self._secrets)
        return self._secrets

    def location(self, tokens: tuple[str, ...]) -> Location:
        """The place of what stands at `tokens`, or the nearest place on the way to it."""
        if self._secrets is None:  # not before: a file without problems never shows an excerpt
            self.mask()
        offset, width = self.positions.offset(tokens)
        return self.source.location(offset, json_pointer(tokens), width)


def read_source_file(content: bytes, shown_as: str, problems: Problems, limits: Limits) -> ReadFile:
    """Read JSON as JSON and all else as YAML 1.2; the content decides, not the file's name.

    A file named .yaml that looks like JSON but is only YAML (trailing commas, comments) is read as
    what its name says.

    Raises:
        RejectedError: it is neither, or is beyond a limit.
    """
    source = decode(content, shown_as, problems)
    if not _JSON_START.match(source.text):
        return _as_yaml(source, problems, limits)
    attempt = Problems()
    try:
        value = read_json(source, attempt, limits)
    except RejectedError:
        is_only_syntax = {problem.code for problem in attempt} == {"json-syntax"}
        if is_only_syntax and PurePosixPath(shown_as).suffix.lower() in {".yaml", ".yml"}:
            with contextlib.suppress(RejectedError):
                return _as_yaml(source, Problems(), limits)
        problems.extend(attempt)
        raise
    problems.extend(attempt)
    return ReadFile(value, source, JsonPositions(source.text))


def _as_yaml(source: SourceText, problems: Problems, limits: Limits) -> ReadFile:
    if not HAS_C_PARSER and len(source.text) > 1_000_000:
        problems.note(
            "yaml-slow",
            "PyYAML was built without libyaml, so reading this document takes ten times as long",
            at=Location(source.shown_as),
            help="install a PyYAML wheel, which has libyaml built in",
        )
    value, positions = compose_yaml(source, problems, limits)
    return ReadFile(value, source, positions)


def read_bytes(path: Path, shown_as: str, max_bytes: int, problems: Problems) -> bytes:
    """Read a file that is no larger than `max_bytes`.

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
            why="there is nothing to generate from",
            help="name an OpenAPI file, or an http(s) URL of one",
        )
        raise RejectedError from None
    if len(content) > max_bytes:
        problems.error(
            "too-large",
            f"{shown_as} is larger than {max_bytes:,} bytes",
            at=Location(shown_as),
            why="a document is read into memory as a whole",
            help="split the API into several documents",
        )
        raise RejectedError
    return content
