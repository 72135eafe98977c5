"""The questions of `mcpgen new`, answered as a person at a terminal would."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from mcpgen.cli.questions import ask, parse_answer

ENTER, CTRL_C = "\r", "\x03"


def answering(keys: str, *given: object) -> tuple[str, Path | None, str, dict[str, str]]:
    with create_pipe_input() as keyboard, create_app_session(keyboard, DummyOutput()):
        keyboard.send_text(keys)
        return ask(*given)  # type: ignore[arg-type]  # each test gives what it leaves unasked


def test_missing_answers_are_requested_from_the_user(tmp_path: Path) -> None:
    document = tmp_path / "api.yaml"
    document.touch()

    source, directory, name, answers = answering(
        f"{document}{ENTER}pets{ENTER * 9}", None, None, "", {}
    )

    assert source == str(document)
    assert name == "pets"
    assert directory == Path("pets-mcp")
    assert answers == {
        "namespace": "com.example",
        "python_version": "3.13",
        "github_workflow": "no",
        "pre_commit": "no",
        "vendor_runtime": "no",
        "deployment": "no",
        "publish_workflow": "no",
    }


def test_provided_answers_are_not_requested_again() -> None:
    given = {"namespace": "org.pets", "python_version": "3.12"}
    given |= {"github_workflow": "yes", "pre_commit": "no", "vendor_runtime": "no"}
    given |= {"deployment": "no", "publish_workflow": "no"}

    answers = answering("", "a.yaml", Path("there"), "pets", given)

    assert answers == ("a.yaml", Path("there"), "pets", given)


def test_all_questions_except_the_source_have_defaults() -> None:
    _, directory, name, _ = answering(ENTER * 9, "https://pets.example/a.json", None, "", {})

    assert name == ""
    assert directory is None


def test_control_c_ends_the_questions() -> None:
    with pytest.raises(KeyboardInterrupt):
        answering(CTRL_C, None, None, "", {})


def test_an_answer_can_contain_an_equals_sign() -> None:
    assert parse_answer("motto=a=b") == ("motto", "a=b")
