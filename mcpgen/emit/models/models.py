"""The models of a package: `TypedDict`s that datamodel-code-generator makes in a child process.

All models are in one module, sorted by name, so that a class does not move if another tag uses it.

The child process runs while the caller renders, which uses the second core. Its result is cached
by the content of the request.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from mcpgen.cache_files import store
from mcpgen.child_script import ChildScript
from mcpgen.emit.child_faults import system_error
from mcpgen.emit.models.module import format_module
from mcpgen.emit.models.property_types import (
    BUILT_IN,
    TYPING,
    DistinctTypes,
    ProvenTypes,
    UnprovenTypeError,
)
from mcpgen.emit.scratch import scratch_folder
from mcpgen.ir.file_set import FileSet, Owner, PlannedFile
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.jsonschema.types import JsonObject

GENERATOR = "datamodel-code-generator"
_CHILD = Path(__file__).with_name("child.py")
_TIMEOUT_SECONDS = 120


class ModelsFailedError(Exception):
    """datamodel-code-generator failed; the text contains its message."""


class ModelRun:
    """A run of datamodel-code-generator under way."""

    def __init__(self, plan: ServerPlan, cache: Path | None = None) -> None:
        """Start the child process, unless the cache has its answer."""
        self._plan = plan
        if reserved := sorted((BUILT_IN | TYPING).intersection(plan.models)):
            raise ValueError(f"no class can be called {', '.join(reserved)}")
        self._types = DistinctTypes(
            schema
            for model in plan.models.values()
            for schema in model.schema["properties"].values()
        )
        definitions = self._types.definitions
        request = json.dumps(definitions, sort_keys=True)
        self._entry = None if cache is None else cache / f"{_cache_key(request)}.py"
        self._cached = _read_text(self._entry) if definitions else ""
        self._child = _Child(definitions) if self._cached is None else None

    def __enter__(self) -> ModelRun:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.stop()

    def join(self) -> FileSet:
        """Wait for the child and return the module of the models; nothing without models.

        Raises:
            ModelsFailedError: datamodel-code-generator failed, or its source cannot be verified.
        """
        if not self._plan.models:
            return ()
        path = f"src/{self._plan.package}/_generated/models.py"
        text = format_module(self._plan.models, self._prove_types())
        return (PlannedFile(path, text.encode(), Owner.GENERATED),)

    def _prove_types(self) -> ProvenTypes:
        """Return the types that the generator wrote, and cache its source."""
        source = self._cached or ""
        if self._child is not None:
            source = self._child.join()
        try:
            proven = self._types.read(source)
        except UnprovenTypeError as error:
            raise ModelsFailedError(f"{GENERATOR} wrote what cannot be proven: {error}") from None
        if self._child is not None and self._entry is not None:
            store(self._entry, source.encode())
        return proven


class _Child:
    """A process that runs `child.py` in an empty folder."""

    def __init__(self, definitions: Mapping[str, JsonObject]) -> None:
        generator = importlib.util.find_spec("datamodel_code_generator")
        if generator is None or generator.origin is None:
            raise ModelsFailedError(f"{GENERATOR} is not installed: pip install 'mcpgen[cli]'")
        path = [str(Path(generator.origin).parents[1])]
        request = {"definitions": definitions, "path": path}
        self._stack = contextlib.ExitStack()
        folder = self._stack.enter_context(scratch_folder())
        self._script = ChildScript(_CHILD, json.dumps(request).encode(), folder=folder)

    def join(self) -> str:
        """Wait for the child and return its output."""
        try:
            done = self._script.join(_TIMEOUT_SECONDS)
        except TimeoutError:
            raise ModelsFailedError(
                f"{GENERATOR} took more than {_TIMEOUT_SECONDS} seconds"
            ) from None
        if done.returncode:
            text = done.stderr.decode(errors="replace").strip()
            if (fault := system_error(done.returncode, text, tempfile.gettempdir())) is not None:
                raise fault
            last = text.rpartition("\n")[2]
            raise ModelsFailedError(f"{GENERATOR} failed: {last}")
        return done.stdout.decode()

    def stop(self) -> None:
        """End the process, if it still runs, and remove its folder."""
        self._script.stop()
        self._stack.close()


def _cache_key(request: str) -> str:
    version = importlib.metadata.version(GENERATOR)
    parts = (version, _CHILD.read_text(encoding="utf-8"), request)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _read_text(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
