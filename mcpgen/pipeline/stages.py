"""The stages, joined: from a document's source to the files of a project, all of it in memory."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.emit.format import format_files
from mcpgen.emit.lock import with_lf
from mcpgen.emit.models import ModelRun, ModelsFailedError
from mcpgen.emit.proof import prove_contents, prove_paths
from mcpgen.emit.runtime_wheel import make_runtime_wheel
from mcpgen.emit.skeleton import AnswerRefusedError, load_copier, render_skeleton
from mcpgen.ir.api import Api
from mcpgen.ir.document import Document
from mcpgen.ir.file_set import FileSet, Owner, PlannedFile
from mcpgen.ir.first_steps import FirstSteps
from mcpgen.ir.hidden_credentials import HiddenCredential
from mcpgen.ir.manifest import MANIFEST_SCHEMA_FILE, Manifest
from mcpgen.ir.templates import template_root
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.pipeline.forked import Forked, ForkedAhead
from mcpgen.pipeline.known_current import user_cache
from mcpgen.pipeline.options import Progress, Project
from mcpgen.plan.cases import make_cases, make_workflow_cases
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.plan.search_index import make_index
from mcpgen.plan.transliteration import plain_ascii
from mcpgen.render import json_text
from mcpgen.render.package import render, render_cases, render_index
from mcpgen.render.skeleton_facts import skeleton_facts
from mcpgen.spec.load import load
from mcpgen.spec.lower import lower
from mcpgen.spec.manifest import NAME_RULE, is_server_name
from mcpgen.spec.redact import without_secrets
from mcpgen.spec.resolve import resolve
from mcpgen.spec.typed_file import json_schema
from mcpgen.spec.validate import JUDGED_BYTES, validate

if TYPE_CHECKING:
    from mcpgen.spec.overlay import OverlayFile
    from mcpgen.spec.typed_file import TypedFile

_NO_STEPS = FirstSteps()
_TOOLS_WORTH_A_PROCESS = 100


class Understood(Struct, frozen=True):
    """A document that has gone through all stages that read it."""

    document: Document
    api: Api


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Run a stage a fifth quicker: what it builds lives until it ends, so nothing is collected."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()  # or the next collection walks all of it, to find that it lives
            gc.enable()


@uncollected()
def understand(
    source: str,
    problems: Problems,
    progress: Progress,
    *,
    outside_judge: bool | None = None,
    cache: Path | None = None,
) -> Understood:
    """Load, resolve, validate and lower the document at `source`; as `understand_document`."""
    progress(f"reading {source}")
    document = load(source, problems)
    return understand_document(
        document, problems, progress, outside_judge=outside_judge, cache=cache
    )


@uncollected()
def understand_document(
    document: Document,
    problems: Problems,
    progress: Progress,
    *,
    outside_judge: bool | None = None,
    judged_bytes: int = JUDGED_BYTES,
    cache: Path | None = None,
    overlays: Sequence[TypedFile[OverlayFile]] = (),
) -> Understood:
    """Resolve, validate and lower a document, as its overlays change it.

    What is given back as the document is without their changes.

    `outside_judge` asks openapi-spec-validator however large the document is, or never; None
    leaves out those larger than `judged_bytes`, which it takes many seconds for.

    Raises:
        RejectedError: nothing can be made of it; `problems` says why.
    """
    changed = document
    if overlays:
        from mcpgen.spec.overlay import overlaid  # most servers have none, and no JSONPath

        changed = overlaid(document, overlays, problems)
    resolved = resolve(changed, problems)
    progress("checking the document")
    validate(
        resolved,
        problems,
        outside_judge=outside_judge is not False,
        judged_bytes=sys.maxsize if outside_judge else judged_bytes,
        cache_folder=(cache or user_cache()) / "judged",
    )
    progress("understanding its operations")
    kept = resolved
    if overlays:  # which files belong to the document is its own affair
        kept = resolve(document, Problems()) if len(resolved.files) > 1 else document
    return Understood(without_secrets(kept, problems), lower(resolved, problems))


@uncollected()
def plan_server(api: Api, policy: Policy, problems: Problems, *, strict: bool) -> ServerPlan:
    """Plan the tools.

    Raises:
        RejectedError: there is none, a selector is wrong, or with `strict` an operation is left
            out.
    """
    plan = plan_tools(api, policy, problems)
    if not problems.has_errors and not plan.tools:
        problems.error(
            "no-tools",
            "no operation of the document can be served",
            at=None,
            why="a server without tools is of no use to a client",
            help="the warnings above say what each operation lacks",
        )
    if strict and plan.left_out:
        problems.error(
            "left-out",
            f"{len(plan.left_out)} operations are left out, and --strict allows none",
            why="each of them has a warning of its own",
            help="mend the document, or run without --strict",
        )
    if problems.has_errors:
        raise RejectedError
    return plan


_WORD = re.compile(r"[a-z0-9]+")
_VERSION = re.compile(r"v?[0-9]+\Z")
_SAYS_NOTHING = frozenset(
    {
        "a",
        "an",
        "and",
        "api",
        "apis",
        "by",
        "description",
        "document",
        "for",
        "http",
        "https",
        "of",
        "official",
        "openapi",
        "public",
        "rest",
        "restful",
        "s",
        "service",
        "spec",
        "specification",
        "swagger",
        "the",
        "version",
    }
)
_LONGEST_NAME = 30


def server_name(title: str) -> str:
    """Call a server after its API: "GitHub v3 REST API" becomes "github"."""
    words = _WORD.findall(plain_ascii(title).lower())
    telling = [word for word in words if word not in _SAYS_NOTHING and not _VERSION.match(word)]
    name = ""
    for word in telling or words or ["api"]:
        longer = f"{name}-{word}" if name else word[:_LONGEST_NAME]
        if len(longer) > _LONGEST_NAME:
            break
        name = longer
    return name if name[0].isalpha() else f"api-{name}"


def check_name(name: str, problems: Problems) -> None:
    """Refuse a name that is none.

    Raises:
        RejectedError: `name` cannot be a server's.
    """
    if not is_server_name(name):
        problems.error("server-name", f"`{name}` cannot be a server's name", help=NAME_RULE)
        raise RejectedError


def vendored(document: Document) -> dict[str, bytes]:
    """Give the document's files as they lie in the project, by path; the root file first."""
    root, *others = document.files
    suffix = "json" if root.content.lstrip()[:1] in (b"{", b"[") else "yaml"
    if not others:
        return {f"openapi.{suffix}": with_lf(root.content)}
    return {f"openapi/{file.name}": with_lf(file.content) for file in document.files}


def ready_for_skeleton(tools: int) -> ForkedAhead[FileSet]:
    """Give who renders the skeleton of a server of so many tools, and gets ready meanwhile."""
    return ForkedAhead(load_copier, is_worth_it=tools >= _TOOLS_WORTH_A_PROCESS)


@uncollected()
def make_project(
    plan: ServerPlan,
    document: Mapping[str, bytes],
    answers: Mapping[str, str],
    problems: Problems,
    progress: Progress,
    *,
    selection: tuple[Sequence[str], Sequence[str]] = ((), ()),
    credentials: Sequence[HiddenCredential] = (),
    steps: FirstSteps = _NO_STEPS,
    cache: Path | None = None,
    around: ForkedAhead[FileSet] | None = None,
) -> Project:
    """Make every file of the project from its plan; `document` is the vendored one.

    `credentials` are those that the document hides, and `steps` the entries in comments, both for
    the first manifest.

    `around` is what `ready_for_skeleton` gave, from a caller who knew early that there is much
    to do.

    Raises:
        RejectedError: an answer is refused, or the models cannot be made.
    """
    progress(f"writing {len(plan.tools)} tools" if plan.has_document else "writing the server")
    include, exclude = selection
    root = next(iter(document), "")
    facts = skeleton_facts(
        plan,
        root,
        include=include,
        exclude=exclude,
        has_models=bool(plan.models) or not plan.has_document,
        credentials=credentials,
        steps=steps,
    )
    skeleton = functools.partial(
        render_skeleton,
        package=plan.package,
        facts=facts,
        answers={**answers, "name": plan.name},
    )
    schema = json_text.pretty(json_schema(Manifest))
    given = {**document, MANIFEST_SCHEMA_FILE: schema}
    files = tuple(PlannedFile(path, text, Owner.GENERATED) for path, text in given.items())
    prove_contents(files, plan.package)
    if answers.get("vendor_runtime") == "yes":
        files += (make_runtime_wheel(),)
    try:
        with (
            contextlib.nullcontext(around) if around else ready_for_skeleton(len(plan.tools)) as it
        ):
            it.begin(functools.partial(skeleton, template_root() / "skeleton"))
            files += _made(plan, it, cache or user_cache(), problems, progress)
    except AnswerRefusedError as error:
        problems.error("answer", str(error), help="answers are given with --data KEY=VALUE")
        raise RejectedError from None
    except ModelsFailedError as error:
        problems.error(
            "models-failed",
            str(error),
            why="handlers take their types from the models",
            help="`--no-models` does without them; please report the document",
        )
        raise RejectedError from None
    prove_paths(files)
    problems.join()  # all is known before anything is written
    files = tuple(sorted(files, key=lambda file: file.path))
    return Project(plan, files, functools.partial(_shipped_skeletons, skeleton))


def _made(
    plan: ServerPlan,
    around: ForkedAhead[FileSet],
    cache: Path,
    problems: Problems,
    progress: Progress,
) -> FileSet:
    """Make what is made of the plan; of a large one, several parts beside each other."""
    is_large = len(plan.tools) >= _TOOLS_WORTH_A_PROCESS
    half = len(plan.tools) // 2
    with (
        Forked(functools.partial(_cases, plan, 0, half), is_worth_it=is_large) as some,
        Forked(functools.partial(_cases, plan, half, None), is_worth_it=is_large) as others,
        ModelRun(plan, cache / "models") as models,
    ):
        files = render(plan) + render_index(plan, make_index(plan)) + around.result()
        progress("waiting for the models")
        files += models.join()
        progress("formatting")
        files = format_files(files)
        prove_contents(files, plan.package)
        cases = [some.result(), others.result()]
    for _, untested in cases:
        problems.extend(untested)
    of_workflows = map(json_text.block, make_workflow_cases(plan, problems))
    of_tests = render_cases(
        plan, itertools.chain.from_iterable(of for of, _ in cases), of_workflows
    )
    prove_contents(of_tests, plan.package)
    return files + of_tests


def _cases(plan: ServerPlan, start: int, end: int | None) -> tuple[list[bytes], Problems]:
    """Make what the generated tests try of some of the tools, and tell what they cannot."""
    problems = Problems()
    entries = make_cases(plan, problems, plan.tools[start:end])
    return [json_text.block(entry) for entry in entries], problems


def _shipped_skeletons(render_one: Callable[[Path], FileSet]) -> list[FileSet]:
    """Render today's skeleton and those of earlier releases, as they would be for this project."""
    earlier = template_root() / "earlier_skeletons"
    templates = [template_root() / "skeleton"]
    templates += sorted(earlier.iterdir()) if earlier.is_dir() else []
    return [format_files(render_one(template)) for template in templates]


def recorded_answers(content: bytes | None) -> dict[str, str]:
    """Read the answers that an earlier run recorded in `.copier-answers.yml`."""
    answers: dict[str, str] = {}
    for line in (content or b"").decode("utf-8", "replace").splitlines():
        found = re.fullmatch(r'([a-z_]+): "([^"\\]*)"', line)
        if found:
            answers[found[1]] = found[2]
    return answers
