"""Projects made of a small document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcpgen.pipeline.commands.generate import generate
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.commands.override import OverrideReport, override
from mcpgen.pipeline.options import GenerateOptions, Options, Report
from tests.support.projects import DOCUMENT, silent


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "petshop.yaml"
    path.write_text(DOCUMENT)
    return path


@pytest.fixture
def options(cache: Path) -> Options:
    return Options(external_validator=False, cache=cache)


@pytest.fixture
def project(source: Path, tmp_path: Path, options: Options) -> Path:
    """Make a project with `new`."""
    target = tmp_path / "project"
    report = new(str(source), target, options, silent)
    assert report.outcome == "done", list(report.problems)
    return target


@pytest.fixture
def regenerate(project: Path, cache: Path) -> Callable[..., Report]:
    """Return a function that runs `generate` on the project."""

    def run(**more: bool) -> Report:
        asked = GenerateOptions(external_validator=False, cache=cache, **more)
        return generate(project, asked, silent)

    return run


@pytest.fixture
def take_over(project: Path, cache: Path) -> Callable[..., OverrideReport]:
    def run(
        name: str = "GET /pets/{petId}", *, dry_run: bool = False, replaces: bool = False
    ) -> OverrideReport:
        options = GenerateOptions(dry_run=dry_run, external_validator=False, cache=cache)
        return override(project, name, options, silent, replaces=replaces)

    return run
