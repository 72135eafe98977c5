"""Tests that stack traces and paths in error messages are distinguished from similar text."""

from __future__ import annotations

import pytest

from mcpgen.factory.robustness.leaks import find_path, find_trace, iterate_error_texts
from mcpgen.factory.wire.frames import Frame, HttpHead

PYTHON = 'Traceback (most recent call last):\n  File "/srv/app.py", line 3, in add\nKeyError: 1'
OF_CALLER = 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\nNameError'
JAVASCRIPT = "TypeError: x\n    at add (file:///srv/app/dist/index.js:10:5)\n    at next"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (PYTHON, "Python"),
        (JAVASCRIPT, "JavaScript"),
        ("x\n\tat com.example.Tool.run(Tool.java:14)", "Java"),
        ("panic: x\n\ngoroutine 1 [running]:\nmain.main()", "Go"),
        ("thread 'main' panicked at src/main.rs:4:5", "Rust"),
        (OF_CALLER, ""),  # code that the tool ran for its caller
        ("we look at the store at noon", ""),
        ("    at the corner of 5th street", ""),
    ],
)
def test_stack_traces_of_the_server_are_recognised(text: str, language: str) -> None:
    assert find_trace(text) == language


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("see /usr/lib/python3/site-packages/mcp/x.py", "/usr/lib/python3/site-packages/mcp/x.py"),
        ("failed in /srv/app/server.py:12", "/srv/app/server.py"),
        ('File "/srv/app/server.py", line 12', "/srv/app/server.py"),
        (r"C:\app\node_modules\tool\index.js", r"C:\app\node_modules\tool\index.js"),
        ("Access denied: /etc/passwd is outside of /tmp", ""),  # what file servers say
        ("no such file: /srv/ada/notes/server.py", ""),
        ("see https://example.com/docs/server.py", ""),
    ],
)
def test_paths_to_code_are_recognised(text: str, path: str) -> None:
    assert find_path(text, "") == path


def test_a_path_that_was_sent_is_no_leak() -> None:
    assert find_path("no such file: /srv/app/x.py:3", "read /srv/app/x.py") == ""


def test_only_errors_are_examined() -> None:
    texts = [{"type": "text", "text": PYTHON}]
    result = {"jsonrpc": "2.0", "id": 1, "result": {"content": texts}}
    failed = {"jsonrpc": "2.0", "id": 1, "result": {"content": texts, "isError": True}}
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m", "data": {"a": ["d"]}}}
    assert list(iterate_error_texts(Frame("received", 0.0, b"", result))) == []
    assert PYTHON in list(iterate_error_texts(Frame("received", 0.0, b"", failed)))
    assert set(iterate_error_texts(Frame("received", 0.0, b"", error))) == {"m", "d"}
    page = Frame("received", 0.0, b"oops", None, http=HttpHead("POST", "http://x", (), 500))
    assert list(iterate_error_texts(page)) == ["oops"]
