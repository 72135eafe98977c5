"""Cases of the fuzzer, the interface of targets, and the folders that store cases."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

CORPUS = Path(__file__).with_name("corpus")
MAX_CORPUS_BYTES = 64 * 1024
"""Size of the largest case that a corpus stores."""


class FaultError(AssertionError):
    """A violated invariant of a target."""


@dataclass(frozen=True, slots=True)
class Case:
    """One input. The target defines the meaning of each part; the first is usually a kind."""

    target: str
    parts: tuple[bytes, ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.parts))

    @property
    def digest(self) -> str:
        return hashlib.sha256(b"\0".join(self.parts)).hexdigest()[:16]

    def save(self, folder: Path, note: str = "") -> Path:
        """Write the case as a file of a corpus; bytes are stored as Latin-1 text."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.target}-{self.digest}.json"
        content = {"target": self.target, "note": note}
        parts = [part.decode("latin-1") for part in self.parts]
        path.write_text(json.dumps({**content, "parts": parts}, indent=1) + "\n")
        return path

    @classmethod
    def load(cls, path: Path) -> Self:
        content = json.loads(path.read_text())
        return cls(content["target"], tuple(part.encode("latin-1") for part in content["parts"]))


def load_corpus(target: str, folder: Path = CORPUS) -> list[Case]:
    """Return the stored cases of a target, sorted by name."""
    return [Case.load(path) for path in sorted(folder.glob(f"{target}-*.json"))]


class Target(Protocol):
    """A target that runs cases. Entering it starts the processes that it needs."""

    name: str
    slow_seconds: float
    """Cases that take longer than this are reported."""
    clock: Callable[[], float]
    """Clock that measures a case: `time.monotonic`, or CPU time if no other process is involved."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def generate(self, chance: random.Random) -> Case:
        """Return a new input."""
        ...

    def mutate(self, case: Case, chance: random.Random) -> Case:
        """Return a changed copy of an input."""
        ...

    def run(self, case: Case) -> str:
        """Run one case; return a short description of the outcome.

        An outcome that was not seen before makes the input interesting.

        Raises:
            FaultError: an invariant does not hold.
        """
        ...

    def settle(self) -> None:
        """Bring the target into a comparable state before its memory is measured."""
        ...

    def resident_bytes(self) -> dict[str, int]:
        """Return the current memory, by process."""
        ...


def pieces(data: bytes, chance: random.Random, most: int = 6) -> tuple[bytes, ...]:
    """Split data at random positions."""
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(most)))
    bounds = [0, *cuts, len(data)]
    return tuple(data[start:end] for start, end in _pairs(bounds) if end > start)


def _pairs(bounds: list[int]) -> Iterator[tuple[int, int]]:
    return itertools.pairwise(bounds)
