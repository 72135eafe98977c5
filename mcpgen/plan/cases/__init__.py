"""The cases of the generated tests: calls, what each must send, and what must stop them."""

from mcpgen.plan.cases.entries import make_cases
from mcpgen.plan.cases.workflows import make_workflow_cases

__all__ = ["make_cases", "make_workflow_cases"]
