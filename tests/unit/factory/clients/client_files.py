"""Texts of client configuration files: handwritten, and random ones with unusual syntax."""

from __future__ import annotations

import json

from hypothesis import strategies as st

JSON_TEXTS = (
    "",
    "\n\n",
    "{}",
    "{ }",
    "{\n}",
    "{}\n",
    "\ufeff{}\n",
    "\ufeff",
    "// only a comment",
    "// only a comment\n",
    "/* a\n b */ {}",
    '{"KEY": {}}',
    '{"KEY":{}}\r\n',
    '{"KEY": null0}'.replace("null0", "{ }"),
    '{\n  "KEY": {\n    "a": {"command": "z"} // why\n  }\n}\n',
    '{\n  "KEY": {\n    "a": {"command": "z"}, // why\n  },\n}',
    '{"KEY": {"a": {},},}',
    '{\r\n\t"x": 1,\r\n\t"KEY": {}\r\n}',
    '{ // c\n}',
    '{\n  "KEY": { /* none */ }\n}',
    '{\n  "KEY": {\n    // none yet\n  }\n}',
    '{"KEY":{"a":{}},"KEY":{"b":{}}}',
    '{"KEY":{"a":{},"a":{}}}',
    '{"a":[1,2,]}',
    '{"a":1 /*c*/}',
    '{\n "a": 1\n // end\n}',
    '{"KEY":{"a":{} // x\n}}',
    '{"a": "\\ud83d\\ude00 // no comment", "b": "/* no */"}',
    '{\n    "KEY": {\n        "b": {\n            "args": []\n        }\n    }\n}',
    '{"other": {"deep": {"KEY": {}}}}',
    '{\n\n\n  "a"  :  1  ,\n\n\n}\n\n\n',
    '{"é": "ü", "\\u0061": 1}',
)  # fmt: skip

TOML_TEXTS = (
    "",
    "\n",
    'model = "o"',
    'model = "o"\n',
    "\ufeffa = 1\n",
    "# only a comment",
    'a = 1\n\n[KEY.b]\ncommand = "z" # c\n\n# about c\n[c]\nx = [\n [1],\n]\n',
    "[KEY]\n",
    "[KEY.a]\n[z]\n",
    '[KEY.a]\ncommand = "y"\n\n[KEY.a.env]\nX = "1"\n',
    'x = """\n[not.a.table]\n"""\r\n',
    "x = '''\n[[neither]]'''\n",
    "a = 1\r\n\r\n[b]\r\nc = 2\r\n",
    "a=1\n\n\n",
    "[[x]]\na=1\n[[x]]\na=2\n",
    'KEY."quoted name" = { command = "y" }\n',
    "[ KEY . a ]\ncommand = 'x'\n",
    "a = { b = [ { c = 1 } ] } # [x]\n",
)

YAML_TEXTS = (
    "",
    "\n",
    "# only a comment",
    "A: 1",
    "KEY: {}\n",
    "KEY: { }",
    "KEY:\n",
    "KEY: # none\n\nb: 1\n",
    "KEY: null\n".replace(" null", ""),
    "KEY:\n  a:\n    cmd: y # why\n  # end\nother: 1\n",
    "KEY:\n    a: {cmd: y}",
    "KEY: {a: {cmd: y}}\n",
    "KEY: {a: {cmd: y}} # c",
    "a: |\n  text\n",
    "a: |\n  text\n\n\nb: 2\n",
    "KEY:\n  a:\n    cmd: >-\n      folded\n      text\n",
    "---\na: 1\n",
    "a: 1\n...\n",
    "b: &x {c: 1}\nd: *x\n",
    "\ufeffa: 1\n",
    'a: "\\u00e9"\r\nKEY:\r\n  b:\r\n    cmd: y\r\n',
    "a: [1, 2]\n# KEY:\n#   b: 1\n",
    "? a\n: 1\n",
    "'KEY':\n  a: {}\n",
)

YAML_LISTS = (
    "",
    "KEY: []\n",
    "a: 1",
    "KEY:\n- name: z\n  command: y",
    "KEY:\n  - name: z # c\n    command: y\n",
    "KEY: [{name: z}]\n",
    "KEY:\n",
    "name: mine\nKEY:\n  - name: z\n    args:\n      - a\nversion: 1\n",
)

_SPACE = st.sampled_from(["", "", " ", "\n", "\n  ", "\t", "\r\n", " /* c */ ", " // c\n"])
_NAMES = st.sampled_from(["KEY", "a", "b", "é", "a b", 'q"', "inputs", "x.y"])
_NUMBERS = st.one_of(st.integers(-9, 10**20), st.floats(allow_nan=False, allow_infinity=False))
_SCALARS = st.one_of(st.text(max_size=5), _NUMBERS, st.booleans(), st.none()).map(json.dumps)


@st.composite
def _join(draw: st.DrawFn, parts: list[str], brackets: str) -> str:
    spaced = [f"{draw(_SPACE)}{part}{draw(_SPACE)}" for part in parts]
    end = "," + draw(_SPACE) if spaced and draw(st.booleans()) else ""
    return f"{brackets[0]}{','.join(spaced)}{end}{draw(_SPACE) if not spaced else ''}{brackets[1]}"


@st.composite
def _objects(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    members = draw(st.lists(st.tuples(_NAMES, values), max_size=4))
    parts = [
        f"{json.dumps(name)}{draw(_SPACE)}:{draw(_SPACE)}"
        + (draw(_join([f'"z":{draw(_SPACE)}{{}}'], "{}")) if name == "KEY" else value)
        for name, value in members
    ]
    return draw(_join(parts, "{}"))


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    """Draw an object in JSON with comments, trailing commas, duplicate keys and odd white space."""
    lists = st.lists(_SCALARS, max_size=3).flatmap(lambda parts: _join(parts, "[]"))
    inner = st.one_of(_SCALARS, lists, _objects(_SCALARS))
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    return f"{mark}{draw(_SPACE)}{draw(_objects(inner))}{draw(_SPACE)}"


_TOML_LINES = st.sampled_from([
    "# comment", "", "   ", "a = 1", 'b = "[x]"', "c = [\n  1, # one\n]", "d = '''\n[y]\n'''",
    "e = { f = 2 }", 'g.h = "é"',
])  # fmt: skip


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """Draw TOML with tables, comments and values that look like tables."""
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    blocks = [draw(st.lists(_TOML_LINES, max_size=4, unique=True))]
    for number in range(draw(st.integers(0, 4))):
        headers = [f"[t{number}]", f"[KEY.s{number}]", "[[many]]", f"[u{number}] # u"]
        header = draw(st.sampled_from(headers))
        blocks.append([header, *draw(st.lists(_TOML_LINES, max_size=4, unique=True))])
    text = newline.join(line.replace("\n", newline) for block in blocks for line in block)
    return text + draw(st.sampled_from(["", newline, newline * 2]))


_YAML_BLOCKS = st.sampled_from([
    "# comment", "", "a: 1", 'b: "[x]: {"', "c:\n  - 1\n  # two\n  - 2", "d: |\n  text\n\n  more",
    "e: {f: 2} # why", "g: &y\n  h: é",
])  # fmt: skip
_YAML_SERVERS = st.sampled_from([
    "KEY: {}", "KEY:", "KEY:\n  z:\n    cmd: y", "KEY:\n    z: {cmd: y} # c\n    # end",
    "KEY: {z: {cmd: y}}", "# KEY:",
])  # fmt: skip


@st.composite
def yaml_texts(draw: st.DrawFn) -> str:
    """Draw YAML with block and flow collections, block scalars, anchors and comments."""
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    blocks = draw(st.lists(_YAML_BLOCKS, max_size=4, unique=True))
    blocks.insert(draw(st.integers(0, len(blocks))), draw(_YAML_SERVERS))
    text = newline.join(block.replace("\n", newline) for block in blocks)
    if blocks[-1].startswith("d: |"):  # whose value a line end at the end of the file would change
        return text + newline
    return text + draw(st.sampled_from(["", newline, newline * 2]))
