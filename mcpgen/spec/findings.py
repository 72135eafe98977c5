"""Where the checks of a document put what they find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mcpgen.diagnostics import Diagnostic, Location, Problems
from mcpgen.ir.document import Document
from mcpgen.ir.json_pointer import json_pointer
from mcpgen.spec.operations import value_at

_MAX_OF_A_CODE = 50


class Findings:
    """Problems of one document, told by reference tokens.

    A warning that repeats through a whole document is told 50 times and then counted.
    """

    def __init__(self, document: Document, problems: Problems) -> None:
        self.document = document
        self.problems = problems
        self._counts: Counter[str] = Counter()

    def at(self, tokens: tuple[str, ...]) -> Location:
        """The place in the text of what stands at `tokens`."""
        return self.document.locate(json_pointer(tokens))

    def is_told(self, at: Location) -> bool:
        """Whether a problem is known at this place already."""
        return any(
            (known.at.file, known.at.line, known.at.column) == (at.file, at.line, at.column)
            for known in self.problems.so_far()
            if known.at is not None
        )

    def is_told_within(self, tokens: tuple[str, ...], known: Iterable[Diagnostic]) -> bool:
        """Whether one of the `known` is at this place, not the whole document, or below."""
        at = self.at(tokens)
        return bool(tokens) and any(
            one.at.file == at.file
            and (one.at.pointer == at.pointer or one.at.pointer.startswith(at.pointer + "/"))
            for one in known
            if one.at is not None
        )

    def leads_somewhere(self, tokens: tuple[str, ...]) -> bool:
        """Whether something below the root stands at `tokens`."""
        return bool(tokens) and value_at(self.document.root, tokens) is not None

    def warn(
        self, code: str, message: str, tokens: tuple[str, ...], *, why: str, help: str
    ) -> None:
        """Warn of what stands at `tokens`."""
        self._counts[code] += 1
        if self._counts[code] <= _MAX_OF_A_CODE:
            self.problems.warning(code, message, at=self.at(tokens), why=why, help=help)

    def count_the_rest(self) -> None:
        """Say how many warnings of each kind were held back."""
        for code, count in sorted(self._counts.items()):
            if count > _MAX_OF_A_CODE:
                self.problems.note(
                    "more-of-the-same",
                    f"{count - _MAX_OF_A_CODE:,} more warnings of the kind `{code}`",
                    at=Location(self.document.shown_as),
                )
