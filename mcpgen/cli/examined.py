"""The revisions and transports that `validate` and `audit` examine, from their options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpgen.cli.exit_codes import UsageError

if TYPE_CHECKING:
    from mcpgen.factory.wire.targets import Target

_TRANSPORTS = ("stdio", "http", "sse")


def choose_revisions(name: str) -> tuple[str, ...]:
    """Return the revisions to examine.

    Raises:
        UsageError: the revision is unknown.
    """
    from mcpgen.factory.wire.session import REVISIONS

    if name == "all":
        return REVISIONS
    if name not in REVISIONS:
        raise UsageError(
            f"unknown revision `{name}`", help=f"`all`, or one of {', '.join(REVISIONS)}"
        )
    return (name,)


def choose_transports(target: Target, name: str) -> tuple[str, ...]:
    """Return the transports to examine.

    Raises:
        UsageError: the target has no such transport.
    """
    if name not in ("", "all", *_TRANSPORTS):
        raise UsageError(
            f"unknown transport `{name}`", help=f"`all`, or one of {', '.join(_TRANSPORTS)}"
        )
    if target.url:
        if name == "stdio":
            raise UsageError("a URL cannot be examined over stdio", help="give a command instead")
        return (name,) if name not in ("", "all") else ("http",)
    if target.package is None:
        if name in ("http", "sse"):
            raise UsageError(
                "a command is examined over stdio", help="start the server, and give its URL"
            )
        return ("stdio",)
    from mcpgen.factory.validate.project import PACKAGE_TRANSPORTS

    return {"": PACKAGE_TRANSPORTS, "all": _TRANSPORTS}.get(name, (name,))
