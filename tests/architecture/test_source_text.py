"""Tests of rules for every module: bounded length, and broad excepts only where they are listed."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.source_modules import SourceModule, modules

MAX_LINES = 700
BROAD = {"Exception", "BaseException"}
KNOWN_BROAD_EXCEPTS = {  # where one failure must not take everything else with it
    ("mcpgen.cli.app", "run"),
    ("mcpgen.factory.test.mutation.campaign", "_fails"),
    ("mcpgen.factory.workspace.fleet", "_attempt"),
    ("mcpgen.runtime.handlers.dispatcher", "_run"),
    ("mcpgen.runtime.embeddings.model", "_explain"),
    ("mcpgen.runtime.startup.loading", "find_failure"),
    ("mcpgen.runtime.process.log", "_format_error_text"),
    ("mcpgen.runtime.process.output_queue", "emit"),
    ("mcpgen.runtime.package", "_import_handlers"),
    ("mcpgen.runtime.state.replica", "_receive"),
    ("mcpgen.runtime.tools.registry", "call"),
    ("mcpgen.runtime.asgi", "_housekeep"),
    ("mcpgen.runtime.telemetry.metrics", "_export"),
    ("mcpgen.runtime.telemetry.span_queue", "_export_batch"),
    ("mcpgen.runtime.transports.http.server", "_housekeep"),
    ("mcpgen.runtime.transports.http.streamable", "answer"),
    ("mcpgen.openapi.validate.external_program", "main"),
}

MODULES = modules()


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_a_module_stays_below_the_line_limit(module: SourceModule) -> None:
    assert len(module.path.read_text("utf-8").splitlines()) < MAX_LINES


def test_broad_except_clauses_occur_only_in_the_listed_functions() -> None:
    found = {
        (module.name, function.name)
        for module in MODULES
        for function in ast.walk(module.parse())
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ExceptHandler) and is_broad(node.type) and not raises_again(node)
    }
    assert found == KNOWN_BROAD_EXCEPTS


def raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def is_broad(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(isinstance(kind, ast.Name) and kind.id in BROAD for kind in kinds)
