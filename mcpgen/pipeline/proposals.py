"""Proposals for an existing server: entries that its manifest does not have."""

from __future__ import annotations

from pathlib import Path

from mcpgen.diagnostics import Problems
from mcpgen.ir.first_steps import FirstSteps
from mcpgen.pipeline.options import Progress
from mcpgen.pipeline.planned import plan_existing
from mcpgen.plan.proposals.propose import add_proposals


def propose(target: Path, problems: Problems, progress: Progress) -> FirstSteps:
    """Plan the project in `target`, and propose merged tools and workflows for it.

    Raises:
        RejectedError: the project cannot be planned; `problems` contains the reasons.
    """
    return add_proposals(FirstSteps(), plan_existing(target, problems, progress))
