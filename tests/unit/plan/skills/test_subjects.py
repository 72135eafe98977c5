"""Tests of which skills a server has, and how they are named."""

from __future__ import annotations

import pytest

from mcpgen.contract.frontmatter import is_skill_name
from mcpgen.diagnostics import Problems
from mcpgen.ir.skill_plan import SkillSubject
from mcpgen.ir.tool_plan import Toolset
from mcpgen.manifest.manifest import read_manifest
from mcpgen.manifest.typed_file import STORED_SCHEMA
from mcpgen.plan.policy import Policy
from mcpgen.plan.skills.subjects import MAX_TOOLSET_SKILLS, plan_skill_subjects

HEAD = "server: {name: shop}\nsources: [{document: openapi.yaml}]\n"
TOOLSETS = (Toolset("orders", "", ("get_order",)), Toolset("pets", "", ("get_pet",)))


def subjects(
    manifest: str = "", toolsets: tuple[Toolset, ...] = TOOLSETS
) -> tuple[tuple[SkillSubject, ...], list[tuple[str, str]]]:
    problems = Problems()
    intent = read_manifest((HEAD + manifest).encode(), problems)
    found = plan_skill_subjects(toolsets, (), Policy(intent), problems)
    return found, [(problem.code, problem.help) for problem in problems]


def names(manifest: str = "", toolsets: tuple[Toolset, ...] = TOOLSETS) -> list[str]:
    found, problems = subjects(manifest, toolsets)
    assert problems == []
    return [subject.name for subject in found]


def test_the_api_comes_first_and_then_each_toolset() -> None:
    assert names() == ["shop", "shop-orders", "shop-pets"]


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ("skills: false", []),
        ("skills: true", ["shop", "shop-orders", "shop-pets"]),
        ("skills: {toolsets: false}", ["shop"]),
        ("skills: {api: false, toolsets: [pets]}", ["shop-pets"]),
    ],
)
def test_the_manifest_selects_skills(manifest: str, expected: list[str]) -> None:
    assert names(manifest) == expected


@pytest.mark.parametrize("kind", ["toolsets", "workflows"])
def test_an_unknown_name_is_an_error_with_a_suggestion(kind: str) -> None:
    found, problems = subjects(f"skills: {{{kind}: [pet]}}")
    assert [subject.name for subject in found if subject.of == "pet"] == []
    (problem,) = problems
    assert problem[0] == "skill-unknown"
    if kind == "toolsets":
        assert problem[1] == "did you mean `pets`?"


def test_an_empty_toolset_has_no_skill() -> None:
    assert names("", (Toolset("none", "", ()),)) == ["shop"]


@pytest.mark.parametrize(
    "name", ["Pets & more", "éèê", "日本", "a" * 100, "a_b", "--", "x" * 59, "x" * 60]
)
def test_a_name_is_one_that_agent_skills_allows(name: str) -> None:
    (_, found) = names("", (Toolset(name, "", ("get_pet",)),))
    assert is_skill_name(found)
    assert found.startswith("shop-")


def test_names_never_collide() -> None:
    toolsets = tuple(Toolset(it, "", ("get_pet",)) for it in ("a b", "a_b", "a-b", "日", "本"))
    found = names("", toolsets)
    assert len(set(found)) == len(found) == 6
    assert found == names("", toolsets)


def test_of_many_toolsets_only_those_of_the_manifest_have_skills() -> None:
    many = tuple(Toolset(f"tag{number}", "", ("get_pet",)) for number in range(MAX_TOOLSET_SKILLS))
    assert len(names("", many)) == MAX_TOOLSET_SKILLS + 1
    manifest = "toolsets: {tag7: {tools: [get_pet]}}"
    assert names(manifest, (*many, TOOLSETS[0])) == ["shop", "shop-tag7"]


def test_the_schema_of_the_manifest_has_skills() -> None:
    assert b'"skills"' in STORED_SCHEMA.read_bytes()
