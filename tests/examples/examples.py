"""The servers in generated_examples/: those made from a document in specs/, and by hand."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from mcpgen.cli.app import run

REPOSITORY = Path(__file__).resolve().parents[2]
COMMITTED = REPOSITORY / "generated_examples"
NAMES = ("bookshop", "petstore")
BY_HAND = ("everything",)  # made by `mcpgen new --empty`; their handlers are written, and stay


def make(name: str, directory: Path) -> None:
    """Generate the server of `specs/<name>.yaml` into `directory`, which must not exist yet."""
    with contextlib.chdir(REPOSITORY):
        code = run(
            ["new", f"specs/{name}.yaml", str(directory), "--name", name, "--defaults", "-q"]
        )
    if code:
        raise RuntimeError(f"specs/{name}.yaml gave exit code {code}")


def bring_up_to_date(directory: Path) -> None:
    """Generate what is not written by hand of a server anew."""
    code = run(["generate", str(directory), "-q"])
    if code:
        raise RuntimeError(f"{directory} gave exit code {code}")


def update() -> None:
    """Make the committed examples anew."""
    for name in NAMES:
        directory = COMMITTED / f"{name}-mcp"
        shutil.rmtree(directory, ignore_errors=True)
        make(name, directory)
    for name in BY_HAND:
        bring_up_to_date(COMMITTED / f"{name}-mcp")


if __name__ == "__main__":
    update()
