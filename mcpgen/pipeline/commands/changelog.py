"""`changelog`: the changes of a project's tools since an earlier state."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct

from mcpgen.changelog import RULES, Changelog, Level, compare, next_version
from mcpgen.diagnostics import Problems, RejectedError, did_you_mean
from mcpgen.ir.manifest import LocatedManifest
from mcpgen.pipeline.options import GenerateOptions, Outcome, Progress, StoppedError
from mcpgen.pipeline.project.disk import report_stop
from mcpgen.pipeline.project.project_folder import find_lock, read_file
from mcpgen.pipeline.project.surfaces import (
    EarlierSurface,
    find_earlier_surface,
    find_package_version,
    read_unchanged_surface,
)


class ChangelogReport(Struct, frozen=True):
    """The changes since an earlier state. `changelog` is None if nothing could be compared."""

    problems: Problems
    outcome: Outcome
    target: Path
    changelog: Changelog | None = None
    since: str = ""  # where the earlier surface was found: "HEAD", a folder, ...
    version: str = ""  # of the package at that time; "" if unknown
    suggested_version: str = ""


def changelog(
    target: Path,
    against: str | None,
    options: GenerateOptions,
    progress: Progress,
    *,
    fail_on: Level | None = None,
) -> ChangelogReport:
    """Compare the tools that `target` has now with those that it had at `against`.

    Its tools now are those that `generate` would write with the files in the folder. `against` is
    as in `find_earlier_surface`. The exit code is 1 if a change has the level `fail_on` or above.
    """
    problems = Problems()
    find_earlier = partial(find_earlier_surface, target, against, problems)
    return compare_with(find_earlier, target, problems, options, progress, fail_on=fail_on)


def compare_with(
    find_earlier: Callable[[], EarlierSurface],
    target: Path,
    problems: Problems,
    options: GenerateOptions,
    progress: Progress,
    *,
    fail_on: Level | None = None,
) -> ChangelogReport:
    """Compare the tools that `target` has now with an earlier surface, which is found first."""
    try:
        found_lock = find_lock(target, problems)
        if found_lock is None:
            return ChangelogReport(problems, Outcome.USAGE, target)
        # Imported here: the pipeline loads a validator and YAML, which `check` does without.
        from mcpgen.pipeline.project.read_inputs import read_inputs, read_intent

        earlier = find_earlier()
        intent = read_intent(target, problems)
        levels = read_levels(intent, problems)
        now = read_unchanged_surface(target, found_lock.lock)
        if now is None:
            from mcpgen.pipeline.build import plan_project
            from mcpgen.render.contracts import surface_of

            inputs = read_inputs(target, intent, options, lock=found_lock.lock)
            now = surface_of(plan_project(inputs, problems, progress).plan)
        version = earlier.version or find_package_version(partial(read_file, target))
    except (StoppedError, RejectedError, OSError) as error:
        return ChangelogReport(problems, report_stop(error, target, problems), target)
    found = compare(earlier.surface, now, levels)
    is_over = fail_on is not None and found.level >= fail_on
    return ChangelogReport(
        problems,
        Outcome.FINDINGS if is_over else Outcome.DONE,
        target,
        found,
        earlier.found_in,
        version,
        next_version(version, found.level),
    )


def read_levels(intent: LocatedManifest, problems: Problems) -> dict[str, Level]:
    """Return the levels that the manifest assigns to rules, by rule id.

    Raises:
        RejectedError: it names an unknown rule.
    """
    stated = intent.manifest.changelog
    for rule in stated.keys() - RULES.keys():
        problems.error(
            "changelog-rule",
            f"unknown changelog rule `{rule}`",
            at=intent.locate(("changelog", rule)),
            why="the level would silently change nothing",
            help=did_you_mean(rule, RULES, f"rules are {', '.join(sorted(RULES))}"),
        )
    if stated.keys() - RULES.keys():
        raise RejectedError
    return {rule: Level[word.upper()] for rule, word in stated.items()}
