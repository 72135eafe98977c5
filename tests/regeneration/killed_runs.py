"""Kill runs of `generate` in separate processes; started by `test_killed_runs.py`.

    python -m tests.regeneration.killed_runs PROJECT WORK CACHE KILLS

Each kill is a real SIGKILL. Most are sent by the process itself, just before a selected call that
changes the disk; the last ones come from outside, at various times. The files that `generate` makes
in memory are made once, by the real stages, since nothing can be lost before it writes.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from mcpgen.cli.exit_codes import EXIT_CODES
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.options import GenerateOptions, Report
from tests.regeneration import projects

CHANGES_THE_DISK = ("fsync", "link", "mkdir", "open", "rename", "replace", "rmdir", "unlink")
FROM_OUTSIDE = 20


def main(original: Path, work: Path, cache: Path, kills: int) -> None:
    reference = shutil.copytree(original, work / "reference")
    counted = in_a_child(lambda: count_changes(reference, cache))
    steps = int((work / "steps").read_text())
    assert counted == 0
    wanted = projects.tree(reference)
    generate = sys.modules["mcpgen.pipeline.commands.generate"]
    made = make_once(original, cache)
    generate._build = lambda *_: made

    choose = random.Random(1)
    ended = {"before": 0, "within": 0}
    for number in range(kills):
        target = shutil.copytree(original, work / str(number))
        step = number if kills >= steps else choose.randrange(steps)
        code = in_a_child(
            lambda at=step, to=target: killed_at(
                at, lambda: exit_code(projects.generate(to, cache))
            )
        )
        assert code in (0, -signal.SIGKILL), f"step {step} ended with {code}"
        ended["within" if restart(target, cache, wanted) else "before"] += 1
    for number in range(FROM_OUTSIDE):
        target = shutil.copytree(original, work / f"outside-{number}")
        seconds = choose.uniform(0, 0.15)
        in_a_child(lambda to=target: exit_code(projects.generate(to, cache)), seconds)
        restart(target, cache, wanted)
    print(steps, ended["before"], ended["within"])


def exit_code(report: Report) -> int:
    """Return the exit code of the command line for a report."""
    return EXIT_CODES[report.outcome]


def in_a_child(run: Callable[[], int], kill_after: float | None = None) -> int:
    """Run in a forked process and return its exit code, negative for a signal."""
    process = os.fork()
    if process == 0:
        code = 70
        try:
            code = run()
        finally:
            os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def before_each_change(act: Callable[[], None]) -> None:
    """Call `act` before each system call that changes the disk, except `open` for reading."""
    open_file = os.open
    for name in CHANGES_THE_DISK:
        real = getattr(os, name)

        def called(*args: object, real: Callable[..., object] = real, **kwargs: object) -> object:
            if real is not open_file or int(str(args[1])) & (os.O_WRONLY | os.O_RDWR):
                act()
            return real(*args, **kwargs)

        setattr(os, name, called)


def count_changes(target: Path, cache: Path) -> int:
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    made = make_once(target, cache)
    sys.modules["mcpgen.pipeline.commands.generate"]._build = lambda *_: made
    before_each_change(count)
    code = exit_code(projects.generate(target, cache))
    (target.parent / "steps").write_text(str(steps))
    return code


def killed_at(step: int, run: Callable[[], int]) -> int:
    """Run, and kill this process before the change with this number."""
    left = step

    def kill() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    before_each_change(kill)
    return run()


def restart(target: Path, cache: Path, wanted: dict[str, bytes]) -> bool:
    """Check a killed project, generate it, check it again; return whether it was interrupted."""
    projects.assert_edits_are_there(target)
    is_cut = (target / ".mcpgen/journal.json").exists()
    assert (check(target).outcome == "interrupted") == is_cut
    report = projects.generate(target, cache)
    assert report.outcome == "done", list(report.problems)
    assert projects.tree(target) == wanted
    assert check(target).outcome == "done"
    shutil.rmtree(target)
    return is_cut


def make_once(project: Path, cache: Path) -> tuple[object, object]:
    from mcpgen.diagnostics import Problems
    from mcpgen.pipeline.project.project_folder import find_lock

    generate = sys.modules["mcpgen.pipeline.commands.generate"]
    problems = Problems()
    found = find_lock(project, problems)
    assert found is not None
    options = GenerateOptions(external_validator=False, cache=cache)
    return generate._build(project, found.lock, options, problems, projects.silent, None)


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:4]), kills=int(sys.argv[4]))
