"""The deployment files of a server, rendered from the skeleton."""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path

import pytest

from mcpgen.emit.skeleton import render_skeleton
from mcpgen.ir.templates import template_root
from mcpgen.render.skeleton_facts import skeleton_facts
from mcpgen.text.identifiers import Identifier
from tests.support.plans import server_plan


@cache
def render(deployment: str = "all") -> dict[str, str]:
    """Render the project of the server `small`; return its files by path."""
    facts = skeleton_facts(server_plan(), "openapi.yaml")
    answers = {"name": "small", "deployment": deployment}
    files = render_skeleton(template_root() / "skeleton", Identifier("small_mcp"), facts, answers)
    return {file.path: file.content.decode() for file in files}


def find_program(name: str) -> str:
    """Return the path of a system program; skip the test if it is missing."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin")
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def write(folder: Path, path: str, replaced: dict[str, str]) -> Path:
    """Write a deployment file with replacements, each of which must occur in it."""
    text = render()[path]
    for old, new in replaced.items():
        assert old in text, f"{path} does not contain {old}"
        text = text.replace(old, new)
    file = folder / Path(path).name
    file.write_text(text)
    return file
