"""Measure the time and memory of generating: GitHub's API, and 50 to 10,000 operations.

Also how much faster `new` is because openapi-spec-validator runs beside the other work.

`make bench` runs it. Every run is a process of its own with a cold cache, unless the line says
otherwise. CPU time counts all cores; memory is the largest process's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
GITHUB = (
    ROOT / ".cache" / "node" / "node_modules" / "@octokit" / "openapi" / "generated"
    / "api.github.com.json"
)  # fmt: skip
MOST_MEGABYTES = 250
SIZES = (100, 1_000, 10_000)
VALIDATED_SIZES = (20, 100, 300)
ROUNDS = 3
TOLERATED_GROWTH = 1.5  # of the cost of one operation, from the smallest document to the largest
REQUIRED = (
    "jinja2", "typer", "openapi_spec_validator", "datamodel_code_generator.parser.jsonschema",
    "ruff", "copier",
)  # fmt: skip
START_ROUNDS = 7
MOST_OF_IMPORTS = 1.25
PROPERTIES = 8
OPERATIONS_A_TAG = 50


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one run."""

    seconds: float
    cpu_seconds: float
    megabytes: float


# The command line, with openapi-spec-validator waited for as soon as it is asked.
_WAITING = """
import sys
from mcpgen.__main__ import main
from mcpgen.diagnostics import Problems

Problems.add_later = lambda self, add: add(self)
sys.exit(main())
"""
WAITING = ("-c", _WAITING)


def cost(
    arguments: Sequence[str],
    cache: Path,
    *,
    here: Path | None = None,
    cores: int | None = None,
    program: Sequence[str] = ("-m", "mcpgen"),
) -> Cost:
    """Run the command line in the folder `here` on this many cores; it must succeed.

    Modules are read from bytecode, as after an installation, whatever the environment says.
    """
    unwanted = {"PYTHONDONTWRITEBYTECODE"}
    inherited = {name: value for name, value in os.environ.items() if name not in unwanted}
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *program, *arguments, "--quiet"],
        cwd=here or ROOT,
        env={**inherited, "XDG_CACHE_HOME": str(cache), "CI": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    if cores is not None:
        os.sched_setaffinity(process.pid, sorted(os.sched_getaffinity(0))[:cores])
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    if status:
        assert process.stderr is not None
        sys.exit(f"mcpgen {arguments[0]} failed: {process.stderr.read().decode()[-2000:]}")
    kilobytes = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Cost(seconds, used.ru_utime + used.ru_stime, kilobytes / 1024)


def synthetic(count: int) -> dict[str, object]:
    """Return a document of `count` operations, each with its own parameters, body and schema."""
    paths: dict[str, object] = {}
    schemas: dict[str, object] = {}
    for number in range(count):
        name = f"Thing{number}"
        schemas[name] = {
            "type": "object",
            "required": ["id"],
            "properties": {
                "id": {"type": "integer"},
                **{
                    f"field{at}": {"type": "string", "description": f"Field {at} of {name}."}
                    for at in range(PROPERTIES)
                },
            },
        }
        shown = {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
        paths[f"/group{number // OPERATIONS_A_TAG}/thing{number}/{{id}}"] = {
            "put": {
                "operationId": f"replaceThing{number}",
                "tags": [f"group{number // OPERATIONS_A_TAG}"],
                "summary": f"Replace thing {number}",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
                    {"name": "dry_run", "in": "query", "schema": {"type": "boolean"}},
                ],
                "requestBody": {"required": True, "content": shown},
                "responses": {"200": {"description": "The thing.", "content": shown}},
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Synthetic", "version": "1"},
        "servers": [{"url": "https://synthetic.example"}],
        "paths": paths,
        "components": {"schemas": schemas},
    }


def github(folder: Path) -> list[dict[str, object]]:
    """Measure GitHub's 1,223 operations against the goals of the README."""
    if not GITHUB.exists():
        print("left out: GitHub's document is not installed (make peers)", file=sys.stderr)
        return []
    bare = str(folder / "bare")
    runs = (
        ("GitHub, new --no-models", ("new", str(GITHUB), bare, "--defaults", "--no-models"), 3.0),
        ("GitHub, generate, nothing changed", ("generate", bare), 1.0),
        ("GitHub, new", ("new", str(GITHUB), str(folder / "whole"), "--defaults"), 5.0),
    )
    rows = []
    for label, arguments, most_seconds in runs:
        print(f"measuring {label} ...", file=sys.stderr)
        if arguments[0] == "generate":
            cost(arguments, folder / "cache")  # stores what it reported
        found = _repeat(arguments, folder)
        is_reached = found.seconds <= most_seconds and found.megabytes <= MOST_MEGABYTES
        goal = f"{most_seconds:g} s, {MOST_MEGABYTES} MB"
        rows.append(_row(label, found, goal, is_reached=is_reached))
    return rows


def _repeat(arguments: Sequence[str], folder: Path) -> Cost:
    """Return the median of three runs, and the most memory; each `new` has an empty cache."""
    taken: list[Cost] = []
    for number in range(ROUNDS):
        if arguments[0] == "new":
            shutil.rmtree(arguments[2], ignore_errors=True)
            shutil.rmtree(folder / "cache", ignore_errors=True)
        print(f"round {number + 1} ...", file=sys.stderr)
        taken.append(cost(arguments, folder / "cache"))
    median = sorted(taken, key=lambda it: it.seconds)[ROUNDS // 2]
    return replace(median, megabytes=max(it.megabytes for it in taken))


def _compile_modules(folder: Path) -> None:
    """Generate a small server, so that the bytecode of all modules is cached before measuring."""
    document = folder / "first.json"
    document.write_text(json.dumps(synthetic(1)))
    cost(("new", str(document), str(folder / "first"), "--defaults"), folder / "first-cache")


def linear(folder: Path, *, models: bool) -> list[dict[str, object]]:
    """Measure documents that grow tenfold; the cost per operation must stay constant."""
    rows = []
    each: list[float] = []
    start = 0.0
    for count in (1, *SIZES):
        label = f"{count:,} operations{'' if models else ', --no-models'}"
        print(f"measuring {label} ...", file=sys.stderr)
        document = folder / f"{count}.json"
        document.write_text(json.dumps(synthetic(count)))
        target = str(folder / f"{count}-{models}")
        flags = () if models else ("--no-models",)
        found = cost(("new", str(document), target, "--defaults", *flags), folder / "cache")
        if count == 1:
            start = found.cpu_seconds
            continue
        each.append((found.cpu_seconds - start) / count)
        goal = f"at most {TOLERATED_GROWTH:g}x an operation"
        row = _row(label, found, goal, is_reached=each[-1] <= each[0] * TOLERATED_GROWTH)
        rows.append(row | {"cpu_ms_each": each[-1] * 1000})
    return rows


def start(folder: Path) -> list[dict[str, object]]:
    """Compare a document of 50 operations with importing the required packages, in turns.

    The sum is that of processes which import one package each; another line has the time of a
    process that imports all of them.
    """
    document = folder / "start.json"
    document.write_text(json.dumps(synthetic(50)))
    warm = folder / "start-cache"
    cost(("new", str(document), str(folder / "start"), "--defaults"), warm)
    labels = {
        "models": "50 operations",
        "bare": "50 operations, --no-models",
        "cached": "50 operations, models and validation cached",
    }
    runs: dict[str, list[Cost]] = {name: [] for name in labels}
    apart: list[float] = []
    together: list[float] = []
    for number in range(START_ROUNDS):
        print(f"measuring 50 operations, round {number + 1} ...", file=sys.stderr)
        apart.append(sum(_import(module, warm) for module in REQUIRED))
        together.append(_import(", ".join(REQUIRED), warm))
        for name, found in runs.items():
            target = folder / f"start-{name}-{number}"
            flags = ("--no-models",) if name == "bare" else ()
            cache = warm if name == "cached" else folder / f"{target.name}-cache"
            found.append(cost(("new", str(document), str(target), "--defaults", *flags), cache))
    rows = []
    for name, label in labels.items():
        median = sorted(runs[name], key=lambda it: it.seconds)[START_ROUNDS // 2]
        ratio = median.seconds / statistics.median(apart)
        of_one = median.seconds / statistics.median(together)
        label += f": {ratio:.2f}x the sum of the imports ({of_one:.2f}x all in one process)"
        goal = f"{MOST_OF_IMPORTS:g}x the sum"
        rows.append(_row(label, median, goal, is_reached=ratio <= MOST_OF_IMPORTS))
    return rows


def _import(modules: str, cache: Path) -> float:
    """Return the seconds of a process that imports modules."""
    return cost((), cache, program=("-c", f"import {modules}")).seconds


def validator(folder: Path) -> list[dict[str, object]]:
    """Measure openapi-spec-validator in parallel to the other work and before it, as medians."""
    rows = []
    for count in VALIDATED_SIZES:
        document = folder / f"validated-{count}.json"
        document.write_text(json.dumps(synthetic(count)))
        runs: dict[str, list[Cost]] = {"waiting": [], "concurrent": []}
        for number in range(ROUNDS):
            for name, program in (("waiting", WAITING), ("concurrent", ("-m", "mcpgen"))):
                print(f"measuring {count:,} operations, {name} ...", file=sys.stderr)
                here = folder / f"{name}-{count}-{number}"
                arguments = ("new", str(document), str(here / "out"), "--defaults", "--no-models")
                runs[name].append(cost(arguments, here / "cache", program=program))
        waiting, concurrent = (
            sorted(found, key=lambda it: it.seconds)[ROUNDS // 2] for found in runs.values()
        )
        label = f"{count:,} operations, validated, {waiting.seconds / concurrent.seconds:.2f}x"
        goal = "faster than one after the other"
        is_reached = concurrent.seconds < waiting.seconds
        rows.append(_row(label, concurrent, goal, is_reached=is_reached))
    return rows


def _row(label: str, found: Cost, goal: str, *, is_reached: bool) -> dict[str, object]:
    return {
        "measure": label,
        "seconds": found.seconds,
        "cpu_seconds": found.cpu_seconds,
        "megabytes": found.megabytes,
        "goal": goal,
        "reached": is_reached,
    }


def main() -> None:
    """Print the table, or JSON with `--json`; exit with 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=("github", "start", "linear", "validator"), default="")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        _compile_modules(Path(folder))
        if options.only in ("", "github"):
            rows += github(Path(folder))
        if options.only in ("", "start"):
            rows += start(Path(folder))
        if options.only in ("", "linear"):
            rows += linear(Path(folder), models=False)
        if options.only in ("", "validator"):
            rows += validator(Path(folder))
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print("| measure | s | CPU s | MB | CPU ms an operation | goal | |")
        print("|---|---|---|---|---|---|---|")
        for row in rows:
            each = f"{row['cpu_ms_each']:.2f}" if "cpu_ms_each" in row else ""
            print(
                f"| {row['measure']} | {row['seconds']:.1f} | {row['cpu_seconds']:.1f} "
                f"| {row['megabytes']:.0f} | {each} | {row['goal']} "
                f"| {'reached' if row['reached'] else 'missed'} |"
            )
    sys.exit(0 if all(row["reached"] for row in rows) else 1)


if __name__ == "__main__":
    main()
