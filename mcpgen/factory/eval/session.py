"""One evaluation, and its comparison with an earlier one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from mcpgen.factory.eval.agents import Agent
from mcpgen.factory.eval.compare import Comparison
from mcpgen.factory.eval.report import Evaluation, Outcomes, read_report
from mcpgen.factory.eval.revision import extract_package, find_renamed
from mcpgen.factory.eval.run import EvalOptions, Subject, evaluate
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.ir.eval_tasks import EvalTask


def evaluate_and_compare(
    package: GeneratedPackage,
    tasks: Sequence[EvalTask],
    agent: Agent,
    options: EvalOptions,
    compared: str,
    progress: Callable[[str], None],
) -> tuple[Evaluation, Comparison | None]:
    """Let an agent solve the tasks, first with an earlier version if `compared` is a revision.

    `compared` is the path of a report, a git revision, or "".

    Raises:
        ReportError: the file is no report.
        OSError: it cannot be read.
        NoRevisionError: git has no such revision.
        NoPackageError: the revision has no package.
    """
    before: Outcomes | None = None
    with ExitStack() as stack:
        earlier: tuple[GeneratedPackage, ...] = ()
        if compared and Path(compared).is_file():
            before = read_report(Path(compared).read_bytes())
        elif compared:
            earlier = (stack.enter_context(extract_package(package.directory, compared)),)
        aliases = find_renamed(package, *earlier)

        def run(version: GeneratedPackage) -> Evaluation:
            subject = Subject(version, aliases)
            return asyncio.run(evaluate(subject, tasks, agent, options, progress))

        for version in earlier:
            before = run(version).summarize()
        now = run(package)
    return now, None if before is None else Comparison(compared, before, now.summarize())
