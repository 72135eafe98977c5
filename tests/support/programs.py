"""System programs that some tests need."""

from __future__ import annotations

import os
import shutil

import pytest


def find_program(name: str) -> str:
    """Return the path of a program; skip the test if it is missing, or fail in CI."""
    found = shutil.which(name)
    if found is not None:
        return found
    message = f"{name} is not installed; `apt-get install {name}`"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
