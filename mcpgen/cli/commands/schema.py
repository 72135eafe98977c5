"""`mcpgen schema`: the JSON Schemas of the files that mcpgen reads."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from mcpgen.cli.output.report import Printer
from mcpgen.pipeline.options import Outcome


class SchemaOf(StrEnum):
    """Subjects of the schemas."""

    MANIFEST = "manifest"
    TESTS = "tests"
    WAIVERS = "waivers"
    TASKS = "tasks"


def schema(
    printer: Printer,
    what: Annotated[
        SchemaOf,
        typer.Argument(
            metavar="manifest|tests|waivers|tasks",
            help="The file: `mcpgen.yaml`, `mcpgen.tests.yaml`, `waivers.yaml` or"
            " `evals/tasks.yaml`.",
        ),
    ],
) -> int:
    """Print the JSON Schema of a file that mcpgen reads, for editors and other programs.

    There are three ways to make an editor complete and check `mcpgen.yaml`: map the file to the
    output of `mcpgen schema manifest` in the settings of the editor; set the key `schema` of
    `mcpgen-workspace.yaml` for all servers of a repository; or put the line
    `# yaml-language-server: $schema=.mcpgen/manifest.schema.json` into `mcpgen.yaml`, for which
    `mcpgen generate` writes that file.
    """
    from mcpgen.ir.eval_tasks import TasksFile
    from mcpgen.ir.manifest import Manifest
    from mcpgen.ir.tests_file import CasesFile
    from mcpgen.ir.waivers import WaiversFile
    from mcpgen.manifest.typed_file import json_schema
    from mcpgen.render.json_text import pretty

    types = {
        SchemaOf.MANIFEST: Manifest,
        SchemaOf.TESTS: CasesFile,
        SchemaOf.WAIVERS: WaiversFile,
        SchemaOf.TASKS: TasksFile,
    }
    found = json_schema(types[what])
    printer.fact(schema=found)
    printer.raw(pretty(found).decode())
    return printer.finish(Outcome.DONE)
