"""Tests of the wizard of `mcpgen new`: answers in a terminal, and the command it prints."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
import yaml
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from mcpgen.cli import prompts
from mcpgen.cli.app import run
from mcpgen.cli.questions import parse_answer
from mcpgen.cli.wizard import Wizard, spell_command
from mcpgen.diagnostics import Location
from mcpgen.ir.credentials import CredentialDestination, HiddenCredential
from mcpgen.ir.manifest_entries import CredentialEntry
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options, Outcome, Report
from tests.support.projects import silent

WAIT_SECONDS = 100
ENTER, CTRL_C, SPACE, DOWN = "\r", "\x03", " ", "\x1b[B"
DOCUMENT = """\
openapi: 3.1.0
info: {title: Toy Shop, version: "1"}
paths:
  /toys:
    get: {operationId: listToys, tags: [toys], responses: {"204": {description: None.}}}
    post: {operationId: addToy, tags: [toys], responses: {"204": {description: None.}}}
  /staff:
    get: {operationId: listStaff, tags: [staff], responses: {"204": {description: None.}}}
"""
ONE_SERVER = "servers: [{url: https://toys.example}]\n"
TWO_SERVERS = "servers: [{url: https://toys.example}, {url: https://test.toys.example}]\n"
OAUTH = """\
security: [{login: []}]
components:
  securitySchemes:
    login:
      type: oauth2
      flows:
        authorizationCode:
          authorizationUrl: https://toys.example/authorize
          tokenUrl: https://toys.example/token
          scopes: {}
"""
Answer = TypeVar("Answer")


def answer(keys: str, ask: Callable[[], Answer]) -> Answer:
    with create_pipe_input() as keyboard, create_app_session(keyboard, DummyOutput()):
        keyboard.send_text(keys)
        timer = threading.Timer(WAIT_SECONDS, keyboard.send_text, [CTRL_C])  # an open question
        timer.start()
        try:
            return ask()
        finally:
            timer.cancel()


@pytest.fixture
def explanations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the explanations that the wizard shows with its questions."""
    shown: list[str] = []
    monkeypatch.setattr(prompts, "show", shown.append)
    return shown


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_wizard(keys: str, document: str, **options: object) -> tuple[Report, list[str]]:
    """Run `new` with a wizard; return the report and the command that repeats it."""
    Path("toys.yaml").write_text(document)
    wizard, chosen = Wizard(), []

    def choose(survey: object, given: Options, target: Path | None) -> tuple[Options, Path | None]:
        chosen.append(wizard.choose(survey, given, target))
        return chosen[-1]

    given = Options(external_validator=False, cache=Path("cache").resolve(), **options)
    report = answer(
        keys, lambda: new("toys.yaml", None, given, silent, wizard.decide, wizard.confirm, choose)
    )
    return report, wizard.repeat("toys.yaml", report.target, chosen[-1][0])


def test_enter_takes_every_default(here: Path, explanations: list[str]) -> None:
    report, command = run_wizard(ENTER * 4, DOCUMENT + ONE_SERVER)

    assert report.outcome is Outcome.DONE
    assert report.plan is not None
    assert (report.target, len(report.plan.tools)) == (Path("toy-shop-mcp"), 3)
    assert command == ["mcpgen new toys.yaml toy-shop-mcp --defaults --name toy-shop"]


def test_the_selection_of_a_user_becomes_rules_of_the_manifest(
    here: Path, explanations: list[str]
) -> None:
    only_reading = f"toys{ENTER}{ENTER}{DOWN}{ENTER}{ENTER}"
    report, command = run_wizard(only_reading, DOCUMENT + ONE_SERVER)

    assert report.plan is not None
    assert [tool.name for tool in report.plan.tools] == ["list_staff", "list_toys"]
    assert command == [
        "mcpgen new toys.yaml toys-mcp --defaults --name toys --include 'GET *'",
    ]


def test_tags_are_selected_with_their_cost(here: Path, explanations: list[str]) -> None:
    reading_of_toys = f"{ENTER}{ENTER}{DOWN * 3}{ENTER}{DOWN}{SPACE}{ENTER}{ENTER}"
    report, command = run_wizard(reading_of_toys, DOCUMENT + ONE_SERVER)

    assert report.plan is not None
    assert [tool.name for tool in report.plan.tools] == ["list_toys"]
    assert "--include toys --exclude 'POST *'" in command[0]
    assert explanations[-1].startswith("1 operation, about ")


def test_the_spelled_command_makes_the_same_project(here: Path, explanations: list[str]) -> None:
    keys = (
        f"toys{ENTER}one{ENTER}{DOWN}{ENTER}{DOWN}{ENTER}{DOWN}{ENTER}n"
        f"org.toys{ENTER}{DOWN}{ENTER}{DOWN}{ENTER}{ENTER * 4}y"
    )
    report, (command,) = run_wizard(keys, DOCUMENT + TWO_SERVERS + OAUTH)
    assert report.outcome is Outcome.DONE
    assert "--base-url https://test.toys.example --credential login=user" in command
    assert "--data namespace=org.toys" in command

    _, _, *words = shlex.split(command.replace(" one ", " two "))

    assert run(["new", *words]) == 0
    assert read_tree(Path("one")) == read_tree(Path("two"))


def read_tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_answers_are_in_the_manifest_that_generate_reads(
    here: Path, explanations: list[str]
) -> None:
    keys = f"{ENTER * 3}{DOWN}{ENTER}{DOWN}{ENTER}{ENTER}n"
    report, _ = run_wizard(keys, DOCUMENT + TWO_SERVERS + OAUTH)

    manifest = yaml.safe_load((report.target / "mcpgen.yaml").read_text())
    assert manifest["sources"][0]["base_url"] == "https://test.toys.example"
    assert manifest["credentials"] == {"login": {"from": "user"}}
    assert run(["check", str(report.target)]) == 0


def test_a_document_without_a_server_needs_a_base_url(here: Path, explanations: list[str]) -> None:
    keys = f"{ENTER * 3}ftp://toys{ENTER}\x15http://toys.example{ENTER}{ENTER}"
    report, (command,) = run_wizard(keys, DOCUMENT)

    assert "--base-url http://toys.example" in command
    assert [it.decision for it in report.decisions if it.topic == "base URL"] == [
        "http://toys.example"
    ]


def test_options_are_not_asked_for(here: Path, explanations: list[str]) -> None:
    given = {"name": "toys", "include": ("toys",), "base_url": "https://toys.example"}

    report, (command,) = run_wizard(ENTER * 2, DOCUMENT, **given)

    assert report.outcome is Outcome.DONE
    assert command.endswith("--include toys --base-url https://toys.example")


def test_a_question_mark_explains_a_question_and_asks_again(explanations: list[str]) -> None:
    asked = (
        lambda: prompts.ask_text("Name?", "toys", "A name."),
        lambda: prompts.ask_choice("Which?", [("a", "A"), ("b", "B")], "a", "A choice."),
        lambda: prompts.ask_yes("Sure?", "Yes or no.", default=True),
    )
    assert [answer(f"?{ENTER}", ask) for ask in asked] == ["toys", "a", True]
    assert answer(f"?{SPACE}{ENTER}", lambda: prompts.ask_choices("Which?", [("a", "A")], "Some."))
    assert explanations == ["A name.", "A choice.", "Yes or no.", "Some."]


def test_a_question_mark_inside_a_text_is_part_of_it(explanations: list[str]) -> None:
    assert answer(f"a?b{ENTER}", lambda: prompts.ask_text("URL?", "", "A URL.")) == "a?b"
    assert explanations == []


def test_an_invalid_name_and_a_full_folder_are_asked_for_again(
    here: Path, explanations: list[str]
) -> None:
    (here / "full").mkdir()
    (here / "full/file").touch()
    keys = f"No Name{ENTER}\x15toys{ENTER}full{ENTER}\x15empty{ENTER}{ENTER * 2}"

    report, _ = run_wizard(keys, DOCUMENT + ONE_SERVER)

    assert report.plan is not None
    assert (report.plan.name, report.target) == ("toys", Path("empty"))


def test_control_c_ends_the_wizard_and_nothing_is_written(
    here: Path, explanations: list[str]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_wizard(f"{ENTER}{CTRL_C}", DOCUMENT + ONE_SERVER)

    assert [path.name for path in here.iterdir() if path.suffix != ".yaml"] in ([], ["cache"])


def test_the_source_is_asked_for_until_it_exists(here: Path, explanations: list[str]) -> None:
    (here / "toys.yaml").touch()

    assert answer(f"no{ENTER}\x15toys.yaml{ENTER}", Wizard().ask_source) == "toys.yaml"


def test_answers_without_an_option_are_named_with_their_keys(explanations: list[str]) -> None:
    wizard = Wizard()
    hidden = HiddenCredential(
        "no-credentials", "", ("a",), is_certain=False, schemes={"token": {"type": "http"}}
    )
    destination = CredentialDestination(
        "https://auth.example", "", ("a",), lambda: Location("toys.yaml")
    )

    answer(f"{DOWN}{ENTER}", lambda: wizard.decide(hidden))
    answer("y", lambda: wizard.confirm(destination))

    command, note = wizard.repeat("toys.yaml", Path("toys-mcp"), Options(name="toys"))
    assert command.endswith("--name toys --confirm-origin https://auth.example")
    assert note == (
        "# then write `sources.security_schemes`, `sources.security` as in this mcpgen.yaml"
    )


def test_words_of_a_document_are_quoted_in_the_command() -> None:
    options = Options(
        name="toys",
        include=("$(touch x)",),
        credentials={"key": CredentialEntry(from_="header", header="X-Key")},
        models=False,
        strict=True,
    )

    assert spell_command("a b.yaml", Path("toys-mcp"), options) == (
        "mcpgen new 'a b.yaml' toys-mcp --defaults --name toys --include '$(touch x)'"
        " --credential key=header:X-Key --no-models --strict"
    )


@pytest.mark.parametrize(
    "option",
    ["--credential=login", "--credential=login=elsewhere", "--credential=login=header",
     "--credential=login=header:Host", "--credential=login=user:X", "--base-url=toys.example"],
)  # fmt: skip
def test_an_invalid_option_is_a_usage_error(
    option: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", "toys.yaml", option]) == 2
    assert "error[usage]: " in capsys.readouterr().err


def test_an_answer_can_contain_an_equals_sign() -> None:
    assert parse_answer("motto=a=b") == ("motto", "a=b")
