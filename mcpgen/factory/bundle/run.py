"""One run of `bundle`: from a package and options to written bundles."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from mcpgen.diagnostics import Problems, RejectedError, did_you_mean
from mcpgen.factory.bundle.build import FORMATS, build_bundles, write_bundles
from mcpgen.factory.bundle.describe import describe_server
from mcpgen.factory.bundle.description import Bundle, BundleDescription
from mcpgen.factory.bundle.evidence import collect_bundle_evidence
from mcpgen.factory.lint.load import load_package
from mcpgen.factory.lint.started import UnlistedError, list_started_package
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.pipeline.options import Outcome
from mcpgen.pipeline.project.evidence import BUNDLE, record_evidence


class FormatError(ValueError):
    """Raised for an unknown bundle format; `help` suggests similar names."""

    def __init__(self, name: str, help: str) -> None:
        super().__init__(f"unknown format `{name}`")
        self.help = help


class OutError(ValueError):
    """A place where no bundles can be written."""

    help = "give another folder: --out dist"


class BundleOptions(Struct, frozen=True, kw_only=True):
    """Options of a run."""

    formats: Sequence[str] = tuple(FORMATS)
    public_url: str = ""
    source_commit: str = ""
    is_started: bool = False  # list the tools of the running server
    is_dry_run: bool = False


class BundleRun(Struct, frozen=True, kw_only=True):
    """The result of a run; `description` is None if nothing was built."""

    outcome: Outcome
    out: Path
    description: BundleDescription | None = None
    bundles: Sequence[Bundle] = ()

    def collect_facts(self) -> dict[str, Any]:
        """Return the bundles with their hashes, for JSON."""
        return {"bundles": [_describe(each) for each in self.bundles]}


def parse_formats(text: str) -> tuple[str, ...]:
    """Return the formats that the value of `--format` names, in their fixed order.

    Raises:
        FormatError: one is unknown.
    """
    names = [part.strip() for part in text.split(",") if part.strip()]
    for name in names or [""]:
        if name != "all" and name not in FORMATS:
            known = ["all", *FORMATS]
            raise FormatError(name, did_you_mean(name, known, f"one of {', '.join(known)}"))
    return tuple(name for name in FORMATS if "all" in names or name in names)


def bundle_package(
    package: GeneratedPackage, out: Path, options: BundleOptions, problems: Problems
) -> BundleRun:
    """Build the bundles of a package, and write all of them or none into `out`.

    The result is recorded as evidence.

    Raises:
        OutError: `out` cannot be used for bundles.
    """
    _check_out(out, package.directory)
    try:
        listing = list_started_package(package) if options.is_started else load_package(package)
        description = describe_server(
            package,
            listing,
            problems,
            public_url=options.public_url,
            source_commit=options.source_commit,
        )
    except UnlistedError as error:
        problems.error(
            "no-tools-listed",
            "the server does not start, or does not list its tools",
            why=str(error),
            help="`mcpgen tools` shows why; without --start, the files of the package are read",
        )
        return BundleRun(outcome=Outcome.FINDINGS, out=out)
    except RejectedError:
        return BundleRun(outcome=Outcome.REJECTED, out=out)
    bundles = build_bundles(description, options.formats)
    if not options.is_dry_run:
        try:
            write_bundles(out, bundles)
        except (FileExistsError, NotADirectoryError) as error:
            raise OutError(f"{error.filename} is a file, where bundles need a folder") from None
        evidence = collect_bundle_evidence(description.version, bundles)
        record_evidence(package.directory, BUNDLE, evidence, problems)
    return BundleRun(outcome=Outcome.DONE, out=out, description=description, bundles=bundles)


def _check_out(out: Path, directory: Path) -> None:
    """Reject a place where a bundle would be part of the package."""
    place, root = out.resolve(), directory.resolve()
    if place == root or place.is_relative_to(root / "src"):
        raise OutError(f"cannot write bundles into {out}, which belongs to the package")
    if out.exists() and not out.is_dir():
        raise OutError(f"{out} is not a folder")


def _describe(bundle: Bundle) -> Mapping[str, Any]:
    described = {"format": bundle.format, "path": bundle.path}
    if isinstance(bundle.content, bytes):
        return described | {"sha256": hashlib.sha256(bundle.content).hexdigest()}
    return described | {"files": sorted(bundle.content)}
