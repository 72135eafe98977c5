"""Tests of overrides: handlers in `handlers/` that replace or wrap generated ones."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from mcpgen.runtime import ConfigurationError
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import LEGACY, Client, MockUpstream
from tests.support.imports import importing_anew
from tests.support.paths import SHOP

IMPORTS = "from mcpgen.runtime import Context, Features, ToolError, after, before, override\n"
ENVIRON = {"SHOP_KEY": "k1"}


@pytest.fixture
def handlers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the folder `handlers/` in an importable copy of the shop."""
    source = shutil.copytree(SHOP / "src", tmp_path / "src")
    monkeypatch.syspath_prepend(source)
    with importing_anew("shop_mcp"):
        yield source / "shop_mcp" / "handlers"


@pytest.fixture
def mock() -> MockUpstream:
    return MockUpstream(json.loads((SHOP / "tests/generated/upstream.json").read_bytes()))


def write(handlers: Path, source: str, name: str = "items.py") -> None:
    (handlers / name).write_text(IMPORTS + dedent(source))


@pytest.fixture
def call(handlers: Path, mock: MockUpstream) -> Callable[..., dict[str, Any]]:
    """Return a function that calls a tool in memory; `mock.requests` has its API requests."""

    async def talk(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        package = ServerPackage.load("shop_mcp")
        async with Client.in_memory(package, ENVIRON, revision=LEGACY, send=mock.send) as client:
            return await client.call_tool(tool, arguments)

    return lambda tool, **arguments: asyncio.run(asyncio.wait_for(talk(tool, arguments), 30))


GET_ITEM = """
@override("GET /items/{itemId}")
async def get_item(ctx, call_next, *, item_id, fields=None, x_trace=None, theme=None):
"""


def test_an_override_wraps_the_generated_call(handlers, call, mock) -> None:
    write(
        handlers,
        GET_ITEM
        + """
    item = await call_next(ctx, item_id=item_id + 1)
    return {**item, "name": "mine"}
""",
    )
    result = call("get_item", item_id=7)
    assert result.get("structuredContent", {}).get("name") == "mine", result
    assert [str(request).split()[1].rpartition("/")[2] for request in mock.requests] == ["8"]


def test_an_override_can_return_without_calling_the_api(handlers, call, mock) -> None:
    write(handlers, GET_ITEM + '    return {"id": item_id, "name": "made up"}')
    assert call("get_item", item_id=7)["structuredContent"]["name"] == "made up"
    assert mock.requests == []


def test_arguments_are_validated_before_an_override_sees_them(handlers, call, mock) -> None:
    write(handlers, GET_ITEM + '    raise AssertionError("called")')
    result = call("get_item", item_id="seven")
    assert result["isError"] is True
    assert "item_id" in result["content"][0]["text"]


def test_a_before_hook_can_reject_a_call_before_anything_is_sent(handlers, call, mock) -> None:
    write(
        handlers,
        """
        @before("GET /items/{itemId}", "DELETE /items/{itemId}")
        async def only_small_ids(ctx, arguments):
            if arguments["item_id"] > 99:
                raise ToolError("no item has an id over 99")
        """,
    )
    for tool in ("get_item", "delete_item"):
        refused = call(tool, item_id=100)
        assert (refused["isError"], refused["content"][0]["text"]) == (
            True,
            "no item has an id over 99",
        )
    assert mock.requests == []
    call("get_item", item_id=99)
    assert len(mock.requests) == 1


def test_a_before_hook_cannot_change_the_arguments(handlers, call) -> None:
    write(
        handlers,
        """
        @before("GET /items/{itemId}")
        async def change(ctx, arguments):
            arguments["item_id"] = 1
        """,
    )
    assert call("get_item", item_id=7)["isError"] is True


@pytest.mark.parametrize("parameters", ["*, item_id", "*, item_id, **others", "**others"])
def test_a_typed_before_hook_receives_the_arguments_of_the_handler(
    handlers, call, mock, parameters: str
) -> None:
    write(
        handlers,
        f"""
class DeleteItemsItemIdCall:
    async def __call__(self, ctx, *, item_id): ...

@before("DELETE /items/{{itemId}}", call=DeleteItemsItemIdCall.__call__)
async def only_small_ids(ctx, {parameters}):
    raise ToolError(f"not {{locals().get('item_id') or others['item_id']}}")
""",
    )
    assert call("delete_item", item_id=100)["content"][0]["text"] == "not 100"
    assert mock.requests == []


def test_after_hooks_run_in_order_of_their_definition(handlers, call) -> None:
    write(
        handlers,
        """
@after("GET /items/{itemId}")
async def first(ctx, result):
    return {**result, "name": "first"}

@after("GET /items/{itemId}")
async def second(ctx, result):
    return {**result, "name": result["name"] + ", second"}
"""
        + GET_ITEM
        + '    return {"id": item_id, "name": "override"}',
    )
    assert call("get_item", item_id=7)["structuredContent"]["name"] == "first, second"


NO_NUMBER = 'return {"id": item_id, "price": float("nan"), "name": None}'
NO_NUMBER_AFTER = """
@after("GET /items/{itemId}")
async def spoil(ctx, result):
    return {**result, "price": float("nan")}
"""


@pytest.mark.parametrize(
    "source",
    [f"{GET_ITEM}    {NO_NUMBER}\n", NO_NUMBER_AFTER],
    ids=["override", "after"],
)
def test_a_nan_in_a_result_of_an_override_is_logged(handlers, call, capsys, source) -> None:
    write(handlers, source)
    result = call("get_item", item_id=7)
    assert result["isError"] is True
    assert "structuredContent" not in result
    assert "`/price` is nan, which JSON cannot represent" in capsys.readouterr().err


def test_a_package_loaded_as_generated_ignores_handlers(handlers, mock) -> None:
    write(
        handlers,
        GET_ITEM
        + """
    return {"id": 0}

features = Features()

@features.tool()
def extra(ctx: Context) -> str:
    return "more"
""",
    )

    async def talk(package: ServerPackage) -> tuple[list[str], dict[str, Any]]:
        async with Client.in_memory(package, ENVIRON, send=mock.send) as client:
            listed = [tool["name"] for tool in await client.list_tools()]
            return listed, await client.call_tool("get_item", {"item_id": 7})

    names, _ = asyncio.run(talk(ServerPackage.load("shop_mcp", generated_only=True)))
    assert "extra" not in names
    assert len(mock.requests) == 1
    names, _ = asyncio.run(talk(ServerPackage.load("shop_mcp")))
    assert "extra" in names
    assert len(mock.requests) == 1


BROKEN = {
    "unknown": (
        '@override("GET /item/{itemId}")\nasync def f(ctx, call_next, *, item_id): ...',
        "which is no operation here; did you mean `GET /items/{itemId}`?",
    ),
    "twice": (
        '@override("DELETE /items/{itemId}")\nasync def f(ctx, call_next, *, item_id): ...\n' * 2,
        "items.py:4: `DELETE /items/{itemId}` is already overridden, at ",
    ),
    "signature": (
        '@override("DELETE /items/{itemId}")\nasync def f(ctx, call_next, *, id): ...',
        "items.py:2: the override of `delete_item` must take (ctx, call_next, *, item_id), ",
    ),
    "hook's signature": (
        '@before("DELETE /items/{itemId}", call=print)\nasync def f(ctx, *, id, **more): ...',
        "items.py:2: the hook before of `delete_item` must take (ctx, *, item_id), ",
    ),
    "not async": (
        '@after("DELETE /items/{itemId}")\ndef f(ctx, result): ...',
        "items.py:2: `@after` is for async functions",
    ),
    "import": (
        "\n# override\nimport nothing_of_this_name\n",
        "items.py:4: `shop_mcp.handlers.items` cannot be imported: ModuleNotFoundError: ",
    ),
    "syntax": (
        '@override("GET',
        "items.py:2: `shop_mcp.handlers.items` cannot be imported: SyntaxError: ",
    ),
}


@pytest.mark.parametrize(("source", "said"), BROKEN.values(), ids=BROKEN)
def test_an_invalid_hook_is_reported_with_its_line(handlers, source, said) -> None:
    write(handlers, source)
    with pytest.raises(ConfigurationError) as raised:
        ServerPackage.load("shop_mcp").load_hot(ENVIRON)
    assert said in str(raised.value)
    assert str(raised.value).startswith(str(handlers))


def test_a_duplicate_tool_definition_is_reported_with_both_lines(handlers) -> None:
    extra = "features = Features()\n@features.tool()\ndef get_item(ctx: Context) -> str: ...\n"
    write(handlers, extra)
    with pytest.raises(ConfigurationError, match=r"items\.py:3: duplicate tool `get_"):
        ServerPackage.load("shop_mcp")
    write(handlers, extra.replace("get_item", "more"), "a.py")
    write(handlers, extra.replace("get_item", "more"), "b.py")
    with pytest.raises(ConfigurationError, match=r"b\.py:3: two features are the tool 'more'; see"):
        ServerPackage.load("shop_mcp")


def test_the_tools_are_listed_before_an_override_is_imported(handlers) -> None:
    source = "from mcpgen.runtime import override\nprint('imported')\n" + GET_ITEM + "    ..."
    (handlers / "items.py").write_text(source)
    script = (
        "import sys; from mcpgen.runtime.package import ServerPackage\n"
        "definition = ServerPackage.load('shop_mcp').definition\n"
        "print(sorted(name for name in sys.modules if 'shop_mcp' in name or 'msgspec' in name))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=handlers.parents[1],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "['shop_mcp']\n"
