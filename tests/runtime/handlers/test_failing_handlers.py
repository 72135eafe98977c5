"""Tests of handlers that fail in unusual ways: calls are answered, and the log has the reason."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import pytest

from mcpgen.runtime import Context, Features, ResourceNotFoundError, Text, ToolError, ToolResult
from mcpgen.runtime.process.log import log
from tests.runtime.handlers.test_features import Client, serve

HALF = "\ud800"  # half a surrogate pair, such as `os.fsdecode` gives for a strange file name


def leaves() -> ToolResult:
    sys.exit(3)


def gives_half_a_pair() -> ToolResult:
    return ToolResult((Text(HALF),))


def gives_no_json() -> ToolResult:
    return ToolResult((), {"value": object()})


def gives_no_number() -> ToolResult:
    return ToolResult((), {"scores": [1.5, None, math.nan]})


def tells_no_number() -> ToolResult:
    return ToolResult((), meta={"took": math.inf})


def says_half_a_pair() -> ToolResult:
    raise ToolError(HALF)


@pytest.mark.parametrize(
    "fails",
    [
        *(leaves, gives_half_a_pair, gives_no_json, gives_no_number, tells_no_number),
        says_half_a_pair,
    ],
)
def test_a_tool_that_fails_is_answered_and_the_next_call_works(
    fails: Callable[[], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    features = Features()
    features.tool("fails")(lambda ctx: fails())
    features.tool("works")(lambda ctx: "fine")

    async def talk(client: Client) -> None:
        error = (await client.ask("tools/call", name="fails"))["error"]
        assert error["code"] == -32603
        assert error["data"]["correlationId"] in capsys.readouterr().err
        assert (await client.call("works"))["content"][0]["text"] == "fine"

    serve(features, talk)


def test_the_log_names_the_location_of_a_nan_in_a_result(
    capsys: pytest.CaptureFixture[str],
) -> None:
    features = Features()
    features.tool("fails")(lambda ctx: gives_no_number())

    async def talk(client: Client) -> None:
        await client.ask("tools/call", name="fails")
        assert "`/scores/2` is nan, which JSON cannot represent" in capsys.readouterr().err

    serve(features, talk)


def test_values_that_json_can_represent_are_returned_unchanged() -> None:
    features = Features()
    given = {"none": None, "numbers": [0.0, -1.5, 10**20], "text": "null NaN"}
    features.tool("works")(lambda ctx: ToolResult((), given, meta=given))

    async def talk(client: Client) -> None:
        result = await client.call("works")
        assert result["structuredContent"] == given
        assert result["_meta"].items() >= given.items()

    serve(features, talk)


@pytest.mark.parametrize("error", [ToolError(HALF), ResourceNotFoundError(f"test://{HALF}")])
def test_an_error_that_cannot_be_serialised_becomes_an_internal_error(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    features = Features()

    @features.resource("test://odd")
    def odd(ctx: Context) -> str:
        raise error

    async def talk(client: Client) -> None:
        told = (await client.ask("resources/read", uri="test://odd"))["error"]
        assert told["code"] == -32603
        assert told["data"]["correlationId"] in capsys.readouterr().err

    serve(features, talk)


def test_log_without_stderr_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)  # what Python has where it was closed from the start
    log("error", "nobody reads this")
