"""Fuzz target: API descriptions, from a file to a written project, in limited child processes.

The parts of a case are its kind and the document:

- `any`: the document is changed in any way; it is rejected or generated, and nothing else;
- `text`: only prose differs from the second document that follows, so both make the same code.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NoReturn, Self

import yaml

from mcpgen.cli import app
from mcpgen.pipeline import parse
from tests.fuzz.cases import Case, FaultError
from tests.fuzz.mutations import hostile_text, mutate_bytes, mutate_json, places
from tests.support.attack.server import resident_bytes
from tests.support.paths import SHARED, SPECS
from tests.support.random_documents import SLOTS, document_with
from tests.support.syntax_trees import without_constants

ADVERSARIAL = SHARED / "adversarial"
_MAX_SEED_BYTES = 40_000
_LIMIT_SECONDS = 10.0
_SLOWER = 3.0  # other processes share the machine
_MAX_MEMORY_BYTES = 512 * 1024 * 1024
_EXIT_CODES = {0, 1, 2, 3}
_PROSE = ("description", "summary", "title", "x-note")
_PACKAGE = "fuzzed_mcp"
_CODE = re.compile(r'"(?:rule|code)": "([^"]+)"')


class Documents:
    """Target that generates projects from changed documents."""

    name = "documents"
    slow_seconds = _LIMIT_SECONDS
    clock = staticmethod(time.monotonic)

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="mcpgen-fuzz-")
        self._work = Path(self._folder.name)
        self._seeds = _seeds()
        self._runs = 0
        self._import_everything()
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def generate(self, chance: random.Random) -> Case:
        seed = chance.choice(self._seeds)
        if chance.random() < 0.25 and (pair := _two_proses(seed, chance)) is not None:
            return Case(self.name, (b"text", *pair))
        return Case(self.name, (b"any", _change(seed, chance)))

    def mutate(self, case: Case, chance: random.Random) -> Case:
        return Case(self.name, (b"any", _change(case.parts[1], chance)[:200_000]))

    def run(self, case: Case) -> str:
        self._runs += 1
        kind, document, *benign = case.parts
        outcome, files = self._generate(document)
        if kind == b"text" and files is not None:
            _, expected = self._generate(benign[0])
            _compare(files, expected)
        return f"{kind.decode()} {outcome}"

    def settle(self) -> None:
        gc.collect()

    def resident_bytes(self) -> dict[str, int]:
        return {"fuzzer": resident_bytes(os.getpid())}

    def _import_everything(self) -> None:
        """Generate once in this process, so that forks need not import the generator."""
        source = self._work / "first.json"
        source.write_bytes(self._seeds[-1])
        command = ["new", str(source), str(self._work / "first"), "--name", "fuzzed"]
        quiet = io.StringIO()
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            code = app.run([*command, "--defaults", "--no-models"])
        if code:
            raise AssertionError(quiet.getvalue())

    def _generate(self, document: bytes) -> tuple[str, dict[str, bytes] | None]:
        """Run `mcpgen new`; return the codes of its diagnostics, and the Python files it wrote.

        Raises:
            FaultError: the run violated an invariant.
        """
        source, target = self._work / "document.yaml", self._work / "target"
        source.write_bytes(document)
        shutil.rmtree(target, ignore_errors=True)
        # The external validator takes a second for each new document.
        command = ["new", str(source), str(target), "--name", "fuzzed", "--defaults", "--json"]
        has_models = self._runs % 10 == 0
        code, output, _ = run_apart(
            [*command, *([] if has_models else ["--no-models"])], self._work, judge=has_models
        )
        findings = _findings(output)
        if code not in _EXIT_CODES:
            raise FaultError(f"exit code {code}: {output[-1500:]}")
        if "Traceback (most recent call last)" in output:
            raise FaultError(f"a traceback: {output[-1500:]}")
        if code:
            if target.exists():
                raise FaultError(f"exit code {code}, and something was written")
            return f"{code} {findings}", None
        files = {str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*.py")}
        for path, content in files.items():
            _parse(path, content)
        if self._runs % 5 == 0:
            _import_apart(target / "src")
        return f"{code} {findings}", files


def _seeds() -> list[bytes]:
    specs = sorted((SPECS).glob("*.yaml"))
    found = [path.read_bytes() for path in specs]
    found += [path.read_bytes() for path in sorted(ADVERSARIAL.glob("d*.*")) if path.is_file()]
    found = [content for content in found if len(content) <= _MAX_SEED_BYTES]
    small = json.dumps(document_with(["a word"] * SLOTS)).encode()
    return [*found, *[small] * (len(found) // 3 + 1)]


_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _tree(document: bytes) -> Any:
    try:
        return json.loads(document)
    except (ValueError, RecursionError):
        pass
    if b"&" in document or len(document) > 100_000:  # aliases may expand without end
        return None
    try:
        tree = yaml.load(document, _Loader)
        return json.loads(json.dumps(tree))  # no dates, no shared nodes
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, AttributeError):
        return None


def _change(document: bytes, chance: random.Random) -> bytes:
    tree = _tree(document) if chance.random() < 0.8 else None
    if not isinstance(tree, dict):
        return mutate_bytes(document, chance)
    tree = mutate_json(tree, chance)
    if chance.random() < 0.2:
        return str(yaml.safe_dump(tree, allow_unicode=True, sort_keys=False)).encode(
            "utf-8", "surrogatepass"
        )
    return json.dumps(tree).encode()


def _two_proses(document: bytes, chance: random.Random) -> tuple[bytes, bytes] | None:
    """Return a document with hostile prose, and the same document with plain words instead."""
    hostile, benign = _tree(document), _tree(document)
    if not isinstance(hostile, dict):
        return None
    pairs = zip(places(hostile), places(benign), strict=True)
    for (theirs, key), (ours, _) in pairs:
        if key in _PROSE and isinstance(theirs[key], str) and chance.random() < 0.7:
            theirs[key], ours[key] = f"A word {hostile_text(chance)}", "A word"
    return json.dumps(hostile).encode(), json.dumps(benign).encode()


def _compare(files: dict[str, bytes], expected: dict[str, bytes] | None) -> None:
    if expected is None:
        return
    if files.keys() != expected.keys():
        raise FaultError(f"prose changes the files: {sorted(files.keys() ^ expected.keys())}")
    for path, content in files.items():
        if without_constants(content) != without_constants(expected[path]):
            raise FaultError(f"prose changes the code of {path}")


def _parse(path: str, content: bytes) -> None:
    try:
        ast.parse(content)
    except (SyntaxError, ValueError) as error:
        raise FaultError(f"{path} is not Python: {error}") from None


def _findings(output: str) -> str:
    return ",".join(sorted(set(_CODE.findall(output))))


def run_apart(arguments: list[str], folder: Path, *, judge: bool) -> tuple[int, str, float]:
    """Run the command line in a fork of this process.

    Return its exit code, its output, and the CPU seconds of it and its children.

    Raises:
        FaultError: it needs too much time or memory.
    """
    output = folder / "output.txt"
    began = time.monotonic()
    inherited = resident_bytes(os.getpid())  # which the kernel counts as the fork's
    child = _fork()
    if not child:
        _run_and_exit(arguments, folder, output, judge=judge)
    status, usage = _wait(child, began + _LIMIT_SECONDS * _SLOWER)
    text = output.read_text(errors="replace")
    if status is None:
        raise FaultError(f"no end after {_LIMIT_SECONDS * _SLOWER} s")
    if usage.ru_maxrss * 1024 - inherited > _MAX_MEMORY_BYTES:
        raise FaultError(f"more memory than {_MAX_MEMORY_BYTES >> 20} MiB")
    return os.waitstatus_to_exitcode(status), text, usage.ru_utime + usage.ru_stime


def _fork() -> int:
    with warnings.catch_warnings():  # the threads of a test runner hold no lock of ours
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _run_and_exit(arguments: list[str], folder: Path, output: Path, *, judge: bool) -> NoReturn:
    code = 71
    try:
        os.setsid()
        os.chdir(folder)
        handle = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.environ |= {"XDG_CACHE_HOME": str(folder / "cache"), "CI": "1"}
        os.fsync = _ignore  # type: ignore[assignment]
        if not judge:
            _leave_out_the_judge()
        code = app.run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _ignore(_: int) -> None:
    pass


def _leave_out_the_judge() -> None:
    validate = parse.validate

    def without_judge(*given: Any, **options: Any) -> None:
        validate(*given, **{**options, "external_validator": False})

    parse.validate = without_judge


def _wait(child: int, due: float) -> tuple[int | None, resource.struct_rusage]:
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            return status, usage
        if time.monotonic() > due:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            _, _, usage = os.wait4(child, 0)
            return None, usage
        time.sleep(0.005)


def _import_apart(source: Path) -> None:
    """Import the written package in a fork of this process.

    Raises:
        FaultError: the import fails.
    """
    child = _fork()
    if not child:
        code = 1
        try:
            os.setsid()
            sys.path.insert(0, str(source))
            sys.dont_write_bytecode = True
            __import__(f"{_PACKAGE}.__main__")
            code = 0
        finally:
            os._exit(code)
    status, _ = _wait(child, time.monotonic() + 30.0)
    if status:
        raise FaultError("the package cannot be imported")
