"""Tests of reading `handlers/` as source: hooks and tools with their locations, in any spelling."""

from __future__ import annotations

import pytest

from mcpgen.diagnostics import Problems
from mcpgen.ir.hand_written import HandWritten
from mcpgen.manifest.handlers import read_handlers

PATH = "src/shop_mcp/handlers/pets.py"


def read(source: str) -> HandWritten:
    problems = Problems()
    found = read_handlers({PATH: source.encode()}, problems)
    assert not len(problems)
    return found


@pytest.mark.parametrize(
    ("imported", "spelled"),
    [
        ("from mcpgen.runtime import override", "override"),
        ("from mcpgen.runtime import override as instead_of", "instead_of"),
        ("import mcpgen.runtime", "mcpgen.runtime.override"),
        ("import mcpgen.runtime as rt", "rt.override"),
        ("from mcpgen import runtime", "runtime.override"),
    ],
)
def test_an_override_is_found_for_every_kind_of_import(imported: str, spelled: str) -> None:
    (hook,) = read(f'{imported}\n@{spelled}("GET /pets")\nasync def f(ctx, call_next): ...').hooks
    assert (hook.kind, hook.operation, hook.function) == (
        "override",
        "GET /pets",
        "handlers/pets.py:f",
    )
    assert str(hook.at) == f"{PATH}:2:{len(spelled) + 3}"


def test_an_override_decorator_of_another_module_is_ignored() -> None:
    source = 'from typing import override\n@override("GET /pets")\nasync def f(): ...'
    assert read(source).hooks == ()


def test_a_before_hook_is_registered_for_each_of_its_operations() -> None:
    source = """
from mcpgen.runtime import before
PETS = "GET /pets"
@before(PETS, "GET /ünder", computed())
async def f(ctx, arguments): ...
"""
    hooks = read(source).hooks
    assert [(hook.kind, hook.operation) for hook in hooks] == [
        ("before", "GET /pets"),
        ("before", "GET /ünder"),
    ]
    assert hooks[1].at.excerpt[hooks[1].at.column - 1 :][: hooks[1].at.width] == '"GET /ünder"'


def test_handler_tools_have_their_explicit_name_or_the_function_name() -> None:
    source = """
from mcpgen.runtime import Features
more = Features()
other = {}
@more.tool()
def first(): ...
@more.tool("second")
def f(): ...
@more.tool(name="third")
def g(): ...
@other.tool()
def h(): ...
@more.tool(computed())
def i(): ...
"""
    assert [tool.name for tool in read(source).tools] == ["first", "second", "third"]


def test_a_syntax_error_is_reported_with_its_line() -> None:
    problems = Problems()
    found = read_handlers({PATH: b'from mcpgen.runtime import override\n@override("GET'}, problems)
    (problem,) = problems
    assert (problem.code, str(problem.at)) == ("handler-unreadable", f"{PATH}:2:11")
    assert found.unreadable == ("handlers/pets.py",)


def test_the_first_of_two_overrides_is_used() -> None:
    source = "from mcpgen.runtime import override\n" + "".join(
        f'@override("GET /pets")\nasync def {name}(ctx, call_next): ...\n' for name in "ab"
    )
    found = read(source)
    assert len(found.hooks) == 2
    assert found.overrides["GET /pets"].function == "handlers/pets.py:a"
