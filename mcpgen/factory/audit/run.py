"""One audit: validation, lint, authorization and the robustness run of a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.factory.audit.authorization import Authorization, examine_authorization
from mcpgen.factory.lint import run as lint_run
from mcpgen.factory.lint.connect import NoListingError, fetch_listing
from mcpgen.factory.lint.load import load_package
from mcpgen.factory.lint.settings import Settings
from mcpgen.factory.robustness.intensity import Intensity
from mcpgen.factory.robustness.run import Robustness, run_experiments
from mcpgen.factory.validate.hosting import host
from mcpgen.factory.validate.probe import ProbeOptions
from mcpgen.factory.validate.run import Validation, validate
from mcpgen.factory.wire.connection import (
    ConnectionLostError,
    UnauthorizedError,
    UnreachableError,
)
from mcpgen.factory.wire.frames import Recording
from mcpgen.factory.wire.session import REVISIONS
from mcpgen.factory.wire.targets import Target


class AuditSettings(Struct, frozen=True, kw_only=True):
    """Subjects of an audit, and bounds of what it may send."""

    transports: Sequence[str]
    intensity: Intensity
    seed: int
    allow_writes: bool = False
    revisions: Sequence[str] = REVISIONS
    lint: Settings = Settings()


class Audit(Struct, frozen=True, kw_only=True):
    """The results of all parts. A part that is None was not run, for the reason beside it."""

    target: str
    settings: AuditSettings
    secrets: Sequence[str]  # which no report may contain
    validation: Validation
    authorization: Authorization
    lint: lint_run.Report | None = None
    lint_trouble: str = ""
    robustness: Robustness | None = None

    def redact(self, text: str) -> str:
        """Replace secrets by `***`."""
        return Recording(self.secrets).redact(text)


async def audit(
    target: Target,
    settings: AuditSettings,
    progress: Callable[[str], None] = lambda _step: None,
) -> Audit:
    """Examine a server, and go on after a part that could not be run."""
    options = ProbeOptions(allow_writes=settings.allow_writes)
    validation = await validate(
        target,
        revisions=settings.revisions,
        transports=settings.transports,
        options=options,
        progress=progress,
    )
    if validation.trouble_kind == "unreachable":
        return _stop(target, settings, validation, "the server cannot be reached")
    try:
        async with host(target, settings.transports) as targets:
            return await _run_on_hosts(target, targets, settings, validation, progress)
    except UnreachableError as error:
        reason = f"the server could not be started again: {error}"
        return _stop(target, settings, validation, reason)


def _stop(target: Target, settings: AuditSettings, validation: Validation, reason: str) -> Audit:
    """Return an audit that ended after the validation."""
    return Audit(
        target=str(target),
        settings=settings,
        secrets=target.secrets,
        validation=validation,
        authorization=Authorization(reason=reason),
        lint_trouble=reason,
    )


async def _run_on_hosts(
    target: Target,
    targets: Mapping[str, Target],
    settings: AuditSettings,
    validation: Validation,
    progress: Callable[[str], None],
) -> Audit:
    options = ProbeOptions(allow_writes=settings.allow_writes)
    progress("authorization")
    authorization = await examine_authorization(targets.get("http"), validation, options)
    if validation.trouble_kind:
        stopped = _stop(target, settings, validation, "the server requires credentials")
        return replace(stopped, authorization=authorization)
    progress("lint")
    lint, trouble = await _lint(target, settings.lint)
    robustness = await run_experiments(
        targets,
        intensity=settings.intensity,
        seed=settings.seed,
        options=options,
        progress=progress,
    )
    return Audit(
        target=str(target),
        settings=settings,
        secrets=target.secrets,
        validation=validation,
        authorization=authorization,
        lint=lint,
        lint_trouble=trouble,
        robustness=robustness,
    )


async def _lint(target: Target, settings: Settings) -> tuple[lint_run.Report | None, str]:
    """Return the report of lint, or None and the reason."""
    try:
        if target.package is not None:
            listing = load_package(target.package)
        else:
            listing = await fetch_listing(target)
    except (NoListingError, UnreachableError, ConnectionLostError, OSError) as error:
        return None, f"cannot list the tools: {error}"
    except UnauthorizedError as error:
        return None, f"the server requires credentials: {error}"
    return lint_run.lint(listing, settings), ""
