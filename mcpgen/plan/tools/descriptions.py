"""Titles and descriptions of tools, and the `instructions` of the server."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from mcpgen.ir.api import ApiInfo, Operation
from mcpgen.ir.manifest_entries import OperationEntry
from mcpgen.ir.portable_profile import MAX_DESCRIPTION, MAX_INSTRUCTIONS, MIN_DESCRIPTION
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan
from mcpgen.plan.naming.words import is_latin
from mcpgen.plan.tools.identifier_sources import find_lists
from mcpgen.search.words import words
from mcpgen.text.prose import (
    SENTENCE_END,
    plain_line,
    plain_text,
    shorten_at_sentence,
    split_sentences,
)

DELETE_NOTE = "Destructive: what it removes may not come back."
_MAX_TITLE = 80


def write_tool_title(operation: Operation, name: str) -> str:
    """Return a short title for users: the summary, else the words of the tool's name.

    If the document's name has other than Latin letters, it is used instead of the tool's.
    """
    summary = plain_line(operation.summary).rstrip(".")
    if not summary and not is_latin(operation.operation_id):
        summary = plain_line(operation.operation_id)
    return shorten_at_sentence(summary or name.replace("_", " ").capitalize(), _MAX_TITLE)


def prefix_wire_name(text: str, wire_name: str) -> str:
    """Return the description of an argument with its name in the API before it."""
    return f"`{plain_line(wire_name)}`: {text}".removesuffix(": ")


_SCOPES = re.compile(
    r"\btokens?\b.{0,200}\b(?:needs?|requires?|must have)\b.{0,120}\b(?:scopes?|permissions?)\b"
    r"|\b(?:needs?|requires?) (?:the |an? )?(?:OAuth )?scopes?\b|^(?:required |oauth )+scopes?\b",
    re.IGNORECASE,
)
_LEAST_REPEATED = 3
_CODE_SPAN = re.compile(r"`[^`]*`")
_SYNONYMOUS = frozenset({"fetch", "get", "list", "obtain", "read", "retriev", "return", "show"})


def find_scope_sentences(operations: Iterable[Operation]) -> frozenset[str]:
    """Return the sentences on scopes of tokens that three or more descriptions repeat.

    A model cannot act on them: who sets up the credentials reads them in the API's documentation.
    Sentences that differ only in their code spans are the same, and are returned without them.
    """
    counts = Counter(
        _CODE_SPAN.sub("`", sentence)
        for operation in operations
        if "scope" in operation.description or "permission" in operation.description
        for line in plain_text(operation.description).splitlines()
        if _mentions_scopes(line)
        for sentence in split_sentences(line)
        if _mentions_scopes(sentence) and _SCOPES.search(sentence)
    )
    return frozenset(sentence for sentence, count in counts.items() if count >= _LEAST_REPEATED)


def _mentions_scopes(text: str) -> bool:
    lowered = text.lower()
    return "scope" in lowered or "permission" in lowered


def _remove_sentences(text: str, removed: frozenset[str]) -> str:
    if not any(sentence.partition("`")[0] in text for sentence in removed):
        return text
    lines = (
        " ".join(
            sentence
            for sentence in split_sentences(line)
            if _CODE_SPAN.sub("`", sentence) not in removed
        )
        for line in text.splitlines()
    )
    return "\n".join(filter(None, lines))


def write_tool_description(
    operation: Operation,
    notes: tuple[str, ...],
    entry: OperationEntry,
    scope_sentences: frozenset[str] = frozenset(),
) -> str:
    """Return the summary, the details and the `notes`; at most 1024 characters.

    The manifest's `entry` replaces the document's text, or adds to it. `scope_sentences` are the
    result of `find_scope_sentences`.
    """
    summary = plain_line(operation.summary)
    details = _remove_sentences(plain_text(operation.description), scope_sentences)
    if entry.description:
        summary, details = "", plain_text(entry.description)
    if entry.append:
        notes = (*notes, plain_line(entry.append))
    summary, details = _drop_repetition(summary, details)
    if not summary:
        summary = f"Calls `{operation.key}`"
    purpose = summary if summary[-1] in ".!?" else summary + "."
    marks = ["[deprecated]"] if operation.deprecated else []
    ending = [*notes]
    if operation.method == "DELETE":
        ending.insert(0, DELETE_NOTE)
    room = MAX_DESCRIPTION - sum(len(part) + 1 for part in (*marks, *ending))
    text = shorten_at_sentence(f"{purpose}\n{details}" if details else purpose, max(room, 80))
    if len(text) < MIN_DESCRIPTION and operation.key not in text:
        text = f"{text.rstrip('.')} (`{operation.key}`)."
    return shorten_at_sentence(" ".join((*marks, text, *ending)), MAX_DESCRIPTION)


def _drop_repetition(summary: str, details: str) -> tuple[str, str]:
    """Return the purpose and the text after it, without repetition of one in the other."""
    first, rest = _split_purpose(details)
    if not summary or not first:
        return (summary, details) if summary.strip(".") else (first, rest)
    in_summary, in_first = words(summary), words(first)
    if not in_summary or not in_first:  # not English
        are_equal = summary.rstrip(".").lower() == first.rstrip(".").lower()
        return (summary, rest) if are_equal else (summary, details)
    begins_alike = in_summary[0] == in_first[0] or {in_summary[0], in_first[0]} <= _SYNONYMOUS
    if begins_alike and set(in_first[1:]) <= set(in_summary):
        return summary, rest
    if begins_alike and set(in_summary[1:]) <= set(in_first):
        return first, rest
    return summary, details


def _split_purpose(details: str) -> tuple[str, str]:
    line, _, rest = details.partition("\n")
    end = SENTENCE_END.search(line)
    if end is None:
        return line, rest
    return line[: end.end()], (line[end.end() :].strip() + "\n" + rest).strip()


_MAX_ABOUT = 700
_LEAST_ABOUT = 100  # for each of several documents
_MAX_NAMED = 8
_MAX_ALTERNATIVES = 3
_MAX_NAME = 40
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(
    r"^[ \t]{0,3}#{1,6}[ \t].*$|^[^\n]+\n[ \t]*(=|-){2,}[ \t]*$|<h[1-6][^>]*>.*?</h[1-6]>",
    re.MULTILINE | re.IGNORECASE,
)
_WORD = re.compile(r"\w+")


def write_instructions(plan: ServerPlan) -> str:
    """Return the document's description of the API and how to begin; at most 2,048 characters."""
    guide = shorten_at_sentence("\n".join(_write_guide(plan)), MAX_INSTRUCTIONS - _MAX_ABOUT - 1)
    return "\n".join(filter(None, (*_describe_apis(plan), guide)))


def _describe_apis(plan: ServerPlan) -> list[str]:
    """Return the documents' descriptions, or else the tags and titles of the tools."""
    infos = plan.api.infos
    room = _MAX_ABOUT // max(1, len(infos)) - 1
    descriptions = [
        shorten_at_sentence(f"About the API{_of(info.title, len(infos))}: {text}", room)
        for info in infos[: _MAX_ABOUT // _LEAST_ABOUT]
        if (text := _quote_document(info, plan.title))
    ]
    return descriptions or [_describe_tools(plan)]


def _of(title: str, documents: int) -> str:
    title = shorten_at_sentence(plain_line(title), _MAX_NAME)
    return f" {title}" if title and documents > 1 else ""


def _quote_document(info: ApiInfo, title: str) -> str:
    """Return the summary and the description of a document, without repetitions of the title.

    They are one line, so that they cannot imitate the text that follows.
    """
    known = {_list_words(title), _list_words(info.title), ()}
    sentences: list[str] = []
    for text in (info.summary, _HEADING.sub("", _FENCED.sub("", info.description))):
        for sentence in split_sentences(plain_line(text)):
            words = _list_words(sentence)
            if words not in known:
                sentences.append(sentence if sentence[-1] in ".!?。…" else f"{sentence}.")
                known.add(words)
    return " ".join(sentences)


def _list_words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower()))


def _describe_tools(plan: ServerPlan) -> str:
    tags = [
        plain_line(group.tag)
        for group in plan.groups
        if any(tool.operation.tags for tool in group.listed_tools)
    ]
    if len(tags) > 1:
        return f"What the tools are about: {_format_names(tags, quote='')}."
    titles = [tool.title for tool in plan.listed_tools]
    return f"What the tools do: {_format_names(titles, quote='')}." if titles else ""


def _write_guide(plan: ServerPlan) -> Iterator[str]:
    tools = plan.listed_tools
    if plan.search is not None:
        it = plan.search
        use = f"read its arguments with `{it.describe}`, and run it with `{it.call}`."
        if it.run:
            use = (
                f"read it as a Python function with `{it.describe}`, and call it with `{it.call}`, "
                f"or several of them at once in `{it.run}`."
            )
        yield (
            f"How to begin: most of the {len(tools) + len(plan.workflows):,} tools are not listed. "
            f"Find one with `{it.search}` by what you want to do, {use}"
        )
        if plan.toolsets:
            names = _format_names([toolset.name for toolset in plan.toolsets])
            yield f"The user can have whole toolsets listed with `--toolset`: {names}."
    if plan.workflows:
        names = _format_names([workflow.name for workflow in plan.workflows])
        yield f"Several calls in one, to be preferred where they fit: {names}."
    if sources := _find_identifier_sources(tools):
        yield f"Where identifiers come from: {'; '.join(sources)}."
    if paged := [tool.name for tool in tools if tool.pagination is not None]:
        yield f"Lists come in pages; `max_pages` joins several in one call: {_format_names(paged)}."
    if asking := [tool.name for tool in tools if tool.policies.confirm]:
        yield f"The user is asked before anything is sent: {_format_names(asking)}."


def _format_names(names: Sequence[str], quote: str = "`") -> str:
    shown = [f"{quote}{shorten_at_sentence(name, _MAX_NAME)}{quote}" for name in names[:_MAX_NAMED]]
    more = len(names) - _MAX_NAMED
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _find_identifier_sources(tools: Iterable[ToolPlan]) -> list[str]:
    """Return the lists that contain the values of arguments, those for most tools first."""
    uses = find_lists(tools)
    ordered = sorted(uses, key=lambda argument: (-uses[argument].total(), argument))
    return [
        f"`{argument}` from {_format_alternatives(uses[argument])}"
        for argument in ordered[:_MAX_NAMED]
    ]


def _format_alternatives(lists: Counter[str]) -> str:
    """Format the names of the lists that most tools need."""
    ordered = sorted(lists, key=lambda name: (-lists[name], name))
    shown = [f"`{name}`" for name in ordered[:_MAX_ALTERNATIVES]]
    others = len(ordered) - len(shown)
    if others:
        return ", ".join(shown) + f" or {others:,} more"
    return " or ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
