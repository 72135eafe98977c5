"""Tests of the manifest: every mistake is reported with its location and a suggestion."""

from __future__ import annotations

import pytest

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.limits import list_stated_limits
from mcpgen.ir.manifest import Manifest
from mcpgen.manifest.manifest import read_manifest

SERVER = "server: {name: pets}\nsources: []\n"
WITH_DOCUMENT = "server: {name: pets}\nsources: [{document: openapi.yaml}]\n"


def read(text: str) -> Manifest:
    return read_manifest(text.encode(), Problems()).manifest


@pytest.mark.parametrize("workspace", ["", "workspace: true\n"])
def test_a_server_is_a_workspace_member_by_default(workspace: str) -> None:
    assert read(SERVER + workspace).apart_because is None


def test_workspace_false_excludes_a_server() -> None:
    assert read(SERVER + "workspace: false\n").apart_because == "it sets `workspace: false`"


def test_an_excluded_server_can_state_a_reason() -> None:
    manifest = read(SERVER + "workspace: {member: false, reason: needs aiohttp 4}\n")
    assert manifest.apart_because == "needs aiohttp 4"


@pytest.mark.parametrize(
    ("text", "place", "message", "help"),
    [
        (SERVER + "workspace: no way\n", (3, 12), "expected a", ""),
        (SERVER + "workspace: {member: false}\n", (3, 1), "missing key `reason`", "add `reason`"),
        (
            SERVER + "workspace: {reasons: x, reason: y}\n",
            (3, 22),
            "unknown key `reasons`",
            "`reason`",
        ),
        ("server: {nam: x}\nsources: []\n", (1, 15), "unknown key `nam`", "did you mean `name`?"),
        ("server: {name: pets}\n", (1, 1), "missing key `sources`", "add `sources`"),
        ("- a\n", (1, 1), "expected an object, found an array", ""),
        (WITH_DOCUMENT + "models: 3\n", (3, 9), "expected a boolean, found a number", ""),
        (
            WITH_DOCUMENT + "operations: {listPets: {name: List}}\n",
            (3, 31),
            'invalid value `"List"`',
            "^[a-z][a-z0-9_]{0,63}$",
        ),
        (
            WITH_DOCUMENT + "operations: {listPets: {parameters: {limit: {hiden: true}}}}\n",
            (3, 53),
            "unknown key `hiden`",
            "did you mean `hidden`?",
        ),
        (
            WITH_DOCUMENT + "select: [{include: {tag: a, mthod: GET}}]\n",
            (3, 36),
            "unknown key `mthod`",
            "did you mean `method`?",
        ),
        (WITH_DOCUMENT + "select: [{include: a, exclude: b}]\n", (3, 10), "one `include`", "split"),
        (WITH_DOCUMENT + "aliases: {Old: new}\n", (3, 16), 'invalid value `"Old"`', "a-z"),
        (
            WITH_DOCUMENT + "operations: {a: {parameters: {b: {name: 1 bad}}}}\n",
            (3, 41),
            'invalid value `"1 bad"`',
            "A-Za-z_",
        ),
        (
            "server: {name: pets}\nsources: [{document: a}, {document: b}]\n",
            (2, 26),
            "missing `name` of a second source",
            "unique `name`",
        ),
        ("server: {name: Pets}\nsources: []\n", (1, 16), "invalid server name", "lower-case"),
        (
            SERVER + "limits: {timeout_second: 5}\n",
            (3, 26),
            "unknown key `timeout_second`",
            "did you mean `timeout_seconds`?",
        ),
        (SERVER + "limits: {timeout_seconds: 0}\n", (3, 27), "expected at least 0.1", ""),
        (SERVER + "limits: {max_attempts: 11}\n", (3, 24), "expected at most 10", ""),
        (SERVER + "limits: {max_attempts: fast}\n", (3, 24), "expected", ""),
        (SERVER + "limits: {max_attempts: 1.5}\n", (3, 24), "expected", ""),
    ],
)
def test_an_invalid_manifest_is_reported_with_its_location(
    text: str, place: tuple[int, int], message: str, help: str
) -> None:
    problems = Problems()
    with pytest.raises(RejectedError):
        read_manifest(text.encode(), problems)
    told = [
        (problem.at.line, problem.at.column)
        for problem in problems
        if problem.at and message in problem.message and help in problem.help
    ]
    assert place in told, list(problems)


def test_limits_of_the_manifest_are_only_those_that_it_states() -> None:
    assert list_stated_limits(read(SERVER).limits) == {}
    manifest = read(SERVER + "limits: {timeout_seconds: 20, max_attempts: 1}\n")
    assert list_stated_limits(manifest.limits) == {"timeout_seconds": 20, "max_attempts": 1}
