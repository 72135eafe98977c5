"""Tests that a server needs only the base install, and imports little before the first request."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

import pytest

from tests.architecture.source_modules import layer, modules
from tests.support.paths import REPOSITORY

MAX_BASE_PACKAGES = 18

IMPORT_WITHOUT_THE_EXTRA = """
import importlib, importlib.machinery, sys

class BaseInstall(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else super().find_spec(name, path, target)

HIDDEN = set(sys.argv[1].split(","))
place = sys.meta_path.index(importlib.machinery.PathFinder)
sys.meta_path[place] = BaseInstall
for name in sys.argv[2].split(","):
    importlib.import_module(name)
"""

# Imported once their extra is known to be installed.
OF_EXTRAS = {
    "mcpgen.runtime.embeddings.model",
    "mcpgen.runtime.state.redis_store",
    "mcpgen.runtime.telemetry.export_session",
    "mcpgen.runtime.telemetry.metrics",
    "mcpgen.runtime.telemetry.spans",
}


def base_distributions() -> set[str]:
    """Return the distributions that mcpgen requires without extras, including indirect ones."""
    found, waiting = set(), ["mcpgen"]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            asked = requires(name) or []
        except PackageNotFoundError:
            continue  # for another platform or Python
        found.add(name)
        waiting += [
            normal(re.match(r"[\w.-]+", line)[0])  # type: ignore[index]
            for line in asked
            if "extra ==" not in line
        ]
    return found


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_base_install_stays_small() -> None:
    brought = base_distributions()
    if "mcpgen" not in brought:
        pytest.skip("mcpgen is importable but not installed")
    assert len(brought) <= MAX_BASE_PACKAGES, sorted(brought)


def test_a_running_server_does_not_import_aiohttp() -> None:
    """Importing it would add a third of a second to the first request to the API."""
    importing = {
        module.name
        for module in modules()
        if layer(module.name) in {"runtime", "testing", "text", "jsonschema", "search", "contract"}
        and module.name not in OF_EXTRAS
        and {"aiohttp", "yarl"} & {name.partition(".")[0] for name in module.imported()}
    }

    assert importing
    assert {name for name in importing if not name.startswith("mcpgen.testing.")} == set()


def test_every_module_of_the_runtime_imports_without_the_generators_packages() -> None:
    base = base_distributions() or {"aiohttp"}
    if "mcpgen" not in base:
        pytest.skip("mcpgen is importable but not installed")
    hidden = {
        top
        for top, owners in packages_distributions().items()
        if top != "mcpgen" and not {normal(owner) for owner in owners} & base
    }
    names = [
        module.name
        for module in modules()
        if layer(module.name) in {"runtime", "testing", "text", "jsonschema", "search", "contract"}
        and module.name not in OF_EXTRAS
    ]

    done = subprocess.run(
        [sys.executable, "-c", IMPORT_WITHOUT_THE_EXTRA, ",".join(hidden), ",".join(names)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=REPOSITORY,
    )

    assert {"typer", "yaml", "jinja2"} <= hidden
    assert done.returncode == 0, done.stderr


IMPORT_WITHOUT_TASKS = """
import sys
import mcpgen.runtime.handlers.features
import mcpgen.runtime.package
import mcpgen.runtime.startup.http_service
import mcpgen.runtime.tools.registry
import mcpgen.runtime.tools.result_policies
import mcpgen.runtime.transports.http.server
import mcpgen.runtime.transports.stdio.loop

print(*(it for it in sys.modules if it.startswith("mcpgen.runtime.ta") or it.endswith(".jobs")))
"""


def test_a_server_without_tasks_imports_nothing_of_them() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_WITHOUT_TASKS],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=REPOSITORY,
    )

    assert done.stdout.strip() == ""
