"""Tests that committed files contain no machine name, download host or resolved package URL."""

from __future__ import annotations

import re
import subprocess
from pathlib import PurePosixPath

import pytest

from tests.support.paths import REPOSITORY

LOCK_FILES = {
    "uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "package-lock.json", "yarn.lock",
    "pnpm-lock.yaml", "npm-shrinkwrap.json",
}  # fmt: skip
MACHINE_PATH = re.compile(rb"(?<!PATCH )(?<![\w.~-])/(?:home|root|Users|work|private/var)/[\w.-]")
REGISTRY_HOST = re.compile(
    rb"(?:registry\.npmjs|files\.pythonhosted|registry\.yarnpkg)\.(?:org|com)|//pypi\.org/simple"
)


def committed() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, timeout=30, check=False
    )
    if listed.returncode:
        pytest.skip("not a git clone")
    names = listed.stdout.decode().split("\0")
    return [name for name in names if name and (REPOSITORY / name).is_file()]


def test_no_lock_file_is_committed() -> None:
    assert not [name for name in committed() if PurePosixPath(name).name in LOCK_FILES]


@pytest.mark.parametrize("pattern", [MACHINE_PATH, REGISTRY_HOST], ids=["path", "registry"])
def test_no_file_names_a_machine_or_a_download_host(pattern: re.Pattern[bytes]) -> None:
    found = {
        name: hit[0]
        for name in committed()
        if name != "tests/architecture/test_committed_files.py"
        if (hit := pattern.search((REPOSITORY / name).read_bytes()))
    }
    assert not found
