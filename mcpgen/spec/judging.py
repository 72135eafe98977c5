"""Asks openapi-spec-validator for its verdict without trusting it with anything."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from mcpgen.ir.json_types import JsonObject, JsonValue
from mcpgen.spec.outside_process import OutsideProcess

_PROGRAM: Final = Path(__file__).with_name("outside_judge.py")
_JUDGE: Final = "openapi-spec-validator"
_SECONDS: Final = 30


class Objection(Struct, frozen=True):
    """One thing that the judge found: its place in the document, and its own words."""

    tokens: tuple[str, ...]
    message: str


class Judgement(Struct, frozen=True):
    """A verdict, or the reason why there is none."""

    objections: tuple[Objection, ...] = ()
    gave_up: str = ""


def judge(
    root: JsonObject,
    cache_folder: Path | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> Judgement:
    """Let openapi-spec-validator judge a self-contained document in a bounded child process.

    A verdict is kept in `cache_folder` under the hash of the document and the judge's version.
    Where there is none yet, `meanwhile` is called while the child gets ready.
    """
    document = json.dumps(root, sort_keys=True).encode()
    entry = _entry(document, cache_folder) if cache_folder else None
    if entry is not None and (kept := _read(entry)) is not None:
        return kept
    judgement = _ask(document, meanwhile)
    if entry is not None and not judgement.gave_up:
        _keep(entry, judgement)
    return judgement


def _ask(document: bytes, meanwhile: Callable[[], object] | None) -> Judgement:
    try:
        outside = _outside()
        if meanwhile is not None:
            meanwhile()
        answer = json.loads(outside.ask(document, _SECONDS))
        if "stopped" in answer:
            return Judgement(gave_up=f"it stopped with {answer['stopped']}")
        return _decoded(answer["findings"])
    except TimeoutError:
        return Judgement(gave_up=f"it took more than {_SECONDS} seconds")
    except EOFError:
        return Judgement(gave_up="it stopped without a word")
    except OSError as error:
        return Judgement(gave_up=f"it could not be asked: {error.strerror}")
    except ValueError:
        return Judgement(gave_up="its answer was not understood")


_running: list[OutsideProcess] = []  # one at most


def _outside() -> OutsideProcess:
    """Give the judge of this process; starting one takes longer than most verdicts."""
    for judge in _running:
        if judge.is_usable:
            return judge
    _running[:] = [OutsideProcess([sys.executable, "-I", str(_PROGRAM), str(_SECONDS)])]
    return _running[0]


def _decoded(found: JsonValue) -> Judgement:
    return Judgement(tuple(Objection(tuple(one["tokens"]), one["message"]) for one in found))


def _entry(document: bytes, folder: Path) -> Path:
    version = importlib.metadata.version(_JUDGE)
    digest = hashlib.sha256(f"{_JUDGE} {version}\n".encode() + document).hexdigest()
    return folder / f"judgement-{digest}.json"


def _read(entry: Path) -> Judgement | None:
    try:
        return _decoded(json.loads(entry.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _keep(entry: Path, judgement: Judgement) -> None:
    """Write the verdict; a cache that cannot be written is no reason to stop."""
    found = [{"tokens": one.tokens, "message": one.message} for one in judgement.objections]
    with contextlib.suppress(OSError):
        entry.parent.mkdir(parents=True, exist_ok=True)
        half = entry.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps(found), "utf-8")
        half.replace(entry)
