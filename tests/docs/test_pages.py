"""Tests of documentation pages: commands print the shown output, and links have targets."""

from __future__ import annotations

import ast
import difflib
import importlib
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml
from markdown_it import MarkdownIt

from mcpgen.ir.manifest import Manifest
from tests.docs.generated.commands import leaf_commands
from tests.docs.generated.pages import DOCS, REPOSITORY, doc_pages
from tests.docs.page_runner import blocks_of, run_page, runs_commands

PAGES: Final = [path for path in doc_pages() if path.exists()]
LONGEST_README: Final = 8_000
_MCPGEN: Final = re.compile(r"(?:`|^(?:\$ )?)(mcpgen (?:[a-z]|--)[^`\n]*)", re.MULTILINE)
_WORD_OF_TEXT: Final = re.compile(r"[^\w\- ]")
_HOSTS: Final = re.compile(r"\b(?:pypi\.org|pythonhosted\.org|npmjs\.(?:com|org)|docker\.io)\b")


def name_of(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


@pytest.mark.parametrize("path", [it for it in PAGES if runs_commands(it.read_text())], ids=name_of)
def test_page_commands_print_the_documented_output(
    path: Path, tmp_path: Path, updates: bool
) -> None:
    page = path.read_text("utf-8")

    seen = run_page(page, tmp_path)

    if updates:
        path.write_text(seen, "utf-8")
        return
    lines = (page.splitlines(), seen.splitlines())
    names = (f"{path.name}, expected", f"{path.name}, seen")
    assert seen == page, "\n" + "\n".join(difflib.unified_diff(*lines, *names, lineterm=""))


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_point_to_existing_files_and_headings(path: Path) -> None:
    broken = []
    for target in _links(path.read_text("utf-8")):
        if "://" in target or target.startswith("mailto:"):
            continue
        file, _, anchor = target.partition("#")
        linked = (path.parent / file).resolve() if file else path
        if not linked.exists() or (anchor and anchor not in _anchors(linked)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_commands_and_options_exist(path: Path) -> None:
    commands = leaf_commands()
    groups = {name.partition(" ")[0] for name in commands if " " in name}
    unknown = []
    for line in _MCPGEN.findall(_without_prose(path.read_text("utf-8"))):
        words = line.partition(" -- ")[0].split()[1:]
        if words[0] in {"--help", "--version", "COMMAND"}:
            continue
        name = " ".join(words[:2]) if words[0] in groups else words[0]
        if name in groups or (words[0] in groups and len(words) > 1 and "|" in words[1]):
            continue
        if name not in commands:
            unknown.append(line)
            continue
        known = {
            option
            for it in commands[name].params
            for option in (*it.opts, *it.secondary_opts, "--help")
        }
        options = [re.split(r"[=,;.)]", word)[0] for word in words if word.startswith("-")]
        unknown += [f"{name} {it}" for it in options if it.strip("-") and it not in known]
    assert unknown == []


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_python_blocks_parse_and_their_imports_exist(path: Path) -> None:
    for block, _ in blocks_of(path.read_text("utf-8")):
        if block.kind != "python":
            continue
        for node in ast.walk(ast.parse("\n".join(block.lines))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mcpgen"):
                module = importlib.import_module(str(node.module))
                assert [it.name for it in node.names if not hasattr(module, it.name)] == []


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_entries_of_manifests_are_valid(path: Path) -> None:
    for block, _ in blocks_of(path.read_text("utf-8")):
        if block.kind != "yaml":
            continue
        stated = yaml.safe_load("\n".join(block.lines))
        keys = set(stated) if isinstance(stated, dict) else set()
        if keys and keys <= {it.encode_name for it in msgspec.structs.fields(Manifest)}:
            whole: dict[str, Any] = {"server": {"name": "shop"}, "sources": [], **stated}
            msgspec.convert(whole, Manifest)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_pages_name_no_registry_host(path: Path) -> None:
    assert _HOSTS.findall(path.read_text("utf-8")) == []


def test_readme_is_short() -> None:
    assert len((REPOSITORY / "README.md").read_bytes()) <= LONGEST_README


def test_index_links_to_every_page() -> None:
    index = DOCS / "index.md"
    linked = {(DOCS / it.partition("#")[0]).resolve() for it in _links(index.read_text("utf-8"))}
    missing = [name_of(it) for it in DOCS.rglob("*.md") if it not in linked and it != index]
    assert missing == []


def test_architecture_names_every_package() -> None:
    page = (DOCS / "explanation" / "architecture.md").read_text("utf-8")
    folders = [*(REPOSITORY / "mcpgen").iterdir(), *(REPOSITORY / "mcpgen" / "runtime").iterdir()]
    packages = {name_of(it) for it in folders if (it / "__init__.py").exists()}
    named = set(re.findall(r"`(mcpgen/[\w/]+)`", page))
    assert packages - named == {"mcpgen/runtime/testing"} & packages
    assert named - packages == set()


def _without_prose(page: str) -> str:
    """Return the code spans, code blocks and tables of a page, each on separate lines."""
    tokens = MarkdownIt().enable("table").parse(page)
    inner = [child for token in tokens for child in (token, *(token.children or ()))]
    spans = [f"`{it.content}`" for it in inner if it.type == "code_inline"]
    return "\n".join([*spans, *(it.content for it in inner if it.type in {"fence", "code_block"})])


def _links(page: str) -> list[str]:
    tokens = MarkdownIt().enable("table").parse(page)
    inner = [child for token in tokens for child in token.children or ()]
    return [str(it.attrs["href"]) for it in inner if it.type == "link_open"]


@cache
def _anchors(path: Path) -> set[str]:
    """Return the ids of a page's headings, as GitHub and the site derive them."""
    tokens = MarkdownIt().enable("table").parse(path.read_text("utf-8"))
    titles = [
        "".join(child.content for child in following.children or ())
        for token, following in pairwise(tokens)
        if token.type == "heading_open"
    ]
    return {_WORD_OF_TEXT.sub("", title.lower()).replace(" ", "-") for title in titles}
