"""Tests of merging files of the skeleton, by kind of file."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpgen.emit.merge.merge import Merged, merge


def merged(path: str, base: str, yours: str, ours: str) -> Merged:
    return merge(path, base.encode(), yours.encode(), ours.encode())


README = """\
# Pets

How to run it.

<!-- mcpgen:tools -->
| get_pet |
<!-- /mcpgen:tools -->

The end.
"""
NEW_README = README.replace("| get_pet |", "| add_pet |\n| get_pet |")


@pytest.mark.parametrize(
    ("yours", "expected"),
    [
        (README.replace("How", "Mine: how"), NEW_README.replace("How", "Mine: how")),
        (README.replace("-->\n\nThe", "-->\nMine.\nThe"),
         NEW_README.replace("-->\n\nThe", "-->\nMine.\nThe")),
        ("<!-- mcpgen:tools -->\n| get_pet |\n<!-- /mcpgen:tools -->\n",
         "<!-- mcpgen:tools -->\n| add_pet |\n| get_pet |\n<!-- /mcpgen:tools -->\n"),
        ("# Mine\n", "# Mine\n"),
        ("<!-- mcpgen:tools -->\nno end\n", "<!-- mcpgen:tools -->\nno end\n"),
    ],
    ids=["text elsewhere", "text beside", "the block moved", "no block", "half a block"],
)  # fmt: skip
def test_a_marked_block_is_updated_wherever_it_is(yours: str, expected: str) -> None:
    result = merged("README.md", README, yours, NEW_README)
    assert result == Merged(expected.encode())


def test_text_lost_from_a_marked_block_is_reported() -> None:
    yours = README.replace("| get_pet |", "| get_pet | mine |")
    result = merged("README.md", README, yours, NEW_README)
    assert (result.content.decode(), result.has_lost_lines) == (NEW_README, True)


def test_the_test_results_block_is_kept() -> None:
    base = "old\n<!-- mcpgen:tests -->\n<!-- /mcpgen:tests -->\n"
    yours = base.replace("<!-- /", "9 passed.\n<!-- /")

    result = merged("README.md", base, yours, base.replace("old", "new"))

    assert result == Merged(yours.replace("old", "new").encode())


def test_markers_show_a_conflict_in_prose() -> None:
    result = merged("README.md", "# A\n\nold\n", "# A\n\nmine\n", "# A\n\nnew\n")
    assert result.has_markers
    assert result.content.decode() == (
        "# A\n\n<<<<<<< yours\nmine\n||||||| base\nold\n=======\nnew\n>>>>>>> mcpgen\n"
    )


@pytest.mark.parametrize("path", [".gitignore", ".dockerignore", ".gitattributes"])
def test_pattern_lists_are_merged_as_sets(path: str) -> None:
    result = merged(path, "a\nb\n", "a\nb\nmine\nnew\n", "a\nnew\nc\n")
    assert result == Merged(b"a\nb\nmine\nnew\nc\n")


@pytest.mark.parametrize(
    ("path", "line"),
    [("x.yml", "a: {}"), ("src/x/__main__.py", "a = {}"), (".env.example", "A={}")],
)
def test_a_conflict_in_code_keeps_the_users_text_and_offers_the_new_one(
    path: str, line: str
) -> None:
    base, yours, ours = (f"{line.format(number)}\n" for number in (1, 2, 3))
    assert merged(path, base, yours, ours) == Merged(yours.encode(), is_offered=True)


@pytest.mark.parametrize(
    ("path", "base", "yours", "ours"),
    [
        ("a.py", "x = (\n1,\n2,\n3,\n)\n", "1,\n2,\n3,\n", "x = (\n1,\n2,\n3,\n)\ny = 1\n"),
        ("a.yml", "a:\n  - b\n  - c\n", "a: [1]\n  - b\n  - c\n", "a:\n  - b\n  - d\n"),
    ],
)
def test_a_merge_that_does_not_parse_is_not_used(
    path: str, base: str, yours: str, ours: str
) -> None:
    assert merged(path, base, yours, ours) == Merged(yours.encode(), is_offered=True)


def as_json(**values: object) -> str:
    return json.dumps(values, indent=2) + "\n"


def test_json_values_on_adjacent_lines_are_merged_separately() -> None:
    base = as_json(title="a", version="1", items=[{"x": 1}])
    yours = as_json(title="a", version="2", items=[{"x": 1}], mine=True)
    ours = as_json(title="b", version="1", items=[{"x": 2}], added=None)
    expected = as_json(title="b", version="2", items=[{"x": 2}], mine=True, added=None)
    assert merged("server.json", base, yours, ours) == Merged(expected.encode())


def test_a_json_value_changed_by_both_keeps_the_users_value() -> None:
    result = merged("server.json", as_json(a={"b": 1}), as_json(a={"b": 2}), as_json(a={"b": 3}))
    assert result == Merged(as_json(a={"b": 2}).encode(), is_offered=True, contested=("a.b",))


PYPROJECT = """\
[project]
name = "pets-mcp"
readme = "README.md"
dependencies = ["mcpgen>=0.4,<0.5"]

[tool.ruff]
line-length = 100

[tool.ruff.lint]
select = ["E", "F"]
"""


def pyproject(yours: str, ours: str) -> Merged:
    return merged("pyproject.toml", PYPROJECT, yours, ours)


@pytest.mark.parametrize(
    ("mine", "new", "both"),
    [
        (
            ['"mcpgen>=0.4,<0.5"]', '"mcpgen>=0.4,<0.5", "httpx"]  # mine'],
            ['"mcpgen>=0.4,<0.5"', '"mcpgen>=0.5,<0.6"'],
            ['"mcpgen>=0.4,<0.5"]', '"mcpgen>=0.5,<0.6", "httpx"]  # mine'],
        ),
        (
            ['["mcpgen>=0.4,<0.5"]', '[\n    # why\n    "MCPgen >=0.4,<0.5",\n    "httpx",\n]'],
            ['["mcpgen>=0.4,<0.5"]', '["mcpgen>=0.4,<0.5", "extra>=1"]'],
            ['["mcpgen>=0.4,<0.5"]',
             '[\n    # why\n    "MCPgen >=0.4,<0.5",\n    "httpx",\n    "extra>=1",\n]'],
        ),
        (
            ['select = ["E", "F"]', 'select = [\n    "D",  # docs\n    "E",\n    "F",\n]'],
            ['select = ["E", "F"]', 'select = ["E", "UP"]'],
            ['select = ["E", "F"]', 'select = [\n    "D",  # docs\n    "E",\n    "UP",\n]'],
        ),
        (
            ['readme = "README.md"\n', ""],
            ["line-length = 100", "line-length = 99"],
            [PYPROJECT, PYPROJECT.replace('readme = "README.md"\n', "").replace("100", "99")],
        ),
        (
            ['name = "pets-mcp"', 'name = "pets-mcp" # mine'],
            ['readme = "README.md"\n', ""],
            ['name = "pets-mcp"\nreadme = "README.md"', 'name = "pets-mcp" # mine'],
        ),
        (
            ["[tool.ruff]", "# mine\n[tool.mine]\nx = 1\n\n[tool.ruff]"],
            ["[tool.ruff]", '[project.urls]\n# where\nhome = "x"\n\n[tool.ruff]'],
            ["[tool.ruff]\n" + PYPROJECT.partition("[tool.ruff]\n")[2],
             "# mine\n[tool.mine]\nx = 1\n\n[tool.ruff]\n"
             + PYPROJECT.partition("[tool.ruff]\n")[2]
             + '\n[project.urls]\n# where\nhome = "x"\n'],
        ),
    ],
    ids=["dependency beside ours", "spelled otherwise", "lists", "deleted key", "key we drop",
         "tables"],
)  # fmt: skip
def test_toml_settings_of_both_sides_are_merged(
    mine: list[str], new: list[str], both: list[str]
) -> None:
    for old, _ in (mine, new, both):
        assert old in PYPROJECT
    result = pyproject(PYPROJECT.replace(*mine), PYPROJECT.replace(*new))
    assert result.content.decode() == PYPROJECT.replace(*both)
    assert result == Merged(result.content)


def test_a_toml_key_changed_by_both_keeps_the_users_value() -> None:
    yours = PYPROJECT.replace("= 100", "= 120  # wide").replace("<0.5", "<9")
    ours = PYPROJECT.replace("= 100", "= 99").replace("<0.5", "<0.6").replace('"F"', '"F", "UP"')
    result = pyproject(yours, ours)
    assert result.content.decode() == yours.replace('"F"', '"F", "UP"')
    assert (result.is_offered, result.has_markers) == (True, False)
    assert set(result.contested) == {"project.dependencies.mcpgen", "tool.ruff.line-length"}


def test_a_toml_file_that_does_not_parse_is_kept() -> None:
    broken = PYPROJECT + "[["
    assert pyproject(broken, PYPROJECT.replace("100", "99")) == Merged(
        broken.encode(), is_offered=True
    )


@pytest.mark.parametrize(
    "yours",
    [
        PYPROJECT.replace("[tool.ruff]\nline-length", "[tool]\nruff.line-length").replace(
            "[tool.ruff.lint]\n", "ruff.lint."
        ),
        PYPROJECT.replace("[tool.ruff]\nline-length = 100\n\n[tool.ruff.lint]\nselect = [",
                          "[tool]\nruff = {line-length = 100, lint.select = ['E', 'F']}\ny = ["),
        PYPROJECT.replace("\n[tool.ruff.lint]", "\n[zoo]\na = 1\n\n[tool.ruff.lint]"),
        "",
    ],
    ids=["dotted keys", "inline tables", "tables apart", "empty"],
)  # fmt: skip
def test_any_toml_layout_merges_to_the_same_settings(yours: str) -> None:
    ours = PYPROJECT.replace("100", "99").replace('"F"', '"F", "UP"') + "\n[tool.new]\na = 1\n"
    result = pyproject(yours, ours)
    assert not result.is_offered
    found = tomllib.loads(result.content.decode())
    if yours:
        assert found["tool"]["ruff"]["line-length"] == 99
        assert found["tool"]["ruff"]["lint"]["select"] == ["E", "F", "UP"]
        assert found["tool"]["new"] == {"a": 1}


MINE = [
    ('name = "pets-mcp"', 'name = "pets-mcp"  # 1'),
    ('readme = "README.md"', '# 2\nreadme = "MINE.md"\n# 3'),
    ('["mcpgen>=0.4,<0.5"]', '[\n  # 4\n  "mcpgen>=0.4,<0.5",  # 5\n  "httpx",\n]'),
    ("[tool.ruff]", "# 6\n[tool.mine]\n# 7\na.b = 1\n\n# 8\n[tool.ruff]"),
    ("line-length = 100", "line-length = 120  # 9"),
    ('["E", "F"]', '[\n"E",  # 10\n"F",\n# 11\n]\n# 12'),
    ("[project]\n", "# 13\n[project]\n\n# 14\n"),
    ("\n[tool.ruff.lint]\n", "\n[[mine]]\nx = [{y = 1}]  # 15\n\n[tool.ruff.lint]\n"),
]
NEW = [
    ('name = "pets-mcp"', 'name = "dogs-mcp"\nlicense = "MIT"'),
    ('readme = "README.md"\n', ""),
    ("<0.5", "<0.6"),
    ('["mcpgen>=0.4,<0.5"]', '["mcpgen>=0.4,<0.5", "more>=1"]'),
    ("line-length = 100\n", "line-length = 99\nsrc = ['src']\n"),
    ('"E", "F"]', '"E", "UP"]'),
    ("[tool.ruff]", "[project.urls]\n# theirs\nhome = 'x'\n\n[tool.ruff]"),
    ("[tool.ruff.lint]", "[tool.other]\nx = 1\n[tool.other.deep]\ny = 2\n\n[tool.ruff.lint]"),
]


@given(st.sets(st.sampled_from(MINE)), st.sets(st.sampled_from(NEW)))
def test_a_toml_merge_keeps_every_comment_and_value(
    mine: set[tuple[str, str]], new: set[tuple[str, str]]
) -> None:
    yours, ours = PYPROJECT, PYPROJECT
    for old, text in mine:
        yours = yours.replace(old, text)
    for old, text in new:
        ours = ours.replace(old, text)
    result = pyproject(yours, ours)
    assert set(comments(yours)) <= set(comments(result.content.decode()))
    found = dict(leaves(tomllib.loads(result.content.decode())))
    theirs, changed = dict(leaves(tomllib.loads(yours))), dict(leaves(tomllib.loads(ours)))
    for key, value in found.items():
        if isinstance(value, list):
            assert all(entry in [*theirs.get(key, []), *changed.get(key, [])] for entry in value)
        else:
            assert value in (theirs.get(key), changed.get(key))
    contested = {key for key in result.contested if not key.endswith(".mcpgen")}
    assert {key for key in theirs if found.get(key) == theirs[key]} >= contested


def comments(text: str) -> list[str]:
    return [line.partition("#")[2] for line in text.splitlines() if "#" in line]


def leaves(values: object, at: str = "") -> list[tuple[str, object]]:
    if not isinstance(values, dict):
        return [(at, values)]
    return [
        leaf
        for key, value in values.items()
        for leaf in leaves(value, f"{at}.{key}" if at else key)
    ]
