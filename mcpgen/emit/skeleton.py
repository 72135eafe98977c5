"""The project around the generated code, rendered by copier as a library.

copier validates the answers and renders into a temporary folder, without the user's settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mcpgen.diagnostics import did_you_mean
from mcpgen.emit.child_faults import system_error
from mcpgen.emit.scratch import scratch_folder
from mcpgen.forked import ForkedAhead
from mcpgen.ir.file_set import FileSet, PlannedFile, owner_of
from mcpgen.text.identifiers import Identifier
from mcpgen.text.invisible import SafeText

QUESTIONS = (
    "name",
    "namespace",
    "python_version",
    "github_workflow",
    "pre_commit",
    "vendor_runtime",
    "deployment",
    "publish_workflow",
)


class AnswerRefusedError(Exception):
    """An answer has an unknown question or an invalid value; the message states which."""


def prepare_skeleton(*, is_likely: bool = True) -> ForkedAhead[FileSet]:
    """Import copier in the background, since that takes longer than most other stages.

    It is imported later if it is unlikely that a skeleton is rendered.
    """
    return ForkedAhead(_load_copier, is_worth_it=is_likely)


def _load_copier() -> None:
    import copier  # noqa: F401


def render_skeleton(
    template: Path,
    package: Identifier,
    facts: Mapping[str, SafeText],
    answers: Mapping[str, str],
) -> FileSet:
    """Render the skeleton at `template` into files.

    Raises:
        AnswerRefusedError: `answers` has an unknown name or an invalid value.
    """
    for name in answers:
        if name not in QUESTIONS:  # which copier would ignore
            hint = did_you_mean(name, QUESTIONS, f"there are {', '.join(QUESTIONS)}")
            raise AnswerRefusedError(f"the skeleton has no question `{name}`; {hint}")
    if raw := [name for name, text in facts.items() if not isinstance(text, SafeText)]:
        raise TypeError(f"facts that are not escaped: {', '.join(raw)}")
    # Imported here: `mcpgen check` does not need copier, whose import takes half a second.
    from copier import Settings, run_copy
    from copier.errors import CopierError

    with scratch_folder() as folder:
        try:
            run_copy(
                str(template),
                str(folder),
                data={**answers, "facts": {name: str(text) for name, text in facts.items()}},
                settings=Settings(),
                defaults=True,
                quiet=True,
                overwrite=True,
                skip_tasks=True,
            )
        except (CopierError, ValueError) as error:
            raise AnswerRefusedError(str(error).strip()) from error
        except OSError as error:
            if error.errno is not None:
                raise
            # an error of plumbum, from git, which copier runs
            fault = system_error(getattr(error, "retcode", 0), str(error), str(folder))
            raise fault or error from None
        return _read(folder, package)


def _read(folder: Path, package: Identifier) -> FileSet:
    files = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            relative = path.relative_to(folder).as_posix()
            text = path.read_text(encoding="utf-8").rstrip("\n") + "\n"
            files.append(PlannedFile(relative, text.encode(), owner_of(relative, package)))
    return tuple(files)
