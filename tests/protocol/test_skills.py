"""Tests of the Skills extension: skills/list, skills/get, resources/directory/read, skill files."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from mcpgen.contract.skills import SCHEME
from tests.support.protocol_client import LEGACY, MODERN, Peer, definition
from tests.support.skills import FRONTMATTER, SKILL, TREE, make_package, serve

PETS = "skill://pets/SKILL.md"
METHODS = ("skills/list", "skills/get", "resources/directory/read")


def peer(**changes: Any) -> Peer:
    return Peer(MODERN, serve(make_package(), **changes))


def child_uris(result: dict[str, Any]) -> list[str]:
    return [resource["uri"] for resource in result["resources"]]


@pytest.mark.requirement("K006", "K014", "K016", "K017", "K018", "K019", "K022", "K024")
def test_a_list_has_each_skill_with_all_of_its_files() -> None:
    result = peer().result("skills/list")
    assert [skill["uri"] for skill in result["skills"]] == [PETS, "skill://shop/SKILL.md"]
    pets = result["skills"][0]
    assert pets["frontmatter"] == FRONTMATTER["pets"]
    expected = {
        SCHEME + path: (f"sha256:{hashlib.sha256(data).hexdigest()}", len(data))
        for path, data in TREE.items()
        if path.startswith("pets/")
    }
    assert len(pets["resources"]) == len(expected)
    assert {it["uri"]: (it["digest"], it["size"]) for it in pets["resources"]} == expected
    assert result["resultType"] == "complete"
    assert (result["ttlMs"], result["cacheScope"]) == (3_600_000, "public")
    assert "nextCursor" not in result


@pytest.mark.requirement("K023")
def test_a_list_is_read_page_by_page_and_no_skill_is_divided() -> None:
    served = peer(page_size=1)
    first = served.result("skills/list")
    second = served.result("skills/list", cursor=first["nextCursor"])
    assert [len(page["skills"]) for page in (first, second)] == [1, 1]
    assert len(first["skills"][0]["resources"]) == 4
    assert "nextCursor" not in second
    assert served.error("skills/list", cursor="bm8gc3VjaA==")["code"] == -32602


@pytest.mark.requirement("K025", "K027", "K028")
def test_a_skill_is_read_by_its_uri() -> None:
    served = peer()
    for skill in served.result("skills/list")["skills"]:
        result = served.result("skills/get", uri=skill["uri"])
        assert result["skill"] == skill
        assert result["resultType"] == "complete"
        assert (result["ttlMs"], result["cacheScope"]) == (3_600_000, "public")
        assert "nextCursor" not in result


@pytest.mark.requirement("K026", "K035")
@pytest.mark.parametrize("uri", ["skill://cats/SKILL.md", "skill://pets", "skill://pets/SKILL.md/"])
def test_an_unknown_skill_is_an_invalid_parameter(uri: str) -> None:
    error = peer().error("skills/get", uri=uri)
    assert error["code"] == -32602
    assert uri in error["message"]


@pytest.mark.parametrize("method", ["skills/get", "resources/directory/read"])
@pytest.mark.parametrize("uri", [None, 7, "", "pets", "skill://p ets"])
def test_an_invalid_uri_is_an_invalid_parameter(method: str, uri: object) -> None:
    assert peer().error(method, uri=uri)["code"] == -32602


@pytest.mark.requirement("K029", "K031", "K032")
def test_a_directory_lists_its_direct_children() -> None:
    served = peer()
    root = served.result("resources/directory/read", uri="skill://pets")
    assert root["resultType"] == "complete"
    assert root["resources"] == [
        {
            "uri": PETS,
            "name": "pets",
            "description": "Care for pets.",
            "mimeType": "text/markdown",
            "size": len(SKILL),
        },
        {
            "uri": "skill://pets/picture.png",
            "name": "picture.png",
            "mimeType": "image/png",
            "size": 5,
        },
        {"uri": "skill://pets/references", "name": "references", "mimeType": "inode/directory"},
    ]
    references = served.result("resources/directory/read", uri="skill://pets/references")
    assert child_uris(references) == [
        "skill://pets/references/food.md",
        "skill://pets/references/more",
    ]
    deepest = served.result("resources/directory/read", uri="skill://pets/references/more")
    assert child_uris(deepest) == ["skill://pets/references/more/dogs.json"]


@pytest.mark.requirement("K030", "K035")
@pytest.mark.parametrize(
    "uri", [PETS, "skill://pets/none", "skill://pet", "skill://pets/", "skill://", "test://note/1"]
)
def test_what_is_no_directory_is_an_invalid_parameter(uri: str) -> None:
    error = peer().error("resources/directory/read", uri=uri)
    assert error["code"] == -32602
    assert uri in error["message"]


@pytest.mark.requirement("K034")
def test_a_directory_has_one_page() -> None:
    error = peer().error("resources/directory/read", uri="skill://pets", cursor="AAAA")
    assert error["code"] == -32602
    assert "cursor" in error["message"]


@pytest.mark.requirement("K010")
def test_a_file_is_read_as_it_is() -> None:
    served = peer()
    assert served.result("resources/read", uri=PETS)["contents"] == [
        {"uri": PETS, "mimeType": "text/markdown", "text": SKILL.decode()}
    ]
    (picture,) = served.result("resources/read", uri="skill://pets/picture.png")["contents"]
    assert base64.b64decode(picture["blob"]) == TREE["pets/picture.png"]
    assert picture["mimeType"] == "image/png"


def test_a_file_is_the_same_for_everyone() -> None:
    result = peer().result("resources/read", uri=PETS)
    assert (result["ttlMs"], result["cacheScope"]) == (3_600_000, "public")


@pytest.mark.parametrize("revision", LEGACY)
def test_earlier_revisions_read_files_as_ordinary_resources(revision: str) -> None:
    served = Peer(revision, serve(make_package()))
    result = served.result("resources/read", uri=PETS)
    assert result == {
        "contents": [{"uri": PETS, "mimeType": "text/markdown", "text": SKILL.decode()}]
    }


@pytest.mark.requirement("K001", "K002")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("revision", LEGACY)
def test_earlier_revisions_have_no_methods_of_the_extension(revision: str, method: str) -> None:
    served = Peer(revision, serve(make_package()))
    assert served.error(method, uri=PETS)["code"] == -32601


@pytest.mark.parametrize("method", METHODS)
def test_a_server_without_skills_has_no_methods_of_the_extension(method: str) -> None:
    assert Peer(MODERN, definition()).error(method, uri=PETS)["code"] == -32601


@pytest.mark.requirement("K033")
def test_a_file_that_no_skill_has_goes_to_the_handlers() -> None:
    request = peer().call("resources/read", uri="skill://pets/none.md")
    assert request.params["uri"] == "skill://pets/none.md"


@pytest.mark.requirement("K036")
@pytest.mark.parametrize("changed", [b"", b"# Good\n", b"# Feed cats\n", b"# Food\n\n"])
def test_a_changed_file_is_refused(changed: bytes) -> None:
    package = {**make_package(), "_generated/skills/pets/references/food.md": changed}
    served = Peer(MODERN, serve(package))
    error = served.error("resources/read", uri="skill://pets/references/food.md")
    assert error["code"] == -32603
    assert "_generated/skills/pets/references/food.md" in error["message"]
    assert "mcpgen generate" in error["message"]
    assert served.result("resources/read", uri=PETS)["contents"]  # the others are served


@pytest.mark.requirement("K036")
def test_a_missing_file_is_an_internal_error() -> None:
    package = make_package()
    del package["_generated/skills/pets/SKILL.md"]
    error = Peer(MODERN, serve(package)).error("resources/read", uri=PETS)
    assert error["code"] == -32603
    assert "_generated/skills/pets/SKILL.md" in error["message"]
