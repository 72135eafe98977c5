"""Tests of texts in the view: everything from a server is escaped and bounded."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.cli.explore.texts import (
    describe_call,
    describe_requests,
    describe_schema,
    describe_title,
    describe_trouble,
    describe_type,
    format_seconds,
    show_lines,
)
from mcpgen.factory.explore.explorer import CallRecord, TroubleError
from mcpgen.factory.explore.form import Form
from mcpgen.factory.explore.tools import ExploredTool

HOSTILE = "a\x1b[2Jb\u202ec\rd"
ESCAPED = "a\\u001b[2Jb\\u202ec\\u000dd"


def record(**members: Any) -> CallRecord:
    return CallRecord("wait", {}, **{"outcome": "done", "seconds": 0.0123, **members})


def test_lines_stay_lines_and_are_escaped() -> None:
    assert show_lines(f"{HOSTILE}\n[red]x[/]\ty") == f"{ESCAPED}\n[red]x[/] y"


def test_a_long_text_is_cut_with_its_length() -> None:
    shown = show_lines("x" * 300_000)
    assert len(shown) < 201_000
    assert shown.endswith("\n… and 100,000 more characters")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0004, "0 ms"), (0.0123, "12 ms"), (0.9, "900 ms"), (61.25, "61.2 s")]
)
def test_durations_have_a_unit(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_the_title_is_left_out_if_the_description_begins_with_it() -> None:
    tool = {"name": "x", "title": "Fetch", "description": "Fetch it."}
    assert describe_title(ExploredTool(tool)) == "x"
    assert describe_title(ExploredTool({**tool, "title": HOSTILE})) == f"x: {ESCAPED}"


def test_structured_content_and_the_same_text_are_shown_once() -> None:
    content = [{"type": "text", "text": '{"a":1}'}]
    shown = describe_call(record(result={"content": content, "structuredContent": {"a": 1}}))
    assert shown == (
        'wait: done in 12 ms\n\nstructured content\n{\n  "a": 1\n}\n\nThe text is the same JSON.'
    )
    other = describe_call(record(result={"content": content, "structuredContent": {"a": 2}}))
    assert other.endswith('structured content\n{\n  "a": 2\n}\n\ntext\n{\n  "a": 1\n}')


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ({"content": [{"type": "text", "text": HOSTILE}]}, f"text\n{ESCAPED}"),
        ({"content": [{"type": "image", "mimeType": "image/png"}]}, "text\n[image image/png]"),
        ({"content": [7, {"type": "text", "text": 8}]}, "text\n7\n\ntext\n[text ]"),
        ({"content": "none"}, 'result\n{\n  "content": "none"\n}'),
        ({}, "result\n{}"),
    ],
)
def test_results_of_any_shape_are_shown(result: Any, shown: str) -> None:
    assert describe_call(record(result=result)) == f"wait: done in 12 ms\n\n{shown}"


def test_a_call_without_a_result_has_its_reason_and_log() -> None:
    shown = describe_call(record(outcome="stopped", message=HOSTILE, log="line 1\nline 2"))
    assert shown.split("\n\n") == [
        "wait: stopped in 12 ms",
        ESCAPED,
        "log of the server\nline 1\nline 2",
        "The next call starts the server again.",
    ]


def test_a_trouble_has_its_log_and_the_way_on() -> None:
    shown = describe_trouble(TroubleError("it is broken", HOSTILE))
    assert f"log of the server\n{ESCAPED}" in shown
    assert shown.endswith("Ctrl-R starts it again.")


def test_requests_are_shown_of_the_mock_only() -> None:
    assert "only if the API is mocked" in describe_requests(record(), is_mocked=False)
    assert describe_requests(record(), is_mocked=True) == "The server sent no request."


def test_schemas_are_escaped() -> None:
    tool = {"name": "x", "inputSchema": {"description": "a\u202eb"}, "outputSchema": True}
    shown = describe_schema(ExploredTool(tool))
    assert "a\\u202eb" in shown
    assert shown.endswith("output schema\ntrue")


def test_the_label_states_the_default() -> None:
    schema = {"properties": {"x": {"type": "string", "default": "a very long text, shortened"}}}
    (field,) = Form(schema).fields
    assert describe_type(field) == 'string, default "a very long text, …'
