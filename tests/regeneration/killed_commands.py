"""Kill `override`, `eject` and `pull` at each step; started by `test_killed_runs.py`.

python -m tests.regeneration.killed_commands PROJECT WORK CACHE COMMAND
"""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from mcpgen.cli.exit_codes import EXIT_CODES
from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.commands.override import override
from mcpgen.pipeline.commands.pull import pull as pull_documents
from mcpgen.pipeline.commands.pull import write_pull
from mcpgen.pipeline.options import GenerateOptions
from tests.regeneration import projects
from tests.regeneration.killed_runs import in_a_child, killed_at

MINE = "# mine, and not to be lost\n"
MODULE = "src/pet_shop_mcp/handlers/pets.py"

Command = Callable[[Path, Path], int]


def take_over(target: Path, cache: Path, *, replaces: bool = False) -> int:
    options = GenerateOptions(external_validator=False, cache=cache)
    done = override(target, "get_pet", options, projects.silent, replaces=replaces)
    return EXIT_CODES[done.outcome]


def pull(target: Path, cache: Path) -> int:
    """Pull an edited document; if a run was interrupted, complete it with `generate` first."""
    source = target.with_name("newer.yaml")
    source.write_text(projects.CHANGED_DOCUMENT)
    options = GenerateOptions(external_validator=False, cache=cache, force=True)
    fetched = pull_documents(target, str(source), options, projects.silent)
    if fetched.outcome == "interrupted":
        assert projects.generate(target, cache).outcome == "done"
        return pull(target, cache)
    return EXIT_CODES[write_pull(fetched) if fetched.files else fetched.outcome]


COMMANDS: dict[str, Command] = {
    "override": take_over,
    "eject": lambda target, cache: take_over(target, cache, replaces=True),
    "pull": pull,
}


def prepare(project: Path, name: str) -> None:
    """Write the user's text into the files that the command changes."""
    (project / MODULE).write_text(MINE)
    if name == "pull":
        with (project / "openapi.yaml").open("a") as document:
            document.write(MINE)


def assert_nothing_is_lost(project: Path, name: str) -> None:
    projects.assert_edits_are_there(project)
    assert MINE in (project / MODULE).read_text()
    if name == "pull":
        texts = [project / "openapi.yaml", project / ".mcpgen/rescued/openapi.yaml.txt"]
        assert any(path.is_file() and path.read_text().endswith(MINE) for path in texts)


def main(original: Path, work: Path, cache: Path, name: str) -> None:
    prepare(original, name)
    command = COMMANDS[name]
    reference = shutil.copytree(original, work / "reference")
    assert command(reference, cache) == 0
    after, wanted = projects.tree(reference), finished(reference, cache)
    cut = step = 0
    code = -signal.SIGKILL
    while code != 0:
        target = shutil.copytree(original, work / "killed")
        code = in_a_child(lambda at=step, to=target: killed_at(at, lambda: command(to, cache)))
        assert code in (0, -signal.SIGKILL), f"step {step} ended with {code}"
        cut += check(target).outcome == "interrupted"
        assert_nothing_is_lost(target, name)
        assert command(target, cache) == 0
        assert_nothing_is_lost(target, name)
        # If `generate` had to run in between, both are the same after it ran on both.
        is_same = projects.tree(target) == after or finished(target, cache) == wanted
        assert is_same, f"step {step}"
        shutil.rmtree(target)
        step += 1
    print(step, cut)


def finished(project: Path, cache: Path) -> dict[str, bytes]:
    """Return the files of a copy of a project after the next `generate`."""
    copy = shutil.copytree(project, project.with_name("finished"))
    assert projects.generate(copy, cache).outcome == "done"
    tree = projects.tree(copy)
    shutil.rmtree(copy)
    return tree


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:4]), name=sys.argv[4])
