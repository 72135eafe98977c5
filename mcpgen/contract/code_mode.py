"""Code mode: the bounds of a run, and the names that tools and arguments have in Python."""

from __future__ import annotations

import keyword
import re

from msgspec import UNSET, Struct, UnsetType

STUBS_FILE = "functions.pyi"
"""The file of a generated package with a function for each tool."""

MAX_CODE = 50_000
"""Characters of a snippet."""

RESERVED_NAMES = frozenset(
    {
        "Any", "Literal", "NotRequired", "TypedDict", "bool", "dict", "float", "int", "list",
        "object", "print", "str",
    }
)  # fmt: skip
"""Names that a function or a class of the stubs must not hide."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OTHER = re.compile(r"[^A-Za-z0-9_]")


class CodeBounds(Struct, frozen=True):
    """Bounds of one run of code, and of all runs of a process."""

    max_calls: int = 50
    max_seconds: float = 60.0  # without the time in which the user answers
    max_compute_seconds: float = 10.0  # of the sandbox itself
    max_memory_mb: int = 64
    max_runs: int = 4  # at a time
    max_runs_per_caller: int | UnsetType = UNSET  # at a time; by default, half of all

    @property
    def runs_per_caller(self) -> int:
        """Maximum number of runs of one caller at a time."""
        if self.max_runs_per_caller is UNSET:
            return max(1, self.max_runs // 2)
        return self.max_runs_per_caller


DEFAULT_BOUNDS = CodeBounds()


def name_function(tool: str) -> str:
    """Return the name of a tool's function: its own, with `_` if that would hide a builtin."""
    is_taken = tool in RESERVED_NAMES or keyword.iskeyword(tool)
    return f"{tool}_" if is_taken else tool


def name_parameter(argument: str) -> str:
    """Return the keyword of an argument: its own name, if that can be an identifier."""
    name = argument if _PLAIN.match(argument) else _OTHER.sub("_", f"_{argument}")
    return f"{name}_" if keyword.iskeyword(name) else name
