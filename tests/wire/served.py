"""Run the whole pipeline on a document, and import the package that answers calls.

Files that only a user would want are left out: no models, no skeleton, no formatting.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from msgspec.structs import replace

from mcpgen.diagnostics import Problems
from mcpgen.ir.listing_form import ListingForm
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.openapi.lower.lower import lower
from mcpgen.openapi.resolve.resolve import resolve
from mcpgen.openapi.source.load import load
from mcpgen.openapi.validate.validate import validate
from mcpgen.plan.arguments.credentials import with_destinations
from mcpgen.plan.cases import make_cases
from mcpgen.plan.plan import plan_tools
from mcpgen.render import json_text
from mcpgen.render.package import render, render_cases
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.tools.registry import ToolRegistry
from mcpgen.runtime.upstream.client import ApiClient, Environment
from mcpgen.runtime.upstream.http.messages import Sender
from tests.support.policies import first_policy

OLD_FORM = ListingForm()


@dataclass(frozen=True, slots=True)
class Served:
    """An imported package, its plan, and the reported problems."""

    plan: ServerPlan
    problems: Problems
    package: ServerPackage
    folder: Path

    def registry(self, environ: Mapping[str, str], send: Sender | None = None) -> ToolRegistry:
        """Return the tools under these settings; requests use sockets unless `send` is given."""
        return self.package.load_hot(environ, send=send)

    def registry_at(self, environ: Mapping[str, str], environment: Environment) -> ToolRegistry:
        """Return the tools with a clock that the test controls."""
        contract = self.package.contract
        modules = [f"{self.package.name}._generated.tools.{name}" for name in contract["groups"]]
        client = ApiClient(contract, environ, environment=environment)
        return ToolRegistry([import_module(module).tools for module in modules], client)


def serve(
    document: Path,
    name: str,
    folder: Path,
    *confirmed: str,
    form: ListingForm = OLD_FORM,
    handles: bool = False,
    trusts: bool = False,
) -> Served:
    """Generate and import the package of a document; `folder` is empty and stays on `sys.path`.

    `confirmed` are the origins that may receive credentials, beside that of the API. With
    `handles`, results that are cut are stored; with `trusts`, the document is the owner's own.
    """
    problems = Problems()
    read = resolve(load(str(document), problems), problems)
    validate(read, problems, external_validator=False)
    policy = replace(first_policy(name, models=False, handles=handles, trusts=trusts), form=form)
    plan = plan_tools(lower(read, problems), policy, problems)
    plan = with_destinations(plan, {"": confirmed})
    cases = map(json_text.block, make_cases(plan, problems))
    for file in render(plan) + render_cases(plan, cases, ()):
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
    package = folder / "src" / plan.package
    (package / "__init__.py").write_text('__version__ = "0.1.0"\n', encoding="utf-8")
    sys.path.insert(0, str(folder / "src"))
    return Served(plan, problems, ServerPackage.load(str(plan.package)), folder)
