"""Evidence: the recorded result of a check of a server, valid while the inputs are unchanged.

`.mcpgen/evidence/<check>.json` contains the hashes of all inputs of the result. Readers compare the
hashes first, and ignore evidence of other inputs.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from mcpgen.diagnostics import Problems
from mcpgen.emit.merge.merge import TESTS as FIGURES
from mcpgen.emit.merge.merge import with_block
from mcpgen.pipeline.project.disk import write_atomically
from mcpgen.pipeline.project.input_hashes import (
    CHECKED_INPUTS,
    ProjectFiles,
    find_distribution,
    hash_inputs,
)
from mcpgen.pipeline.project.project_folder import read_file

EVIDENCE_FOLDER = ".mcpgen/evidence"
SOURCE = "source"
LINT = "lint"
TESTS = "tests"
VALIDATE = "validate"
LIVE = "live"
BUNDLE = "bundle"
PUBLISHED = "published"
_SOURCES = "runtime_sources"
_RUNTIME_FILES = (  # the runtime, what tests import, and what both are built on
    "mcpgen/*.py",
    *(
        f"mcpgen/{package}/**/*.py"
        for package in ("contract", "jsonschema", "runtime", "search", "testing", "text")
    ),
)
_INPUTS: Final[dict[str, tuple[str, ...]]] = {
    SOURCE: ("document",),
    BUNDLE: ("package",),
    PUBLISHED: (),  # it records the version that it is about
}
_MOST_EARLIER: Final = 10


def list_inputs(check: str) -> tuple[str, ...]:
    """Return the names of the inputs that the result of a check depends on."""
    return _INPUTS.get(check, CHECKED_INPUTS)


def write_evidence(
    target: Path, check: str, evidence: Mapping[str, Any], *, now: datetime | None = None
) -> None:
    """Write the evidence of a check of the current inputs, atomically.

    The results that it replaces are listed in `earlier`, the latest first.

    Raises:
        OSError: the file cannot be written.
    """
    file = target / EVIDENCE_FOLDER / f"{check}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = {
        **evidence,
        "check": check,
        "time": format_time(now or datetime.now(UTC)),
        "inputs": hash_inputs(ProjectFiles(target), list_inputs(check)),
        "tools": {"mcpgen": importlib.metadata.version("mcpgen")},
        "earlier": _list_earlier(read_evidence(target, check), evidence),
        **describe_tools(target),
    }
    text = json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    write_atomically(file, _remove_paths(text, target).encode())


def record_evidence(
    target: Path, check: str, evidence: Mapping[str, Any], problems: Problems
) -> None:
    """Write evidence, and its figures in the README; note it if the disk refuses."""
    try:
        write_evidence(target, check, evidence)
        if check in _FIGURES:
            show_figures(target)
    except OSError as error:
        problems.note(
            "no-evidence",
            f"cannot write {EVIDENCE_FOLDER}/{check}.json: {error.strerror}",
            why="`.mcpgen/evidence` records what was checked",
            help="make the folder writable, and run the command again",
        )


def format_time(moment: datetime) -> str:
    """Format a time as RFC 3339 in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _list_earlier(
    before: Mapping[str, Any] | None, evidence: Mapping[str, Any]
) -> list[dict[str, str]]:
    """Return the earlier results, the latest first.

    A result that was found several times in a row is listed once, with its last time.
    """
    if before is None:
        return []
    history = before.get("earlier")
    replaced = [before, *(history if isinstance(history, list) else ())]
    entries = [_summarize(it) for it in (evidence, *replaced) if isinstance(it, Mapping)]
    return [
        entry
        for later, entry in itertools.pairwise(entries)
        if entry.get("result") and not _is_same_result(later, entry)
    ][:_MOST_EARLIER]


def _summarize(evidence: Mapping[str, Any]) -> dict[str, str]:
    members = {name: evidence.get(name) for name in ("time", "outcome", "result")}
    return {name: value for name, value in members.items() if isinstance(value, str) and value}


def _is_same_result(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return all(one.get(name) == other.get(name) for name in ("outcome", "result"))


def _remove_paths(text: str, target: Path) -> str:
    """Return JSON text in which paths below the project are relative to it."""
    for folder in {str(target.absolute()), str(target.resolve())}:
        quoted = json.dumps(folder, ensure_ascii=False)[1:-1]
        text = text.replace(f"{quoted}/", "").replace(quoted, ".")
    return text


def read_evidence(target: Path, check: str) -> dict[str, Any] | None:
    """Read the evidence of a check, whether it is still current or not; None if there is none."""
    try:
        evidence = json.loads(read_file(target, f"{EVIDENCE_FOLDER}/{check}.json") or b"")
    except (ValueError, RecursionError):
        return None
    return evidence if isinstance(evidence, dict) else None


def read_results(target: Path, checks: Iterable[str]) -> dict[str, str]:
    """Read the result of each check: "unknown" without evidence, "stale" if its inputs changed."""
    found = {check: read_evidence(target, check) for check in checks}
    inputs = hash_inputs(ProjectFiles(target)) if any(found.values()) else {}
    results = dict.fromkeys(found, "unknown")
    for check, evidence in found.items():
        if evidence is not None:
            is_current = evidence.get("inputs") == inputs
            results[check] = str(evidence.get("result", "unknown")) if is_current else "stale"
    return results


def is_evidence_current(target: Path, evidence: Mapping[str, Any]) -> bool:
    """Return whether the evidence is of the current inputs."""
    names = list_inputs(str(evidence.get("check", "")))
    return bool(evidence.get("inputs") == hash_inputs(ProjectFiles(target), names))


def has_current_evidence(target: Path, check: str) -> bool:
    """Return whether there is evidence of a check for the inputs as they are now."""
    evidence = read_evidence(target, check)
    return evidence is not None and is_evidence_current(target, evidence)


def describe_tools(target: Path) -> dict[str, str]:
    """Return the hash of the runtime's sources if its version does not identify them, else {}.

    That is the case in a checkout under development (an editable install), not in a release. The
    sources do not count as inputs: results would be stale within hours.
    """
    origin = json.loads(find_distribution(target).read_text("direct_url.json") or "{}")
    if not origin.get("dir_info", {}).get("editable"):
        return {}
    from urllib.parse import urlsplit  # for checkouts only: these cost much of a quick `check`
    from urllib.request import url2pathname

    checkout = Path(url2pathname(urlsplit(origin["url"]).path))
    return {_SOURCES: _hash_runtime(checkout)}


def has_other_sources(target: Path, evidence: Mapping[str, Any]) -> bool:
    """Return whether current evidence was found, at least in part, with other runtime sources."""
    parts = (evidence, evidence.get("mutation"))  # which may be of an earlier run
    recorded = {
        str(part[_SOURCES]) for part in parts if isinstance(part, dict) and _SOURCES in part
    }
    if not recorded or recorded == {*describe_tools(target).values()}:
        return False
    return is_evidence_current(target, evidence)


def _hash_runtime(checkout: Path) -> str:
    """Hash the sources of the runtime in a checkout of mcpgen."""
    found = (path for pattern in _RUNTIME_FILES for path in checkout.glob(pattern))
    paths = {path.relative_to(checkout).as_posix() for path in found if path.is_file()}
    return ProjectFiles(checkout).digest(sorted(paths))


README_FILE = "README.md"


def show_figures(target: Path) -> tuple[str, ...]:
    """Update the README's block of results from the evidence; return its path if it was written.

    Raises:
        OSError: the file cannot be written.
    """
    content = read_file(target, README_FILE)
    if content is None or set_figures(content, "") == set_figures(content, "?"):
        return ()  # it has no such block
    found = [
        format_figures(evidence)
        for check, format_figures in _FIGURES.items()
        if (evidence := read_evidence(target, check)) is not None
        and is_evidence_current(target, evidence)
    ]
    changed = set_figures(content, "\n".join(filter(None, found)))
    if changed == content:
        return ()
    write_atomically((target / README_FILE).resolve(), changed)
    return (README_FILE,)


def set_figures(readme: bytes, shown: str) -> bytes:
    """Replace the figures in a README's block of results; return it unchanged if it has none."""
    try:
        return with_block(readme.decode(), FIGURES, shown).encode()
    except UnicodeDecodeError:
        return readme  # in an encoding of the user's own


def format_tests(evidence: Mapping[str, Any]) -> str:
    """Format the results of tests as sentences; without a date, so that equal results are equal."""
    counts, cases = _numbers(evidence.get("tests")), _numbers(evidence.get("cases"))
    parts = [f"{count:,} {what}" for what, count in counts.items() if count or what == "passed"]
    sentences = [f"Tests: {', '.join(parts)}."]
    if cases:
        least, most = min(cases.values()), max(cases.values())
        mean = sum(cases.values()) / len(cases)
        sentences.append(
            f"Calls of each of the {len(cases):,} tools: {least} to {most}, {mean:.0f} on average."
        )
    mutation = _numbers(evidence.get("mutation"))
    if mutation.get("judged"):
        killed, judged = mutation.get("killed", 0), mutation["judged"]
        sentences.append(
            f"Faults that the tests detected: {killed:,} of {judged:,} ({killed / judged:.1%})."
        )
    return "\n".join(sentences)


def format_scores(evidence: Mapping[str, Any]) -> str:
    """Format the scores of a server as a sentence; "" if it has none."""
    revisions = evidence.get("revisions")
    scores = describe_scores(revisions if isinstance(revisions, dict) else {})
    return f"Score of `mcpgen validate`: {scores}." if scores else ""


def describe_scores(revisions: Mapping[str, Any]) -> str:
    """Return the lowest and the highest score of revisions, and how much was exercised; or ""."""
    members = [
        (it["score"], it["coverage"])
        for it in revisions.values()
        if isinstance(it, dict)
        and type(it.get("score")) is int
        and type(it.get("coverage")) in (int, float)
    ]
    if not members:
        return ""
    scores, shares = zip(*members, strict=True)
    least, most = min(scores), max(scores)
    span = f"{least}" if least == most else f"{least} to {most}"
    number = f"{len(scores)} revision{'' if len(scores) == 1 else 's'}"
    return f"{span} in {number}, at least {int(100 * min(shares))} % exercised"


def _numbers(value: Any) -> dict[str, int]:
    """Return the members that are integers; {} for a value that is not an object."""
    members = value.items() if isinstance(value, dict) else ()
    return {str(name): count for name, count in members if type(count) is int}


_FIGURES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    TESTS: format_tests,
    VALIDATE: format_scores,
}
