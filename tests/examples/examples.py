"""The servers in generated_examples/, and what each is made from.

`specs/<name>.yaml` is the document of a server, if it has one; `specs/<name>/` has what a person
decided about it (`mcpgen.yaml`, overlays), copied into the project. Handlers and tests of a
person's own are written where they are committed, and stay.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from mcpgen.cli.app import run

REPOSITORY = Path(__file__).resolve().parents[2]
COMMITTED = REPOSITORY / "generated_examples"
SPECS = REPOSITORY / "specs"
NAMES = (
    "bookshop",
    "chatdesk",
    "competitor-research",  # of tools that its manifest declares; there is no document
    "meta-ads",
    "n8n",
    "petstore",
    "reonomy",
    "search-console",
    "twilio",
)
BY_HAND = ("everything",)  # made by `mcpgen new --empty`; their handlers are written, and stay


def make(name: str, directory: Path, by_hand: Mapping[str, bytes]) -> None:
    """Generate a server into `directory`, which must not exist yet.

    Its source is `specs/<name>.yaml` or, where there is no document, the manifest beside it.
    `by_hand` is what people wrote of it, by path, as `written_by_hand` gives it.
    """
    document, manifest = Path(f"specs/{name}.yaml"), Path(f"specs/{name}/mcpgen.yaml")
    with contextlib.chdir(REPOSITORY):
        source = ["--name", name, str(document)] if document.exists() else [str(manifest)]
        code = run(["new", *source, str(directory), "--defaults", "-q"])
    if code:
        raise RuntimeError(f"{source[-1]} gave exit code {code}")
    for path, content in by_hand.items():
        (directory / path).write_bytes(content)
    bring_up_to_date(directory)


def written_by_hand(name: str) -> dict[str, bytes]:
    """Read what people wrote of a server, by its path in the project.

    That is what stands in `specs/<name>/`, and the `handlers/` and tests that are committed.
    """
    root = COMMITTED / f"{name}-mcp"
    files = [(SPECS / name, path) for path in sorted(SPECS.glob(f"{name}/*"))]
    for pattern in ("src/*/handlers/*.py", "tests/*.py"):
        files += [(root, path) for path in sorted(root.glob(pattern))]
    return {path.relative_to(base).as_posix(): path.read_bytes() for base, path in files}


def bring_up_to_date(directory: Path) -> None:
    """Generate what is not written by hand of a server anew."""
    code = run(["generate", str(directory), "-q"])
    if code:
        raise RuntimeError(f"{directory} gave exit code {code}")


def in_workspace(command: str) -> None:
    """Run a command of `mcpgen ws` in generated_examples/."""
    with contextlib.chdir(COMMITTED):
        code = run(["ws", command, "-q"])
    if code:
        raise RuntimeError(f"mcpgen ws {command} gave exit code {code}")


def update() -> None:
    """Make the committed examples anew."""
    for name in NAMES:
        directory = COMMITTED / f"{name}-mcp"
        by_hand = written_by_hand(name)
        shutil.rmtree(directory, ignore_errors=True)
        make(name, directory, by_hand)
    for name in BY_HAND:
        bring_up_to_date(COMMITTED / f"{name}-mcp")
    in_workspace("generate")


if __name__ == "__main__":
    update()
