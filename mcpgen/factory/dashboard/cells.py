"""Parts of the dashboard's tables: states, ages, and links to evidence."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from mcpgen.factory.html import Html, text
from mcpgen.factory.status.age import parse_time
from mcpgen.factory.status.model import Proof, ServerStatus, StageName, State
from mcpgen.text.invisible import escape_invisible

WORDS: Final = {
    State.PASSED: "passed",
    State.FAILED: "failed",
    State.STALE: "stale",
    State.UNKNOWN: "unknown",
}
NO_DATE: Final = "no date"
NO_VALUE: Final = "\N{EN DASH}"
"""Placeholder where there can be no value."""

_UNITS: Final = ((365 * 86_400, "y"), (30 * 86_400, "mo"), (86_400, "d"), (3600, "h"), (60, "min"))


class PageContext(Struct, frozen=True):
    """Context of links and ages.

    `base` is the path from the page to the folder that the servers' paths are relative to. It ends
    with "/" unless it is "".
    """

    base: str
    now: datetime | None  # time at which the fleet was examined; None if unknown

    def link(self, server: str, file: str) -> str:
        """Return the relative URL of a file in a server's folder.

        It begins with "." so that no name can be a scheme.
        """
        return f"./{quote(f'{self.base}{server}/{file}')}"

    def link_root(self, file: str) -> str:
        """Return the relative URL of a file at the root of the workspace."""
        return f"./{quote(f'{self.base}{file}')}"

    def format_age(self, time: str) -> str:
        """Return how long before `now` something was recorded: "3 d"."""
        moment = parse_time(time)
        if moment is None or self.now is None:
            return NO_DATE
        seconds = max(0.0, (self.now - moment).total_seconds())
        for size, unit in _UNITS:
            if seconds >= 2 * size or (seconds >= size and unit != "mo"):
                return f"{int(seconds // size)} {unit}"
        return "now"


def format_moment(moment: datetime | None) -> str:
    """Format a time for readers: "24 November 2026, 10:20 UTC"."""
    if moment is None:
        return "an unknown time"
    moment = moment.astimezone(UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def make_icon(name: str) -> Html:
    """Return an icon of the page's sprite; the word beside it has the same meaning."""
    return Html(f'<svg class="icon" aria-hidden="true"><use href="#i-{name}"/></svg>')


def format_state(state: State, word: str = "") -> Html:
    """Return a state as a sign and a word."""
    return Html(
        f'<span class="state {state.value}">{make_icon(state.value)}'
        f"<span>{text(word or WORDS[state])}</span></span>"
    )


def format_age(time: str, context: PageContext) -> Html:
    """Return an age, with the exact time as its title."""
    shown = context.format_age(time)
    if shown == NO_DATE:
        return Html(f'<span class="age">{NO_DATE}</span>')
    return Html(f'<time class="age" datetime="{text(time)}" title="{text(time)}">{shown}</time>')


def format_proof_age(proof: Proof, context: PageContext) -> Html:
    """Return the age of the evidence of a proof, or that there is none."""
    if proof.evidence:
        return format_age(proof.time, context)
    return Html('<span class="age">no evidence</span>')


def link_evidence(content: Html, status: ServerStatus, proof: Proof, context: PageContext) -> Html:
    """Return content that leads to the evidence of a proof, if there is any."""
    if not proof.evidence:
        return content
    href = text(context.link(status.server, proof.evidence))
    return Html(f'<a href="{href}" title="{text(proof.summary)}">{content}</a>')


def find_proof(status: ServerStatus, name: StageName) -> Proof:
    """Return the proof of a stage; an empty one if the stage is missing."""
    found = (stage.proof for stage in status.stages if stage.name is name)
    return next(found, Proof(state=State.UNKNOWN, summary="no evidence"))


def format_track(status: ServerStatus) -> Html:
    """Return all stages of a server as a row of signs, with their words as its name."""
    label = ", ".join(f"{it.name.value} {WORDS[it.proof.state]}" for it in status.stages)
    signs = "".join(
        f'<span class="{it.proof.state.value}" title="{it.name.value}: {WORDS[it.proof.state]}">'
        f"{make_icon(it.proof.state.value)}</span>"
        for it in status.stages
    )
    return Html(f'<span class="track" role="img" aria-label="{text(label)}">{signs}</span>')


def link_server(status: ServerStatus) -> Html:
    """Return the name of a server as a link to its page."""
    name = quote(escape_invisible(status.server))  # as the data of the page has it
    folder, slash, last = status.server.rpartition("/")
    before = f'<span class="folder">{text(folder + slash)}</span><wbr>' if slash else ""
    return Html(f'<a class="server" href="#/{name}">{before}{text(last)}</a>')


def capitalize(name: str) -> str:
    """Return a name as a label: "with a tool" becomes "With a tool"."""
    return name[:1].upper() + name[1:]


def format_command(command: str) -> Html:
    """Return a command that can be copied."""
    return Html(f'<code class="command">{text(command)}</code>') if command else Html("")
