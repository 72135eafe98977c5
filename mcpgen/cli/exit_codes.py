"""The exit codes of `mcpgen`, on which scripts rely, and the errors that end a command."""

from __future__ import annotations

from mcpgen.diagnostics import Problems
from mcpgen.pipeline.options import Outcome

EXIT_CODES = {
    Outcome.DONE: 0,
    Outcome.FINDINGS: 1,
    Outcome.USAGE: 2,
    Outcome.REJECTED: 3,
    Outcome.CONFLICT: 4,
    Outcome.INTERRUPTED: 5,
    Outcome.BUG: 70,
}


class UsageError(Exception):
    """Invalid command line; states the problem, and in `help` the correct input."""

    def __init__(self, message: str, *, help: str = "") -> None:
        super().__init__(message)
        self.help = help


class RejectedFileError(Exception):
    """A file of the user is invalid; `problems` contains the reasons."""

    def __init__(self, problems: Problems) -> None:
        super().__init__()
        self.problems = problems
        self.outcome = Outcome.REJECTED
