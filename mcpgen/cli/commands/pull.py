"""`mcpgen pull`: fetch the vendored documents again, and preview their changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpgen.cli.options import Directory, DryRun, Yes
from mcpgen.cli.output.report import Printer
from mcpgen.cli.output.visible import visible
from mcpgen.cli.questions import confirm_write
from mcpgen.pipeline.options import GenerateOptions, Outcome

if TYPE_CHECKING:
    from mcpgen.ir.document import Document
    from mcpgen.pipeline.commands.pull import Mismatch, Pull


def pull(
    printer: Printer,
    directory: Directory = Path(),
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE",
            help="A file or URL, which becomes the recorded origin; `NAME=SOURCE` for one of"
            " several documents. By default, the recorded origin of each document.",
        ),
    ] = None,
    *,
    yes: Yes = False,
    dry_run: DryRun = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite a vendored document, even if it was edited."),
    ] = False,
    accept_other: Annotated[
        bool,
        typer.Option(
            "--accept-other",
            help="Accept a document that appears to describe another API than before.",
        ),
    ] = False,
) -> int:
    """Fetch the API descriptions of a package, and show how its tools would change.

    In a terminal, it asks before it writes. The result is recorded as evidence, also of a dry
    run. `mcpgen generate`, which never uses the network, then
    updates the package. Documents without a recorded origin are skipped.
    """
    from mcpgen.pipeline.commands.pull import PullResult, write_pull
    from mcpgen.pipeline.commands.pull import pull as pull_documents

    options = GenerateOptions(force=force)

    def fetch(accepted: Mapping[str, Document]) -> Pull:
        with printer.progress() as progress:
            return pull_documents(
                directory,
                source,
                options,
                progress,
                accepted=accepted,
                accepts_other=accept_other,
            )

    fetched = fetch({})
    if fetched.mismatches and printer.can_ask and _confirm_replacements(fetched.mismatches):
        fetched = fetch(fetched.documents)
    printer.problems(fetched.problems)
    if fetched.outcome is not Outcome.DONE:
        is_unreachable = fetched.result is PullResult.UNREACHABLE
        return printer.finish(fetched.outcome, "unreachable" if is_unreachable else "")
    _show(printer, fetched)
    if dry_run or not fetched.files:
        return _finish(printer, fetched, is_written=False)
    is_news = fetched.result is PullResult.CHANGED
    if is_news and printer.can_ask and not yes and not confirm_write():
        printer.result("nothing was written")
        return _finish(printer, fetched, is_written=False, word="declined")
    printed = len(fetched.problems)
    outcome = write_pull(fetched)
    printer.problems(list(fetched.problems)[printed:])
    if outcome is not Outcome.DONE:
        return printer.finish(outcome)
    if is_news:
        printer.result(f"written: {', '.join(map(visible, fetched.written))}")
        printer.result(f"next: `mcpgen generate {visible(directory.as_posix())}`")
    return _finish(printer, fetched, is_written=True)


def _finish(printer: Printer, fetched: Pull, *, is_written: bool, word: str = "") -> int:
    """Record the result as evidence, and end the command."""
    from mcpgen.pipeline.commands.pull import record_pull

    printed = len(fetched.problems)
    record_pull(fetched, is_written=is_written)
    printer.problems(list(fetched.problems)[printed:])
    return printer.finish(Outcome.DONE, word or fetched.result.value)


def _confirm_replacements(mismatches: Iterable[Mismatch]) -> bool:
    import questionary

    return all(
        questionary.confirm(
            f"{visible(each.path)} is `{visible(each.old_title)}`, but {visible(each.source)} is"
            f" `{visible(each.title)}`, which seems to be another API. Replace it?",
            default=False,
        ).unsafe_ask()
        for each in mismatches
    )


def _show(printer: Printer, fetched: Pull) -> None:
    from mcpgen.cli.output.summary import collect_changelog_facts, count_changes, show_changes
    from mcpgen.pipeline.commands.pull import PullResult

    found = fetched.changelog
    printer.fact(
        source=fetched.source,
        files=list(fetched.written),
        tools=None if found is None else collect_changelog_facts(found),
    )
    if fetched.result is PullResult.SKIPPED:
        printer.result("nothing was fetched: no document has a recorded origin")
        return
    source = visible(fetched.source)
    if fetched.result is PullResult.CURRENT:
        printer.result(f"current: {source} has the document that is here")
        return
    printer.result(f"another document came from {source}")
    if found is not None:
        printer.result(f"{count_changes(found)} in the tools")
        show_changes(printer, found)
