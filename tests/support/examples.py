"""The servers in generated_examples/, and the sources of each.

`specs/<name>.yaml` is the document of a server, if it has one; `specs/<name>/` has the files of its
owner (`mcpgen.yaml`, overlays), which are copied into the project. Handlers, skills, handwritten
tests and tasks are edited where they are committed, and are kept; so is the evidence of the tests,
which is renewed if it is outdated. The owner's text in `README.md` is merged with its new version,
as in any project.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from mcpgen.cli.app import run
from mcpgen.emit.lockfile import dump_lock, parse_lock
from mcpgen.emit.merge.merge import BASE_FILE, merge
from mcpgen.ir.eval_tasks import TASKS_FILE
from mcpgen.ir.file_set import LOCK_FILE
from mcpgen.pipeline.project.evidence import (
    EVIDENCE_FOLDER,
    is_evidence_current,
    read_evidence,
    show_figures,
)
from tests.support.paths import EXAMPLES, REPOSITORY, SPECS

NAMES = (
    "bookshop",
    "calendar",
    "chatdesk",
    "clinic",  # FHIR: bundles, versions, JSON Patch
    "cloud",  # of more than 500 operations
    "competitor-research",  # of tools that its manifest declares; there is no document
    "eventhub",
    "filebox",
    "fleet-telemetry",  # time series, polygons and commands
    "gitforge",  # OpenAPI 3.2; similar operations are one tool
    "harbor",  # of three documents
    "helpcenter",  # resources, prompts and completions
    "ledger",  # payments and double-entry books
    "meta-ads",
    "n8n",
    "payroll-internal",  # in a private network, with client certificates
    "petstore",
    "renderfarm",  # of jobs that take hours, and streams
    "reonomy",
    "search-console",
    "stockroom",  # Swagger 2.0, of XML
    "storefront",  # filters in every style of the query
    "surveys",  # polymorphic and recursive schemas, personal data masked
    "telescope",
    "tenants",  # a host for each tenant and region
    "ticketing",  # methods by POST, errors with status 200
    "travel",
    "twilio",
    "weather",  # of tools that its manifest declares, too
)
README = "README.md"
PARTS = {"cloud": "server"}
"""Servers whose suite takes a minute, and the option `-k` for a part of it. `make test` runs that
part; the committed evidence states that all of it passed on the files that are there."""
BY_HAND = ("everything",)  # made by `mcpgen new --empty`; their handlers are written, and stay


def make(name: str, directory: Path, kept: Mapping[str, bytes]) -> None:
    """Generate a server into `directory`, which must not exist yet.

    Its source is `specs/<name>.yaml` or, if there is no document, the manifest beside it. `kept`
    are the files that are not generated, by path, as `not_generated` returns them. The form of the
    listing is that of its earlier lock, since clients rely on it.
    """
    document, manifest = Path(f"specs/{name}.yaml"), Path(f"specs/{name}/mcpgen.yaml")
    with contextlib.chdir(REPOSITORY):
        source = ["--name", name, str(document)] if document.exists() else [str(manifest)]
        code = run(["new", *source, str(directory), "--defaults", "-q"])
    if code:
        raise RuntimeError(f"{source[-1]} gave exit code {code}")
    lock = directory / LOCK_FILE
    if LOCK_FILE in kept:
        earlier = parse_lock(kept[LOCK_FILE]).listing
        lock.write_bytes(dump_lock(replace(parse_lock(lock.read_bytes()), listing=earlier)))
    merge_readme(directory / README, kept)
    for path, content in kept.items():
        if path in {LOCK_FILE, README, BASE_FILE}:
            continue
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(content)
    bring_up_to_date(directory)
    if TASKS_FILE not in kept:  # those that `new` made do not know the manifest
        (directory / TASKS_FILE).unlink(missing_ok=True)
        run(["eval", str(directory), "--init", "-q"])
    show_figures(directory)


def merge_readme(path: Path, kept: Mapping[str, bytes]) -> None:
    """Copy the owner's text in the committed README into the new one."""
    if not {README, BASE_FILE} <= kept.keys():
        return
    base = "\n".join(json.loads(kept[BASE_FILE])[README]).encode()
    merged = merge(README, base, kept[README], path.read_bytes())
    if merged.has_markers:
        raise RuntimeError(f"{path} conflicts with what was written into it")
    path.write_bytes(merged.content)


def not_generated(name: str) -> dict[str, bytes]:
    """Read the files of a server that are not generated, by path in the project.

    These are the files of `specs/<name>/`, and the committed `handlers/`, `skills/`, hand-written
    tests and evidence; the README, with the base of its merge; and the lock, of which only the form
    of the listing is kept.
    """
    root = EXAMPLES / f"{name}-mcp"
    files = [(SPECS / name, path) for path in sorted(SPECS.glob(f"{name}/*"))]
    files += [(root, path) for path in root.glob(LOCK_FILE)]
    own = (
        "src/*/handlers/*.py",
        "src/*/skills/**/*.*",
        "tests/*.py",
        "tests/*.json",
        "mcpgen.tests.yaml",
        TASKS_FILE,
        README,
        BASE_FILE,
    )
    for pattern in (*own, f"{EVIDENCE_FOLDER}/*.json"):
        files += [(root, path) for path in sorted(root.glob(pattern))]
    return {path.relative_to(base).as_posix(): path.read_bytes() for base, path in files}


def bring_up_to_date(directory: Path) -> None:
    """Regenerate the files of a server, except handwritten ones."""
    code = run(["generate", str(directory), "-q"])
    if code:
        raise RuntimeError(f"{directory} gave exit code {code}")


def has_current_evidence(directory: Path, check: str) -> bool:
    """Return whether the evidence of a check belongs to the current files of a server."""
    evidence = read_evidence(directory, check)
    return evidence is not None and is_evidence_current(directory, evidence)


def prove(directory: Path, *options: str) -> None:
    """Run each check of a server without evidence, and record the evidence.

    `options` are those of `mcpgen test`.
    """
    commands = {"tests": ("test", *options), "lint": ("lint",), "validate": ("validate",)}
    for check, (command, *given) in commands.items():
        if not has_current_evidence(directory, check):
            code = run([command, str(directory), *given])
            if code:
                raise RuntimeError(f"{command} of {directory} gave exit code {code}")


def in_workspace(command: str) -> None:
    """Run a command of `mcpgen ws` in generated_examples/."""
    with contextlib.chdir(EXAMPLES):
        code = run(["ws", command, "-q"])
    if code:
        raise RuntimeError(f"mcpgen ws {command} gave exit code {code}")


def update() -> None:
    """Regenerate the committed examples."""
    for name in NAMES:
        directory = EXAMPLES / f"{name}-mcp"
        kept = not_generated(name)
        shutil.rmtree(directory, ignore_errors=True)
        make(name, directory, kept)
        prove(directory, "--mutate")
    for name in BY_HAND:
        bring_up_to_date(EXAMPLES / f"{name}-mcp")
        prove(EXAMPLES / f"{name}-mcp")
    in_workspace("generate")


if __name__ == "__main__":
    update()
