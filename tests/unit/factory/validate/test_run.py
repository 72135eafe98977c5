"""Tests of examinations of a small server over stdio, and of their reports."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mcpgen.factory.junit import add_to_report
from mcpgen.factory.validate import negotiation, report
from mcpgen.factory.validate.checks import calls
from mcpgen.factory.validate.probe import Knowledge, Probe, ProbeOptions
from mcpgen.factory.validate.run import Validation, validate
from mcpgen.factory.validate.verdicts import Verdict
from mcpgen.factory.wire.frames import Recording
from mcpgen.factory.wire.targets import Target

SERVER = Path(__file__).with_name("small_server.py")
REVISION = "2025-11-25"
pytestmark = pytest.mark.slow


def target(fault: str = "") -> Target:
    return Target(command=(sys.executable, "-I", "-S", str(SERVER), fault))


@cache
def validated(fault: str = "") -> Validation:
    return asyncio.run(validate(target(fault), revisions=(REVISION, "2024-11-05")))


def verdicts(fault: str, verdict: Verdict) -> set[str]:
    return {it.requirement.id for it in validated(fault).results if it.outcome.verdict is verdict}


def test_a_correct_server_that_declares_almost_nothing_scores_100() -> None:
    assert verdicts("", Verdict.FAIL) | verdicts("", Verdict.ERROR) == set()
    score = report.compute_scores(validated())[REVISION]
    assert score.score == 100
    assert score.verdict == "PASS"
    assert score.coverage > 0.9


def test_an_unsupported_revision_is_reported_and_not_scored() -> None:
    assert validated().revisions == [REVISION]
    assert "2025-11-25" in validated().unsupported["2024-11-05"]


def test_undeclared_capabilities_do_not_apply() -> None:
    assert {"resources-readable", "prompts-available", "set-level"} <= verdicts(
        "", Verdict.NOT_APPLICABLE
    )


def test_what_cannot_be_exercised_is_untested() -> None:
    assert "cancelled-call-unanswered" in verdicts("", Verdict.UNTESTED)


@pytest.mark.parametrize("fault", ["slow-start", "slow"])
def test_a_call_that_ended_before_its_cancellation_was_read_is_no_finding(fault: str) -> None:
    (result,) = [
        it for it in validated(fault).results if it.requirement.id == "cancelled-call-unanswered"
    ]
    assert result.outcome.verdict is Verdict.UNTESTED
    assert "ended before it could be cancelled" in result.outcome.message


def test_a_sham_fails_and_gets_no_more_than_59() -> None:
    score = report.compute_scores(validated("sham"))[REVISION]
    assert score.verdict == "FAIL"
    assert score.score <= 59
    assert {
        "frame-schema",
        "ping-answered",
        "unknown-method-rejected",
        "unknown-tool-rejected",
    } <= (verdicts("sham", Verdict.FAIL))


def test_a_banner_on_stdout_is_one_finding_with_the_line_as_evidence() -> None:
    (found,) = report.iterate_findings(validated("banner"))
    assert found.requirement.id == "stdout-only-messages"
    assert [each["text"] for each in found.evidence] == ["small server 1.0 is ready"]


def test_a_lost_connection_is_a_finding_with_the_last_messages_as_evidence() -> None:
    (found,) = report.iterate_findings(validated("fragile"))
    assert found.requirement.id == "parse-error-code"
    assert found.outcome.verdict is Verdict.ERROR
    assert '"method": "pi' in str(found.evidence[0]["text"])


def test_the_effort_of_each_revision_is_reported() -> None:
    shown = report.format_revisions(validated())[REVISION]
    assert 20 < shown["requests"] < 100
    assert 0 < shown["seconds"] < 40


def test_a_call_that_is_not_answered_in_time_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "CALL_SECONDS", 0.3)

    async def examine() -> tuple[Probe, calls.Calls]:
        known = Knowledge(frozenset({REVISION}))
        probe = Probe(target("busy"), REVISION, "stdio", Recording(), ProbeOptions(), known)
        try:
            await probe.inspect_offer()
            return probe, await probe.once(calls.call_tools)
        finally:
            await probe.close()

    probe, made = asyncio.run(examine())
    (call,) = made.made
    assert [it.body["params"] for it in probe.frames if it.method == "notifications/cancelled"] == [
        {"requestId": call.reply.request.body["id"]}
    ]
    assert "`add` is not answered in" in calls.explain_no_slow_call(probe, made, "be cancelled")


def test_a_server_that_exits_is_unreachable_and_its_last_words_are_shown() -> None:
    assert validated("exits").trouble_kind == "unreachable"
    assert "TOKEN is not set" in validated("exits").trouble


def test_a_server_that_answers_nothing_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negotiation, "START_SECONDS", 0.5)
    found = asyncio.run(validate(target("silent")))
    assert found.trouble_kind == "unreachable"


def test_a_missing_command_is_unreachable() -> None:
    found = asyncio.run(validate(Target(command=("./no-such-server",))))
    assert found.trouble_kind == "unreachable"


# Reports


def test_evidence_has_scores_for_each_revision_and_transport_and_no_frames() -> None:
    evidence = report.collect_evidence(validated("banner"))
    assert evidence["outcome"] == "failed"
    assert evidence["result"].startswith("59 in 1 revision, at least 9")
    assert evidence["unsupported"] == ["2024-11-05"]
    found = evidence["revisions"][REVISION]
    assert found["findings"] == ["stdout-only-messages"]
    assert "cancelled-call-unanswered" in found["undecided"]
    score = {key: found[key] for key in ("score", "verdict", "coverage")}
    assert found["transports"] == {"stdio": score}
    assert "small server" not in json.dumps(evidence)


def test_evidence_of_an_unreachable_server_says_so() -> None:
    evidence = report.collect_evidence(validated("exits"))
    assert (evidence["outcome"], evidence["result"]) == ("unreachable", "unreachable")
    assert evidence["revisions"] == {}


def texts(root: ElementTree.Element, outcome: str) -> Iterator[str]:
    yield from (str(it.get("message")) for it in root.iter(outcome))


def test_a_junit_report_has_a_test_for_each_requirement(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    add_to_report(file, report.group_results(validated("banner")))
    root = ElementTree.parse(file).getroot()
    (suite,) = root.findall("testsuite")
    assert suite.get("name") == f"{REVISION} over stdio"
    assert len(suite.findall("testcase")) == len(validated("banner").results)
    (failure,) = texts(root, "failure")
    assert "small server 1.0 is ready" in failure


def test_markdown_shows_text_of_a_server_without_its_markup() -> None:
    validation = Validation("t", trouble="<b>*x*</b> | [y](z)", trouble_kind="unreachable")
    assert r"\<b\>\*x\*\</b\> \| \[y\]\(z\)" in report.format_markdown(validation)


def test_json_of_a_finding_has_the_members_that_the_documentation_names() -> None:
    (found,) = report.iterate_findings(validated("banner"))
    shown = json.loads(json.dumps(report.format_finding(found)))
    assert shown["rule"] == "stdout-only-messages"
    assert shown["severity"] == "error"
    assert shown["revision"] == REVISION
    assert {"level", "transport", "message", "why", "help", "section", "evidence"} <= shown.keys()


@pytest.mark.parametrize("seed", range(3))
def test_a_server_whose_results_have_any_shape_gets_a_report(seed: int) -> None:
    script = SERVER.with_name("shapeless_server.py")
    shapeless = Target(command=(sys.executable, "-I", "-S", str(script), str(seed)))
    options = ProbeOptions(allow_writes=True, timeout_seconds=2)
    revisions = ("2025-11-25", "2026-07-28")
    found = asyncio.run(validate(shapeless, revisions=revisions, options=options))
    scores = report.compute_scores(found)
    assert scores
    assert {score.verdict for score in scores.values()} == {"FAIL"}
    assert report.format_markdown(found).encode("utf-8", "backslashreplace")
    json.dumps([report.format_finding(each) for each in report.iterate_findings(found)])
