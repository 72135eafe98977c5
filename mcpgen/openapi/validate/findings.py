"""Collection of the findings of validation, with a limit for each diagnostic code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mcpgen.diagnostics import Diagnostic, Location, Problems
from mcpgen.ir.document import Document
from mcpgen.openapi.lower.operations import value_at
from mcpgen.text.json_pointer import json_pointer

_MAX_OF_A_CODE = 50


class Findings:
    """Problems of one document, reported by reference tokens.

    At most 50 warnings of a code are reported; the others are counted.
    """

    def __init__(self, document: Document, problems: Problems) -> None:
        self.document = document
        self.problems = problems
        self._counts: Counter[str] = Counter()

    def at(self, tokens: tuple[str, ...]) -> Location:
        """Return the location of the value at `tokens`."""
        return self.document.locate(json_pointer(tokens))

    def is_reported(self, at: Location) -> bool:
        """Return whether a problem at this location was reported already."""
        return any(
            (known.at.file, known.at.line, known.at.column) == (at.file, at.line, at.column)
            for known in self.problems.so_far()
            if known.at is not None
        )

    def is_reported_within(self, tokens: tuple[str, ...], known: Iterable[Diagnostic]) -> bool:
        """Return whether a `known` problem is at `tokens` or below; false for the root."""
        at = self.at(tokens)
        return bool(tokens) and any(
            one.at.file == at.file
            and (one.at.pointer == at.pointer or one.at.pointer.startswith(at.pointer + "/"))
            for one in known
            if one.at is not None
        )

    def has_value(self, tokens: tuple[str, ...]) -> bool:
        """Return whether a value other than the root exists at `tokens`."""
        return bool(tokens) and value_at(self.document.root, tokens) is not None

    def warn(
        self, code: str, message: str, tokens: tuple[str, ...], *, why: str, help: str
    ) -> None:
        """Report a warning about the value at `tokens`."""
        self._counts[code] += 1
        if self._counts[code] <= _MAX_OF_A_CODE:
            self.problems.warning(code, message, at=self.at(tokens), why=why, help=help)

    def report_omitted(self) -> None:
        """Report the number of omitted warnings of each code."""
        for code, count in sorted(self._counts.items()):
            if count > _MAX_OF_A_CODE:
                self.problems.note(
                    "more-of-the-same",
                    f"{count - _MAX_OF_A_CODE:,} more warnings `{code}`",
                    at=Location(self.document.shown_as),
                )
