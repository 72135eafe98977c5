"""Tables of the requirements that `mcpgen validate` checks, by section of the specification."""

from __future__ import annotations

from mcpgen.factory.validate.requirements import Requirement, read_requirements

_TRANSPORTS = {"any": "", "http": "Streamable HTTP", "sse": "HTTP+SSE", "stdio": "stdio"}


def requirement_tables() -> str:
    """Return a table for each section, then the rows that cannot be observed."""
    table = read_requirements()
    sections: dict[str, list[Requirement]] = {}
    for requirement in table.requirement:
        sections.setdefault(requirement.section, []).append(requirement)
    parts = [_section(title, found) for title, found in sections.items()]
    reasons = "\n".join(f"| {row} | {why} |" for row, why in sorted(table.unobservable.items()))
    parts.append(f"## Not observable\n\n| row | reason |\n|---|---|\n{reasons}")
    return "\n\n".join(parts)


def _section(title: str, requirements: list[Requirement]) -> str:
    rows = "\n".join(map(_row, requirements))
    return f"## {title}\n\n| id | level | applies to | requirement |\n|---|---|---|---|\n{rows}"


def _row(requirement: Requirement) -> str:
    first, last = requirement.since, requirement.until
    revisions = first if first == last else f"{first} to {last}"
    capability = requirement.applies_if.replace("|", "` or `")
    applies = ", ".join(
        filter(
            None,
            (revisions, _TRANSPORTS[requirement.transport], capability and f"`{capability}`"),
        )
    )
    text = requirement.requirement.replace("|", "\\|")
    return f"| `{requirement.id}` | {requirement.level.upper()} | {applies} | {text} |"
