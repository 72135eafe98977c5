"""Check of the skills that the owner of a project wrote, which the server would not serve."""

from __future__ import annotations

from pathlib import Path

from mcpgen.contract.own_skills import describe_skill, find_own_skills
from mcpgen.contract.skills import SKILL_FILE
from mcpgen.diagnostics import Location, Problems


def check_own_skills(target: Path, problems: Problems) -> bool:
    """Report the invalid skills in `skills/` of the package; return whether there are any."""
    is_misfit = False
    for generated in sorted(target.glob("src/*/_generated")):
        for directory in find_own_skills(generated.parent / "skills"):
            try:
                describe_skill(directory)
            except (OSError, ValueError) as error:
                is_misfit = True
                path = (directory / SKILL_FILE).relative_to(target).as_posix()
                problems.warning(
                    "skill-invalid",
                    f"invalid skill `{directory.name}`: {error}",
                    at=Location(path, 1, 1),
                    why="the server leaves it out, and logs this when a client asks for skills",
                    help="correct what the message names in this folder",
                )
    return is_misfit
