"""Cases of the generated tests: calls, the expected requests, and calls that must be rejected."""

from mcpgen.plan.cases.entries import make_cases
from mcpgen.plan.cases.merged import make_merged_cases
from mcpgen.plan.cases.workflows import make_workflow_cases

__all__ = ["make_cases", "make_merged_cases", "make_workflow_cases"]
