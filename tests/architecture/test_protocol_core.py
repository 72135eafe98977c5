"""Tests that the protocol core does no I/O: messages go in, events and messages come out."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.source_modules import SourceModule, modules

CORE = modules("mcpgen.runtime.protocol")
WORLD = {
    "aiohttp", "asyncio", "concurrent", "contextvars", "datetime", "http", "io", "logging",
    "multiprocessing", "os", "pathlib", "random", "secrets", "select", "selectors", "shutil",
    "signal", "socket", "ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib",
    "uuid", "uvicorn", "uvloop",
}  # fmt: skip
PURE = {"urllib.parse", "urllib.parse.quote", "urllib.parse.unquote"}
ASYNC = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)


@pytest.mark.parametrize("module", CORE, ids=lambda module: module.name)
def test_a_protocol_core_module_imports_only_pure_modules(module: SourceModule) -> None:
    imported = module.imported() - PURE
    assert not {name for name in imported if name.partition(".")[0] in WORLD}


@pytest.mark.parametrize("module", CORE, ids=lambda module: module.name)
def test_a_protocol_core_module_has_no_async_code_and_no_io(module: SourceModule) -> None:
    for node in ast.walk(module.parse()):
        assert not isinstance(node, ASYNC), f"line {node.lineno}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"open", "print", "input"}, f"line {node.lineno}"


def test_the_protocol_core_has_modules_to_check() -> None:
    assert len(CORE) > 3
