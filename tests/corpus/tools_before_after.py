"""Compare 60 tools as mcpgen made them before and now, and as other generators make them.

`make tools-before-after BASE=FOLDER DOCUMENTS=FOLDER`, or
`python -m tests.corpus.tools_before_after --base FOLDER --documents FOLDER [--page FILE]`, makes
servers of six documents with the mcpgen of another source tree, with this one, with FastMCP and
with openapi-mcp-generator, and prints what a model sees of ten operations of each. `--page` writes
the tables into a page. DOCUMENTS contains the documents as NAME.json; the page says where they are
from.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from mcpgen.contract.snapshot import estimate_tokens
from tests.support.paths import CACHE, REPOSITORY

ROWS = Path(__file__).with_suffix(".tsv")
FASTMCP = CACHE / "peers" / "fastmcp-4.1.6"
GENERATOR = (
    CACHE / "peers" / "openapi-mcp-generator-4.0.1" / "node_modules" / "openapi-mcp-generator"
)
_SCRIPTS = REPOSITORY / "tests" / "peers"
_BLOCK = re.compile(r"(<!-- measured: tools-before-after -->\n).*?(<!-- end -->)", re.DOTALL)

_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
_MARKUP = re.compile(
    r"</?(?:a|b|i|p|br|hr|ul|ol|li|em|strong|code|pre|table|t[rhd]|h[1-6]|div|span|img|details"
    r"|summary|blockquote)(?:\s[^<>]*)?/?>"
    r"|&(?:[a-z]+|#\d+);|\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]|\{%",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\[[^\]]+\]\([^)]*\)|\bsee (?:also )?[\"“]|\bfor (?:more|further) (?:information|details)\b"
    r"|\b(?:see|refer to|learn more|read more)\b[^.\n]{0,80}"
    r"\b(?:guides?|documentation|docs|section|above|below|page|article|tutorial)\b",
    re.IGNORECASE,
)
_PAGE_ARGUMENT = re.compile(
    r"page|per_?page|cursor|offset|limit|start|count|next_?token|page_?token"
    r"|page\[?_?(?:size|number|token|offset|limit)\]?",
    re.IGNORECASE,
)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """An operation of the table, with the `effect` that a human labeller assigned to it."""

    document: str
    operation: str  # "GET /path"
    effect: str  # "read", "add", "change" or "destroy"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as listed by `tools/list`, and whether the server follows pages of its results."""

    definition: Json
    follows_pages: bool = False


@dataclass(frozen=True, slots=True)
class Server:
    """The server that one generator makes of a document: tools by operation, or the error."""

    tools: Mapping[str, Tool | None] = field(default_factory=dict)
    listed: Sequence[Json] = ()  # what a client gets from the first `tools/list`
    error: str = ""


def read_rows() -> list[Row]:
    """Read the operations of the table."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file, delimiter="\t")]


def serve_with_mcpgen(tree: Path, document: Path) -> Server:
    """Run `mcpgen new` of a source tree with its defaults, and read the generated listing."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / document.stem
        command = ["new", str(document), str(target), "--ci", "--quiet", "--no-models"]
        done = _run([sys.executable, "-P", "-m", "mcpgen", *command], PYTHONPATH=str(tree))
        if done.returncode:
            return Server(error=_shorten(done.stderr))
        generated = next(target.glob("src/*/_generated"))
        definitions = {each["name"]: each for each in _read(generated / "listing.json")}
        tools = {
            tool["operation"]: Tool(definitions[name], "pagination" in tool)
            for part in sorted(generated.glob("tools/*.json"))
            for name, tool in _read(part)["tools"].items()
        }
        search = generated / "search_listing.json"
        return Server(tools, _read(search) if search.exists() else [*definitions.values()])


def serve_with_fastmcp(document: Path) -> Server:
    """Generate a server of a document with FastMCP and its defaults."""
    return _read_listing([str(FASTMCP / "bin" / "python"), "fastmcp_listing.py", str(document)])


def serve_with_generator(document: Path) -> Server:
    """Generate the tools of a document with openapi-mcp-generator and its defaults."""
    script = "openapi_mcp_generator_listing.mjs"
    return _read_listing(["node", script, str(GENERATOR), str(document)])


def _read_listing(command: Sequence[str]) -> Server:
    program, script, *arguments = command
    done = _run([program, str(_SCRIPTS / script), *arguments])
    if done.returncode:
        return Server(error=_shorten(done.stderr))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    tools = {each["operation"]: each["definition"] for each in lines}
    return Server(
        {key: None if each is None else Tool(each) for key, each in tools.items()},
        [each for each in tools.values() if each is not None],
    )


def _run(command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _shorten(errors: str) -> str:
    """Return the beginning of the last line; its end may quote the document."""
    lines = [line for line in errors.splitlines() if line.strip()] or ["ended without a message"]
    return re.split(r"[\[{]", lines[-1])[0].strip(" :")[:80]


GENERATORS: Mapping[str, Callable[[Path, Path], Server]] = {
    "mcpgen before": serve_with_mcpgen,
    "mcpgen now": lambda _, document: serve_with_mcpgen(REPOSITORY, document),
    "FastMCP 4.1.6": lambda _, document: serve_with_fastmcp(document),
    "openapi-mcp-generator 4.0.1": lambda _, document: serve_with_generator(document),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Properties of one tool that the tables show."""

    name: str
    input_tokens: int
    output_tokens: int
    text: tuple[str, ...]  # of "links" and "markup"
    body: str  # "flat", "nested", "lost", or "" without a body that is an object
    hints: str  # "right", "cautious", "wrong" or "none"
    pages: str  # "followed", "by hand", or "" if results have no pages

    def __str__(self) -> str:
        parts = [
            f"`{self.name}` {self.input_tokens} + {self.output_tokens}",
            f"hints {self.hints}" if self.hints != "none" else "no hints",
            *([f"body {self.body}"] if self.body else []),
            *([f"pages {self.pages}"] if self.pages else []),
            *self.text,
        ]
        return " · ".join(parts)


def judge(row: Row, tool: Tool, root: Json) -> Verdict:
    """Determine what a model learns about an operation from its tool."""
    definition = dict(tool.definition)
    output = definition.pop("outputSchema", None)
    schema = definition.get("inputSchema") or {}
    operation = _find_operation(root, row.operation)
    return Verdict(
        definition["name"],
        estimate_tokens(definition),
        estimate_tokens(output) if output else 0,
        tuple(sorted(find_noise(_texts(definition)))),
        place_body(list_body_members(operation, root), schema),
        judge_hints(definition.get("annotations"), row.effect),
        _judge_pages(row, tool, operation, root),
    )


def find_noise(texts: Iterator[str]) -> set[str]:
    """Return noise that does not help a model: links and references to pages, and markup."""
    found = set()
    for text in texts:
        plain = _CODE.sub(" ", text)
        if _MARKUP.search(plain):
            found.add("markup")
        if _REFERENCE.search(plain):
            found.add("links")
    return found


def _texts(definition: Json) -> Iterator[str]:
    yield definition.get("description") or ""
    for argument in (definition.get("inputSchema") or {}).get("properties", {}).values():
        if isinstance(argument, dict):
            yield argument.get("description") or ""


def judge_hints(annotations: Json | None, effect: str) -> str:
    """Compare hints with a label; "cautious" means that they claim more danger than there is."""
    hints = annotations or {}
    if "readOnlyHint" not in hints:
        return "none"
    is_read, is_destructive = effect == "read", effect in ("change", "destroy")
    says_read = hints["readOnlyHint"]
    says_destructive = not says_read and hints.get("destructiveHint", True)
    if (says_read, says_destructive) == (is_read, is_destructive):
        return "right"
    is_too_harmless = (says_read and not is_read) or (is_destructive and not says_destructive)
    return "wrong" if is_too_harmless else "cautious"


def place_body(members: Sequence[str], schema: Json) -> str:
    """Return where most members of a body are in an input schema: "flat", "nested" or "lost"."""
    wanted = {_normalize(member) for member in members}
    if not wanted:
        return ""

    def has_most(names: Iterator[str]) -> bool:
        return 2 * len(wanted & {_normalize(name) for name in names}) > len(wanted)

    properties = schema.get("properties", {})
    if has_most(iter(properties)):
        return "flat"
    if any(has_most(_member_names(each, schema, 4)) for each in properties.values()):
        return "nested"
    return "lost"


def _normalize(name: str) -> str:
    return re.sub(r"\W|_", "", name).lower()


def _member_names(schema: Any, root: Json, depth: int) -> Iterator[str]:
    """Yield the members of an object, including those in `allOf` parts and alternatives."""
    schema = _resolve(schema, root)
    if not isinstance(schema, dict) or not depth:
        return
    yield from schema.get("properties", {})
    for key in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(key, ()):
            yield from _member_names(part, root, depth - 1)


def _resolve(value: Any, root: Json) -> Any:
    for _ in range(8):
        if not isinstance(value, dict) or not str(value.get("$ref", "")).startswith("#/"):
            return value
        target: Any = root
        for token in value["$ref"][2:].split("/"):
            target = target[token.replace("~1", "/").replace("~0", "~")]
        value = target
    return value


def _find_operation(root: Json, key: str) -> Json:
    method, _, path = key.partition(" ")
    item = root["paths"][path]
    operation: Json = item[method.lower()]
    return {
        **operation,
        "parameters": [*item.get("parameters", ()), *operation.get("parameters", ())],
    }


def list_body_members(operation: Json, root: Json) -> list[str]:
    """Return the members of a body that is an object; OpenAPI 2.0 has them as form parameters."""
    parameters = [_resolve(each, root) for each in operation["parameters"]]
    form = [each["name"] for each in parameters if each["in"] == "formData"]
    schemas = [each["schema"] for each in parameters if each["in"] == "body"]
    content = (_resolve(operation.get("requestBody"), root) or {}).get("content", {})
    if content:
        media = content.get("application/json") or next(iter(content.values()))
        schemas.append(media.get("schema", {}))
    return form + [name for each in schemas for name in _member_names(each, root, 4)]


def _judge_pages(row: Row, tool: Tool, operation: Json, root: Json) -> str:
    if tool.follows_pages:
        return "followed"
    names = [_resolve(each, root)["name"] for each in operation["parameters"]]
    if not row.operation.startswith("GET ") or not any(map(_PAGE_ARGUMENT.fullmatch, names)):
        return ""
    return "by hand"


def write_tables(documents: Path, base: Path) -> Iterator[str]:
    """Yield the lines of the summary and of a table for each document, in Markdown."""
    rows = read_rows()
    names = [*dict.fromkeys(row.document for row in rows)]
    servers = {
        (name, label): serve(base, documents / f"{name}.json")
        for name in names
        for label, serve in GENERATORS.items()
    }
    roots = {name: _read(documents / f"{name}.json") for name in names}
    verdicts = {
        (row.document, row.operation, label): judge(row, tool, roots[row.document])
        for row in rows
        for label in GENERATORS
        if (tool := servers[row.document, label].tools.get(row.operation)) is not None
    }
    yield from _summarize(rows, verdicts)
    yield from _compare_starts(names, servers)
    for name in names:
        yield from ["", f"### {name}", "", f"| operation | {' | '.join(GENERATORS)} |"]
        yield f"|{'---|' * (1 + len(GENERATORS))}"
        for row in (each for each in rows if each.document == name):
            cells = [
                str(verdicts.get((name, row.operation, label)) or "no tool") for label in GENERATORS
            ]
            yield f"| `{row.operation}` ({row.effect}) | {' | '.join(cells)} |"


def _summarize(
    rows: Sequence[Row], verdicts: Mapping[tuple[str, str, str], Verdict]
) -> Iterator[str]:
    yield "| of the 60 operations | " + " | ".join(GENERATORS) + " |"
    yield f"|---|{'---:|' * len(GENERATORS)}"
    by_label = {
        label: [each for (_, _, of), each in verdicts.items() if of == label]
        for label in GENERATORS
    }
    everywhere = [
        row
        for row in rows
        if all((row.document, row.operation, label) in verdicts for label in GENERATORS)
    ]
    common = {
        label: [verdicts[row.document, row.operation, label] for row in everywhere]
        for label in GENERATORS
    }
    shared = f"of the {len(everywhere)} that all have"
    counts: Mapping[str, tuple[Mapping[str, list[Verdict]], Callable[[Verdict], int]]] = {
        "tools": (by_label, lambda _: 1),
        f"tokens of inputs, {shared}": (common, lambda each: each.input_tokens),
        f"tokens of outputs, {shared}": (common, lambda each: each.output_tokens),
        "tools with an output schema": (by_label, lambda each: each.output_tokens > 0),
        "texts with links to pages": (by_label, lambda each: "links" in each.text),
        "texts with markup": (by_label, lambda each: "markup" in each.text),
        **{
            f"hints {kind}": (by_label, partial(_has, "hints", kind))
            for kind in ("right", "cautious", "wrong", "none")
        },
        **{
            f"bodies {kind}": (by_label, partial(_has, "body", kind))
            for kind in ("flat", "nested", "lost")
        },
        **{
            f"pages {kind}": (by_label, partial(_has, "pages", kind))
            for kind in ("followed", "by hand")
        },
    }
    for what, (group, count) in counts.items():
        figures = [f"{sum(count(each) for each in group[label]):,}" for label in GENERATORS]
        yield f"| {what} | {' | '.join(figures)} |"


def _has(member: str, value: str, verdict: Verdict) -> int:
    return int(getattr(verdict, member) == value)


def _compare_starts(
    names: Sequence[str], servers: Mapping[tuple[str, str], Server]
) -> Iterator[str]:
    yield from ["", f"| first `tools/list` | {' | '.join(GENERATORS)} |"]
    yield f"|---|{'---:|' * len(GENERATORS)}"
    for name in names:
        cells = [_describe_start(servers[name, label]) for label in GENERATORS]
        yield f"| {name} | {' | '.join(cells)} |"


def _describe_start(server: Server) -> str:
    if server.error:
        return f"none: `{server.error}`"
    tokens = sum(map(estimate_tokens, server.listed))
    broken = sum(tool is None for tool in server.tools.values())
    has_search = any(each["name"] == "search_tools" for each in server.listed)
    return (
        f"{len(server.listed):,} tools, {tokens:,} tokens"
        + (f", search over {len(server.tools):,}" if has_search else "")
        + (f"; {broken} cannot be written as JSON" if broken else "")
    )


def main() -> None:
    """Print the tables, or write them to a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="a source tree of mcpgen")
    parser.add_argument("--documents", type=Path, required=True)
    parser.add_argument("--page", type=Path, help="replace the tables of this page")
    options = parser.parse_args()
    tables = "".join(f"{line}\n" for line in write_tables(options.documents, options.base))
    if options.page is None:
        print(tables, end="")
        return
    page = options.page.read_text(encoding="utf-8")
    if not _BLOCK.search(page):
        raise SystemExit(f"{options.page} has no block `measured: tools-before-after`")
    text = _BLOCK.sub(lambda block: f"{block[1]}\n{tables}\n{block[2]}", page)
    options.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
