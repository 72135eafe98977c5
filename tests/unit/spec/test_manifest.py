"""The manifest's word on the workspace around a server."""

from __future__ import annotations

import pytest

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.spec.manifest import Manifest, read_manifest

SERVER = "server: {name: pets}\nsources: []\n"


def read(workspace: str) -> tuple[Manifest, Problems]:
    problems = Problems()
    return read_manifest(f"{SERVER}{workspace}".encode(), problems), problems


@pytest.mark.parametrize("workspace", ["", "workspace: true\n"])
def test_a_server_belongs_to_the_workspace_around_it(workspace: str) -> None:
    assert read(workspace)[0].apart_because is None


def test_a_server_is_left_out_of_the_workspace() -> None:
    assert read("workspace: false\n")[0].apart_because == "it says `workspace: false`"


def test_a_server_that_is_left_out_says_why() -> None:
    manifest, _ = read("workspace: {member: false, reason: needs aiohttp 4}\n")
    assert manifest.apart_because == "needs aiohttp 4"


@pytest.mark.parametrize(
    ("workspace", "place", "message"),
    [
        ("workspace: no way\n", (3, 12), "`workspace` is a mapping"),
        ("workspace: {member: true, reason: x}\n", (3, 1), "`workspace` is true, or false"),
        ("workspace: {member: false}\n", (3, 1), "`reason` is a text"),
        (
            "workspace: {member: false, reasons: x}\n",
            (3, 37),
            "`reasons` is no key of the manifest here",
        ),
    ],
)
def test_a_slip_in_it_is_told_with_its_place(
    workspace: str, place: tuple[int, int], message: str
) -> None:
    problems = Problems()
    with pytest.raises(RejectedError):
        read_manifest(f"{SERVER}{workspace}".encode(), problems)
    told = {
        problem.message: (problem.at.line, problem.at.column)
        for problem in problems
        if problem.at is not None
    }
    assert told[message] == place
