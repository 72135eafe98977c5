"""Fill a folder with wheels, so that environments of tests can be installed without an index.

`python -m tests.support.wheelhouse DIR`, run by `make`: everything that mcpgen and its extras
require, and the test tools, at the pinned versions. mcpgen itself is not among them.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from tests.support.paths import REPOSITORY


def requirements() -> list[str]:
    """Return the requirements in `pyproject.toml` with all extras, including extras of extras."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    return [line for line in lines if not line.startswith(f"{project['name']}[")]


def fill(directory: Path) -> None:
    """Download or build the wheels."""
    given = ["--constraint", "tests/constraints.txt", "--requirement", "tests/requirements.txt"]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-qq"]
    subprocess.run(
        [*command, "--wheel-dir", str(directory), *given, *requirements()],
        cwd=REPOSITORY,
        check=True,
    )


if __name__ == "__main__":
    fill(Path(sys.argv[1]))
