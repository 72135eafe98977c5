"""`override`, `eject` and `ack`: the user takes an operation over, or accepts how it changed."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.changelog import SurfaceUnreadableError
from mcpgen.diagnostics import Location, Problems, RejectedError, did_you_mean
from mcpgen.emit.lockfile import (
    OVERRIDDEN_FILE,
    Lock,
    LockedFile,
    dump_lock,
    dump_overridden,
    parse_overridden,
    sha256,
    with_lf,
)
from mcpgen.emit.write import RefusedError, lock_project, roll_forward, write
from mcpgen.ir.file_set import LOCK_FILE, FileSet, Owner, PlannedFile
from mcpgen.ir.hand_written import HandlerSource, Hook, OverrideRecord
from mcpgen.ir.surface import Surface, SurfaceTool
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.manifest.handlers import (
    list_classes,
    read_handler,
    report_unreadable_module,
    restore_handler,
    short_path,
)
from mcpgen.pipeline.inputs import Inputs
from mcpgen.pipeline.options import GenerateOptions, Outcome, Progress, StoppedError
from mcpgen.pipeline.project.disk import report_refused, report_stop
from mcpgen.pipeline.project.overrides import (
    by_operation,
    handler_modules,
    read_generated_bodies,
    read_project_handlers,
    without_words,
)
from mcpgen.pipeline.project.project_folder import (
    find_changed_inputs,
    read_file,
    require_lock,
    require_surface,
)


class OverrideReport(Struct, frozen=True):
    """Result for one operation. In a dry run, `written` are the files that would be written."""

    problems: Problems
    outcome: Outcome
    operation: str = ""
    function: str = ""  # "handlers/pets.py:get_pet"
    at: Location | None = None  # of an override that is there already
    text: str = ""  # the function that is written
    written: tuple[str, ...] = ()


class _Operation(Struct, frozen=True):
    """An operation of a project, found by whatever it was called."""

    key: str
    tool_name: str
    tool: SurfaceTool


class _Run(Struct, frozen=True, dict=True):
    """One run in one project."""

    target: Path
    lock: Lock
    surface: Surface
    options: GenerateOptions
    problems: Problems
    progress: Progress

    @functools.cached_property
    def plan(self) -> ServerPlan:
        """The plan of the inputs as they are now."""
        # Imported here: the stages load a validator, templates and YAML; `ack` does without.
        from mcpgen.pipeline.build import plan_project

        problems = Problems()  # of which only errors concern this command
        try:
            return plan_project(self.read_inputs(problems), problems, self.progress).plan
        except RejectedError:
            self.problems.extend(problems)
            raise

    def read_inputs(self, problems: Problems) -> Inputs:
        """Read the inputs of a build."""
        from mcpgen.pipeline.project.read_inputs import read_inputs, read_intent

        intent = read_intent(self.target, problems)
        return read_inputs(self.target, intent, self.options, lock=self.lock)


def override(
    target: Path, name: str, options: GenerateOptions, progress: Progress, *, replaces: bool = False
) -> OverrideReport:
    """Append an override of an operation to `handlers/`; with `replaces`, with its own body.

    `name` is the operation's key, its tool's name or its operationId. The body of a generated
    handler that was edited by hand is moved to the override, and the handler is generated again.
    """
    return _run(target, options, progress, lambda run: _override(run, name, replaces=replaces))


def ack(target: Path, name: str, options: GenerateOptions, progress: Progress) -> OverrideReport:
    """Accept the current state of an overridden operation, so that `check` no longer reports it."""
    return _run(target, options, progress, lambda run: _ack(run, name))


def _run(
    target: Path,
    options: GenerateOptions,
    progress: Progress,
    work: Callable[[_Run], OverrideReport],
) -> OverrideReport:
    problems = Problems()
    try:
        with contextlib.ExitStack() as stack:
            if target.is_dir() and not options.dry_run:
                stack.enter_context(lock_project(target))
                roll_forward(target)  # it also updates the lock
            lock = require_lock(target, problems)
            surface = _load_surface(target, problems)
            if surface is None:
                return OverrideReport(problems, Outcome.FINDINGS)
            return work(_Run(target, lock, surface, options, problems, progress))
    except (StoppedError, RejectedError) as error:
        return OverrideReport(problems, report_stop(error, target, problems))
    except (OSError, RefusedError) as error:
        return OverrideReport(problems, report_refused(error, target, problems))


def _load_surface(target: Path, problems: Problems) -> Surface | None:
    try:
        return require_surface(target)
    except SurfaceUnreadableError as error:
        problems.error(
            "surface-lost",
            f"the record of the tools cannot be read: {error}",
            at=Location(error.path),
            why="it states which tools the project has",
            help="run `mcpgen generate`",
        )
        return None


def _override(run: _Run, name: str, *, replaces: bool) -> OverrideReport:
    found = _find(run, name)
    if found is None:
        return OverrideReport(run.problems, Outcome.USAGE)
    written = read_project_handlers(run.target, run.problems)
    if run.problems.has_errors:
        return OverrideReport(run.problems, Outcome.FINDINGS, found.key)
    there = written.overrides.get(found.key)
    if there is not None:
        return OverrideReport(run.problems, Outcome.DONE, found.key, there.function, there.at)
    return _write_override(run, found, replaces=replaces)


def _find(run: _Run, name: str) -> _Operation | None:
    operations = by_operation(run.surface)
    called = {name: key for key, (name, _) in operations.items()}
    key = name if name in operations else called.get(name, "")
    if not key:  # an operationId, for which the document must be read
        from mcpgen.plan.tools.entries import names_of  # with the stages that read the document

        served = (tool.operation for tool in run.plan.tools)
        key = next((operation.key for operation in served if name in names_of(operation)), "")
    if key not in operations:
        known = [*operations, *called]
        hint = did_you_mean(name, known, "`mcpgen tools` lists the tools")
        is_new = bool(key)  # the document has it, or the manifest selects it, by now
        run.problems.error(
            "unknown-operation",
            f"the generated package has no operation or tool `{name}`",
            why=_NOT_GENERATED if is_new else "",
            help=f"run `mcpgen generate {run.target}` first" if is_new else hint,
        )
        return None
    return _Operation(key, *operations[key])


_NOT_GENERATED = "an input of the package changed after it was generated"


def _write_override(run: _Run, found: _Operation, *, replaces: bool) -> OverrideReport:
    try:
        made = _find_generated(run, found)
    except (SyntaxError, UnicodeDecodeError) as error:
        made = None
        run.problems.error(
            "hand-edit",
            f"the module of `{found.tool_name}` was edited, and is no Python: {error}",
            help="mend it, so that the edit can move to `handlers/`",
        )
    if made is None:
        run.problems.error(
            "handler-missing",
            f"missing generated handler of `{found.tool_name}`",
            help="`mcpgen generate --force` writes it anew, and keeps a copy of what was edited",
        )
        return OverrideReport(run.problems, Outcome.FINDINGS, found.key)
    has_body = replaces or made.is_edited
    try:
        function, file = _with_stub(run, found, made, has_body=has_body)
    except (SyntaxError, ValueError) as error:
        report_unreadable_module(made.own_path, error, run.problems)
        return OverrideReport(run.problems, Outcome.FINDINGS, found.key)
    operation_ids = {tool.operation.key: tool.operation.operation_id for tool in run.plan.tools}
    entry = OverrideRecord(
        f"{short_path(made.own_path)}:{function}",
        without_words(found.tool),
        operation_ids.get(found.key, ""),
        body=made.original.body if has_body else "",
    )
    restored = (_restore(run, made, found.tool_name),) if made.is_edited else ()
    declared = _declare_call_type(run, made.call_type)
    done = _commit(run, (file, *restored), {found.key: entry}, declared)
    text = file.content.decode()
    text = text[text.rindex("@override(") :]
    return OverrideReport(
        run.problems, Outcome.DONE, found.key, entry.override, text=text, written=done
    )


def _with_stub(
    run: _Run, found: _Operation, made: _Generated, *, has_body: bool
) -> tuple[str, PlannedFile]:
    """Return the override's name, and the module of `handlers/` with the override at its end."""
    # Imported here: `check` does without templates and the formatter.
    from mcpgen.emit.handler_file import names_in, with_function
    from mcpgen.render.stub import override_stub

    on_disk = read_file(run.target, made.own_path)
    taken = names_in(on_disk)
    function = made.handler.function
    while function in taken:
        function += "_override"
    text, imports = override_stub(
        made.handler,
        found.key,
        made.call_type,
        made.package,
        function=function,
        replaces=has_body,
    )
    tag = PurePosixPath(made.path).stem
    about = f"Hand-written overrides of the `{tag}` tools."
    return function, with_function(made.own_path, on_disk, about, text, imports)


class _Generated(Struct, frozen=True):
    """The generated handler of an operation, as it is in the project and as it was generated."""

    path: str
    text: str
    pristine: str
    handler: HandlerSource
    original: HandlerSource
    call_type: str

    @property
    def package(self) -> str:
        return self.path.split("/")[1]

    @property
    def own_path(self) -> str:
        """Path of the module for its override."""
        return f"src/{self.package}/handlers/{PurePosixPath(self.path).name}"

    @property
    def is_edited(self) -> bool:
        return self.handler != self.original


def _find_generated(run: _Run, found: _Operation) -> _Generated | None:
    """Find the generated handler, in a module that may be edited; None if it was deleted."""

    marker = f'@tools.handler("{found.tool_name}")'
    for file in handler_modules(run.target):
        content = file.read_bytes()
        if marker.encode() not in content:
            continue
        text = with_lf(content).decode()
        path = file.relative_to(run.target).as_posix()
        locked = run.lock.files.get(path)
        is_edited = locked is None or not locked.is_untouched(text.encode())
        pristine = _regenerate(run, path) if is_edited else text
        handler = read_handler(text, found.tool_name)
        original = read_handler(pristine, found.tool_name)
        call_type = _call_type(run, found.key)
        if handler is not None and original is not None and call_type:
            # "src/shop_mcp/a.py" is imported as "shop_mcp.a".
            module = ".".join(PurePosixPath(path).with_suffix("").parts[1:])
            defined = dict.fromkeys(list_classes(pristine), module)
            handler = replace(handler, imports={**handler.imports, **defined})
            original = replace(original, imports={**original.imports, **defined})
            return _Generated(path, text, pristine, handler, original, call_type)
    return None


def _regenerate(run: _Run, path: str) -> str:
    """Return a generated file as it would be without edits."""
    from mcpgen.pipeline.build import build

    project = build(run.read_inputs(run.problems), run.problems, run.progress)
    files = {file.path: file.content for file in project.files}
    return files.get(path, b"").decode()


def _restore(run: _Run, made: _Generated, tool: str) -> PlannedFile:

    path = made.path
    text = restore_handler(made.text, made.pristine, tool)
    if text == made.pristine:
        message = f"your edit of `{tool}` moved to `handlers/`; {path} is as it was generated"
    else:
        message = f"your edit of `{tool}` moved to `handlers/`; {path} has other edits still"
    run.problems.note("edit-moved", message, at=Location(path))
    return PlannedFile(path, text.encode(), Owner.GENERATED)


def _call_type(run: _Run, key: str) -> str:
    """Return the name of the type of an operation's call; "" if it is no longer served."""
    types = {tool.operation.key: tool.call_type for tool in run.plan.tools}
    types |= {workflow.key: workflow.call_type for workflow in run.plan.workflows}
    return types.get(key, "")


def _declare_call_type(run: _Run, name: str) -> FileSet:
    """Add a type to `_generated/calls.py`, unless somebody edited it, which `generate` reports."""
    from mcpgen.emit.format import format_files
    from mcpgen.render.package import render_calls

    plan = replace(run.plan, named_call_types=run.plan.named_call_types | {name})
    (file,) = format_files(render_calls(plan))
    on_disk, locked = read_file(run.target, file.path), run.lock.files.get(file.path)
    is_edited = on_disk is not None and (locked is None or not locked.is_untouched(on_disk))
    return () if is_edited or on_disk == file.content else (file,)


def _ack(run: _Run, name: str) -> OverrideReport:
    found = _find(run, name)
    if found is None:
        return OverrideReport(run.problems, Outcome.USAGE)
    hook = read_project_handlers(run.target, run.problems).main_hooks.get(found.key)
    if hook is None:
        run.problems.error(
            "not-overridden",
            f"`{found.key}` has no override or hook to accept",
            help=f'`mcpgen override "{found.key}"` starts an override',
        )
        return OverrideReport(run.problems, Outcome.USAGE, found.key)
    return _accept(run, found, hook)


def _accept(run: _Run, found: _Operation, hook: Hook) -> OverrideReport:
    earlier = parse_overridden(read_file(run.target, OVERRIDDEN_FILE))
    was = earlier.get(found.key, OverrideRecord(hook.function))
    body = read_generated_bodies(run.target)(found.tool_name) if was.body else None
    entry = replace(
        was, override=hook.function, tool=without_words(found.tool), body=body or was.body
    )
    done = () if entry == was else _commit(run, (), {found.key: entry})
    changed = find_changed_inputs(run.target, run.lock)
    if changed:
        path = next(iter(changed))
        report = run.problems.warning if done else run.problems.error
        report(
            "stale",
            f"the change of {path} is not generated yet, so it is not accepted",
            at=Location(path),
            why=_NOT_GENERATED,
            help=f"run `mcpgen generate {run.target}`, look at the changes, and accept them then",
        )
        if not done:
            return OverrideReport(run.problems, Outcome.FINDINGS, found.key, hook.function, hook.at)
    return OverrideReport(
        run.problems, Outcome.DONE, found.key, hook.function, hook.at, written=done
    )


def _commit(
    run: _Run,
    files: FileSet,
    changed: Mapping[str, OverrideRecord],
    generated: FileSet = (),
) -> tuple[str, ...]:
    """Write files, and record what changed of overridden operations; return the paths.

    The lock takes the hashes of `generated`. Of `files` it does not: they may have hand edits.
    """
    earlier = parse_overridden(read_file(run.target, OVERRIDDEN_FILE))
    remembered = dump_overridden({**earlier, **changed})
    files += (*generated, remembered)
    locked = {
        file.path: LockedFile(Owner.GENERATED, sha256(file.content))
        for file in (*generated, remembered)
    }
    lock = replace(run.lock, files={**run.lock.files, **locked})
    files += (PlannedFile(LOCK_FILE, dump_lock(lock), Owner.GENERATED),)
    if not run.options.dry_run:
        write(run.target, files, ())
    return tuple(file.path for file in files)
