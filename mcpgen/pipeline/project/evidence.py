"""Evidence: the recorded result of a check of a server, valid while the inputs are unchanged.

`.mcpgen/evidence/<check>.json` contains the hashes of all inputs of the result. Readers compare the
hashes first, and ignore evidence of other inputs.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mcpgen.emit.lockfile import LockTooNewError, LockUnreadableError, parse_lock, with_lf
from mcpgen.emit.merge.merge import TESTS, with_block
from mcpgen.ir.file_set import LOCK_FILE, MANIFEST_FILE
from mcpgen.pipeline.project.disk import write_atomically
from mcpgen.pipeline.project.project_folder import read_file

EVIDENCE_FOLDER = ".mcpgen/evidence"
LINT = "lint"
VALIDATE = "validate"
_SOURCES = "runtime_sources"
_RUNTIME_FILES = (  # the runtime, what tests import, and what both are built on
    "mcpgen/*.py",
    *(
        f"mcpgen/{package}/**/*.py"
        for package in ("contract", "jsonschema", "runtime", "search", "testing", "text")
    ),
)
_GENERATED = ("src/*/_generated/**/*", "tests/generated/**/*")
_OWN = ("src/*/*.py", "src/*/handlers/**/*", "tests/**/*", "mcpgen.tests.yaml")


def hash_inputs(target: Path) -> dict[str, str]:
    """Say what the tests of a server depend on: hashes of its document, manifest, lock and sources.

    And the version of the runtime that it runs with.
    """
    generated = _files(target, _GENERATED)
    return {
        "document": _digest(target, _documents(target)),
        "manifest": _digest(target, [MANIFEST_FILE]),
        "lock": _digest(target, [LOCK_FILE]),
        "generated": _digest(target, generated),
        "own": _digest(target, sorted(set(_files(target, _OWN)) - set(generated))),
        "runtime": _distribution(target).version,
    }


def write_evidence(target: Path, check: str, evidence: Mapping[str, Any]) -> None:
    """Write the evidence of a check, on the inputs as they are now.

    Raises:
        OSError: the disk refused.
    """
    file = target / EVIDENCE_FOLDER / f"{check}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = {
        **evidence,
        "check": check,
        "inputs": hash_inputs(target),
        "tools": {"mcpgen": importlib.metadata.version("mcpgen")},
        **describe_tools(target),
    }
    text = json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    file.write_text(text, "utf-8", newline="\n")


def read_evidence(target: Path, check: str) -> dict[str, Any] | None:
    """Give the evidence of a check, whether it still holds or not; None where there is none."""
    try:
        evidence = json.loads(read_file(target, f"{EVIDENCE_FOLDER}/{check}.json") or b"")
    except ValueError:
        return None
    return evidence if isinstance(evidence, dict) else None


def read_results(target: Path, checks: Iterable[str]) -> dict[str, str]:
    """Say what each check found: "unknown" without evidence, "stale" if its inputs changed."""
    found = {check: read_evidence(target, check) for check in checks}
    inputs = hash_inputs(target) if any(found.values()) else {}
    results = dict.fromkeys(found, "unknown")
    for check, evidence in found.items():
        if evidence is not None:
            is_current = evidence.get("inputs") == inputs
            results[check] = str(evidence.get("result", "unknown")) if is_current else "stale"
    return results


def is_evidence_current(target: Path, evidence: Mapping[str, Any]) -> bool:
    """Whether what the evidence was found on is what lies there now."""
    return bool(evidence.get("inputs") == hash_inputs(target))


def describe_tools(target: Path) -> dict[str, str]:
    """Say which sources of the runtime a result is found with, where its version does not tell.

    That is in a checkout under development (an editable install). They are no input: a result would
    hold for hours at most. Of a release this is empty.
    """
    origin = json.loads(_distribution(target).read_text("direct_url.json") or "{}")
    if not origin.get("dir_info", {}).get("editable"):
        return {}
    from urllib.parse import urlsplit  # for checkouts only: these cost much of a quick `check`
    from urllib.request import url2pathname

    checkout = Path(url2pathname(urlsplit(origin["url"]).path))
    return {_SOURCES: _digest(checkout, _files(checkout, _RUNTIME_FILES))}


def has_other_sources(target: Path, evidence: Mapping[str, Any]) -> bool:
    """Whether evidence that still holds was found, all or in part, with other sources."""
    parts = (evidence, evidence.get("mutation"))  # which may be of an earlier run
    recorded = {
        str(part[_SOURCES]) for part in parts if isinstance(part, dict) and _SOURCES in part
    }
    if not recorded or recorded == {*describe_tools(target).values()}:
        return False
    return is_evidence_current(target, evidence)


def _distribution(target: Path) -> importlib.metadata.Distribution:
    """Find the runtime in the server's own environment, else take this one."""
    for packages in ("lib/python3*/site-packages", "Lib/site-packages"):
        folders = [str(folder) for folder in (target / ".venv").glob(packages)]
        for found in importlib.metadata.distributions(name="mcpgen", path=folders):
            return found
    return importlib.metadata.distribution("mcpgen")


def _documents(target: Path) -> list[str]:
    try:
        lock = parse_lock(read_file(target, LOCK_FILE) or b"")
    except (LockTooNewError, LockUnreadableError):
        return []
    return sorted(path for document in lock.documents for path in document.sha256)


def _files(target: Path, patterns: Iterable[str]) -> list[str]:
    return sorted(
        path.relative_to(target).as_posix()
        for pattern in patterns
        for path in target.glob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    )


def _digest(target: Path, paths: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        content = with_lf(read_file(target, path) or b"")
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


README_FILE = "README.md"


def show_figures(target: Path) -> tuple[str, ...]:
    """Bring the README's block of results up to the evidence; give the path if it was written.

    Raises:
        OSError: the disk refused.
    """
    content = read_file(target, README_FILE)
    if content is None or set_figures(content, "") == set_figures(content, "?"):
        return ()  # it has no such block
    found = [
        format_figures(evidence)
        for check, format_figures in ((TESTS, format_tests), (VALIDATE, format_scores))
        if (evidence := read_evidence(target, check)) is not None
        and is_evidence_current(target, evidence)
    ]
    changed = set_figures(content, "\n".join(filter(None, found)))
    if changed == content:
        return ()
    write_atomically((target / README_FILE).resolve(), changed)
    return (README_FILE,)


def set_figures(readme: bytes, shown: str) -> bytes:
    """Give a README with other figures in its block of results, if it has one."""
    try:
        return with_block(readme.decode(), TESTS, shown).encode()
    except UnicodeDecodeError:
        return readme  # in an encoding of the user's own


def format_tests(evidence: Mapping[str, Any]) -> str:
    """Say in figures what tests found; it has no date, so that it changes only with them."""
    counts, cases = _numbers(evidence.get("tests")), _numbers(evidence.get("cases"))
    said = [f"{count:,} {what}" for what, count in counts.items() if count or what == "passed"]
    sentences = [f"Tests: {', '.join(said)}."]
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
    """Say which scores the server got; "" if it got none."""
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
    """The counts among the members of what should be an object."""
    members = value.items() if isinstance(value, dict) else ()
    return {str(name): count for name, count in members if type(count) is int}
