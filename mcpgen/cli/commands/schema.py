"""`mcpgen schema`: the JSON Schemas of the files that mcpgen reads."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.options import command
from mcpgen.cli.output.report import Printer
from mcpgen.pipeline.options import Outcome

if TYPE_CHECKING:
    from msgspec import Struct


class SchemaOf(StrEnum):
    """What there is a schema of."""

    MANIFEST = "manifest"
    TESTS = "tests"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(command(schema))


def schema(
    printer: Printer,
    what: Annotated[
        SchemaOf,
        typer.Argument(metavar="manifest|tests", help="`mcpgen.yaml`, `mcpgen.tests.yaml`."),
    ],
) -> int:
    """Print the JSON Schema of a file that mcpgen reads, for editors and for other programs.

    An editor with a YAML language server completes and checks `mcpgen.yaml` with one of these:
    a user setting that maps `mcpgen.yaml` to a copy of the schema, which `mcpgen schema manifest >
    FILE` writes; the key `schema` of `mcpgen-workspace.yaml`, one file for all servers of a
    repository; or, in `mcpgen.yaml`, the line
    `# yaml-language-server: $schema=.mcpgen/manifest.schema.json`, for which `mcpgen generate`
    writes that file.
    """
    from mcpgen.ir.manifest import Manifest
    from mcpgen.ir.tests_file import CasesFile
    from mcpgen.manifest.typed_file import json_schema
    from mcpgen.render.json_text import pretty

    types: dict[SchemaOf, type[Struct]] = {
        SchemaOf.MANIFEST: Manifest,
        SchemaOf.TESTS: CasesFile,
    }
    found = json_schema(types[what])
    printer.fact(schema=found)
    printer.raw(pretty(found).decode())
    return printer.finish(Outcome.DONE)
