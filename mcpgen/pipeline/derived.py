"""The files that no other file needs: the generated tests and the skills, which show calls of them.

Those of a large server are made in a child process, which imports this module beside other work.
"""

from __future__ import annotations

from mcpgen.diagnostics import Problems
from mcpgen.emit.output_checks import prove_contents
from mcpgen.forked import Forked
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.pipeline.case_cache import CaseCache, ToolCases
from mcpgen.pipeline.inputs import DerivedFiles
from mcpgen.plan.cases import make_merged_cases, make_workflow_cases
from mcpgen.plan.skills.examples import collect_examples
from mcpgen.plan.skills.skills import draft_skills
from mcpgen.render import json_text
from mcpgen.render.package import render_cases
from mcpgen.render.skill_files import render_skills


def derive_files(plan: ServerPlan, cache: CaseCache, *, is_large: bool) -> DerivedFiles:
    """Make the test cases, those of a large server in two processes, and render the files."""
    half = len(plan.tools) // 2
    all_cases = ToolCases(plan, cache)
    with (
        Forked(lambda: all_cases.make(plan.tools[:half]), is_worth_it=is_large) as first,
        Forked(lambda: all_cases.make(plan.tools[half:]), is_worth_it=is_large) as second,
    ):
        complete_skills = draft_skills(plan)  # while the children make the cases
        cases = [first.result(), second.result()]
    cache.write(cases)
    problems = Problems()
    for each in cases:
        problems.extend(each.problems)
    entries = [block for each in cases for block in each.blocks]
    flows = list(map(json_text.block, make_workflow_cases(plan, problems)))
    merged = list(map(json_text.block, make_merged_cases(plan)))
    files = render_cases(plan, [*entries, *merged], flows)
    # The last one of a tool is shown: the first call of a merged tool.
    examples = collect_examples([*entries, *flows, *reversed(merged)]) if plan.skills else {}
    files += render_skills(plan, complete_skills(examples))
    prove_contents(files, plan.package)
    return DerivedFiles(files, len(entries), problems)
