"""A settings file of mcpgen's, read value by value; each slip of the pen is told with its place.

The manifest and the workspace file share it. Unknown keys are errors, so that a slip never changes
nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from mcpgen.diagnostics import Location, Problems
from mcpgen.spec.limits import DEFAULT_LIMITS
from mcpgen.spec.source_file import ReadFile, read_source_file

Place = tuple[str, ...]
"""Reference tokens from the file's root to a value."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a settings file is to people: the code of its problems, its name and its noun."""

    code: str
    file_name: str
    noun: str


class SettingsFile:
    """The values of one settings file. What is not as it should be becomes a problem."""

    def __init__(self, file: ReadFile, kind: Kind, problems: Problems) -> None:
        self._file = file
        self._kind = kind
        self._problems = problems
        self._problems_before = len(problems)

    @classmethod
    def read(cls, content: bytes, shown_as: str, kind: Kind, problems: Problems) -> SettingsFile:
        """Decode a file.

        Raises:
            RejectedError: it is no YAML.
        """
        file = read_source_file(content, shown_as, problems, DEFAULT_LIMITS)
        return cls(file, kind, problems)

    @property
    def is_refused(self) -> bool:
        """Whether a value was refused."""
        return len(self._problems) > self._problems_before

    def root(self, known: Set[str]) -> dict[str, Any]:
        """Give the whole file, a mapping of `known` keys."""
        return self.mapping(self._file.value, (), known)

    def mapping(self, value: Any, at: Place, known: Set[str] | None = None) -> dict[str, Any]:
        """Give `value` if it is a mapping, else an empty one; None allows any key."""
        if not isinstance(value, dict):
            where = f"`{at[-1]}`" if at else self._kind.file_name
            keys = ", ".join(f"`{key}`" for key in sorted(known or ()))
            self.refuse(at, f"{where} is a mapping", f"its keys are {keys}" if keys else "")
            return {}
        for key in value:
            if known is not None and key not in known:
                close = difflib.get_close_matches(str(key), known, n=1)
                self.refuse(
                    (*at, key),
                    f"`{key}` is no key of {self._kind.noun} here",
                    f"did you mean `{close[0]}`?"
                    if close
                    else f"keys are {', '.join(sorted(known))}",
                )
        return value

    def text(self, value: Any, at: Place) -> str:
        """Give `value` if it is a text, else ""."""
        if isinstance(value, str) and value:
            return value
        self.refuse(at, f"`{at[-1]}` is a text", "put it in quotes if YAML reads it otherwise")
        return ""

    def texts(self, value: Any, at: Place) -> tuple[str, ...]:
        """Give the texts of a list; one text stands for a list of it."""
        if isinstance(value, str) and value:
            return (value,)
        if not isinstance(value, list) or not value:
            self.refuse(at, f"`{at[-1]}` is a list of texts", f'write `{at[-1]}: ["…"]`')
            return ()
        return tuple(self.text(each, (*at, str(number))) for number, each in enumerate(value))

    def location(self, at: Place) -> Location:
        """Give the place of a value."""
        return self._file.location(at)

    def refuse(self, at: Place, message: str, help: str) -> None:
        """Tell that the value at a place cannot be followed."""
        self._problems.error(
            self._kind.code,
            message,
            at=self.location(at),
            why=f"mcpgen follows {self._kind.noun} to the letter, or not at all",
            help=help,
        )
