"""Tests of the output of problems and results, for people and for programs."""

from __future__ import annotations

import io
import json
import re
import textwrap

import pytest

from mcpgen.cli.output.problem_text import lay_out_problem
from mcpgen.cli.output.report import Printer, format_counts
from mcpgen.cli.output.visible import visible
from mcpgen.diagnostics import Diagnostic, Location, Severity
from mcpgen.openapi.source.source_text import SourceText
from mcpgen.pipeline.options import Outcome

DANGLING = Diagnostic(
    "unresolved-ref",
    Severity.ERROR,
    "unknown reference `#/components/schemas/Pett`",
    Location(
        "specs/petstore.yaml",
        48,
        17,
        "/paths/~1pets/get/responses/200/content/application~1json/schema/$ref",
        "          $ref: '#/components/schemas/Pett'",
        27,
    ),
    "the tool `list_pets` takes its output schema from here",
    "did you mean `#/components/schemas/Pet`?",
)


def lay_out(problem: Diagnostic) -> str:
    return "".join(text for text, _ in lay_out_problem(problem))


def printer(**options: bool) -> tuple[Printer, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Printer(stdout=out, stderr=err, **options), out, err


@pytest.mark.parametrize("has_colours", [True, False])
def test_a_problem_has_colours_only_if_the_environment_forces_them(
    monkeypatch: pytest.MonkeyPatch, *, has_colours: bool
) -> None:
    for name in ("TERM", "NO_COLOR", "COLORTERM", "TTY_COMPATIBLE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    if has_colours:
        monkeypatch.setenv("FORCE_COLOR", "1")
    printing, _, err = printer()
    printing.problems([DANGLING])
    assert ("\x1b[1;31merror[unresolved-ref]" in err.getvalue()) is has_colours
    plain = re.sub("\x1b\\[[0-9;]*m", "", err.getvalue())
    assert plain == lay_out(DANGLING) + "\n"


def test_a_problem_is_laid_out_as_in_the_style_guide() -> None:
    assert lay_out(DANGLING) == textwrap.dedent("""\
        error[unresolved-ref]: unknown reference `#/components/schemas/Pett`
          --> specs/petstore.yaml:48:17
              /paths/~1pets/get/responses/200/content/application~1json/schema/$ref
           48 |           $ref: '#/components/schemas/Pett'
              |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^
          why:  the tool `list_pets` takes its output schema from here
          help: did you mean `#/components/schemas/Pet`?""")


def test_a_problem_without_a_line_shows_only_the_file() -> None:
    problem = Diagnostic("no-file", Severity.ERROR, "nothing is there", Location("a.yaml"))

    assert lay_out(problem) == "error[no-file]: nothing is there\n  --> a.yaml"


def test_escape_sequences_of_a_document_are_escaped() -> None:
    at = Location("a.yaml", 1, 1, "/\x1b]0;owned\x07", "\x1b[2J\u202ename: x", 1)
    problem = Diagnostic("x", Severity.NOTE, "title is \x1b[31mred\nand long", at, "a\x9bb", "c\rd")

    shown = lay_out(problem)

    assert not set(shown) & {"\x1b", "\x07", "\x9b", "\r", "\u202e"}
    assert r"title is \u001b[31mred\u000aand long" in shown


@pytest.mark.parametrize("excerpt", ["\tname: x", "名名: x", "\x1b[2Jx"])
def test_the_caret_is_below_its_character(excerpt: str) -> None:
    from rich.cells import cell_len

    at = Location("a.yaml", 7, excerpt.index("x") + 1, "", excerpt, 1)

    *_, line, carets = lay_out(Diagnostic("x", Severity.ERROR, "m", at)).split("\n")

    assert carets.index("^") == cell_len(line[: line.rindex("x")])


def test_a_long_line_is_truncated_around_the_location() -> None:
    excerpt = "a" * 500_000 + "HERE" + "b" * 500_000
    at = Location("a.json", 1, 500_001, "", excerpt, 4)

    *_, line, carets = lay_out(Diagnostic("x", Severity.ERROR, "m", at)).split("\n")

    assert len(line) < 130
    assert line.index("HERE") == carets.index("^^^^")
    assert line.endswith("…")


MINIFIED = json.dumps(
    {"a": ["名é\u0301\t"] * 400, "here": "x", "b": ["x"] * 400}, ensure_ascii=False
)


@pytest.mark.parametrize(
    ("text", "marked", "is_cut"),
    [
        (MINIFIED, '"here"', (True, True)),
        (MINIFIED, '{"a"', (False, True)),
        (MINIFIED, '"x"]}', (True, False)),
        ("名" * 45 + "here", "here", (False, False)),
        ("名" * 60 + "here" + "名" * 60, "here", (True, True)),
        ("e\u0301" * 90 + "here", "here", (False, False)),
        ("\t" * 90 + "here", "here", (False, False)),
        ("e\u0301" * 500 + "here" + "\t" * 500, "here", (True, True)),
        ("x" * 195 + "a_long_name", "a_long_name", (True, False)),
        ("here" * 100, "here" * 100, (False, True)),
    ],
)
def test_the_caret_is_below_its_location_in_a_line_of_any_length(
    text: str, marked: str, is_cut: tuple[bool, bool]
) -> None:
    """Covers the whole way from an offset in the text to the cells of a terminal."""
    from rich.cells import cell_len

    offset = text.rindex(marked)
    at = SourceText("a.json", f"{{\n{text}\r\n}}").location(offset + 2, width=len(marked))
    assert (at.line, at.column) == (2, offset + 1)

    *_, line, carets = lay_out(Diagnostic("x", Severity.ERROR, "m", at)).split("\n")

    shown = visible(marked)[: carets.count("^")]
    start = line.index(shown)
    assert carets.index("^") == cell_len(line[:start])
    assert (line.removeprefix("    2 | ").startswith("…"), line.endswith("…")) == is_cut
    assert 2 * cell_len(line) > len(text) or cell_len(line) > 90  # as much as fits
    assert cell_len(line) <= 110


def test_several_sentences_of_help_stay_aligned() -> None:
    problem = Diagnostic("x", Severity.ERROR, "m", None, "", "one\ntwo")

    assert lay_out(problem).endswith("  help: one\n        two")


def test_tabs_become_one_space() -> None:
    assert visible("a\tb") == "a b"


def test_problems_go_to_stderr_and_results_to_stdout() -> None:
    shown, out, err = printer()

    shown.problems([DANGLING, DANGLING])
    shown.result("14 tools")
    code = shown.finish(Outcome.REJECTED)

    assert code == 3
    assert out.getvalue() == "14 tools\n"
    assert err.getvalue().startswith("error[unresolved-ref]: ")
    assert err.getvalue().endswith("\n2 errors\n")


def test_markup_in_a_result_is_printed_literally() -> None:
    shown, out, _ = printer()

    shown.result("[bold]not markup[/bold] :smile:")

    assert out.getvalue() == "[bold]not markup[/bold] :smile:\n"


def test_json_is_one_object_and_nothing_else_is_printed() -> None:
    shown, out, err = printer(as_json=True)

    shown.problems([DANGLING])
    shown.result("14 tools")
    shown.fact(tools=14)
    shown.finish(Outcome.REJECTED)

    assert err.getvalue() == ""
    report = json.loads(out.getvalue())
    assert report == {
        "outcome": "rejected",
        "tools": 14,
        "findings": [
            {
                "rule": "unresolved-ref",
                "severity": "error",
                "file": "specs/petstore.yaml",
                "line": 48,
                "column": 17,
                "pointer": DANGLING.at.pointer if DANGLING.at else "",
                "message": DANGLING.message,
                "why": DANGLING.why,
                "help": DANGLING.help,
            }
        ],
    }


def test_quiet_omits_notes_and_counts() -> None:
    shown, _, err = printer(is_quiet=True)

    shown.problems([Diagnostic("n", Severity.NOTE, "fyi"), Diagnostic("w", Severity.WARNING, "hm")])
    shown.finish(Outcome.DONE)

    assert err.getvalue() == "warning[w]: hm\n"


def test_problems_are_counted_by_severity() -> None:
    warning = Diagnostic("w", Severity.WARNING, "m")

    assert format_counts([DANGLING, warning, warning]) == "1 error, 2 warnings"


def test_colour_needs_a_terminal_and_no_color_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured, plain, piped = Terminal(), Terminal(), io.StringIO()

    Printer(stderr=coloured).problems([DANGLING])
    Printer(stderr=piped).problems([DANGLING])
    monkeypatch.setenv("NO_COLOR", "1")
    Printer(stderr=plain).problems([DANGLING])

    assert "\x1b[1;31m" in coloured.getvalue()
    assert "31m" not in plain.getvalue()
    assert "\x1b" not in piped.getvalue()
