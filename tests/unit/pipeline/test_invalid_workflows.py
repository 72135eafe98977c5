"""Tests of invalid workflows: one located diagnostic each, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcpgen.pipeline.commands.check import check
from mcpgen.pipeline.options import Report

FETCH = (
    "{id: fetch, operation: getPet, arguments: {pet_id: $inputs.pet}, "
    "outputs: {name: '$response.body#/name', id: '$response.body#/id'}}"
)
INPUTS = (
    "inputs: {type: object, properties: {pet: {type: integer}, word: {type: string}, "
    "animals: {type: array, items: {type: object, properties: {word: {type: string}}}}}}"
)


def manifest(*steps: str, more: str = "") -> str:
    """Return a manifest with one workflow of these steps."""
    lines = "".join(f"      - {step}\n" for step in steps)
    return f"workflows:\n  look_twice:\n    {INPUTS}\n{more}    steps:\n{lines}"


def second(arguments: str, more: str = "") -> str:
    """Return a manifest with a workflow whose second step has these arguments."""
    step = f"{{id: again, operation: getPet, arguments: {arguments}{more}}}"
    return manifest(FETCH, step)


NOT_TWICE = "operations: {getPet: {annotations: {readOnlyHint: false, idempotentHint: false}}}\n"
AGAIN = "/workflows/look_twice/steps/1"
REFUSED = {
    "unknown operation": (
        manifest("{id: fetch, operation: getPets}"),
        "workflow-operation",
        "/workflows/look_twice/steps/0/operation",
        "did you mean `getPet`?",
    ),
    "unknown step": (
        second("{pet_id: $steps.fetsh.outputs.id}"),
        "workflow-step",
        f"{AGAIN}/arguments/pet_id",
        "did you mean `fetch`?",
    ),
    "unknown output": (
        second("{pet_id: $steps.fetch.outputs.ids}"),
        "workflow-output",
        f"{AGAIN}/arguments/pet_id",
        "did you mean `id`?",
    ),
    "a step that refers to itself": (
        second("{pet_id: $steps.again.outputs.id}"),
        "workflow-cycle",
        f"{AGAIN}/arguments/pet_id",
        "move `again` up, or use another value",
    ),
    "a step that refers to a later one": (
        manifest(
            "{id: first, operation: getPet, arguments: {pet_id: $steps.fetch.outputs.id}}", FETCH
        ),
        "workflow-cycle",
        "/workflows/look_twice/steps/0/arguments/pet_id",
        "move `fetch` up, or use another value",
    ),
    "two steps of one id": (
        manifest(FETCH, FETCH),
        "workflow-step-twice",
        AGAIN,
        "give each an id of its own",
    ),
    "unknown argument": (
        second("{pet_id: 1, petid: 2}"),
        "workflow-argument",
        f"{AGAIN}/arguments/petid",
        "did you mean `pet_id`?",
    ),
    "missing argument": (
        second("{}"),
        "workflow-argument-missing",
        AGAIN,
        "give it under `arguments`, as a literal or an expression",
    ),
    "unknown input": (
        second("{pet_id: $inputs.pets}"),
        "workflow-input",
        f"{AGAIN}/arguments/pet_id",
        "did you mean `pet`?",
    ),
    "an input of another type": (
        second("{pet_id: $inputs.word}"),
        "workflow-type",
        f"{AGAIN}/arguments/pet_id",
        "compare it with what `mcpgen tools` shows of the tool",
    ),
    "an output of another type": (
        second("{pet_id: $steps.fetch.outputs.name}"),
        "workflow-type",
        f"{AGAIN}/arguments/pet_id",
        "compare it with what `mcpgen tools` shows of the tool",
    ),
    "a literal that does not fit": (
        second("{pet_id: seven}"),
        "workflow-type",
        f"{AGAIN}/arguments/pet_id",
        "compare it with what `mcpgen tools` shows of the tool",
    ),
    "an output that no response has": (
        second("{pet_id: 1}", ", outputs: {nam: '$response.body#/nam'}"),
        "workflow-type",
        f"{AGAIN}/outputs/nam",
        "correct the JSON Pointer",
    ),
    "an item without a loop": (
        second("{pet_id: $item}"),
        "workflow-item",
        f"{AGAIN}/arguments/pet_id",
        "add `for_each`, or use `$inputs` or `$steps`",
    ),
    "a loop over no list": (
        second("{pet_id: $item}", ", for_each: $steps.fetch.outputs.name"),
        "workflow-type",
        f"{AGAIN}/for_each",
        "compare it with what `mcpgen tools` shows of the tool",
    ),
    "a response before there is one": (
        second("{pet_id: '$response.body#/id'}"),
        "workflow-response",
        f"{AGAIN}/arguments/pet_id",
        "name it as an output of the step, and use `$steps.id.outputs.name`",
    ),
    "a retry of what must not be done twice": (
        NOT_TWICE + manifest(FETCH.replace("{id", "{retry: {limit: 2}, id")),
        "workflow-retry",
        "/workflows/look_twice/steps/0/retry",
        "name the answers after which to try again: `$statusCode == 503`; or, ",
    ),
    "a retry that is made where no answer came": (
        NOT_TWICE
        + manifest(FETCH.replace("{id", "{retry: {limit: 2, when: $statusCode != 400}, id")),
        "workflow-retry",
        "/workflows/look_twice/steps/0/retry",
        "name the answers after which to try again: `$statusCode == 503`; or, ",
    ),
    "a retry without bounds": (
        manifest(FETCH.replace("{id: fetch", "{retry: {limit: 11}, id: fetch")),
        "manifest",
        "/workflows/look_twice/steps/0/retry/limit",
        "",
    ),
    "pages of what has none": (
        second("{pet_id: 1}", ", max_pages: 3"),
        "workflow-pages",
        f"{AGAIN}/max_pages",
        "leave `max_pages` out",
    ),
    "an item of another type": (
        second("{pet_id: $item.word}", ", for_each: $inputs.animals"),
        "workflow-type",
        f"{AGAIN}/arguments/pet_id",
        "compare it with what `mcpgen tools` shows of the tool",
    ),
    "a header of another type": (
        manifest(
            FETCH.replace("outputs: {name", "outputs: {left: $response.header.X-Left, name"),
            "{id: again, operation: getPet, arguments: {pet_id: $steps.fetch.outputs.left}}",
        ),
        "workflow-type",
        f"{AGAIN}/arguments/pet_id",
        "compare it with what `mcpgen tools` shows of the tool",
    ),
    "a loop over a status": (
        manifest(
            FETCH.replace("outputs: {name", "outputs: {status: $statusCode, name"),
            "{id: again, operation: getPet, for_each: $steps.fetch.outputs.status,"
            " arguments: {pet_id: 1}}",
        ),
        "workflow-type",
        f"{AGAIN}/for_each",
        "compare it with what `mcpgen tools` shows of the tool",
    ),
    "an expression at the end of a text": (
        second("{pet_id: no. $inputs.pet}"),
        "workflow-expression",
        f"{AGAIN}/arguments/pet_id",
        "write `$inputs.name`",
    ),
    "an input that is required and not there": (
        manifest(FETCH).replace("{type: object,", "{type: object, required: [pet, wrod],"),
        "workflow-inputs",
        "/workflows/look_twice/inputs/required/1",
        "did you mean `word`?",
    ),
    "inputs that are no schema": (
        manifest(FETCH).replace("{type: integer}", "{type: intger}"),
        "workflow-inputs",
        "/workflows/look_twice/inputs/properties/pet/type",
        "",
    ),
    "an Arazzo document and inputs beside it": (
        f"workflows: {{look_twice: {{{INPUTS}, arazzo: looking.arazzo.yaml}}}}\n",
        "workflow-steps",
        "/workflows/look_twice/inputs",
        "remove it, or write the `steps` here as well",
    ),
    "no expression": (
        second("{pet_id: $input.pet}"),
        "workflow-expression",
        f"{AGAIN}/arguments/pet_id",
        "write `$inputs.name`",
    ),
    "an expression inside a text": (
        second("{pet_id: 'no. {$inputs.pet}'}"),
        "workflow-expression",
        f"{AGAIN}/arguments/pet_id",
        "write `$inputs.name`",
    ),
    "no condition": (
        second("{pet_id: 1}", ", when: $inputs.pet = 1"),
        "workflow-expression",
        f"{AGAIN}/when",
        "write `$inputs.name`",
    ),
    "inputs that are no object": (
        manifest(FETCH).replace(INPUTS, "inputs: {type: string}").replace("$inputs.pet", "1"),
        "workflow-inputs",
        "/workflows/look_twice/inputs",
        "write `type: object` and `properties`",
    ),
    "a tool's own name": (
        manifest(FETCH).replace("look_twice", "get_pet"),
        "name-collision",
        "/workflows/get_pet",
        "call one of them differently",
    ),
    "no steps": (
        "workflows: {look_twice: {description: Look.}}\n",
        "workflow-steps",
        "/workflows/look_twice",
        "write `steps`, or the path of an Arazzo document under `arazzo`",
    ),
}
ARAZZO = """\
arazzo: 1.0.0
info: {title: Looking, version: "1"}
sourceDescriptions: [{name: pets, url: openapi.yaml}]
workflows:
  - workflowId: lookTwice
    inputs: {type: object, properties: {pet: {type: integer}}}
    steps:
      - stepId: fetch
        operationId: getPet
        parameters: [{name: petId, in: path, value: $inputs.pet}]
    failureActions: [{reference: $components.failureActions.busy}]
components:
  failureActions:
    busy: {name: busy, type: retry, criteria: [{condition: $statusCode == 503}]}
"""
FETCHING = "/workflows/0/steps/0"
ARAZZO_REFUSED = {
    "unknown operation": (
        "operationId: getPet",
        "operationId: getPets",
        "workflow-operation",
        f"{FETCHING}/operationId",
        "did you mean `getPet`?",
    ),
    "unknown operation path": (
        "operationId: getPet",
        "operationPath: '{$sourceDescriptions.pets.url}#/paths/~1pets~1{id}/get'",
        "workflow-operation",
        f"{FETCHING}/operationPath",
        "did you mean `GET /pets/{petId}`?",
    ),
    "unknown source": (
        "operationId: getPet",
        "operationId: $sourceDescriptions.shop.getPet",
        "arazzo",
        f"{FETCHING}/operationId",
        "the sources are `pets`",
    ),
    "a parameter of another place": (
        "in: path",
        "in: query",
        "workflow-argument",
        f"{FETCHING}/parameters/0/value",
        "it has none",
    ),
    "another workflow": (
        "operationId: getPet",
        "workflowId: lookTwice",
        "arazzo",
        FETCHING,
        "name one operation with `operationId` or `operationPath`",
    ),
    "going back": (
        "        parameters:",
        "        onFailure: [{name: again, type: goto, stepId: fetch}]\n        parameters:",
        "arazzo",
        f"{FETCHING}/onFailure/0/stepId",
        "to repeat a step, write a `retry` with a `retryLimit`; ",
    ),
    "going to an unknown step": (
        "        parameters:",
        "        onSuccess: [{name: on, type: goto, stepId: fetsh}]\n        parameters:",
        "arazzo",
        f"{FETCHING}/onSuccess/0/stepId",
        "did you mean `fetch`?",
    ),
    "going nowhere": (
        "        parameters:",
        "        onSuccess: [{name: on, type: goto}]\n        parameters:",
        "arazzo",
        f"{FETCHING}/onSuccess/0",
        "the steps are `fetch`",
    ),
    "going to another workflow": (
        "        parameters:",
        "        onSuccess: [{name: on, type: goto, workflowId: more}]\n        parameters:",
        "arazzo",
        f"{FETCHING}/onSuccess/0/workflowId",
        "Arazzo 1.0 does not define its inputs; ",
    ),
    "another step before a retry": (
        "        parameters:",
        "        onFailure: [{name: on, type: retry, stepId: fetch}]\n        parameters:",
        "arazzo",
        f"{FETCHING}/onFailure/0/stepId",
        "retry only the step itself, or ",
    ),
    "a retry of what succeeded": (
        "        parameters:",
        "        onSuccess: [{name: on, type: retry}]\n        parameters:",
        "arazzo",
        f"{FETCHING}/onSuccess/0",
        "write `end` or `goto`",
    ),
    "an action without a type": (
        "        parameters:",
        "        onFailure: [{name: on}]\n        parameters:",
        "arazzo",
        f"{FETCHING}/onFailure/0",
        "write `end` or `goto` or `retry`",
    ),
    "too many retries": (
        "        parameters:",
        "        onFailure: [{name: on, type: retry, retryLimit: 50}]\n        parameters:",
        "arazzo",
        f"{FETCHING}/onFailure/0/retryLimit",
        "",
    ),
    "a key that Arazzo has not": (
        "        parameters:",
        "        sucessCriteria: []\n        parameters:",
        "arazzo",
        f"{FETCHING}/sucessCriteria",
        "did you mean `successCriteria`?",
    ),
    "an unknown reusable action": (
        "reference: $components.failureActions.busy",
        "reference: $components.failureActions.bussy",
        "arazzo",
        "/workflows/0/failureActions/0/reference",
        "did you mean `$components.failureActions.busy`?",
    ),
    "a condition of an action that is none": (
        "condition: $statusCode == 503",
        "condition: $statusCode = 503",
        "workflow-expression",
        "/components/failureActions/busy/criteria/0/condition",
        "write `$inputs.name`",
    ),
    "an unknown reusable parameter": (
        "parameters: [{name: petId",
        "parameters: [{reference: $components.parameters.pet, name: petId",
        "arazzo",
        f"{FETCHING}/parameters/0",
        "write `name`, `in` and `value` here",
    ),
    "unknown reusable inputs": (
        "inputs: {type: object",
        "inputs: {$ref: '#/components/inputs/pet', type: object",
        "arazzo",
        "/workflows/0/inputs",
        "write the inputs here, or only a reference to `#/components/inputs/NAME`",
    ),
    "a criterion by JSONPath": (
        "        parameters:",
        "        successCriteria: [{condition: $.id, type: jsonpath}]\n        parameters:",
        "arazzo",
        f"{FETCHING}/successCriteria/0",
        "write a `simple` criterion",
    ),
    "another workflow id": (
        "workflowId: lookTwice",
        "workflowId: lookThrice",
        "arazzo",
        "/workflows/look_twice/arazzo",
        "did you mean `lookThrice`?",
    ),
    "another version": (
        "arazzo: 1.0.0",
        "arazzo: 2.0.0",
        "arazzo",
        "/arazzo",
        "",
    ),
}


def assert_refused(report: Report, code: str, pointer: str, hint: str) -> None:
    assert report.outcome == "rejected"
    errors = [problem for problem in report.problems if problem.severity.value == "error"]
    assert [(problem.code, problem.at and problem.at.pointer) for problem in errors] == [
        (code, pointer)
    ]
    assert errors[0].help.startswith(hint)
    assert errors[0].at is not None
    assert errors[0].at.line


@pytest.mark.parametrize("name", REFUSED)
def test_an_invalid_workflow_is_reported_with_location_and_help(
    name: str, project: Path, regenerate: Callable[..., Report]
) -> None:
    text, code, pointer, hint = REFUSED[name]
    with (project / "mcpgen.yaml").open("a") as file:
        file.write(text)
    before = contents(project)
    assert_refused(regenerate(), code, pointer, hint)
    assert contents(project) == before


def test_a_step_that_lacks_a_member_of_the_body_is_reported_with_its_name(
    project: Path, regenerate: Callable[..., Report]
) -> None:
    document = project / "openapi.yaml"
    add = (
        "    post:\n      operationId: addOrder\n"
        "      requestBody: {required: true, content: {application/json: {schema:\n"
        "        {type: object, required: [pet], properties: {pet: {type: integer}}}}}}\n"
        '      responses: {"201": {description: Added.}}\n'
    )
    document.write_text(document.read_text().replace("components:", f"{add}components:"))
    with (project / "mcpgen.yaml").open("a") as file:
        file.write(manifest(FETCH, "{id: add, operation: addOrder}"))
    report = regenerate()
    hint = "give it under `arguments`, as a literal or an expression"
    assert_refused(report, "workflow-argument-missing", AGAIN, hint)
    assert [problem.message for problem in report.problems] == ["the step `add` lacks `pet`"]


@pytest.mark.parametrize("name", ARAZZO_REFUSED)
def test_an_invalid_arazzo_document_is_reported_at_its_own_location(
    name: str, project: Path, regenerate: Callable[..., Report]
) -> None:
    old, new, code, pointer, hint = ARAZZO_REFUSED[name]
    write_arazzo(project, ARAZZO.replace(old, new))
    before = contents(project)
    assert_refused(regenerate(), code, pointer, hint)
    assert contents(project) == before


def test_an_arazzo_document_with_another_source_is_rejected(
    project: Path, regenerate: Callable[..., Report]
) -> None:
    write_arazzo(
        project,
        ARAZZO.replace("url: openapi.yaml", "url: other.yaml").replace(
            "operationId: getPet", "operationId: $sourceDescriptions.pets.getPet"
        ),
    )
    assert_refused(
        regenerate(),
        "arazzo",
        "/sourceDescriptions/0/url",
        "write a path relative to this file; the documents are `openapi.yaml`",
    )


def test_an_arazzo_document_outside_the_project_is_rejected(
    project: Path, regenerate: Callable[..., Report]
) -> None:
    (project.parent / "away.yaml").write_text(ARAZZO)
    write_arazzo(project, ARAZZO, path="../away.yaml")
    assert_refused(
        regenerate(), "arazzo", "/workflows/look_twice/arazzo", "write a path inside the project"
    )


def test_an_arazzo_document_that_changed_makes_the_project_stale(
    project: Path, regenerate: Callable[..., Report]
) -> None:
    write_arazzo(project, ARAZZO)
    assert regenerate().outcome == "done"
    assert check(project).outcome == "done"
    (project / "looking.yaml").write_text(ARAZZO.replace("lookTwice", "look_twice"))
    found = check(project)
    assert (found.outcome, found.stale) == ("findings", ("looking.yaml",))


def write_arazzo(project: Path, text: str, path: str = "looking.yaml") -> None:
    (project / path).write_text(text)
    with (project / "mcpgen.yaml").open("a") as file:
        file.write(f"workflows: {{look_twice: {{arazzo: {path}}}}}\n")


def contents(project: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}


FORM = """\
    post:
      operationId: placeOrder
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema: {type: object, properties: {pet: {type: integer}}}
      responses: {"204": {description: Done.}}
"""
PLACING = """\
arazzo: 1.0.0
info: {title: Placing, version: "1"}
x-ours: {said: nothing}
sourceDescriptions: [{name: pets, url: openapi.yaml}]
workflows:
  - workflowId: lookTwice
    steps:
      - stepId: place
        operationId: placeOrder
        requestBody: {contentType: application/x-www-form-urlencoded, payload: {pet: 7}}
"""


@pytest.mark.parametrize(
    ("media_type", "is_taken"),
    [
        ("application/x-www-form-urlencoded", True),
        ("text/plain", False),
        ("application/json", False),
    ],
)
def test_a_step_with_an_unsupported_media_type_is_rejected(
    project: Path, regenerate: Callable[..., Report], media_type: str, is_taken: bool
) -> None:
    document = project / "openapi.yaml"
    document.write_text(document.read_text().replace("components:\n", f"{FORM}components:\n"))
    write_arazzo(project, PLACING.replace("application/x-www-form-urlencoded", media_type))
    if is_taken:
        assert regenerate().outcome == "done"
    else:
        assert_refused(
            regenerate(),
            "workflow-argument",
            "/workflows/0/steps/0/requestBody/contentType",
            "it takes `application/x-www-form-urlencoded`",
        )
