"""Authorization of a server over HTTP: its challenges and metadata, also without a token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final

from msgspec import Struct, field

from mcpgen.factory.validate.checks import auth
from mcpgen.factory.validate.probe import Knowledge, Probe, ProbeOptions
from mcpgen.factory.validate.requirements import read_requirements
from mcpgen.factory.validate.run import Result, Validation
from mcpgen.factory.validate.verdicts import Outcome, Verdict, cannot_decide
from mcpgen.factory.wire.connection import ConnectionLostError, UnauthorizedError
from mcpgen.factory.wire.frames import Recording
from mcpgen.factory.wire.session import MODERN
from mcpgen.factory.wire.targets import Target

_CHECKS: Final = frozenset(auth.ACTIVE) | frozenset(auth.PASSIVE)
# The requirements of every revision since this one apply whichever revision the server supports.
_FIRST_OF_RESOURCE_SERVERS: Final = "2025-06-18"
_SHOWN_MEMBERS: Final = (
    "resource", "authorization_servers", "scopes_supported", "bearer_methods_supported",
    "resource_name", "resource_documentation", "jwks_uri",
)  # fmt: skip
_MAX_SHOWN: Final = 500
UNKNOWN_REVISION: Final = "any revision"


class Authorization(Struct, frozen=True, kw_only=True):
    """Findings about a server's authorization.

    `facts` are pairs of a name and a value of the server; `results` those of requirements that
    concern authorization; `untested` are pairs of a requirement and the reason.
    """

    is_protected: bool | None = None  # None: not examined
    is_applicable: bool = True
    reason: str = ""  # why it was not examined
    facts: Sequence[tuple[str, str]] = ()
    results: Sequence[Result] = ()
    untested: Sequence[tuple[str, str]] = field(default_factory=tuple)


def concerns_authorization(result: Result) -> bool:
    """Whether a result of a validation is about authorization."""
    return result.requirement.id in _CHECKS


async def examine_authorization(
    target: Target | None, validation: Validation, options: ProbeOptions
) -> Authorization:
    """Send requests without a token and read the metadata that the challenge names.

    The results are those of the validation. If it could not begin without a token, the requirements
    that hold under every revision are checked here.
    """
    if target is None or not target.url:
        reason = "not examined over Streamable HTTP: other transports have no authorization of MCP"
        return Authorization(is_applicable=False, reason=reason)
    recording = Recording(target.secrets)
    probe = Probe(target, MODERN, "http", recording, options, Knowledge())
    try:
        bare = await probe.once(auth.ask_without_token)
        if not bare.is_protected:
            facts = [("without credentials", _describe_statuses(bare))]
            return Authorization(is_protected=False, facts=facts)
        found = await probe.once(auth.find_metadata)
        facts = [*_list_challenge(bare), *_list_metadata(found)]
        shown = [(name, recording.redact(value)[:_MAX_SHOWN]) for name, value in facts]
        if validation.trouble_kind != "unauthorized":
            results = [it for it in validation.results if concerns_authorization(it)]
            return Authorization(is_protected=True, facts=shown, results=results)
        results = [result async for result in _check_any_revision(probe, found)]
        return Authorization(
            is_protected=True, facts=shown, results=results, untested=list(_list_untested(results))
        )
    except (ConnectionLostError, UnauthorizedError) as error:
        return Authorization(reason=f"the server does not answer: {error}")
    finally:
        await probe.close()


async def _check_any_revision(probe: Probe, found: auth.ResourceMetadata) -> AsyncIterator[Result]:
    """Yield the results of requirements that hold under every revision of resource servers."""
    for requirement in read_requirements().requirement:
        check = auth.ACTIVE.get(requirement.id)
        is_general = requirement.since <= _FIRST_OF_RESOURCE_SERVERS and requirement.until == MODERN
        if check is None or not is_general:
            continue
        try:
            outcome = await check(probe)
        except (ConnectionLostError, LookupError, TypeError, ValueError, AttributeError) as error:
            outcome = cannot_decide(f"the responses of the server cannot be read ({error!r})")
        if outcome.verdict is Verdict.FAIL and found.document is None and found.has_issuer:
            reason = "a server of 2025-03-26 is its own authorization server"
            outcome = Outcome(Verdict.INCONCLUSIVE, reason, outcome.evidence)
        evidence = probe.recording.evidence(outcome.evidence[:4])
        yield Result(requirement, UNKNOWN_REVISION, "http", outcome, evidence)


def _list_untested(results: Iterable[Result]) -> Iterable[tuple[str, str]]:
    checked = {result.requirement.id for result in results}
    for requirement in read_requirements().requirement:
        if requirement.id in _CHECKS - checked:
            yield requirement.id, "needs a token, or depends on the revision of the server"


def _describe_statuses(bare: auth.BareReplies) -> str:
    return ", ".join(f"`{method}`: HTTP {reply.status}" for method, reply in bare.all.items())


def _list_challenge(bare: auth.BareReplies) -> Iterable[tuple[str, str]]:
    yield "without credentials", _describe_statuses(bare)
    head = bare.challenge
    header = (head.header("www-authenticate") if head is not None else None) or ""
    yield "WWW-Authenticate", header or "(none)"
    for name, value in auth.parse_challenge(header).items():
        yield f"challenge: {name}", value


def _list_metadata(found: auth.ResourceMetadata) -> Iterable[tuple[str, str]]:
    for exchange in found.exchanges:
        head = exchange.request.http
        yield (
            "metadata of the protected resource",
            (f"{head.url if head is not None else ''}: HTTP {exchange.status}"),
        )
    if found.elsewhere:
        yield "metadata of the protected resource", f"{found.elsewhere} (another host; not asked)"
    document = found.document or {}
    for member in _SHOWN_MEMBERS:
        if member in document:
            value = document[member]
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            yield f"metadata: {member}", shown or "(empty)"
    others = [name for name in document if name not in _SHOWN_MEMBERS]
    if others:
        yield "metadata: other members", ", ".join(others)
    if found.document is None and found.has_issuer:
        yield "metadata of an authorization server", "on the server itself, as in 2025-03-26"
