"""Decisions about a new server: each with its reason, and the options that change it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from mcpgen.ir.findings import Decision
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.text.counts import format_count
from mcpgen.text.hosts import is_private

if TYPE_CHECKING:
    from mcpgen.ir.credentials import HiddenCredential
    from mcpgen.ir.manifest import Manifest
    from mcpgen.pipeline.options import Options

_SHOWN = 3


class Decided(Struct, frozen=True):
    """The inputs of `mcpgen new` and its plan, from which the decisions are reported."""

    plan: ServerPlan
    manifest: Manifest
    options: Options
    has_manifest: bool  # the user wrote the manifest
    credentials: tuple[HiddenCredential, ...] = ()


def explain_decisions(decided: Decided) -> tuple[Decision, ...]:
    """Return the decisions in the order of a reader's questions."""
    return (
        _explain_name(decided),
        *_explain_tools(decided),
        _explain_listing(decided.plan),
        *_explain_handles(decided.plan),
        *_explain_base_urls(decided),
        *_explain_credentials(decided.plan),
        *_explain_hidden(decided.credentials),
        *_explain_origins(decided.plan),
        *_explain_details(decided.plan),
    )


def _explain_name(decided: Decided) -> Decision:
    reason = "from the title of the API"
    if decided.options.name:
        reason = "as requested"
    elif decided.has_manifest:
        reason = "from the manifest"
    return Decision(
        topic="name", decision=decided.plan.name, reason=reason, change=("--name", "server.name")
    )


def _explain_tools(decided: Decided) -> Iterator[Decision]:
    plan, select = decided.plan, decided.manifest.select
    selected = len(plan.tools) + len(plan.skipped)
    if plan.unselected or select:
        rules = [
            f"include {rule.include}" if rule.include is not None else f"exclude {rule.exclude}"
            for rule in select
        ]
        decision = f"{selected:,} of {selected + len(plan.unselected):,} operations"
        reason = f"by the rules {_join(rules)}" if rules else "`expose: off` leaves out the others"
    else:
        decision = "the only operation" if selected == 1 else f"all {selected:,} operations"
        reason = "no rule leaves any out"
    yield Decision(
        topic="tools", decision=decision, reason=reason, change=("--include", "--exclude", "select")
    )
    if plan.skipped:
        codes = Counter(skipped.code for skipped in plan.skipped)
        yield Decision(
            topic="skipped",
            decision=format_count(len(plan.skipped), "operation"),
            reason=_join([f"{code} ({number:,})" for code, number in codes.most_common()]),
            change=("overlays", "--strict"),
        )


def _explain_listing(plan: ServerPlan) -> Decision:
    total, change = plan.token_cost, ("budget", "toolsets")
    if plan.search is None:
        return Decision(
            topic="list",
            decision="every tool is listed",
            reason=f"about {total:,} tokens, within the budget of {plan.budget:,}",
            change=change,
            is_detail=True,
        )
    names = plan.search.names
    if plan.search.run:
        return Decision(
            topic="list",
            decision=f"only {', '.join(names)}",
            reason=f"code mode; all tools would cost about {total:,} tokens",
            change=("--code", "code"),
        )
    return Decision(
        topic="list",
        decision=f"only {', '.join(names)}",
        reason=f"all tools would cost about {total:,} tokens, over the budget of {plan.budget:,}",
        change=change,
    )


def _explain_handles(plan: ServerPlan) -> Iterator[Decision]:
    if plan.handles is not None:
        yield Decision(
            topic="results",
            decision=f"long results are stored, and {plan.handles.tool} reads the rest",
            reason=f"it costs {plan.handles.token_cost} of {plan.token_cost:,} tokens",
            change=("results.handles",),
            is_detail=True,
        )


def _explain_base_urls(decided: Decided) -> Iterator[Decision]:
    plan, stated = decided.plan, decided.manifest.sources
    if not plan.has_document:
        return
    change = ("--base-url", "sources.base_url", f"{plan.env_prefix}BASE_URL")
    servers = [server.url for server in plan.base_servers]
    setting = f"from {plan.env_prefix}BASE_URL"
    if any(source.base_url for source in stated):
        url, reason = servers[0], "as requested"
    elif not servers or re.match(r"https?://|\{", servers[0]) is None:
        url, reason = setting, "the document has no absolute one"
    elif is_private(urlsplit(servers[0]).hostname or ""):
        url, reason = setting, f"{servers[0]} in the document is private"
    elif len(servers) > 1:
        url, reason = servers[0], f"the first of {len(servers)} servers of the document"
    else:
        url, reason = servers[0], "from the document"
    yield Decision(topic="base URL", decision=url, reason=reason, change=change)


_SOURCES = {
    "environment": "from the environment",
    "header": "from a header of each request",
    "exchange": "the caller's token, exchanged",
    "user": "the account that each user connects",
}


def _explain_credentials(plan: ServerPlan) -> Iterator[Decision]:
    """Yield where the credentials of the schemes come from: a decision for each source."""
    used = {use.scheme for it in plan.api.operations for way in it.security for use in way}
    schemes = [scheme for scheme in plan.api.security_schemes if scheme.id in used]
    for source, phrase in _SOURCES.items():
        of_source = [scheme.id for scheme in schemes if scheme.credential.from_ == source]
        if not of_source:
            continue
        reason = f"security {_join(of_source)}"
        yield Decision(
            topic="credentials",
            decision=phrase,
            reason=reason,
            change=("--credential", "credentials"),
        )


def _explain_hidden(credentials: Sequence[HiddenCredential]) -> Iterator[Decision]:
    for credential in credentials:
        change = tuple(
            key
            for key, entries in (
                ("sources.security_schemes", credential.schemes),
                ("sources.security", credential.security),
                ("operations.parameters", credential.parameters),
            )
            if entries
        ) or ("sources.security",)
        tools = format_count(len(credential.tools), "tool")
        if credential.is_denied:
            yield Decision(
                topic="credentials",
                decision="none",
                reason="the API needs none, as you answered",
                change=change,
            )
        elif credential.is_certain:
            reason = f"{credential.subject or 'the security'} of {tools} is a credential"
            yield Decision(
                topic="credentials", decision="from the environment", reason=reason, change=change
            )
        else:
            reason = f"the document leaves it open for {tools}; mcpgen.yaml has a comment"
            yield Decision(topic="credentials", decision="none", reason=reason, change=change)


def _explain_origins(plan: ServerPlan) -> Iterator[Decision]:
    """Yield the origins other than the API's that receive credentials, and those that do not."""
    change = ("--confirm-origin", "sources.credential_origins")
    open_ = list(dict.fromkeys(it.origin for it in plan.destinations if not it.is_confirmed))
    confirmed = list(dict.fromkeys(it.origin for it in plan.destinations if it.is_confirmed))
    if open_:
        yield Decision(
            topic="origins",
            decision=f"no credentials for {_join(open_)}",
            reason="not confirmed",
            change=change,
        )
    if confirmed:
        yield Decision(
            topic="origins",
            decision=f"credentials for {_join(confirmed)}",
            reason="confirmed",
            change=change,
            is_detail=True,
        )


def _explain_details(plan: ServerPlan) -> Iterator[Decision]:
    """Yield decisions that concern some tools, and settings that few users change."""
    tools = plan.tools
    pages = [tool.pagination for tool in tools if tool.pagination is not None]
    paged = Counter(f"assumed {it.kind}" if it.is_assumed else it.kind for it in pages)
    kinds = [f"{kind} ({number})" for kind, number in paged.most_common()]
    jobs = [it.name for it in tools if it.policies.jobs or it.policies.poll is not None]
    keys = [it.name for it in tools if it.idempotency_header]
    asking = [it.name for it in tools if it.policies.confirm]
    views = [it.name for it in tools if it.view is not None]
    toolsets = [it.name for it in plan.toolsets]
    skills = [it.name for it in plan.skills]
    workflows = [it.name for it in plan.workflows]
    merged = [it.name for it in plan.merged]
    found = (
        ("toolsets", len(toolsets), "toolset", f"a tag each: {_join(toolsets)}", ""),
        ("skills", len(skills), "skill", _join(skills), ""),
        ("workflows", len(workflows), "workflow", _join(workflows), ""),
        ("merged", len(merged), "merged tool", _join(merged), ""),
        ("paginate", paged.total(), "paged list", _join(kinds), "operations."),
        ("poll", len(jobs), "long-running job", _join(jobs), "operations."),
        ("idempotency_header", len(keys), "idempotency key", _join(keys), "operations."),
        ("confirm", len(asking), "confirmation", _join(asking), "operations."),
        ("view", len(views), "view", _join(views), "operations."),
    )
    for key, number, noun, reason, parent in found:
        if number:
            topic, counted = key.replace("_", " "), format_count(number, noun)
            yield Decision(
                topic=topic,
                decision=counted,
                reason=reason,
                change=(f"{parent}{key}",),
                is_detail=True,
            )
    if plan.models or not plan.has_models:
        models = format_count(len(plan.models), "TypedDict") if plan.has_models else "no TypedDicts"
        reason = "handlers are typed" if plan.has_models else "handlers take any JSON"
        yield Decision(
            topic="models",
            decision=models,
            reason=reason,
            change=("--no-models", "models"),
            is_detail=True,
        )


def _join(items: Sequence[str]) -> str:
    """Join a few items: "a, b, c and 43 more"."""
    shown = ", ".join(items[:_SHOWN])
    more = len(items) - _SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown
