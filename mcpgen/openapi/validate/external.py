"""Validation with openapi-spec-validator in a restricted child process, with a cache."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from mcpgen.cache_files import store
from mcpgen.child_script import ChildScript
from mcpgen.jsonschema.types import JsonObject

_PROGRAM: Final = Path(__file__).with_name("external_program.py")
_VALIDATOR: Final = "openapi-spec-validator"
_SECONDS: Final = 5
_START_SECONDS: Final = 30  # for the import of the validator


class ExternalFinding(Struct, frozen=True):
    """One finding of the validator: its place in the document, and its message."""

    tokens: tuple[str, ...]
    message: str


_FINDINGS = tuple[ExternalFinding, ...]


class ExternalResult(Struct, frozen=True):
    """The findings of the validator, or the reason for their absence."""

    findings: tuple[ExternalFinding, ...] = ()
    failure: str = ""


class PendingResult:
    """A result of the validator that may still be running."""

    def __init__(self, wait: Callable[[], ExternalResult]) -> None:
        self.join = functools.cache(wait)


def start_validation(root: JsonObject, cache_folder: Path | None = None) -> PendingResult:
    """Start openapi-spec-validator for a self-contained document; do not wait for it.

    The result is cached in `cache_folder` by the hash of the document and the validator's version.
    At most one document is validated at a time.
    """
    document = json.dumps(root, sort_keys=True).encode()
    entry = _cache_path(document, cache_folder) if cache_folder else None
    if entry is not None and (cached := _read_cache(entry)) is not None:
        return PendingResult(lambda: cached)
    while _pending:
        _pending.pop().join()
    try:
        child = ChildScript(_PROGRAM, document, str(_SECONDS), folder=tempfile.gettempdir())
    except OSError as error:
        failed = ExternalResult(failure=f"it could not be started: {error.strerror}")
        return PendingResult(lambda: failed)
    _pending.append(PendingResult(lambda: _receive(child, entry)))
    return _pending[-1]


_pending: list[PendingResult] = []  # at most one


def _receive(child: ChildScript, entry: Path | None) -> ExternalResult:
    """Wait for the answer of the child process and cache the findings."""
    too_slow = ExternalResult(failure=f"it took more than {_SECONDS} seconds")
    try:
        done = child.join(_START_SECONDS + _SECONDS)
    except TimeoutError:
        return too_slow
    if b"Timeout (" in done.stderr:  # of its `faulthandler`
        return too_slow
    if done.returncode:
        return ExternalResult(failure=f"it stopped with status {done.returncode}")
    if not done.stdout:
        return ExternalResult(failure="it stopped without an answer")
    try:
        answer = json.loads(done.stdout)
        if "stopped" in answer:
            return ExternalResult(failure=f"it stopped with {answer['stopped']}")
        result = ExternalResult(msgspec.convert(answer["findings"], _FINDINGS))
    except (ValueError, msgspec.ValidationError):
        return ExternalResult(failure="its answer was invalid")
    if entry is not None:
        store(entry, msgspec.json.encode(result.findings))
    return result


def _cache_path(document: bytes, folder: Path) -> Path:
    version = importlib.metadata.version(_VALIDATOR)
    digest = hashlib.sha256(f"{_VALIDATOR} {version}\n".encode() + document).hexdigest()
    return folder / f"findings-{digest}.json"


def _read_cache(entry: Path) -> ExternalResult | None:
    try:
        return ExternalResult(msgspec.convert(json.loads(entry.read_bytes()), _FINDINGS))
    except (OSError, ValueError, msgspec.ValidationError):
        return None
