"""Cases of the generated tests: calls, the expected requests, and calls that must be rejected."""

from mcpgen.plan.cases.calls import CaseContext
from mcpgen.plan.cases.entries import CaseMaking, make_cases, note_missing_samples
from mcpgen.plan.cases.keys import CaseKeys, prepare_tool
from mcpgen.plan.cases.merged import make_merged_cases
from mcpgen.plan.cases.workflows import make_workflow_cases

__all__ = [
    "CaseContext",
    "CaseKeys",
    "CaseMaking",
    "make_cases",
    "make_merged_cases",
    "make_workflow_cases",
    "note_missing_samples",
    "prepare_tool",
]
