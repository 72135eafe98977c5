"""Review of the overrides and hooks in `handlers/` against the operations of the project.

Reports those without an operation, duplicates, and operations that changed since then.
"""

from __future__ import annotations

import ast
import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from pathlib import Path

from msgspec.structs import replace

from mcpgen.changelog import Level, compare
from mcpgen.contract.flat_bodies import gather_schema
from mcpgen.diagnostics import Location, Problems
from mcpgen.emit.lockfile import OVERRIDDEN_FILE, dump_overridden, parse_overridden
from mcpgen.emit.reconcile import Changes
from mcpgen.ir.hand_written import HandWritten, Hook, OverrideRecord
from mcpgen.ir.surface import Surface, SurfaceTool
from mcpgen.manifest.handlers import find_edited_handlers, read_handler, read_handlers
from mcpgen.pipeline.inputs import Project
from mcpgen.pipeline.project.project_folder import load_readable_surface, read_file
from mcpgen.text.uri_template import mask_variables

_SEEN = {"override": ("input-", "output-"), "before": ("input-",), "after": ("output-",)}

_HANDLERS = re.compile(r"/_generated/(?:tools/[^/]+|workflows)\.py\Z")
ReadBody = Callable[[str], str | None]
"""Returns the body of a tool's generated handler; None if it cannot be read."""


def read_project_handlers(target: Path, problems: Problems) -> HandWritten:
    """Read the `handlers/` of the project at `target`."""
    files = {
        path.relative_to(target).as_posix(): path.read_bytes()
        for path in target.glob("src/*/handlers/*.py")
        if path.is_file()  # not a broken link, with which an editor marks an open file
    }
    return read_handlers(files, problems)


_CALL_TYPE = re.compile(rb"\b[A-Z]\w*Call\b")


def find_named_call_types(target: Path) -> frozenset[str]:
    """Return the names in the user's code that may be of types in `_generated/calls.py`."""
    found: set[bytes] = set()
    for path in (*target.glob("src/**/*.py"), *target.glob("tests/**/*.py")):
        is_own = not {"_generated", "generated"}.intersection(path.relative_to(target).parts)
        if is_own and path.is_file() and b"_generated" in (content := path.read_bytes()):
            found.update(_CALL_TYPE.findall(content))
    return frozenset(name.decode() for name in found)


def _body_in(modules: Iterable[bytes], tool: str) -> str | None:
    """Find the body of a tool's generated handler in these modules; None if it cannot be read."""
    for content in modules:
        if f'@tools.handler("{tool}")'.encode() not in content:
            continue
        try:
            found = read_handler(content.decode(), tool)
        except (SyntaxError, ValueError):
            return None
        return found.body if found else None
    return None


def remember(
    written: HandWritten,
    surface: Surface,
    operation_ids: Mapping[str, str],
    earlier: Mapping[str, OverrideRecord],
) -> dict[str, OverrideRecord]:
    """Return the records of the operations that have hooks, by operation key.

    `surface` and `operation_ids` are those of the current operations. An operation that had no hook
    before is recorded in its current state.
    """
    tools = by_operation(surface)
    remembered = {
        key: entry
        for key, entry in earlier.items()
        if entry.override.partition(":")[0] in written.unreadable
    }
    for key, hook in written.main_hooks.items():
        was = earlier.get(key, OverrideRecord(hook.function))
        if key in tools:
            remembered[key] = replace(
                was,
                override=hook.function,
                tool=was.tool or without_words(tools[key][1]),
                operation_id=operation_ids.get(key, ""),
                moved_to="",
            )
        else:
            moved_to = _same_id(key, was.operation_id, operation_ids)
            remembered[key] = replace(was, override=hook.function, moved_to=moved_to)
    return remembered


def without_words(tool: SurfaceTool) -> SurfaceTool:
    """Return the parts of a tool that an override can depend on: its arguments and its result.

    A handler receives the body, even if its members are arguments of the tool.
    """
    return SurfaceTool(
        operation=tool.operation,
        title="",
        description="",
        input_schema=gather_schema(tool.input_schema, tool.flat_body),
        output_schema=tool.output_schema,
        checked_schema=tool.checked_schema,
    )


def by_operation(surface: Surface) -> dict[str, tuple[str, SurfaceTool]]:
    """Return the tool of each operation with its name, or the feature that is served instead."""
    return {tool.operation: (name, tool) for name, tool in surface.handled.items()}


def _same_id(key: str, operation_id: str, operation_ids: Mapping[str, str]) -> str:
    method = key.partition(" ")[0]
    return next(
        (
            other
            for other, its_id in sorted(operation_ids.items())
            if operation_id and its_id == operation_id and other.partition(" ")[0] == method
        ),
        "",
    )


def review(
    written: HandWritten,
    surface: Surface,
    remembered: Mapping[str, OverrideRecord],
    read_body: ReadBody,
    problems: Problems,
) -> None:
    """Report hooks and tools in `handlers/` that do not fit, or no longer fit, the operations."""
    tools = by_operation(surface)
    first = written.overrides
    for hook in written.hooks:
        if hook.operation not in tools:
            _report_missing_operation(hook, remembered.get(hook.operation), tools, problems)
        elif hook.kind == "override" and first[hook.operation] is not hook:
            _report_twice(hook, first[hook.operation], problems)
    for key, hook in written.main_hooks.items():
        was = remembered.get(key)
        if was is not None and key in tools:
            called, served = tools[key]
            now = without_words(served)
            _report_changes(hook, written.kinds(key), was, called, now, read_body, problems)
    named = {name: tool for tool in surface.tools.values() for name in tool.aliases}
    named |= surface.tools
    for tool in written.tools:
        if tool.name in named:
            problems.error(
                "tool-defined-twice",
                f"the tool `{tool.name}` is defined twice: here, and by"
                f" `{named[tool.name].operation}`",
                at=tool.at,
                why="clients tell tools by their names, so the server does not start",
                help="give this one another name, or delete it and override the operation",
            )


def _report_missing_operation(
    hook: Hook, was: OverrideRecord | None, operations: Iterable[str], problems: Problems
) -> None:
    was_there = was is not None and was.tool is not None
    moved_to = suggestion(hook.operation, was, operations)
    hint = f"did you mean `{moved_to}`?" if moved_to else "name an operation of the document"
    if was_there:
        hint = f"if it is `{moved_to}` now, name that; otherwise " if moved_to else ""
        hint += "remove the override, or make it a tool of its own with `@features.tool()`"
    problems.error(
        "override-of-removed-operation" if was_there else "override-of-unknown-operation",
        f"{hook.kind} of removed operation `{hook.operation}`"
        if was_there
        else f"`@{hook.kind}` of unknown operation `{hook.operation}`",
        at=hook.at,
        why="the server does not start if the operation of a hook is missing",
        help=hint,
    )


def suggestion(key: str, was: OverrideRecord | None, operations: Iterable[str]) -> str:
    """Return the operation that `key` may be now: of the same operationId, or a similar path.

    "" if there is none. It always has the same method, and the same source unless no operation of
    that source is left, as after the source was renamed.
    """
    known = set(operations)
    if was is not None and was.moved_to in known:
        return was.moved_to
    source, request = _parts(key)
    if source and all(_parts(other)[0] != source for other in known):
        same = [other for other in known if _parts(other)[1] == request]
        return same[0] if len(same) == 1 else ""
    method, _, path = key.partition(" ")
    others = [other for other in sorted(known) if other.partition(" ")[0] == method]
    tails = {other: _count_shared_tail(path, other.partition(" ")[2]) for other in others}
    best = max(tails.values(), default=0)
    if best:
        return next(other for other in others if tails[other] == best)
    close = difflib.get_close_matches(key, others, n=1, cutoff=0.8)
    return close[0] if close else ""


def _parts(key: str) -> tuple[str, str]:
    """Split an operation key into its source and its request: "rail", "GET /trips"."""
    method, _, path = key.partition(" ")
    source, _, method = method.rpartition(":")
    return source, f"{method} {path}"


def _count_shared_tail(one: str, other: str) -> int:
    """Count the last segments that two paths share; 0 if all of them are parameters."""
    shared: list[str] = []
    for mine, theirs in zip(reversed(_segments(one)), reversed(_segments(other)), strict=False):
        if mine != theirs:
            break
        shared.append(mine)
    return len(shared) if any(segment != "{}" for segment in shared) else 0


def _segments(path: str) -> list[str]:
    return mask_variables(path).strip("/").split("/")


def _report_twice(hook: Hook, first: Hook, problems: Problems) -> None:
    problems.error(
        "overridden-twice",
        f"`{hook.operation}` is already overridden at {first.at}",
        at=hook.at,
        why="only one of the two could run, so the server does not start",
        help="join the two, or use `@before` and `@after`",
    )


def _is_same_code(body: str, other: str) -> bool:
    """Whether two bodies differ at most in their layout, which depends on the version of mcpgen."""
    try:
        return body == other or ast.dump(ast.parse(body)) == ast.dump(ast.parse(other))
    except SyntaxError:
        return False


def _report_changes(
    hook: Hook,
    kinds: Set[str],
    was: OverrideRecord,
    name: str,
    now: SurfaceTool,
    read_body: ReadBody,
    problems: Problems,
) -> None:
    what = "override" if hook.kind == "override" else "hook"
    accept = f'`mcpgen ack "{hook.operation}"` once the {what} is right for it'
    if changes := list(_changes(was.tool, now, kinds)):
        problems.warning(
            "overridden-operation-changed",
            f"`{hook.operation}` changed since its {what} was written: {'; '.join(changes)}",
            at=hook.at,
            why=f"the {what} may use parts that the operation no longer has",
            help=accept,
        )
    body = read_body(name) if was.body else None
    if body is not None and not _is_same_code(body, was.body):
        lines = difflib.unified_diff(
            was.body.splitlines(), body.splitlines(), "ejected", "generated", lineterm=""
        )
        problems.warning(
            "ejected-body-changed",
            f"the generated body of `{hook.operation}` changed since it was ejected",
            at=hook.at,
            why="\n".join(["this copy stays as it is:", *lines]),
            help=accept,
        )


def _changes(was: SurfaceTool | None, now: SurfaceTool, kinds: Set[str]) -> Iterator[str]:
    """Describe the changes of arguments and result that hooks of these kinds can see."""
    if was is None or was == now:
        return
    rules = tuple(sorted({rule for kind in kinds for rule in _SEEN[kind]}))
    for change in compare(Surface({"": was}), Surface({"": now})).changes:
        if change.level >= Level.MINOR and change.rule.startswith(rules):
            yield change.message


def _report_stale_hooks(
    written: HandWritten, remembered: Mapping[str, OverrideRecord], problems: Problems
) -> None:
    """Report the hooks that were added, removed or moved since the project was generated."""
    then = {key: entry.override for key, entry in remembered.items()}
    now = {key: hook.function for key, hook in written.main_hooks.items()}
    now |= {
        key: place for key, place in then.items() if place.partition(":")[0] in written.unreadable
    }
    changed = sorted(key for key in now.keys() | then.keys() if now.get(key) != then.get(key))
    for key in changed:
        hook = written.main_hooks.get(key)
        what = "override" if hook is None or hook.kind == "override" else "hook"
        how = "moved" if key in now and key in then else "is new" if key in now else "is gone"
        problems.warning(
            "stale",
            f"the {what} of `{key}` {how} since the project was generated",
            at=hook.at if hook else Location(OVERRIDDEN_FILE),
            why="once it is recorded, `mcpgen check` reports changes of its operation",
            help="run `mcpgen generate`",
        )


def add_overridden(
    project: Project, target: Path, problems: Problems, *, is_expected: bool = False
) -> tuple[Project, bool]:
    """Add the records of the overrides to a project; return it and whether all overrides fit.

    Problems are reported, also missing records if they are expected (`is_expected`).
    """
    written = read_project_handlers(target, problems)
    if not (written.hooks or written.tools or written.unreadable):
        return project, True
    # Imported here: `check` does without templates.
    from mcpgen.render.contracts import surface_of

    surface = surface_of(project.plan)
    ids = {tool.operation.key: tool.operation.operation_id for tool in project.plan.tools}
    earlier = parse_overridden(read_file(target, OVERRIDDEN_FILE))
    if is_expected and not earlier and written.main_hooks:
        report_lost(problems, "; it is made anew from how they are now")
    remembered = remember(written, surface, ids, earlier)
    modules = [file.content for file in project.files if _HANDLERS.search(file.path)]
    found = Problems()
    review(written, surface, remembered, lambda tool: _body_in(modules, tool), found)
    problems.extend(found)
    is_fit = not (found.has_errors or written.unreadable)
    if not remembered:
        return project, is_fit
    files = (*project.files, dump_overridden(remembered))
    return replace(project, files=tuple(sorted(files, key=lambda file: file.path))), is_fit


def report_lost(problems: Problems, and_now: str = "") -> None:
    """Report that the records of the operations with overrides or hooks are missing."""
    problems.warning(
        "overridden-lost",
        f"{OVERRIDDEN_FILE} is missing, so changes under overrides and hooks are unknown",
        at=Location(OVERRIDDEN_FILE),
        why=f"it records the operations as they were when the overrides were written{and_now}",
        help="take it back from version control and run `mcpgen generate` again; else read what is"
        " in `handlers/` beside what is generated",
    )


def find_edited_tools(changes: Changes, project: Project, target: Path) -> dict[str, list[str]]:
    """Return the tools whose generated handlers were edited, by the path of their module."""
    made = {file.path: file.content for file in project.files}
    return {
        edit.path: find_edited_handlers(
            read_file(target, edit.path) or b"", made.get(edit.path, b"")
        )
        for edit in changes.hand_edits
        if _HANDLERS.search(edit.path)
    }


def check_overrides(target: Path, problems: Problems, *, is_lost: bool) -> bool:
    """Report where `handlers/` does not fit the operations; return whether anything was reported.

    `is_lost`: the records are missing, which has been reported already.
    """
    before = len(problems)
    written = read_project_handlers(target, problems)
    remembered = parse_overridden(read_file(target, OVERRIDDEN_FILE))
    _report_missing_extra(target, written, problems)
    is_plain = not (written.hooks or written.tools or remembered)
    surface = None if is_plain else load_readable_surface(target)
    if surface is not None:
        review(written, surface, remembered, read_generated_bodies(target), problems)
        if not is_lost:
            _report_stale_hooks(written, remembered, problems)
    return len(problems) > before


def _report_missing_extra(target: Path, written: HandWritten, problems: Problems) -> None:
    """Report handlers that ask clients for input where `pyproject.toml` installs no encryption."""
    if not written.asking or not _lacks_seal(read_file(target, "pyproject.toml") or b""):
        return
    problems.warning(
        "missing-extra",
        "a handler asks clients for input, which needs `mcpgen[seal]`",
        at=written.asking[0],
        why="the call fails for clients of MCP 2026-07-28, which carry its state encrypted",
        help="run `mcpgen generate`, or add the extra to `dependencies` in pyproject.toml",
    )


def _lacks_seal(project: bytes) -> bool:
    """Whether the dependencies include the runtime, but no encryption."""
    from packaging.requirements import InvalidRequirement, Requirement

    runtimes: list[Requirement] = []
    try:
        settings = tomllib.loads(project.decode())
        for text in settings["project"]["dependencies"]:
            requirement = Requirement(text)
            if requirement.name == "cryptography":
                return False
            if requirement.name == "mcpgen":
                runtimes.append(requirement)
    except (ValueError, KeyError, TypeError, InvalidRequirement):
        return False  # the user's file; other tools report what is wrong with it
    return bool(runtimes) and not any("seal" in requirement.extras for requirement in runtimes)


def read_generated_bodies(target: Path) -> ReadBody:
    """Return a function that reads the generated bodies in the project at `target`."""
    return lambda tool: _body_in((path.read_bytes() for path in handler_modules(target)), tool)


def handler_modules(target: Path) -> list[Path]:
    """Find the modules with generated handlers, those of operations and of workflows."""
    generated = sorted(target.glob("src/*/_generated"))
    return [
        path
        for folder in generated
        for path in (*sorted(folder.glob("tools/*.py")), *folder.glob("workflows.py"))
        if path.is_file()
    ]
