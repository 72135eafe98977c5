"""A small document, and projects made of it."""

from __future__ import annotations

from pathlib import Path

from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options

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
    """Ignore progress."""


def make_server(folder: Path, cache: Path) -> Path:
    """Make a server of the document with `mcpgen new`; return its folder."""
    (folder / "petshop.yaml").write_text(DOCUMENT)
    options = Options(external_validator=False, models=False, cache=cache)
    report = new(str(folder / "petshop.yaml"), folder / "server", options, silent)
    assert report.outcome == "done", list(report.problems)
    return folder / "server"
