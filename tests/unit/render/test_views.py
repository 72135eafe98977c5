"""Tests of rendering the plan as Python code."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mcpgen.ir.tool_plan import Annotation, ToolPlan
from mcpgen.render.views import HandlerView, annotation_source, handler_module, write_tool_docstring
from mcpgen.text.identifiers import Identifier
from tests.support.plans import argument, operation, parameter, server_plan, tool

GET_PETS = operation("GET", "/pets")


def handlers(*tools: ToolPlan) -> tuple[HandlerView, ...]:
    plan = server_plan(*tools)
    return handler_module(plan, plan.groups[0]).handlers


def test_required_arguments_have_no_default_and_optional_ones_are_absent() -> None:
    [handler] = handlers(
        tool(
            "t",
            GET_PETS,
            argument("a", "a", "query"),
            argument("b", "b", "query", required=False, type="int"),
        )
    )
    assert handler.signature == "ctx: Context, *, a: str, b: int | Absent = ABSENT"


def test_a_tool_without_arguments_has_no_bare_star() -> None:
    [handler] = handlers(tool("t", GET_PETS))
    assert handler.signature == "ctx: Context"


def test_each_argument_is_passed_with_its_wire_name() -> None:
    op = operation("GET", "/{p-1}", parameter("p-1", "path"))
    [handler] = handlers(
        tool(
            "t",
            op,
            argument("p-1", "p_1", "path"),
            argument("q", "q", "query"),
            argument("X-H", "x_h", "header"),
            argument("c", "c", "cookie"),
            argument("body", "body", "body"),
            argument("content_type", "content_type", "content_type"),
        )
    )
    assert handler.request == (
        "'GET', '/{p-1}', path_params={'p-1': p_1}, query={'q': q}, headers={'X-H': x_h},"
        " cookies={'c': c}, body=body, content_type=content_type, returns=None"
    )


def test_a_call_without_a_result_is_awaited_and_not_returned() -> None:
    nothing, text = handlers(tool("a", GET_PETS), tool("b", GET_PETS, returns=Annotation("str")))
    assert (nothing.statement, text.statement) == ("await", "return await")


def test_only_used_names_are_imported() -> None:
    plan = server_plan(tool("t", GET_PETS))
    module = handler_module(plan, plan.groups[0])
    assert [(line.module, line.names) for section in module.imports for line in section] == [
        ("mcpgen.runtime", "Context, ToolGroup")
    ]


@pytest.mark.parametrize("name", ["ctx", "list", "str", "Literal", "tools", "ABSENT"])
def test_a_name_that_would_hide_another_is_a_bug(name: str) -> None:
    with pytest.raises(ValueError, match="hides"):
        handlers(tool("t", GET_PETS, argument(name, name, "query")))


def test_two_arguments_of_one_name_are_a_bug() -> None:
    with pytest.raises(ValueError, match="two arguments of one name"):
        handlers(tool("t", GET_PETS, argument("a", "x", "query"), argument("b", "x", "header")))


def test_a_model_that_is_not_planned_is_a_bug() -> None:
    with pytest.raises(ValueError, match="no model is called Gone"):
        handlers(tool("t", GET_PETS, returns=Annotation("Gone", (Identifier("Gone"),))))


@pytest.mark.parametrize(
    "source",
    [
        "int",
        "list[dict[str, Any]]",
        "Literal['a', -1, True, None] | None",
        "dict[str, list[Pet] | None]",
        "object",
    ],
)
def test_annotation_source_returns_valid_annotations_unchanged(source: str) -> None:
    assert annotation_source(Annotation(source, (Identifier("Pet"),)))[0] == source


@pytest.mark.parametrize(
    "source",
    [
        "__import__('os')",
        "Unknown",
        "Literal[x]",
        "Literal[f'{x}']",
        "int if x else str",
        "list[exec]",
        "os.PathLike",
        "1",
        "set[int]",
        "(lambda: int)()",
    ],
)
def test_an_invalid_annotation_is_rejected(source: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        annotation_source(Annotation(source))


def test_a_comment_in_an_annotation_is_removed() -> None:
    assert annotation_source(Annotation("int  # import os"))[0] == "int"


def test_the_docstring_has_the_first_sentence_and_the_operation() -> None:
    plan = tool("t", GET_PETS, description="List pets. Newest first.")
    assert write_tool_docstring(plan) == "List pets: `GET /pets`."


def test_the_operation_is_not_named_twice() -> None:
    plan = tool("t", GET_PETS, description="List pets (`GET /pets`).")
    assert write_tool_docstring(plan) == "List pets: `GET /pets`."


WORD = "pet " * 30


@pytest.mark.parametrize(
    ("description", "lines"),
    [
        (f"Lists pets, which {WORD}.", ["Lists pets."]),
        (
            f"Lists pets (`a, which` or b) and cats; {WORD}",
            ["Lists pets (`a, which` or b) and cats."],
        ),
        (f"Lists (dogs, which {WORD})", ["Lists."]),
        (f"{WORD}end.", [("pet " * 22).strip(), f"{'pet ' * 8}end."]),
    ],
)
def test_a_long_docstring_is_truncated_or_wrapped(description: str, lines: list[str]) -> None:
    plan = tool("t", GET_PETS, description=description)
    assert write_tool_docstring(plan) == "\n    ".join(lines) + "\n\n    `GET /pets`.\n    "


def test_a_tool_without_a_description_is_documented_by_its_title() -> None:
    plan = replace(tool("t", GET_PETS), description="", title="List")
    assert write_tool_docstring(plan) == "List: `GET /pets`."
