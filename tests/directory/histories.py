"""Pull servers with owner's edits through all versions of their APIs: `make histories`.

`python -m tests.directory.histories --repository FOLDER [--sample N]` makes a server of the first
version of each API that has several, edits it as an owner would (another name, a fixed parameter,
an override, a workflow, a file), and pulls it through the later versions. After each step nothing
of the owner's may be lost, no published name may change, and `check` and the tests must pass. It
appends a line of JSON for each API to the results, with the changes of each step, and goes on
after those that are there. The order is random but the same each time, so that what is done is a
random sample at any time: `--sample N` ends after the first N. `--keep FOLDER` stores the
`tools/list` result of each step, for other tools that compare such lists.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gzip
import io
import json
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruff import find_ruff_bin

from mcpgen.cli.app import run
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.pipeline.commands.new import new
from mcpgen.pipeline.options import Options, Report
from mcpgen.plan.naming.published_paths import find_unique_paths
from tests.corpus.in_children import Failure, in_children
from tests.directory.__main__ import BEFORE_THE_HEAD, describe_extent, read_results
from tests.directory.history_table import find_faults, make_table
from tests.directory.source import (
    DirectoryDocument,
    group_versions,
    list_documents,
    read_document,
)
from tests.directory.verdict import Directory
from tests.support.paths import CACHE

TIMEOUT_SECONDS = 1800
MARK = "# This line is the owner's.\n"
_RENAMED, _WORKFLOW = "owner_renamed_tool", "owner_workflow"
_GONE_OVERRIDE = re.compile(
    r"^error\[override-of-removed-operation\]: override of removed operation `(?P<gone>[^`]+)`\n"
    r"  --> (?P<path>[^:]+):",
    re.MULTILINE,
)
_UNFIT_OVERRIDE = re.compile(
    r"^error\[handler-broken\].*\n  --> (?P<path>[^:]+):(?P<line>\d+):.*\n"
    r"(?:.*\n)+?.* (?:must take |cannot be imported)",
    re.MULTILINE,
)
_SIMPLE = frozenset({"string", "integer", "number", "boolean"})


@dataclass(slots=True)
class Step:
    """The effect of one later version on a server."""

    version: str
    level: str = ""  # of the changes: "major", "minor", "patch" or "none"
    changes: list[Any] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)  # what the owner had to decide
    tools: int = 0
    is_tested: bool = False
    passed: int = 0


@dataclass(slots=True)
class History:
    """The steps of one API."""

    outcome: str = "done"  # "done", "empty", "refused", "absent", "timeout", "crashed" or "raised"
    edits: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Work:
    """The versions of one API, oldest first, and the folder for the lists of its tools."""

    directory: Directory
    versions: Sequence[DirectoryDocument]
    listings: Path | None = None
    tests_each_step: bool = True  # else only the last one


def follow(work: Work) -> History:
    """Generate a server of the first version, edit it, and pull it through the other versions."""
    versions = work.versions
    history = History()
    if not all(version.size for version in versions):
        return History("absent")
    with tempfile.TemporaryDirectory() as own:
        server = _Server(Path(own), work.directory)
        report = server.make(versions[0])
        while len(versions) > 2 and any(each.code == "no-operations" for each in report.problems):
            versions = versions[1:]
            report = server.make(versions[0])
        if any(each.code == "no-operations" for each in report.problems):
            return History("empty")
        if report.outcome != "done" or report.plan is None:
            return History("refused", faults=[problem.message for problem in report.problems][:3])
        history.edits = server.edit(report.plan.tools)
        code, said = server.run("generate", str(server.target))
        if code:
            history.outcome, history.faults = "refused", [f"edits: {said[-1500:]}"]
            return history
        server.store_listing(work.listings, 0)
        for number, version in enumerate(versions[1:], 1):
            is_tested = work.tests_each_step or number == len(versions) - 1
            history.steps.append(server.step(version, is_tested=is_tested))
            server.store_listing(work.listings, number)
            if history.steps[-1].faults:
                break
    return history


def find_changed_names(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return a fault for each operation whose tool was renamed; both maps are by operation.

    Operations are the same if only variables of their paths have other names. In a document with
    `/{a}` and `/{b}` this does not identify them.
    """
    paths = find_unique_paths(after)
    moved = {key: paths[path] for path, key in find_unique_paths(before).items() if path in paths}
    same = {key: key if key in after else moved.get(key) for key in before}
    return [
        f"published name changed: {key}: {before[key]} to {after[now]}"
        for key, now in same.items()
        if now is not None and after[now] != before[key]
    ]


class _Server:
    """A server of one API with the edits of its owner."""

    def __init__(self, folder: Path, directory: Directory) -> None:
        self.folder, self.directory = folder, directory
        self.target, self.cache = folder / "server", folder / "cache"
        self.manifest = self.target / "mcpgen.yaml"
        self.marked: list[Path] = []
        self.owned: dict[Path, bytes] = {}
        self.overridden: set[str] = set()

    def fetch(self, document: DirectoryDocument) -> Path:
        """Write a document into a folder for its version, and return its path."""
        path = self.folder / document.version / Path(document.path).name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(read_document(self.directory.repository, self.directory.commit, document))
        return path

    def make(self, document: DirectoryDocument) -> Report:
        """Generate the server of a document."""
        options = Options(cache=self.cache)
        return new(str(self.fetch(document)), self.target, options, lambda _: None)

    def run(self, *words: str) -> tuple[int, str]:
        """Run a command of mcpgen; return its exit code and its output."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run(words)
        return code, out.getvalue()

    def edit(self, tools: Sequence[ToolPlan]) -> list[str]:
        """Edit the server as an owner would; return the edits."""
        waiting = random.Random(len(tools)).sample(list(tools), len(tools))
        edits: list[str] = []
        operations: dict[str, Any] = {}
        entries: dict[str, Any] = {"operations": operations}
        if fixed := next(filter(None, map(_find_fixable, waiting)), None):
            tool, name, value = fixed
            operations[tool.operation.key] = {"parameters": {name: {"fixed": value}}}
            edits.append(f"fixed {name} of {tool.operation.key}")
            waiting.remove(tool)
        if waiting:
            tool = waiting.pop()
            operations[tool.operation.key] = {"name": _RENAMED, "append": "Ask the owner first."}
            edits.append(f"renamed {tool.operation.key}")
        if flow := next((each for each in waiting if _has_simple_arguments(each)), None):
            entries["workflows"] = {_WORKFLOW: _make_workflow(flow)}
            edits.append(f"workflow of {flow.operation.key}")
            waiting.remove(flow)
        self._change_manifest(entries)
        if waiting:
            tool = waiting.pop()
            code, said = self.run("override", tool.operation.key, str(self.target))
            edits.append(f"override of {tool.operation.key}" if code == 0 else said[-300:])
        self._mark()
        return edits

    def store_listing(self, folder: Path | None, number: int) -> None:
        """Store the current `tools/list` result, compressed, under the number of a version."""
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.json.gz").write_bytes(
                gzip.compress(json.dumps(self._list_tools()).encode(), mtime=0)
            )

    def step(self, version: DirectoryDocument, *, is_tested: bool) -> Step:
        """Pull one version, and check the state of the server."""
        step = Step(version.version)
        before, names = self.folder / "before", self._list_names()
        self._remember_files()
        self.overridden = set(self._list_overridden())
        shutil.rmtree(before, ignore_errors=True)
        shutil.copytree(self.target, before)
        target = str(self.target)
        source = str(self.fetch(version))
        for words in (
            ("pull", target, source, "--yes", "--accept-other"),
            ("generate", target),
        ):
            code, said = self.run(*words)
            while code and any(
                drop(said, step)
                for drop in (self._drop_entry, self._drop_override, self._drop_security)
            ):
                code, said = self.run(*words)
            if code:
                step.faults.append(f"{words[0]} gave {code}: {_find_errors(said)}")
                return step
        self._check(step, names)
        if is_tested:
            self._test(step)
        self._read_changes(before, step)
        return step

    def _remember_files(self) -> None:
        """Remember the contents of the owner's files."""
        self.owned = {path: path.read_bytes() for path in self.marked}

    def _find_lost_edits(self, names: Mapping[str, str]) -> list[str]:
        """Return the owner's edits that a server no longer implements."""
        lost = [
            f"lost: {path.relative_to(self.target)} is not as the owner left it"
            for path, text in self.owned.items()
            if not path.exists() or path.read_bytes() != text
        ]
        lost += [
            f"lost: override of {each}" for each in self.overridden - set(self._list_overridden())
        ]
        tools = {tool["name"]: tool for tool in self._list_tools()}
        entries = _make_yaml().load(self.manifest)
        broken = self._read_lock().get("left_out", {})  # operations that this version cannot serve
        for key, entry in (entries.get("operations") or {}).items():
            if key in broken:
                continue
            name = names.get(key, "")
            if name not in tools or entry.get("name", name) != name:
                lost.append(f"lost: the tool of {key} with an edit is {name!r}")
                continue
            properties = tools[name]["inputSchema"].get("properties", {})
            lost += [
                f"lost: {fixed} of {key} is fixed no longer"
                for fixed in entry.get("parameters", {})
                if fixed in properties
            ]
        return lost + [
            f"lost: {name}" for name in entries.get("workflows") or {} if name not in tools
        ]

    def _check(self, step: Step, names: Mapping[str, str]) -> None:
        target = str(self.target)
        after = self._list_names()
        step.faults += self._find_lost_edits(after)
        step.tools = len(after)
        step.faults += find_changed_names(names, after)
        code, said = self.run("check", target)
        if code and "ack" in said:
            step.decisions.append("ack of the override")
            for operation in self._list_overridden():
                self.run("ack", operation, target)
            code, said = self.run("check", target)
        if code and self._rewrite_override(said, step):
            code, said = self.run("check", target)
        if code:
            step.faults.append(f"check gave {code}: {said[-800:]}")

    def _test(self, step: Step) -> None:
        step.is_tested = True
        _, said = self.run("test", str(self.target), "--json")
        report = json.loads(said[said.index("{") : said.rindex("}") + 1])
        for group in report["groups"]:
            step.passed += group["passed"]
            step.faults += [
                f"{group['group']}: {each['test']}: {each['reason'][:300]}"
                for each in group["failed"]
            ]

    def _read_changes(self, before: Path, step: Step) -> None:
        code, said = self.run("changelog", str(self.target), "--against", str(before), "--json")
        if code:
            step.faults.append(f"changelog gave {code}: {said[-500:]}")
            return
        report = json.loads(said[said.index("{") : said.rindex("}") + 1])
        step.level, step.changes = report["level"], report["changes"]

    def _drop_entry(self, said: str, step: Step) -> bool:
        """Remove the entry of a removed operation, as its owner would."""
        entries = _make_yaml().load(self.manifest)
        for section in ("operations", "workflows"):
            for name, entry in list((entries.get(section) or {}).items()):
                used = [name, *(each.get("operation") for each in entry.get("steps", ()))]
                if any(word and f"`{word}`" in said for word in used):
                    step.decisions.append(f"removed {section}.{name}: {said[:300]}")
                    del entries[section][name]
                    self._write_manifest(entries)
                    return True
        return False

    def _drop_override(self, said: str, step: Step) -> bool:
        """Remove the override of a removed operation, as its owner would."""
        found = _GONE_OVERRIDE.search(said)
        if not found:
            return False
        path, gone = self.target / found["path"], found["gone"]
        step.decisions.append(f"removed the override of {gone}")
        text = _remove_function(path.read_text("utf-8"), gone)
        path.write_text(text, "utf-8")
        self._remember_files()
        self.overridden.discard(gone)
        return True

    def _drop_security(self, said: str, step: Step) -> bool:
        """Remove the security of a document that no longer declares its schemes."""
        if "unknown security scheme" not in said:
            return False
        entries = _make_yaml().load(self.manifest)
        dropped = [source.pop("security", None) for source in entries["sources"]]
        if not any(dropped):
            return False
        step.decisions.append("removed the security of the document")
        self._write_manifest(entries)
        return True

    def _write_manifest(self, entries: Mapping[str, Any]) -> None:
        """Write the manifest as the owner left it."""
        with self.manifest.open("w", encoding="utf-8") as file:
            _make_yaml().dump(entries, file)
        self._remember_files()

    def _rewrite_override(self, said: str, step: Step) -> bool:
        """Rewrite an override whose operation has other arguments or types, as its owner would.

        A removed type is an error of its import, and the module has one override.
        """
        found = _UNFIT_OVERRIDE.search(said)
        if not found:
            return False
        path = self.target / found["path"]
        operation = _find_overridden(path.read_text("utf-8"), int(found["line"]))
        step.decisions.append(f"rewrote the override of {operation}")
        path.write_text(_remove_function(path.read_text("utf-8"), operation), "utf-8")
        return self.run("override", operation, str(self.target))[0] == 0

    def _change_manifest(self, entries: Mapping[str, Any]) -> None:
        yaml = _make_yaml()
        with self.manifest.open("a", encoding="utf-8") as file:
            file.write("\n")
            yaml.dump({name: entry for name, entry in entries.items() if entry}, file)

    def _mark(self) -> None:
        handlers = [
            path
            for path in (self.target / "src").glob("*/handlers/*.py")
            if path.name != "__init__.py"
        ]
        self.marked = [*handlers, self.manifest, self.target / "owner.md"]
        for path in self.marked:
            text = path.read_text("utf-8") if path.exists() else ""
            # At the head of YAML, since comments go with the entry before them when it is removed.
            path.write_text(
                MARK + text if path == self.manifest else f"{text}\n{MARK}", encoding="utf-8"
            )

    def _list_names(self) -> dict[str, str]:
        return {
            key.partition(" ")[2]: entry["tool"]
            for key, entry in self._read_lock()["operations"].items()
            if "tool" in entry
        }

    def _read_lock(self) -> dict[str, Any]:
        lock: dict[str, Any] = json.loads((self.target / "mcpgen.lock").read_bytes())
        return lock

    def _list_tools(self) -> list[dict[str, Any]]:
        [listing] = (self.target / "src").glob("*/_generated/listing.json")
        tools: list[dict[str, Any]] = json.loads(listing.read_bytes())
        return tools

    def _list_overridden(self) -> list[str]:
        path = self.target / ".mcpgen" / "overridden.json"  # absent without overrides
        return list(json.loads(path.read_bytes())) if path.exists() else []


def _find_errors(said: str) -> str:
    """Return the errors in an output, with their locations and reasons."""
    return "\n".join(re.findall(r"^error\[.*(?:\n .*)*", said, re.MULTILINE)) or said[-1500:]


def _find_overridden(text: str, line: int) -> str:
    """Return the operation of the first override decorator at or after a line of a module."""
    for node in ast.parse(text).body:
        for decorator in node.decorator_list if isinstance(node, ast.AsyncFunctionDef) else ():
            if decorator.lineno >= line and isinstance(decorator, ast.Call):
                return str(ast.literal_eval(decorator.args[0]))
    raise LookupError(f"no override from line {line} on")


def _remove_function(text: str, operation: str) -> str:
    """Return a module without the function that overrides an operation."""
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if isinstance(node, ast.AsyncFunctionDef) and any(
            operation in ast.unparse(decorator) for decorator in node.decorator_list
        ):
            assert node.end_lineno is not None
            del lines[node.decorator_list[0].lineno - 1 : node.end_lineno]
            return _drop_unused_imports("".join(lines))
    return text


def _drop_unused_imports(text: str) -> str:
    """Return a module after `ruff check --fix` removed unused imports."""
    return subprocess.run(
        [find_ruff_bin(), "check", "--select", "F401", "--fix-only", "--quiet", "--isolated", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def _make_yaml() -> YAML:
    yaml = YAML()
    yaml.width = 10_000  # a key must be on one line
    return yaml


def _find_fixable(tool: ToolPlan) -> tuple[ToolPlan, str, object] | None:
    """Return a tool with an optional argument of a simple type, and a value for it."""
    for argument in tool.arguments:
        if argument.location != "query" or argument.required:
            continue
        schema = tool.input_schema["properties"][argument.name]
        if values := schema.get("enum"):
            return tool, argument.name, values[0]
        if schema.get("type") == "boolean":
            return tool, argument.name, True
    return None


def _has_simple_arguments(tool: ToolPlan) -> bool:
    properties = tool.input_schema.get("properties", {})
    return all(
        properties[name].get("type") in _SIMPLE for name in tool.input_schema.get("required", ())
    )


def _make_workflow(tool: ToolPlan) -> dict[str, Any]:
    """Return a workflow of one step that passes on the required arguments."""
    required = tool.input_schema.get("required", ())
    properties = {
        name: {
            keyword: value
            for keyword, value in tool.input_schema["properties"][name].items()
            if keyword in {"type", "contentEncoding"}
        }
        for name in required
    }
    return {
        "title": "The owner's workflow",
        "description": "Make the call that the owner makes most.",
        "inputs": {"type": "object", "required": list(required), "properties": properties},
        "steps": [
            {
                "id": "first",
                "operation": tool.operation.key,
                "arguments": {name: f"$inputs.{name}" for name in required},
                "outputs": {"found": "$statusCode"},
            }
        ],
        "output": {"found": "$steps.first.outputs.found"},
    }


def main() -> int:
    """Follow the APIs without a result; return 1 if one has a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repository", type=Path, required=True)
    parser.add_argument("--commit", default=BEFORE_THE_HEAD)
    parser.add_argument("--results", type=Path, default=CACHE / "directory" / "histories.jsonl")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="also those that have faults")
    parser.add_argument("--tests", choices=("each", "last"), default="each", help="steps to test")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    groups = group_versions(list_documents(options.repository, options.commit))
    names = sorted(groups)
    random.Random(0).shuffle(names)
    names = [name for name in names if options.only in name]
    in_order, names = names, names[: options.sample]
    results = read_results(options.results, "api")
    if options.table:
        chosen = [results[name] for name in names if name in results]
        print(f"{describe_extent(in_order, results, 'APIs')}\n\n{make_table(chosen)}")
        return 0
    done = {name for name, each in results.items() if not (options.again and find_faults(each))}
    directory = Directory(options.repository, options.commit)
    works = [
        Work(
            directory,
            groups[name],
            options.keep and options.keep / name,
            tests_each_step=options.tests == "each",
        )
        for name in names
        if name not in done
    ]
    options.results.parent.mkdir(parents=True, exist_ok=True)
    has_faults = False
    with options.results.open("a", encoding="utf-8") as file:
        for work, result in in_children(
            follow, works, at_once=options.at_once, seconds=TIMEOUT_SECONDS
        ):
            if isinstance(result, Failure):
                result = History(result.kind, faults=[result.text])
            line = {"api": work.versions[0].api, **asdict(result)}
            faults = find_faults(line)
            has_faults = has_faults or bool(faults)
            print(json.dumps(line), file=file, flush=True)
            levels = " ".join(step.level or "?" for step in result.steps)
            print(f"{'!' if faults else ' '} {result.outcome} {line['api']}: {levels}", flush=True)
            for fault in faults[:3]:
                print(f"    {fault[:700]}", flush=True)
    return 1 if has_faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
