"""Tests of `load`: accepted and rejected documents, and the locations of their parts."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpgen.diagnostics import Diagnostic, Problems, RejectedError, Severity
from mcpgen.ir.document import Document
from mcpgen.openapi.source import yaml_composer
from mcpgen.openapi.source.load import load
from mcpgen.openapi.source.source_file import read_source_file
from mcpgen.openapi.source.source_text import Limits

SMALL = 'openapi: 3.1.0\ninfo: {title: T, version: "1"}\npaths: {}\n'


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | bytes], Document]:
    """Return a function that loads a document without any problem."""
    monkeypatch.chdir(tmp_path)

    def reader(content: str | bytes) -> Document:
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / "api.yaml").write_bytes(data)
        problems = Problems()
        document = load("api.yaml", problems)
        assert list(problems) == []
        return document

    return reader


def refused(content: str | bytes, name: str = "api", **limits: int) -> list[Diagnostic]:
    problems = Problems()
    data = content.encode() if isinstance(content, str) else content
    with pytest.raises(RejectedError):
        read_source_file(data, name, problems, Limits(**limits))
    assert problems.has_errors
    return list(problems)


def test_yaml_and_json_are_detected_by_content(read: Callable[..., Document]) -> None:
    as_json = '{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {}}'
    assert read(SMALL).root == read(as_json).root
    assert read(SMALL).version == "3.1"


def test_json_escapes_that_yaml_rejects_are_accepted(read: Callable[..., Document]) -> None:
    text = '{"openapi": "3.0.0", "x-a": "\\ud83d\\ude00\\/"}'
    assert read(text).root["x-a"] == "\U0001f600/"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("2024-01-01", "2024-01-01"),
        ("12:30:45", "12:30:45"),
        ("012", 12),
        ("0o17", 15),
        ("0x1F", 31),
        ("+7", 7),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1_000", "1_000"),
        ("4e1234", "4e1234"),
        ("=", "="),
        ("~", None),
        ("", None),
        ("True", True),
        ("'true'", "true"),
        ("!!str 7", "7"),
        ("!!float 7", 7.0),
        ("! 7", "7"),
    ],
)
def test_scalars_have_the_types_of_yaml_1_2(
    read: Callable[..., Document], written: str, value: object
) -> None:
    found = read(f"openapi: 3.1.0\nx-a: {written}\n").root["x-a"]
    assert found == value
    assert type(found) is type(value)


def test_keys_are_strings_in_their_original_spelling(read: Callable[..., Document]) -> None:
    document = read("openapi: 3.0.0\nx-a: {200: a, 0x10: b, null: c, 1.0: d, on: e}\n")
    assert list(document.root["x-a"]) == ["200", "0x10", "null", "1.0", "on"]


def test_merge_keys_do_not_override_explicit_keys(read: Callable[..., Document]) -> None:
    document = read(
        "openapi: 3.0.0\nx-a: &a {p: 1, q: 1}\nx-b: &b {q: 2, r: 2}\nx-c:\n  p: 3\n  <<: [*a, *b]\n"
    )
    assert document.root["x-c"] == {"p": 3, "q": 1, "r": 2}
    assert document.locate("/x-c/r").line == 6


def test_aliases_share_their_node(read: Callable[..., Document]) -> None:
    root = read("openapi: 3.0.0\nx-a: &a {p: 1}\nx-b: *a\n").root
    assert root["x-a"] is root["x-b"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-32-be"])
def test_unicode_encodings_are_recognised(read: Callable[..., Document], encoding: str) -> None:
    assert read(SMALL.replace("T", "é").encode(encoding)).root["info"]["title"] == "é"


@pytest.mark.parametrize(
    ("content", "code", "line", "column"),
    [
        (b"openapi: 3.0.0\nx: \xe1\n", "not-text", 2, 4),
        ('{"openapi": "3.0.0", "a": {"x', "json-syntax", 1, 28),
        ('{"openapi": "3.0.0",\n "a": }', "json-syntax", 2, 7),
        ('{"a": NaN}', "json-number", 1, 7),
        ('{"a":\n -1e999}', "json-number", 2, 2),
        ('{"a": ' + "9" * 5000 + "}", "json-number", 1, 7),
        ('{"a": "\\ud800"}', "json-surrogate", 1, 7),
        ('{"a": {"b": 1, "c": {"b": 1},\n "b": 2}}', "duplicate-key", 2, 2),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "duplicate-key", 4, 3),
        ("a: [1\n", "yaml-syntax", 2, 1),
        ("a: \x07\n", "yaml-syntax", 1, 4),
        ("a: !!python/object/apply:os.system [x]\n", "yaml-tag", 1, 4),
        ("a: !!int x\n", "yaml-tag", 1, 4),
        ("a: .inf\n", "yaml-number", 1, 4),
        ("a: *b\n", "yaml-alias", 1, 4),
        ("a: &a [*a]\n", "yaml-alias", 1, 8),
        ("? [a]\n: 1\n", "yaml-key", 1, 3),
        ("a:\n  <<: 7\n", "yaml-merge", 2, 3),
        ("a: 1\n---\nb: 1\n", "yaml-documents", 2, 1),
    ],
)
def test_an_invalid_document_is_reported_with_its_location(
    content: str | bytes, code: str, line: int, column: int
) -> None:
    (problem,) = refused(content)
    assert problem.at is not None
    assert (problem.code, problem.at.line, problem.at.column) == (code, line, column)
    assert problem.why
    assert problem.help


def test_both_locations_of_a_duplicate_key_are_reported() -> None:
    for content in ("a:\n  b: 1\n  c: 1\n  b: 2\n", '{"a": {\n  "b": 1,\n "c": 1,\n  "b": 2}}'):
        (problem,) = refused(content)
        assert problem.at is not None
        assert (problem.at.pointer, problem.at.line) == ("/a/b", 4)
        assert "line 2, column 3" in problem.message


@pytest.mark.parametrize(
    "content", ["a: {b: 1, b: 1}\nc:\nc: [2]\n", '{"a": {"b": 1, "b": 1}, "c": null, "c": [2]}']
)
def test_duplicate_keys_with_equal_values_are_repaired(content: str) -> None:
    problems = Problems()
    value = read_source_file(content.encode(), "x", problems, Limits()).value
    assert value == {"a": {"b": 1}, "c": [2]}
    assert [(p.code, p.severity) for p in problems] == [("duplicate-key", Severity.WARNING)] * 2


@pytest.mark.parametrize(
    "content",
    ['{"a":' * 300 + "1" + "}" * 300, "[" * 200_000, "a: " + "[" * 300 + "]" * 300, '"' + "[" * 9],
)
def test_nesting_depth_is_limited(content: str) -> None:
    assert refused(content)[0].code in {"too-deep", "yaml-syntax"}


def test_nesting_depth_includes_aliases() -> None:
    chain = "x0: &x0 [1]\n" + "".join(f"x{n}: &x{n} [*x{n - 1}]\n" for n in range(1, 40))
    assert refused(chain, max_depth=30)[0].code == "too-deep"


def test_brackets_in_strings_do_not_count_as_nesting(read: Callable[..., Document]) -> None:
    read('{"openapi": "3.0.0", "x-a": "' + '[{\\"' * 5000 + '"}')


def test_alias_bombs_are_rejected_before_expansion() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 200)]
    assert refused("\n".join(lines))[0].code == "yaml-expansion"


def test_unclosed_escapes_take_linear_time() -> None:
    assert refused('{"a": ' + '\\"' * 500_000)[0].code == "json-syntax"


def test_a_yaml_file_can_use_flow_style_that_is_not_json() -> None:
    content = b'{"openapi": "3.0.0", "paths": {},} # trailing comma\n'
    problems = Problems()
    assert read_source_file(content, "a.yaml", problems, Limits()).value["paths"] == {}
    assert refused(content, "a.json")[0].code == "json-syntax"


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        ("openapi: 4.0.0\n", "unsupported-version", "2.0, 3.0, 3.1 or 3.2"),
        ("openapi: {a: 1}\n", "unsupported-version", "2.0, 3.0, 3.1 or 3.2"),
        ("swagger: '3.0'\n", "unsupported-version", "swagger: 3.0"),
        ("asyncapi: 3.0.0\n", "not-an-api-description", "AsyncAPI"),
        ("- a\n", "not-an-api-description", "an array"),
        ("", "not-an-api-description", "nothing"),
        ("just text", "not-an-api-description", "a string"),
        ("<html><body>Not found</body></html>", "not-an-api-description", "a string"),
    ],
)
def test_an_unsupported_description_is_reported_by_its_format(
    tmp_path: Path, content: str, code: str, said: str
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(content)
    problems = Problems()
    with pytest.raises(RejectedError):
        load(str(file), problems)
    (problem,) = problems
    assert problem.code == code
    assert said in problem.message


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ('swagger: "2.0"', "2.0"),
        ("swagger: 2.0", "2.0"),
        ("openapi: 3.0", "3.0"),
        ("openapi: 3.1.2", "3.1"),
        ("openapi: 3.2.0", "3.2"),
        ("openapi: 3.1.0-rc1", "3.1"),
    ],
)
def test_supported_versions_are_recognised(
    read: Callable[..., Document], line: str, version: str
) -> None:
    assert read(line + "\n").version == version


def test_control_characters_of_windows_1252_are_read_as_its_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("api.yaml").write_text(
        "openapi: 3.1.0\ninfo: {title: Pet\x92s \x81 \x80, version: 1}\n", encoding="utf-8"
    )
    problems = Problems()
    document = load("api.yaml", problems)
    assert document.root["info"]["title"] == "Pet\u2019s \ufffd \u20ac"
    [problem] = problems
    assert (problem.code, problem.severity) == ("yaml-control", Severity.WARNING)
    assert problem.message.startswith("3 control characters")
    assert problem.at is not None
    assert (problem.at.line, problem.at.column) == (2, 18)


def test_a_block_of_text_may_begin_with_a_tab(read: Callable[[str], Document]) -> None:
    info = 'info:\n  description: |-\n    \t\n    Text.\n  title: ""\n'
    assert read(f"openapi: 3.1.0\n{info}").root["info"] == {"description": "\nText.", "title": ""}


def test_characters_that_broke_lines_in_yaml_1_1_do_not_end_a_mapping(
    read: Callable[[str], Document],
) -> None:
    document = read("openapi: 3.1.0\ninfo:\n  description: One\u2028\u2028Two\n  title: Pets\n")
    assert document.root["info"] == {"description": "One  Two", "title": "Pets"}


@pytest.mark.parametrize("name", ["absent.yaml", ".", "a\0b"])
def test_an_unreadable_file_is_one_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    problems = Problems()
    with pytest.raises(RejectedError):
        load(name, problems)
    assert [problem.code for problem in problems] == ["unreadable"]


def test_document_size_is_limited(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(SMALL)
    problems = Problems()
    with pytest.raises(RejectedError):
        load(str(file), problems, limits=Limits(max_document_bytes=20))
    assert [problem.code for problem in problems] == ["too-large"]


PLACED = """\
openapi: 3.0.0
paths:
  /pets:
    get:
      tags: [a, 'long tag']
      operationId: listPets
"""


@pytest.mark.parametrize(
    ("pointer", "line", "column", "width"),
    [
        ("", 1, 1, 1),
        ("/openapi", 1, 10, 5),
        ("/paths/~1pets", 3, 3, 5),
        ("/paths/~1pets/get", 4, 5, 3),
        ("/paths/~1pets/get/tags/1", 5, 17, 10),
        ("/paths/~1pets/get/operationId", 6, 20, 8),
        ("/paths/~1pets/get/responses/200", 4, 5, 3),
    ],
)
def test_yaml_nodes_are_located(
    read: Callable[..., Document], pointer: str, line: int, column: int, width: int
) -> None:
    at = read(PLACED).locate(pointer)
    assert (at.file, at.line, at.column, at.width) == ("api.yaml", line, column, width)
    assert at.pointer == pointer
    assert at.excerpt == PLACED.splitlines()[line - 1]


def test_json_nodes_are_located(read: Callable[..., Document]) -> None:
    text = json.dumps(
        {"openapi": "3.0.0", "paths": {"/pets": {"get": {"tags": ["a", {"b": 'c"d'}]}}}}, indent=1
    )
    document = read(text)
    at = document.locate("/paths/~1pets/get/tags/1/b")
    assert text.splitlines()[at.line - 1][at.column - 1 :][: at.width] == '"c\\"d"'
    at = document.locate("/paths/~1pets")
    assert text.splitlines()[at.line - 1][at.column - 1 :][: at.width] == '"/pets"'


def test_a_long_line_is_truncated_in_the_excerpt(read: Callable[..., Document]) -> None:
    text = json.dumps({"openapi": "3.0.0", "x-pad": ["p"] * 5000, "x-end": "here"})
    at = read(text).locate("/x-end")
    assert len(at.excerpt) <= 200
    assert at.excerpt[at.column - at.excerpt_column :][: at.width] == '"here"'


def test_an_excerpt_never_shows_a_password_in_a_url(read: Callable[..., Document]) -> None:
    at = read("openapi: 3.0.0\nservers: [{url: 'https://me:s3cret@h/'}]\n").locate("/servers")
    assert "s3cret" not in at.excerpt


def test_the_python_yaml_parser_agrees_with_the_c_parser(
    read: Callable[..., Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = read(PLACED)
    monkeypatch.setattr(yaml_composer, "HAS_C_PARSER", False)
    slow = read(PLACED)
    assert slow.root == fast.root
    for pointer in ("", "/paths/~1pets/get/tags/1", "/paths/~1pets/get"):
        assert slow.locate(pointer) == fast.locate(pointer)
    assert refused("a: \x07\n")[0].code == refused("a: [1\n")[0].code == "yaml-syntax"


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\x7f", min_codepoint=32)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(codec="ascii", min_codepoint=32), max_size=8), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(json_values)
def test_json_and_yaml_forms_agree(value: object) -> None:
    text = json.dumps(value)
    flow = ("--- " + text).encode()  # read as YAML (flow style), since it does not start like JSON
    if "\\" in text:
        return  # libyaml knows no surrogate pairs in escapes
    as_json = read_source_file(f"[[{text}]]".encode(), "a.json", Problems(), Limits()).value
    assert as_json == [[value]]
    assert read_source_file(flow, "a.yaml", Problems(), Limits()).value == value


@given(json_values)
def test_every_node_is_located_in_json_and_yaml(value: object) -> None:
    text = json.dumps({"a": value})
    if "\\" in text:
        return
    for content, name in ((text, "a.json"), ("--- " + text, "a.yaml")):
        file = read_source_file(content.encode(), name, Problems(), Limits())
        for tokens, node in leaves(value, ("a",)):
            offset, width = file.positions.offset(tokens)
            assert json.loads(content[offset : offset + width]) == node


def leaves(value: object, tokens: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*tokens, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*tokens, str(index)))
    else:
        yield tokens, value


@settings(max_examples=400)
@given(
    st.binary(max_size=200)
    | st.text("{}[]\",:&*a!<>|-?\n 1.e\\#'%@`", max_size=60).map(str.encode)
    | st.text(max_size=60).map(lambda text: ('{"' + text).encode(errors="surrogatepass"))
)
def test_any_bytes_are_parsed_or_rejected(content: bytes) -> None:
    problems = Problems()
    try:
        read_source_file(content, "a.yaml", problems, Limits())
    except RejectedError:
        assert problems.has_errors
    else:
        assert not problems.has_errors


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # required for chunked responses

    def end_headers(self) -> None:
        self.send_header("Connection", "close")
        super().end_headers()

    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/v1/api.yaml")
            self.end_headers()
        elif self.path == "/file":
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
        elif self.path == "/loop":
            self.send_response(302)
            self.send_header("Location", "/loop")
            self.end_headers()
        elif self.path.startswith("/v1/api.yaml"):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(SMALL.encode())
        elif self.path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", str(len(SMALL.encode()) + 1000))
            self.end_headers()
            self.wfile.write(SMALL.encode())
        elif self.path == "/cut-chunk":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(f"{len(SMALL.encode()):x}\r\n{SMALL}\r\n".encode())
        else:
            self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def origin(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "*")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(timeout=5)


@pytest.mark.parametrize("path", ["/v1/api.yaml", "/moved", "/v1/api.yaml?token=s3cret"])
def test_a_url_is_fetched_and_named_without_its_query(origin: str, path: str) -> None:
    document = load(origin + path, Problems())
    assert document.root["info"]["title"] == "T"
    assert document.url == document.shown_as == origin + "/v1/api.yaml"
    assert document.path is None
    assert document.files[0].name == "api.yaml"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/absent", "404"),
        ("/file", "not allowed"),
        ("/loop", "infinite loop"),
        ("/cut", "the response is 1,000 bytes too short"),
        ("/cut-chunk", "IncompleteRead"),
    ],
)
def test_a_url_without_a_document_is_one_problem(origin: str, path: str, said: str) -> None:
    problems = Problems()
    with pytest.raises(RejectedError):
        load(origin + path, problems)
    (problem,) = problems
    assert problem.code == "fetch"
    assert said in problem.message


def test_an_unreachable_url_is_one_problem_without_credentials() -> None:
    problems = Problems()
    with pytest.raises(RejectedError):
        load("http://user:s3cret@127.0.0.1:1/x.yaml?key=s3cret", problems)
    (problem,) = problems
    assert problem.code == "fetch"
    assert "s3cret" not in repr(problem)


def test_a_response_above_the_size_limit_is_rejected(origin: str) -> None:
    problems = Problems()
    with pytest.raises(RejectedError):
        load(origin + "/v1/api.yaml", problems, limits=Limits(max_document_bytes=10))
    assert "larger than 10 bytes" in next(iter(problems)).message
