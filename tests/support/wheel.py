"""The wheel of mcpgen, and empty environments to install it into.

Nothing here asks a package index: `make` filled the wheelhouse, and the only wheel of mcpgen that
pip is offered is the one built from this checkout.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

from tests.support.paths import CACHE, REPOSITORY
from tests.support.running_server import installed

WAIT_SECONDS = 900
WHEELHOUSE = CACHE / "wheelhouse"
UV = CACHE / "peers" / "uv-0.13.9" / "bin" / "uv"
_BUILT_FROM = ("LICENSE", "README.md", "mcpgen", "pyproject.toml", "templates")
# Settings of the machine that runs the tests: its index, its interpreter, its environment.
_NOT_INHERITED = ("PIP_", "PYTEST_", "PYTHON", "UV_", "VIRTUAL_ENV")


@functools.cache
def mcpgen_wheel() -> Path:
    """Build the wheel of this checkout once, into a folder without other files."""
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(path.relative_to(REPOSITORY).as_posix().encode() + b"\0" + path.read_bytes())
    folder = CACHE / "wheels" / digest.hexdigest()[:20]
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="new-") as new:
            built = Path(new) / "built"
            # hatchling is one of the test tools, so it needs no environment of its own.
            options = ("--quiet", "--isolated", "--no-deps", "--no-index", "--no-build-isolation")
            pip = (sys.executable, "-m", "pip", "wheel", *options)
            run(*pip, "--wheel-dir", str(built), str(REPOSITORY))
            try:
                built.rename(folder)  # at once, since several workers may build it
            except OSError:
                if not folder.is_dir():
                    raise
    [wheel] = folder.iterdir()
    return wheel


def _sources() -> Iterator[Path]:
    for name in _BUILT_FROM:
        root = REPOSITORY / name
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def make_environment(directory: Path, *requirements: str, offers_mcpgen: bool = True) -> Path:
    """Make a virtual environment with only `requirements`; return its folder of programs.

    There is no pip in it. Without `offers_mcpgen` the requirements have to name a wheel of mcpgen.
    """
    scripts = new_environment(directory)
    offered = (f"--find-links={mcpgen_wheel().parent}",) if offers_mcpgen else ()
    run(*pip_command(scripts), "install", *offered, *requirements)
    return scripts


def make_environment_with_uv(directory: Path, *requirements: str) -> Path:
    """Make the same environment with uv; return its folder of programs."""
    scripts = new_environment(directory)
    run(*uv_command(scripts, mcpgen_wheel().parent), "install", *requirements)
    return scripts


def new_environment(directory: Path) -> Path:
    """Make an empty virtual environment; return its folder of programs."""
    venv.create(directory, symlinks=True)
    return directory / "bin"


def pip_command(scripts: Path) -> list[str]:
    """Return a pip command that installs into an environment from the wheelhouse only."""
    wheelhouse = installed(WHEELHOUSE / "filled", "wheelhouse").parent
    options = {
        "CONFIG_FILE": os.devnull,
        "DISABLE_PIP_VERSION_CHECK": "1",
        "FIND_LINKS": str(wheelhouse),
        "NO_COMPILE": "0",  # "0" turns it on; an environment is used by one test
        "NO_INDEX": "1",
        "QUIET": "1",
    }
    settings = [f"PIP_{name}={value}" for name, value in options.items()]
    return ["env", *settings, sys.executable, "-m", "pip", "--python", str(scripts / "python")]


def uv_command(scripts: Path, *offered: Path) -> list[str]:
    """Return a uv command with pip's arguments that installs from the wheelhouse.

    It takes a sixth of pip's time, since it unpacks a wheel once for all environments. `offered`
    are folders with further wheels.
    """
    uv = installed(UV, "peers")
    wheelhouse = installed(WHEELHOUSE / "filled", "wheelhouse").parent
    options = {
        "CACHE_DIR": str(CACHE / "uv"),
        "FIND_LINKS": ",".join(map(str, (wheelhouse, *offered))),
        "NO_CONFIG": "1",
        "NO_INDEX": "1",
        "OFFLINE": "1",
        "PYTHON_DOWNLOADS": "never",
    }
    settings = [f"UV_{name}={value}" for name, value in options.items()]
    python = str(scripts / "python")
    return ["env", *settings, f"UV_PYTHON={python}", str(uv), "--quiet", "pip"]


def shell_variables(scripts: Path) -> dict[str, str]:
    """Return the variables of a shell with only this environment active."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(_NOT_INHERITED)
    }
    path = os.pathsep.join([str(scripts), os.environ.get("PATH", os.defpath)])
    return {**inherited, "PATH": path, "VIRTUAL_ENV": str(scripts.parent)}


def run(*command: str, **options: object) -> str:
    """Run a command that must succeed; return its output."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
        **options,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
    return str(done.stdout)


def copy_project(project: Path, directory: Path) -> Path:
    """Copy a project without files that tools left in it."""
    left = ("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", "*.egg-info")
    return Path(shutil.copytree(project, directory, ignore=shutil.ignore_patterns(*left)))
