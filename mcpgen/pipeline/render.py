"""Render every file of a planned project: the generated code, its tests and the skeleton around it.

Of a large server several parts are rendered in forked processes at the same time.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.emit.format import format_files
from mcpgen.emit.lockfile import Lock
from mcpgen.emit.models.models import ModelRun, ModelsFailedError
from mcpgen.emit.output_checks import prove_contents, prove_paths
from mcpgen.emit.runtime_wheel import make_runtime_wheel
from mcpgen.emit.skeleton import AnswerRefusedError, render_skeleton
from mcpgen.forked import Forked, ForkedAhead
from mcpgen.garbage import pause_garbage_collection
from mcpgen.ir.file_set import FileSet, Owner, PlannedFile
from mcpgen.ir.first_steps import FirstSteps
from mcpgen.ir.manifest import MANIFEST_SCHEMA_FILE
from mcpgen.ir.templates import template_root
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.pipeline.inputs import DerivedFiles, FirstManifest, Inputs, PlannedProject, Project
from mcpgen.pipeline.manifest_schema import read_manifest_schema
from mcpgen.pipeline.options import Progress, StageNote
from mcpgen.pipeline.skeleton_run import SkeletonRun, skeleton_cache
from mcpgen.pipeline.user_cache import user_cache
from mcpgen.plan.tools.search_index import make_index
from mcpgen.render.package import render, render_calls, render_index
from mcpgen.render.skeleton_facts import skeleton_facts
from mcpgen.text.counts import format_count
from mcpgen.text.identifiers import Identifier
from mcpgen.text.invisible import SafeText

_MIN_TOOLS_TO_FORK = 100


@pause_garbage_collection()
def render_project(
    planned: PlannedProject,
    inputs: Inputs,
    problems: Problems,
    progress: Progress,
    child: ForkedAhead[FileSet],
) -> Project:
    """Render, format and check every file of a project except its lock.

    `child` is a result of `prepare_skeleton`, which the caller ends.

    Raises:
        RejectedError: an answer is invalid, or the models cannot be generated.
    """
    plan = planned.plan
    progress("render")
    cache = inputs.options.cache or user_cache()
    is_large = len(plan.tools) >= _MIN_TOOLS_TO_FORK
    derive = functools.partial(_derive_files, plan, cache, inputs.folder, is_large=is_large)
    try:
        with (
            Forked(derive, is_worth_it=is_large) as derived,
            ModelRun(plan, cache / "models") as models,
        ):
            facts = _describe_project(planned, inputs)
            answers = {**inputs.answers, "name": plan.name}
            skeleton = SkeletonRun(
                plan.package, facts, answers, skeleton_cache(inputs.options, inputs.folder), child
            )
            # Without a fork, they are made while the other children import their packages.
            made = None if derived.is_running else derived.result()
            files = _collect_inputs(planned, inputs)
            files += _render_package(plan, skeleton, models, inputs.lock, progress)
            first_tasks = () if inputs.lock.mcpgen else _render_first_tasks(plan)
            progress("tests")
            made = made or derived.result()
    except AnswerRefusedError as error:
        problems.error("answer", str(error), help="pass answers with --data KEY=VALUE")
        raise RejectedError from None
    except ModelsFailedError as error:
        problems.error(
            "models-failed",
            str(error),
            why="handlers take their types from the models",
            help="use `--no-models`, and report this document as a bug",
        )
        raise RejectedError from None
    problems.extend(made.problems)
    progress(StageNote(format_count(made.tools, "test case")))
    files += made.files
    prove_paths(files)
    problems.join()  # before anything is written
    files = tuple(sorted(files, key=lambda file: file.path))
    return Project(
        plan,
        files,
        functools.partial(_render_skeleton_history, plan.package, facts, answers),
        planned.files,
        planned.credentials,
        planned.found,
        first_tasks,
    )


def _collect_inputs(planned: PlannedProject, inputs: Inputs) -> FileSet:
    """Return the files that are copied into a project."""
    contents = planned.files.documents_by_path
    if inputs.manifest.schema_file == MANIFEST_SCHEMA_FILE:
        contents[MANIFEST_SCHEMA_FILE] = read_manifest_schema()
    files = tuple(PlannedFile(path, text, Owner.GENERATED) for path, text in contents.items())
    prove_contents(files, planned.plan.package)
    vendors_runtime = inputs.answers.get("vendor_runtime") == "yes"
    return (*files, make_runtime_wheel()) if vendors_runtime else files


def _describe_project(planned: PlannedProject, inputs: Inputs) -> dict[str, SafeText]:
    """Return what the skeleton's templates show."""
    plan, first = planned.plan, inputs.first or FirstManifest()
    decided = {name for credential in planned.credentials for name in credential.parameters}
    return skeleton_facts(
        plan,
        next(iter(planned.files.documents_by_path), ""),
        include=first.include,
        exclude=first.exclude,
        base_url=first.base_url,
        sources=first.credentials,
        credentials=planned.credentials,
        steps=_propose_steps(plan, decided) if inputs.first else FirstSteps(),
        schema_file=inputs.schema_file,
    )


def _propose_steps(plan: ServerPlan, decided: Collection[str]) -> FirstSteps:
    from mcpgen.pipeline.first_files import propose_steps  # of a new project alone

    return propose_steps(plan, decided)


def _render_first_tasks(plan: ServerPlan) -> FileSet:
    from mcpgen.pipeline.first_files import render_first_tasks  # of a new project alone

    return render_first_tasks(plan)


def _render_package(
    plan: ServerPlan,
    skeleton: SkeletonRun,
    models: ModelRun,
    lock: Lock,
    progress: Progress,
) -> FileSet:
    """Render the generated package and the skeleton, and format them."""
    files = render(plan) + render_calls(plan) + render_index(plan, make_index(plan))
    files += skeleton.result()
    progress(StageNote(format_count(len(files), "file")))
    progress("models")
    files += models.join()
    progress(StageNote(format_count(len(plan.models), "model")))
    progress("format")
    files = format_files(files)
    prove_contents(lock.find_new(files), plan.package)
    progress(StageNote(format_count(len(files), "file")))
    return files


def _derive_files(plan: ServerPlan, cache: Path, folder: Path, *, is_large: bool) -> DerivedFiles:
    # Imported here: the child process imports what this process does not need.
    from mcpgen.pipeline.case_cache import CaseCache
    from mcpgen.pipeline.derived import derive_files

    return derive_files(plan, CaseCache(cache, folder), is_large=is_large)


def _render_skeleton_history(
    package: Identifier, facts: Mapping[str, SafeText], answers: Mapping[str, str]
) -> list[FileSet]:
    """Render the skeletons of this release and of all earlier ones for this project."""
    earlier = template_root() / "earlier_skeletons"
    templates = [template_root() / "skeleton"]
    templates += sorted(earlier.iterdir()) if earlier.is_dir() else []
    return [
        format_files(render_skeleton(template, package, facts, answers)) for template in templates
    ]


def parse_answers(content: bytes | None) -> dict[str, str]:
    """Read the answers that an earlier run recorded in `.copier-answers.yml`."""
    answers: dict[str, str] = {}
    for line in (content or b"").decode("utf-8", "replace").splitlines():
        found = re.fullmatch(r'([a-z_]+): "([^"\\]*)"', line)
        if found:
            answers[found[1]] = found[2]
    return answers
