"""Tests that commands in READMEs and documentation work although no registry has mcpgen."""

from __future__ import annotations

import re
import shlex
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest

from mcpgen.emit.skeleton import render_skeleton
from mcpgen.ir.templates import template_root
from mcpgen.render.skeleton_facts import skeleton_facts
from mcpgen.text.identifiers import Identifier
from tests.support.paths import REPOSITORY
from tests.support.plans import server_plan
from tests.support.wheel import mcpgen_wheel, new_environment, pip_command, run, shell_variables

_INSTALLS = re.compile(r"\b(?:pip3? install|pipx (?:install|run)|uvx?|uv (?:pip|tool) \w+) .*")
_FROM_A_REGISTRY = re.compile(r"(?:^|[ '\"=])mcpgen(?:\[\w+\])?(?:$|[ '\"=<>~])")


@cache
def pages() -> dict[str, str]:
    written = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    texts = {path.relative_to(REPOSITORY).as_posix(): path.read_text() for path in written}
    for answer in ("no", "yes"):
        answers = {"name": "petstore", "vendor_runtime": answer}
        facts = skeleton_facts(server_plan(), "openapi.yaml")
        files = render_skeleton(
            template_root() / "skeleton", Identifier("petstore_mcp"), facts, answers
        )
        [readme] = [file for file in files if file.path == "README.md"]
        texts[f"generated, vendor_runtime: {answer}"] = readme.content.decode()
    return texts


@pytest.mark.parametrize("name", sorted(pages()))
def test_no_command_installs_mcpgen_from_a_registry(name: str) -> None:
    commands = _INSTALLS.findall(pages()[name])
    assert [each for each in commands if _FROM_A_REGISTRY.search(each)] == []


def test_the_pattern_matches_an_installation_from_a_registry() -> None:
    for command in ("pip install 'mcpgen[cli]'", "pip install mcpgen", "uvx mcpgen new a.yaml"):
        assert _FROM_A_REGISTRY.search(_INSTALLS.findall(command)[0])


def test_commands_of_the_readme_install_mcpgen(tmp_path: Path) -> None:
    text = (REPOSITORY / "README.md").read_text()
    block = text.partition("```sh\npip install '.[cli]'")[2].partition("```")[0]
    wheel = mcpgen_wheel()
    assert f"dist/{wheel.name}[cli]" in block, "the README names the wheel of this version"
    assert version("mcpgen") in wheel.name
    scripts = new_environment(tmp_path / "environment")

    run(*pip_command(scripts), "install", f"{REPOSITORY}[cli]", cwd=tmp_path)

    variables = shell_variables(scripts)
    command = shlex.split("mcpgen new --empty notes -q")
    run(str(scripts / command[0]), *command[1:], cwd=tmp_path, env=variables)
    assert (tmp_path / "notes-mcp" / "mcpgen.yaml").is_file()
