"""A server of a small document, with and without tasks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcpgen.factory.packages import GeneratedPackage, find_package
from mcpgen.ir.eval_tasks import TASKS_FILE
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options
from tests.support.projects import silent

DOCUMENT = """\
openapi: 3.1.0
info: {title: Pets, version: "1"}
servers: [{url: "https://pets.example/v1"}]
paths:
  /pets:
    get:
      operationId: listPets
      summary: List the pets of the shop
      parameters: [{name: status, in: query, schema: {type: string}}]
      responses:
        "200":
          description: The pets.
          content:
            application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Pet"}}}
    post:
      operationId: addPet
      summary: Add a pet to the shop
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: "#/components/schemas/NewPet"}}}
      responses:
        "201":
          description: The pet.
          content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}
          links: {visits: {operationId: listVisits, parameters: {petId: "$response.body#/id"}}}
  /pets/{petId}:
    parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
    get:
      operationId: getPet
      summary: Show one pet
      responses:
        "200":
          description: The pet.
          content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}
    delete:
      operationId: removePet
      summary: Remove a pet
      responses: {"204": {description: It is gone.}}
  /pets/{petId}/visits:
    get:
      operationId: listVisits
      summary: List the visits of a pet
      parameters: [{name: petId, in: path, required: true, schema: {type: integer}}]
      responses:
        "200":
          description: The visits.
          content: {application/json: {schema: {type: array, items: {type: string}}}}
components:
  schemas:
    NewPet:
      type: object
      required: [name]
      properties: {name: {type: string}, status: {type: string, enum: [free, sold]}}
      example: {name: Tom, status: free}
    Pet:
      type: object
      required: [id, name]
      properties: {id: {type: integer}, name: {type: string}, status: {type: string}}
      example: {id: 1, name: Rex, status: free}
"""


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a server with `mcpgen new`; tests copy it."""
    folder = tmp_path_factory.mktemp("pets")
    (folder / "pets.yaml").write_text(DOCUMENT)
    options = Options(external_validator=False, models=False, cache=folder / "cache")
    report = new(str(folder / "pets.yaml"), folder / "pets", options, silent)
    assert report.outcome == "done", list(report.problems)
    return folder / "pets"


@pytest.fixture
def package(made: Path, tmp_path: Path) -> GeneratedPackage:
    """Copy the server, and return its package."""
    shutil.copytree(made, tmp_path / "pets")
    return find_package(tmp_path / "pets")


def write_tasks(package: GeneratedPackage, text: str) -> None:
    (package.directory / TASKS_FILE).write_text(f"version: 1\ntasks:\n{text}")
