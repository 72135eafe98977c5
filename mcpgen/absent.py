"""ABSENT: the value of an optional argument that a call omits, distinct from null."""

from __future__ import annotations

import enum
from typing import Final, Literal


class Absent(enum.Enum):
    """The type of `ABSENT`; `int | Absent` is an optional argument that cannot be null."""

    ABSENT = "absent"

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
