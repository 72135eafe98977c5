"""Tests of the rules of annotations: the evidence of each, and what it decides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.api import Operation
from mcpgen.ir.tool_plan import HINTS, ToolPlan
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.annotations import RULES, Decision, decide_hints
from mcpgen.plan.tools.verb_classes import ASKING, ATTACHING, DEEDS, EACH_TIME, NOUNS_TOO
from tests.support.plans import operation

READS = (True, False, True)
DANGEROUS = (False, True, False)
REPLACES = (False, True, True)
ADDS = (False, False, False)
ADDS_ONCE = (False, False, True)


def make_operation(
    method: str, path: str = "/things", operation_id: str = "", summary: str = "", text: str = ""
) -> Operation:
    return operation(method, path, operation_id=operation_id, summary=summary, description=text)


def values(decision: Decision) -> tuple[bool, bool, bool]:
    return tuple(decision.hints[hint] for hint in HINTS[:3])  # type: ignore[return-value]


def decide(*texts: str, is_trusted: bool = False) -> tuple[tuple[bool, bool, bool], str]:
    """Return the hints, and the rule of `readOnlyHint`."""
    decision = decide_hints(make_operation(*texts), is_trusted=is_trusted)
    return values(decision), decision.reasons["readOnlyHint"].rule


@pytest.mark.parametrize(
    ("said", "hints", "rule"),
    [
        (("GET", "/pets", "listPets"), READS, "method-safe"),
        (("GET", "/apps.uninstall", "apps_uninstall"), DANGEROUS, "verb-ends"),
        (("GET", "/auth.revoke", "auth_revoke"), DANGEROUS, "verb-ends"),
        (("GET", "/views.publish", "views_publish"), DANGEROUS, "verb-changes"),
        (("GET", "/#Action=CreateStack", "GET_CreateStack"), DANGEROUS, "verb-adds"),
        (("GET", "/cookies/delete"), DANGEROUS, "verb-ends"),
        (("GET", "/a", "", "Permanently deletes everything"), DANGEROUS, "verb-ends"),
        (("GET", "/a", "", "", "<p>This endpoint is used to reset a counter."), DANGEROUS,
         "verb-ends"),
        (("GET", "/a", "", "", "Allows an application to trigger a run."), DANGEROUS,
         "verb-changes"),
        (("GET", "/dialog.open", "dialog_open", "Open a dialog"), DANGEROUS, "verb-adds"),
        (("GET", "/dialog.open", "dialog_open"), READS, "method-safe"),
        (("GET", "/a/archive", "downloadArchive"), READS, "method-safe"),
        (("GET", "/a/delete-log", "listItemsToDelete"), DANGEROUS, "verb-ends"),
        (("GET", "/a", "listItemsToDelete"), READS, "method-safe"),
        (("GET", "/updates", "getUpdates", "Updates of the last week"), READS, "method-safe"),
        (("GET", "/connect-apps", "listConnectApps", "List apps"), READS, "method-safe"),
        (("GET", "/a", "canMove", "Check whether it moves"), READS, "method-safe"),
        (("GET", "/a", "x", "Create a report of the year"), READS, "method-safe"),
        (("GET", "/pets", "listPets", "List pets of a read-only replica"), READS, "method-safe"),
        (("POST", "/chat.delete", "chat_delete"), DANGEROUS, "verb-ends"),
        (("POST", "/pets", "createPet"), DANGEROUS, "method-other"),
        (("POST", "/pets/search", "searchPets"), DANGEROUS, "method-other"),
        (("PUT", "/star", "starRepository"), REPLACES, "method-put"),
        (("PUT", "/mail", "sendMail"), DANGEROUS, "method-put"),
        (("DELETE", "/pets/{id}", "getPet", "Read-only lookup"), REPLACES, "method-delete"),
        (("PATCH", "/pets/{id}", "listPets"), DANGEROUS, "method-other"),
    ],
)  # fmt: skip
def test_texts_make_a_tool_more_dangerous(
    said: tuple[str, ...], hints: tuple[bool, bool, bool], rule: str
) -> None:
    assert decide(*said) == (hints, rule)


@pytest.mark.parametrize(
    ("said", "hints", "rule"),
    [
        (("POST", "/pets/search", "searchPets"), READS, "own-looks"),
        (("POST", "/transfer/list", "transferList"), READS, "own-looks"),
        (("POST", "/#Target=Shop.ListPets", "ListPets"), READS, "own-looks"),
        (("PUT", "/pets/query", "queryPets"), READS, "own-looks"),
        (("POST", "/pets", "", "Find pets"), READS, "own-looks"),
        (("PUT", "/pets/{id}/star", "starPet"), ADDS_ONCE, "own-adds"),
        (("PUT", "/pets/{id}/tags/{tag}", "addTag"), ADDS_ONCE, "own-adds"),
        (("PUT", "/videos/{id}/like", "likeVideo"), ADDS_ONCE, "own-adds"),
        (("POST", "/pets", "createPet"), ADDS, "own-adds"),
        (("POST", "/chat.postMessage", "chat_postMessage"), ADDS, "own-adds"),
        (("PATCH", "/pets/{id}/tags", "addTags"), ADDS, "own-adds"),
        (("GET", "/pets/create", "createPet"), ADDS, "own-adds"),
        (("GET", "/jobs/{id}/events", "watchJob", "Follow the events of a job"), READS,
         "method-safe"),
        # Anything that says more is believed.
        (("PUT", "/pets/{id}", "createPet"), REPLACES, "method-put"),
        (("POST", "/pets", "addOrUpdatePet"), DANGEROUS, "method-other"),
        (("POST", "/pets", "addPet", "Add or replace a pet"), DANGEROUS, "method-other"),
        (("POST", "/pets/list/delete", "listPets"), DANGEROUS, "verb-ends"),
        (("POST", "/pets/search", "searchPets", "Delete what is found"), DANGEROUS, "verb-ends"),
        (("POST", "/pets/search", "searchAndUpdatePets"), DANGEROUS, "method-other"),
        (("POST", "/pets", "checkPets"), DANGEROUS, "method-other"),
        (("POST", "/pets", "pets"), DANGEROUS, "method-other"),
        (("POST", "/pets/{id}", "PostPetsId"), DANGEROUS, "method-other"),
        (("POST", "/pets/{id}", "post_pets_id"), DANGEROUS, "method-other"),
        (("DELETE", "/pets/{id}/star", "listStars"), REPLACES, "method-delete"),
        (("GET", "/apps.uninstall", "apps_uninstall"), DANGEROUS, "verb-ends"),
    ],
)  # fmt: skip
def test_texts_of_the_owner_are_believed(
    said: tuple[str, ...], hints: tuple[bool, bool, bool], rule: str
) -> None:
    assert decide(*said, is_trusted=True) == (hints, rule)


@pytest.mark.parametrize(
    ("status", "operation_id", "hints"),
    [("200", "frame", READS), ("202", "frame", DANGEROUS), ("201", "frame", DANGEROUS),
     ("202", "searchFrames", READS)],
)  # fmt: skip
def test_prose_does_not_make_a_request_look_that_makes_something(
    status: str, operation_id: str, hints: tuple[bool, bool, bool]
) -> None:
    said = make_operation("POST", "/frames/{id}", operation_id, "Render a frame again")
    answered = replace(said, responses=(replace(said.responses[0], status=status),))
    assert values(decide_hints(answered, is_trusted=True)) == hints


WORDS = st.lists(st.sampled_from([*sorted(DEEDS), *ASKING, "pet", "or", "to", "the"]), max_size=4)


def danger(decision: Decision) -> tuple[bool, bool, bool]:
    """Return the hints, normalized so that True is the more dangerous value."""
    reads, destroys, repeats_safely = values(decision)
    return (not reads, destroys, not repeats_safely)


@given(
    st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "QUERY", "LINK"]),
    *[WORDS] * 3,
)
def test_untrusted_texts_never_make_a_tool_look_more_harmless(
    method: str, name: list[str], path: list[str], summary: list[str]
) -> None:
    plain = danger(decide_hints(make_operation(method), is_trusted=False))
    said = danger(
        decide_hints(
            make_operation(method, "/" + "/".join(path), "_".join(name), " ".join(summary)),
            is_trusted=False,
        )
    )
    assert all(now or not before for before, now in zip(plain, said, strict=True))


@given(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]), st.booleans(), *[WORDS] * 2)
def test_every_hint_is_stated_with_its_reason(
    method: str, is_trusted: bool, name: list[str], summary: list[str]
) -> None:
    said = make_operation(method, "/a", "_".join(name), " ".join(summary))
    decision = decide_hints(said, is_trusted=is_trusted)
    assert decision.hints.keys() == decision.reasons.keys() == set(HINTS)
    assert {reason.rule for reason in decision.reasons.values()} <= {rule.id for rule in RULES}
    assert all(reason.evidence for reason in decision.reasons.values())
    assert decision.effect in ("read", "write", "destructive")
    assert (decision.effect == "read") is decision.hints["readOnlyHint"]


def test_the_evidence_names_the_verb_and_where_it_stands() -> None:
    decision = decide_hints(make_operation("GET", "/a", "", "Deletes a pet"), is_trusted=False)
    assert decision.reasons["readOnlyHint"].evidence == "`delete` in the summary `Deletes a …`"


def test_the_sets_of_verbs_name_verbs_with_a_deed() -> None:
    assert DEEDS.keys() >= ATTACHING | NOUNS_TOO | EACH_TIME
    assert ASKING.isdisjoint(DEEDS)


# In a plan


class Chat:
    """The plan, with a manifest, of an API whose methods say little about effects."""

    def __init__(self, make: Any, manifest: str = "", trust: str = "") -> None:
        answer = {"200": {"description": "ok"}}
        links = {"state": {"operationId": "chat_start"}}
        linked = {"202": {"description": "ok", "links": links}}
        state = {"type": "object", "properties": {"state": {"enum": ["new", "done"]}}}
        content = {"application/json": {"schema": state}}
        root = make.document()
        root["paths"] = {
            "/apps.uninstall": {"get": {"operationId": "apps_uninstall", "responses": answer}},
            "/chat.delete": {"post": {"operationId": "chat_delete", "responses": answer}},
            "/chat.search": {"post": {"operationId": "chat_search", "responses": linked}},
            "/chat.start": {
                "get": {
                    "operationId": "chat_start",
                    "responses": {"200": {"description": "ok", "content": content}},
                }
            },
        }
        self.problems = Problems()
        head = f"server: {{name: chat{trust}}}\nsources: [{{document: openapi.yaml}}]\n"
        intent = read_manifest(f"{head}{manifest}".encode(), self.problems)
        self.plan = plan_tools(make(root).api, Policy(intent), self.problems)

    def __getitem__(self, name: str) -> ToolPlan:
        (tool,) = [tool for tool in self.plan.tools if tool.name == name]
        return tool

    def reads(self, name: str) -> bool:
        return bool(self[name].annotations["readOnlyHint"])


def test_the_manifest_states_that_the_document_is_the_owners_own(make: Any) -> None:
    assert not Chat(make).reads("chat_search")
    assert Chat(make, trust=", trust: own").reads("chat_search")


def test_an_unknown_trust_is_rejected(make: Any) -> None:
    with pytest.raises(RejectedError):
        Chat(make, trust=", trust: full")


def test_the_manifest_overrides_each_hint(make: Any) -> None:
    entry = "{annotations: {readOnlyHint: true, idempotentHint: true}}"
    chat = Chat(make, f"operations: {{apps_uninstall: {entry}}}\n")
    hints = {name: chat["apps_uninstall"].annotations[name] for name in HINTS}
    assert hints == dict(zip(HINTS, (True, True, True, True), strict=True))
    assert "apps_uninstall" not in " ".join(problem.message for problem in chat.problems)


def test_the_contradiction_of_a_get_is_reported_with_its_evidence(make: Any) -> None:
    found = [problem for problem in Chat(make).problems if "uninstall" in problem.message]
    assert [problem.code for problem in found] == ["annotation-contradiction"]
    assert "`uninstall` in the operationId `apps_uninstall`" in found[0].message


def test_entries_of_an_effect_cover_what_the_texts_tell(make: Any) -> None:
    effects = (
        "operations:\n"
        '  "effect:read": {timeout_seconds: 1}\n'
        '  "effect:write": {timeout_seconds: 2}\n'
        '  "effect:destructive": {timeout_seconds: 3}\n'
    )
    timeouts = {tool.name: tool.policies.timeout_seconds for tool in Chat(make, effects).plan.tools}
    assert timeouts == {"apps_uninstall": 3, "chat_delete": 3, "chat_search": 2, "chat_start": 2}
    own = Chat(make, effects, trust=", trust: own")
    assert own["chat_search"].policies.timeout_seconds == 1


def test_a_get_that_has_an_effect_each_time_is_sent_once(make: Any) -> None:
    chat = Chat(make)
    assert chat["apps_uninstall"].policies.attempts == 1
    assert chat["chat_search"].policies.attempts is None  # a POST is never repeated anyway
    stated = Chat(make, "operations: {apps_uninstall: {retry: {attempts: 2}}}\n")
    assert stated["apps_uninstall"].policies.attempts == 2
    harmless = "operations: {apps_uninstall: {annotations: {idempotentHint: true}}}\n"
    assert Chat(make, harmless)["apps_uninstall"].policies.attempts is None


def test_a_get_that_changes_something_is_not_polled(make: Any) -> None:
    poll = "poll: {until: state, values: [done]}"
    chat = Chat(make, f"operations: {{chat_start: {{{poll}}}}}\n")
    refused = [problem for problem in chat.problems if problem.code != "annotation-contradiction"]
    assert ["polling sends it again" in problem.message for problem in refused] == [True]
    harmless = f"operations: {{chat_start: {{{poll}, annotations: {{readOnlyHint: true}}}}}}\n"
    assert Chat(make, harmless)["chat_start"].policies.poll is not None


def test_a_link_to_a_get_that_changes_something_tells_of_no_job(make: Any) -> None:
    assert Chat(make)["chat_search"].policies.jobs == ()
    harmless = "operations: {chat_start: {annotations: {readOnlyHint: true}}}\n"
    (job,) = Chat(make, harmless)["chat_search"].policies.jobs
    assert job.status.tool == "chat_start"
