"""Tests of the final checks of new files."""

from __future__ import annotations

import pytest

from mcpgen.emit.format import format_files
from mcpgen.emit.models.models import ModelRun
from mcpgen.emit.output_checks import ProofFailedError, prove_contents, prove_paths
from mcpgen.ir.file_set import Owner, PlannedFile
from mcpgen.render.package import render
from mcpgen.text.identifiers import Identifier
from tests.support.plans import server_plan

PACKAGE = Identifier("petstore_mcp")
HANDLERS = "src/petstore_mcp/_generated/tools/pets.py"
GOOD = """
from mcpgen.runtime import Context, ToolGroup

tools = ToolGroup.load(__name__, "pets.json")


@tools.handler("a")
async def a(ctx: Context) -> None:
    \"\"\"Do a: `GET /a`.\"\"\"
    await ctx.api.request("GET", "/a", returns=None)
"""


def planned(path: str, text: str) -> PlannedFile:
    return PlannedFile(path, text.encode(), Owner.GENERATED)


def test_rendered_files_pass_the_checks() -> None:
    plan = server_plan()
    with ModelRun(plan) as models:
        prove_contents(format_files(render(plan) + models.join()), PACKAGE)


@pytest.mark.parametrize(
    "code",
    [
        GOOD + "import os\n",
        GOOD + "from os import system\n",
        GOOD + "from petstore_mcp import other\n",
        GOOD + "exec('x')\n",
        GOOD + "'text'.format(1)\n",
        GOOD + "x = f'{tools}'\n",
        GOOD + "x = lambda: 1\n",
        GOOD + "x = [y for y in z]\n",
        GOOD + "def f(): pass\n",
        GOOD + "    while True: pass\n",
        GOOD + "    del ctx\n",
        GOOD.replace("ctx.api.request", "ctx.api.evil"),
        GOOD.replace('@tools.handler("a")', '@tools.handler(eval("a"))'),
        GOOD.replace("-> None", "-> (x := 1)"),
        "def (",
    ],
)
def test_code_that_no_template_emits_is_rejected(code: str) -> None:
    prove_contents((planned(HANDLERS, GOOD),), PACKAGE)
    with pytest.raises(ProofFailedError, match=r"pets\.py"):
        prove_contents((planned(HANDLERS, code),), PACKAGE)


CLASSES = "".join(f"class C{number}(TypedDict):\n    a: int\n\n\n" for number in range(4_000))


@pytest.mark.parametrize("place", [0, 70_000, len(CLASSES)])
def test_code_in_any_part_of_a_long_file_is_rejected(place: int) -> None:
    models = "src/petstore_mcp/_generated/models.py"
    start = CLASSES.rfind("class", 0, place + 1) if place < len(CLASSES) else place
    line = 1 + CLASSES.count("\n", 0, start)
    prove_contents((planned(models, CLASSES),), PACKAGE)
    code = f"{CLASSES[:start]}import os\n{CLASSES[start:]}"
    with pytest.raises(ProofFailedError, match=rf"models\.py: line {line}: .* import os"):
        prove_contents((planned(models, code),), PACKAGE)


def test_a_long_text_with_a_line_that_looks_like_a_class_is_accepted() -> None:
    code = f'{CLASSES}"""\nclass C\n{"-" * 60_000}\nclass D\n"""\n'
    prove_contents((planned("src/petstore_mcp/_generated/models.py", code),), PACKAGE)
    with pytest.raises(ProofFailedError, match="import os"):
        prove_contents((planned(HANDLERS, f"{code}import os\n"),), PACKAGE)


@pytest.mark.parametrize(
    ("path", "text"),
    [("a.json", "{"), ("a.jsonl", "{}\n{"), ("pyproject.toml", 'a = "'), ("a.py", "def (")],
)
def test_a_file_that_does_not_parse_is_rejected(path: str, text: str) -> None:
    with pytest.raises(ProofFailedError, match=path):
        prove_contents((planned(path, text),), PACKAGE)


@pytest.mark.parametrize("path", ["/a", "../a", "a/../b", "a\\b"])
def test_a_path_outside_the_project_is_rejected(path: str) -> None:
    with pytest.raises(ProofFailedError, match="inside the project"):
        prove_paths((planned(path, ""),))


def test_a_duplicate_path_is_rejected() -> None:
    with pytest.raises(ProofFailedError):
        prove_paths((planned("a", ""), planned("a", "")))
