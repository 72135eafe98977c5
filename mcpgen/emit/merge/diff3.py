"""Three-way merging of lines: the changes of two sides since a common base are combined.

A change of one side is taken; the same change of both sides is taken once. Two changes are separate
only if a line between them occurs exactly once in each of the three texts. A blank line or a
bracket could belong to either change, and merge tools disagree about those. Changes that are not
separate are a conflict, which the caller resolves. A merge without conflicts has the same result as
`git merge-file`, unless that finds a conflict; some changes that git merges are conflicts here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

from msgspec import Struct

Lines = Sequence[str]


class Conflict(Struct, frozen=True):
    """Lines that the two sides changed differently: those of each side, and of the base."""

    yours: tuple[str, ...]
    base: tuple[str, ...]
    ours: tuple[str, ...]


Piece = tuple[str, ...] | Conflict
"""Merged lines, or a conflict."""


def diff3(base: Lines, yours: Lines, ours: Lines) -> tuple[Piece, ...]:
    """Merge the changes of `yours` and `ours` since `base`; return lines and conflicts in order."""
    pieces: list[Piece] = []
    for chunk in _chunks(tuple(base), tuple(yours), tuple(ours)):
        pieces += _merge(chunk)
    return tuple(piece for piece in pieces if piece)


def is_clean(pieces: Sequence[Piece]) -> bool:
    """Whether nothing is left to settle."""
    return not any(isinstance(piece, Conflict) for piece in pieces)


def join(pieces: Sequence[Piece], settle: Callable[[Conflict], Lines]) -> list[str]:
    """Return the merged lines; `settle` returns the lines for a conflict."""
    lines: list[str] = []
    for piece in pieces:
        lines += settle(piece) if isinstance(piece, Conflict) else piece
    return lines


def with_markers(conflict: Conflict) -> Lines:
    """Return a conflict with markers, in the form of git's `merge.conflictStyle=diff3`."""
    return (
        "<<<<<<< yours",
        *conflict.yours,
        "||||||| base",
        *conflict.base,
        "=======",
        *conflict.ours,
        ">>>>>>> mcpgen",
    )


_Chunk = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]  # of base, yours and ours


def _chunks(
    base: tuple[str, ...], yours: tuple[str, ...], ours: tuple[str, ...]
) -> Iterator[_Chunk]:
    """Split the texts at lines that all have once; yield these, and the parts between them."""
    once = _once(base) & _once(yours) & _once(ours)
    in_yours, in_ours = _matches(base, yours), _matches(base, ours)
    start = (0, 0, 0)
    for number, line in enumerate(base):
        if line in once and number in in_yours and number in in_ours:
            at = (number, in_yours[number], in_ours[number])
            yield base[start[0] : at[0]], yours[start[1] : at[1]], ours[start[2] : at[2]]
            yield (line,), (line,), (line,)
            start = (at[0] + 1, at[1] + 1, at[2] + 1)
    yield base[start[0] :], yours[start[1] :], ours[start[2] :]


def _once(lines: Lines) -> set[str]:
    return {line for line, times in Counter(lines).items() if times == 1}


def _matches(base: Lines, side: Lines) -> dict[int, int]:
    """Map the numbers of lines of `base` that `side` kept to their numbers in `side`; from 0."""
    blocks = SequenceMatcher(None, base, side, autojunk=False).get_matching_blocks()
    return {block.a + offset: block.b + offset for block in blocks for offset in range(block.size)}


def _merge(chunk: _Chunk) -> tuple[Piece, ...]:
    base, yours, ours = chunk
    if yours in (base, ours):
        return (ours,)
    if ours == base:
        return (yours,)
    head = _common_start(chunk)
    tail = _common_start((base[head:][::-1], yours[head:][::-1], ours[head:][::-1]))
    conflict = Conflict(*(side[head : len(side) - tail] for side in (yours, base, ours)))
    return (base[:head], conflict, base[len(base) - tail :])


def _common_start(chunk: _Chunk) -> int:
    """Count the lines that all three begin with."""
    count = 0
    for lines in zip(*chunk, strict=False):
        if len(set(lines)) > 1:
            break
        count += 1
    return count
