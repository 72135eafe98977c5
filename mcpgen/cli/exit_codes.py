"""The exit codes of `mcpgen`. Scripts rely on them."""

from __future__ import annotations

from mcpgen.pipeline.outcome import Outcome

EXIT_CODES = {
    Outcome.DONE: 0,
    Outcome.FINDINGS: 1,
    Outcome.USAGE: 2,
    Outcome.REJECTED: 3,
    Outcome.CONFLICT: 4,
    Outcome.INTERRUPTED: 5,
    Outcome.BUG: 70,
}
