"""Limits of a robustness run: requests, bytes and time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

_MIB: Final = 1024 * 1024


class Intensity(Struct, frozen=True, kw_only=True):
    """The bounds of a run over one transport; what exceeds them is reported as not exercised."""

    name: str
    max_messages: int  # requests, notifications and connections
    max_bytes: int
    max_seconds: float
    tools: int  # that are called with hostile arguments
    cases: int  # of one experiment with arguments; of other experiments, twice as many
    huge_bytes: int  # of a long string or line
    memory_messages: int  # of one measurement of memory; 0: memory is not measured


INTENSITIES: Final[Mapping[str, Intensity]] = {
    each.name: each
    for each in (
        Intensity(
            name="low",
            max_messages=250,
            max_bytes=4 * _MIB,
            max_seconds=30,
            tools=2,
            cases=2,
            huge_bytes=64 * 1024,
            memory_messages=0,
        ),
        Intensity(
            name="normal",
            max_messages=800,
            max_bytes=32 * _MIB,
            max_seconds=60,
            tools=5,
            cases=6,
            huge_bytes=256 * 1024,
            memory_messages=32,
        ),
        Intensity(
            name="high",
            max_messages=2500,
            max_bytes=128 * _MIB,
            max_seconds=240,
            tools=15,
            cases=24,
            huge_bytes=1024 * 1024,
            memory_messages=64,
        ),
    )
}
