"""A small document, and projects made of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcpgen.pipeline import commands as pipeline
from mcpgen.pipeline.take_over import TakeOver, override

DOCUMENT = """\
openapi: 3.1.0
info: {title: Pet Shop API, version: "1", description: Pets.}
servers: [{url: "https://pets.example/v1"}]
paths:
  /pets/{petId}:
    get:
      operationId: getPet
      tags: [pets]
      summary: Fetch one pet
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      responses:
        "200":
          description: The pet.
          content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}
  /orders:
    get:
      operationId: listOrders
      tags: [orders]
      summary: List orders
      responses: {"204": {description: Nothing.}}
components:
  schemas:
    Pet: {type: object, required: [id], properties: {id: {type: integer}, name: {type: string}}}
"""


def silent(_: str) -> None:
    """Hear no progress."""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "petshop.yaml"
    path.write_text(DOCUMENT)
    return path


@pytest.fixture
def options(cache: Path) -> pipeline.Options:
    return pipeline.Options(outside_judge=False, cache=cache)


@pytest.fixture
def project(source: Path, tmp_path: Path, options: pipeline.Options) -> Path:
    """A project as `new` makes it."""
    target = tmp_path / "project"
    report = pipeline.new(str(source), target, options, silent)
    assert report.exit_code == 0, list(report.problems)
    return target


@pytest.fixture
def regenerate(project: Path, cache: Path) -> Callable[..., pipeline.Report]:
    """Run `generate` on the project."""

    def run(**more: bool) -> pipeline.Report:
        asked = pipeline.GenerateOptions(outside_judge=False, cache=cache, **more)
        return pipeline.generate(project, asked, silent)

    return run


@pytest.fixture
def take_over(project: Path, cache: Path) -> Callable[..., TakeOver]:
    def run(
        name: str = "GET /pets/{petId}", *, dry_run: bool = False, replaces: bool = False
    ) -> TakeOver:
        options = pipeline.GenerateOptions(dry_run=dry_run, outside_judge=False, cache=cache)
        return override(project, name, options, silent, replaces=replaces)

    return run
