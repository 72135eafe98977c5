"""`mcpgen schema`: the JSON Schemas of the files that mcpgen reads."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from mcpgen.cli.exit_codes import ExitCode
from mcpgen.cli.report import Printer


class SchemaOf(StrEnum):
    """What there is a schema of."""

    MANIFEST = "manifest"


def schema(
    printer: Printer,
    what: Annotated[SchemaOf, typer.Argument(metavar="manifest", help="`mcpgen.yaml`.")],
) -> int:
    """Print the JSON Schema of `mcpgen.yaml`, for editors and for other programs."""
    from mcpgen.ir.manifest import Manifest
    from mcpgen.render.json_text import pretty
    from mcpgen.spec.typed_file import json_schema

    found = {SchemaOf.MANIFEST: json_schema(Manifest)}[what]
    printer.fact(schema=found)
    printer.raw(pretty(found).decode())
    return printer.finish("done", ExitCode.DONE)
