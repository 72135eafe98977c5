"""Tables of the rules of `mcpgen lint`, and of the limits of clients."""

from __future__ import annotations

from mcpgen.factory.lint.findings import RULES
from mcpgen.ir.clients import ClientLimit, read_clients


def lint_rules() -> str:
    """Return a table of all rules."""
    heads = ("rule", "id", "severity", "requires", "because", "remedy", "`--fix` writes")
    rows = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for rule in RULES.values():
        severity = f"{rule.severity.value}\\*" if rule.depends_on_clients else rule.severity.value
        cells = (f"`{rule.id}`", rule.number, severity, rule.title, rule.why, rule.help, rule.fix)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def lint_clients() -> str:
    """Return a table of all limits; a client that inherits limits names their source."""
    rows = ["| row | limit | beyond it | source | verified |", "|---|---|---|---|---|"]
    for client in read_clients().values():
        of_others = {id(it) for base in client.extends for it in read_clients()[base].limit}
        names = ", ".join(f"`{base}`" for base in client.extends)
        kind = "model API" if client.is_api else "client"
        extends = f"; also the limits of {names}" if names else ""
        rows.append(f"| **`{client.id}`** | {client.title} ({kind}){extends} | | | |")
        for limit in client.limit:
            if id(limit) not in of_others:
                cells = (f"`{limit.id}`", _describe(limit), limit.effect, limit.source)
                rows.append("| " + " | ".join((*cells, limit.verified)) + " |")
    return "\n".join(rows)


def _describe(limit: ClientLimit) -> str:
    if limit.pattern:
        return f"`{limit.pattern}`".replace("|", "\\|")
    if limit.counts is not None:
        around = f" of `{limit.around}`" if limit.around != "{tool}" else ""
        what = limit.counts.replace("all-", "").replace("-", " ")
        return f"{what}{around}: {limit.most:,}"
    return "no " + ", ".join(feature.replace("-", " ") for feature in limit.features)
