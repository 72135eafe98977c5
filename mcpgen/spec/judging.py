"""Asks openapi-spec-validator for its verdict without trusting it with anything."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from mcpgen.ir.json_types import JsonObject, JsonValue
from mcpgen.spec.outside_process import OutsideProcess

_PROGRAM: Final = Path(__file__).with_name("outside_judge.py")
_JUDGE: Final = "openapi-spec-validator"
_SECONDS: Final = 5
_START_SECONDS: Final = 30  # to import the validator, which takes as long for any document


class Objection(Struct, frozen=True):
    """One thing that the judge found: its place in the document, and its own words."""

    tokens: tuple[str, ...]
    message: str


class Judgement(Struct, frozen=True):
    """A verdict, or the reason why there is none."""

    objections: tuple[Objection, ...] = ()
    gave_up: str = ""


class PendingJudgement:
    """A verdict that may still be under way."""

    def __init__(self, wait: Callable[[], Judgement]) -> None:
        self._wait = wait
        self._judgement: Judgement | None = None

    def join(self) -> Judgement:
        """Wait for the verdict."""
        if self._judgement is None:
            self._judgement = self._wait()
        return self._judgement


def judge(root: JsonObject, cache_folder: Path | None = None) -> PendingJudgement:
    """Have openapi-spec-validator judge a self-contained document in a bounded child process.

    The caller goes on meanwhile. A verdict is kept in `cache_folder` under the hash of the
    document and the validator's version.
    """
    document = json.dumps(root, sort_keys=True).encode()
    entry = _entry(document, cache_folder) if cache_folder else None
    if entry is not None and (kept := _read(entry)) is not None:
        return PendingJudgement(lambda: kept)
    while _open:  # the process takes one document at a time
        _open.pop().join()
    try:
        process = _outside()
        process.ask(zlib.compress(document, level=1))
    except OSError as error:
        gave_up = _not_asked(error)
        return PendingJudgement(lambda: gave_up)
    deadline = time.monotonic() + _START_SECONDS + _SECONDS
    _open.append(PendingJudgement(lambda: _answer(process, deadline, entry)))
    return _open[-1]


def _answer(process: OutsideProcess, deadline: float, entry: Path | None) -> Judgement:
    """Wait for an answer, and keep a verdict in the cache."""
    # What the caller did in the meantime may have taken longer; the answer lies there then.
    seconds = max(_SECONDS, deadline - time.monotonic())
    try:
        answer = json.loads(process.answer(seconds))
        if "too_slow" in answer:
            return _too_slow()
        if "stopped" in answer:
            return Judgement(gave_up=f"it stopped with {answer['stopped']}")
        judgement = _decoded(answer["findings"])
    except TimeoutError:
        return _too_slow()
    except EOFError:
        return Judgement(gave_up="it stopped without a word")
    except OSError as error:
        return _not_asked(error)
    except ValueError:
        return Judgement(gave_up="its answer was not understood")
    if entry is not None:
        _keep(entry, judgement)
    return judgement


def _too_slow() -> Judgement:
    return Judgement(gave_up=f"it took more than {_SECONDS} seconds")


def _not_asked(error: OSError) -> Judgement:
    return Judgement(gave_up=f"it could not be asked: {error.strerror}")


_open: list[PendingJudgement] = []  # one at most
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
