"""`new`: from an API description to a project that did not exist."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.emit.exclusive import exclusive
from mcpgen.emit.lock import LockedDocument
from mcpgen.emit.reconcile import Earlier, reconcile
from mcpgen.emit.write import RefusedError
from mcpgen.pipeline.disk import tell_refused
from mcpgen.pipeline.known_current import note_current
from mcpgen.pipeline.new_declared import is_manifest, make_from_manifest
from mcpgen.pipeline.options import DONE, REJECTED, USAGE, Options, Progress, Project, Report
from mcpgen.pipeline.origin import recorded_source
from mcpgen.pipeline.project_folder import (
    Inputs,
    commit,
    make_lock,
    refuse_target,
)

if TYPE_CHECKING:
    from mcpgen.pipeline.credentials import Decide


def new(
    source: str,
    target: Path | None,
    options: Options,
    progress: Progress,
    decide: Decide | None = None,
) -> Report:
    """Make a server project from the API description at `source`, a path or a URL.

    It may be a manifest as well, the path of one that names its own documents. `decide` is asked
    about each credential that the document hides; without it, only those that leave no doubt are
    taken from the environment.

    Without `target` it goes to `<name>-mcp` here. The folder is written as a whole or not at all;
    every reason stands in the report's problems.
    """
    problems = Problems()
    if target is not None and refuse_target(target, problems):
        return Report(problems, USAGE, target)
    # Imported here: the stages load a validator, templates and YAML, which `check` does without.
    from mcpgen.pipeline import credentials, stages
    from mcpgen.plan.first_steps import first_steps
    from mcpgen.plan.hidden_credentials import find_hidden_credentials
    from mcpgen.plan.policy import first_policy

    if is_manifest(source):
        return _new_from_manifest(Path(source), target, options, problems, progress)
    try:
        understood = stages.understand(
            source,
            problems,
            progress,
            outside_judge=options.outside_judge,
            cache=options.cache,
        )
        name = options.name or stages.server_name(understood.api.title)
        stages.check_name(name, problems)
        policy = first_policy(
            name, include=options.include, exclude=options.exclude, models=options.models
        )
        plan = stages.plan_server(understood.api, policy, problems, strict=options.strict)
        target = target or Path(plan.distribution)
        if refuse_target(target, problems):
            return Report(problems, USAGE, target, plan)
        found = find_hidden_credentials(plan)
        if found:
            found = tuple(map(decide or credentials.take_certain, found))
            api, policy = credentials.with_credentials(understood.api, policy, found, problems)
            plan = stages.plan_server(api, policy, problems, strict=options.strict)
            credentials.report_decided(found, plan, problems)
        taken = {operation for credential in found for operation in credential.parameters}
        document = stages.vendored(understood.document)
        project = stages.make_project(
            plan,
            document,
            options.answers,
            problems,
            progress,
            selection=(options.include, options.exclude),
            credentials=found,
            steps=first_steps(plan, taken),
            cache=options.cache,
        )
    except RejectedError:
        return Report(problems, REJECTED, target or Path())

    origin = LockedDocument(
        recorded_source(understood.document, target),
        "",
        {},
        understood.document.etag,
        name="",
        settings="",
    )
    inputs = Inputs(((document, origin),))
    report = _write(target, project, inputs, problems, progress)
    note_current(report, options.cache)
    return report


def _new_from_manifest(
    source: Path,
    target: Path | None,
    options: Options,
    problems: Problems,
    progress: Progress,
) -> Report:
    if options.name or options.include or options.exclude or not options.models:
        problems.error(
            "manifest-decides",
            f"{source} says what the server is called and what it exposes",
            at=Location(source.as_posix()),
            why="--name, --include, --exclude and --no-models are for a server without a manifest",
            help="write it in the manifest, under `server.name`, `select` and `models`",
        )
        return Report(problems, USAGE, target or Path())
    try:
        target, project, inputs = make_from_manifest(source, target, options, problems, progress)
    except RejectedError:
        return Report(problems, REJECTED, target or Path())
    if refuse_target(target, problems):
        return Report(problems, USAGE, target, project.plan)
    report = _write(target, project, inputs, problems, progress)
    note_current(report, options.cache)
    return report


def new_by_hand(
    name: str, target: Path | None, answers: Mapping[str, str], progress: Progress
) -> Report:
    """Make a server project without a document, whose owner writes all that it serves.

    Without `target` it goes to `<name>-mcp` here; otherwise as `new`.
    """
    problems = Problems()
    target = target or Path(f"{name}-mcp")
    if refuse_target(target, problems):
        return Report(problems, USAGE, target)
    from mcpgen.pipeline import stages
    from mcpgen.plan.by_hand import plan_by_hand
    from mcpgen.plan.policy import first_policy

    try:
        stages.check_name(name, problems)
        plan = plan_by_hand(first_policy(name).manifest)
        project = stages.make_project(plan, {}, answers, problems, progress)
    except RejectedError:
        return Report(problems, REJECTED, target)
    return _write(target, project, Inputs(), problems, progress)


def _write(
    target: Path,
    project: Project,
    inputs: Inputs,
    problems: Problems,
    progress: Progress,
) -> Report:
    plan = project.plan
    progress(f"writing {target}")
    changes = reconcile(project.files, Earlier(), _nothing_is_there)
    lock = make_lock(project, inputs, changes.files)
    try:
        target.mkdir(parents=True, exist_ok=True)
        with exclusive(target):
            if refuse_target(target, problems):  # another run was quicker
                return Report(problems, USAGE, target, plan)
            written = commit(target, changes, lock)
    except (OSError, RefusedError) as error:
        return Report(problems, tell_refused(error, target, problems), target, plan)
    return Report(problems, DONE, target, plan, written)


def _nothing_is_there(_: str) -> None:
    """What a new project's folder holds."""
