"""Tests that mcpgen declares exactly the distributions that it imports and the programs it runs."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement

from tests.architecture.source_modules import SourceModule, modules
from tests.support.paths import REPOSITORY

# Programs and packages that are started in a process of their own, and the module that does so.
STARTED = {
    "pytest": "mcpgen.factory.test.run",
    "datamodel-code-generator": "mcpgen.emit.models.child",
    "openapi-spec-validator": "mcpgen.openapi.validate.external",
}
STARTED_OF_EXTRAS = {"pydantic-monty-runtime": "mcpgen.runtime.code.sandbox"}
OF_EXTRAS = {
    "cryptography": "seal",
    "joserfc": "auth",
    "keyring": "login",
    "numpy": "embeddings",
    "onnxruntime": "embeddings",
    "opentelemetry-exporter-otlp-proto-http": "otel",
    "pydantic-monty-client": "code",
    "redis": "redis",
    "requests": "otel",
    "textual": "explore",
    "tokenizers": "embeddings",
}
TERMINAL_VIEW = "mcpgen.cli.explore"

OWNERS = packages_distributions()
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(*extras: str) -> set[str]:
    """Return the distributions that an installation with these extras pulls in."""
    lines = list(PROJECT["dependencies"])
    waiting, seen = list(extras), set()
    while waiting:
        extra = waiting.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for line in PROJECT["optional-dependencies"][extra]:
            requirement = Requirement(line)
            if requirement.name == "mcpgen":
                waiting += requirement.extras
            else:
                lines.append(line)
    return {normal(Requirement(line).name) for line in lines}


def imported(module: SourceModule) -> set[str]:
    """Return the third-party distributions that a module imports."""
    tops = {name.partition(".")[0] for name in module.imported()} - {"mcpgen", "__future__", ""}
    foreign = tops - sys.stdlib_module_names
    return {normal(OWNERS[top][0]) if top in OWNERS else top for top in foreign}


MODULES = modules()
RUNTIME = [module for module in MODULES if module.name.startswith("mcpgen.runtime")]
GENERATOR = [module for module in MODULES if not module.name.startswith("mcpgen.runtime")]


@pytest.mark.parametrize("module", GENERATOR, ids=lambda module: module.name)
def test_the_generator_imports_only_packages_of_its_extra(module: SourceModule) -> None:
    extras = ("cli", "explore") if module.name.startswith(TERMINAL_VIEW) else ("cli",)
    assert imported(module) <= required(*extras)


@pytest.mark.parametrize("module", RUNTIME, ids=lambda module: module.name)
def test_the_runtime_imports_only_packages_of_the_base_install(module: SourceModule) -> None:
    optional = {name for name, extra in OF_EXTRAS.items() if name in required(extra)}
    assert imported(module) - optional <= required()


def test_packages_started_as_programs_are_in_the_cli_extra() -> None:
    assert STARTED.keys() <= required("cli")
    started_by = {*STARTED.values(), *STARTED_OF_EXTRAS.values()}
    assert started_by <= {module.name for module in MODULES}


def test_every_required_package_is_used() -> None:
    used = set().union(*map(imported, MODULES)) | STARTED.keys() | STARTED_OF_EXTRAS.keys()
    assert required("cli", *OF_EXTRAS.values()) <= used
