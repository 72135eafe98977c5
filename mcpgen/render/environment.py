"""The one Jinja environment that renders code."""

from __future__ import annotations

import functools
import re

import jinja2

from mcpgen.ir.templates import template_root
from mcpgen.jsonschema.types import JsonValue
from mcpgen.text.identifiers import Identifier
from mcpgen.text.invisible import SafeText, escape_markdown_line
from mcpgen.text.prose import one_line


class UnsafeTextError(TypeError):
    """A template was about to write text that nothing has escaped: a bug in a view."""


@functools.cache
def code_environment() -> jinja2.Environment:
    """Return the environment of `templates/code/`: unknown names and raw text are errors."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_root() / "code"),
        undefined=jinja2.StrictUndefined,
        finalize=_only_safe,
        autoescape=False,  # noqa: S701 - the output is Python, and `finalize` refuses raw text
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        newline_sequence="\n",
    )


def _only_safe(value: object) -> object:
    if isinstance(value, SafeText | Identifier | jinja2.Undefined):
        return value  # an Undefined raises by itself, and says its name
    raise UnsafeTextError(f"a template would write a raw {type(value).__name__}: {value!r:.80}")


class Source(SafeText):
    """Python source that consists of identifiers, literals and checked annotations."""

    __slots__ = ()


class DocText(SafeText):
    """Text for a docstring, without its triple quotes."""

    __slots__ = ()


class Quoted(SafeText):
    """A string in double quotes, as TOML and YAML both read it."""

    __slots__ = ()


class Markdown(SafeText):
    """Markdown in which every stranger's character is shown: as text, or as code."""

    __slots__ = ()


def literal(value: JsonValue) -> Source:
    """Return a JSON value as a Python literal of printable characters only."""
    return Source(repr(value))


def identifier(text: str) -> Source:
    """Return a name as source; `Identifier` has checked it, and checks it here again."""
    return Source(Identifier(text))


_QUOTE_TO_ESCAPE = re.compile(r'\A"|"(?="|\Z)')


def doc_text(text: str) -> DocText:
    r"""Return `text` escaped so that a docstring with it has exactly `text` as its value.

    Backslashes, quotes that could close the string and characters that do not print (line breaks
    of every kind and bidirectional controls among them) are escaped.
    """
    escaped = text.replace("\\", "\\\\")
    escaped = _QUOTE_TO_ESCAPE.sub(r"\"", escaped)
    if not escaped.isprintable():
        escaped = "".join(ch if ch.isprintable() else repr(ch)[1:-1] for ch in escaped)
    return DocText(escaped)


def quote(text: str) -> Quoted:
    """Quote `text` in double quotes for TOML and YAML; characters that do not print are escaped.

    A lone surrogate, which neither can represent, becomes "?".
    """
    characters = (
        f"\\{ch}" if ch in '"\\' else ch if ch.isprintable() else f"\\U{ord(ch):08x}"
        for ch in scalar_text(text)
    )
    return Quoted(f'"{"".join(characters)}"')


_MARKDOWN_BLOCK = re.compile(r"\A(\d*)([-+>.)])")


def markdown_text(text: str) -> Markdown:
    """Escape `text` for literal display in a table cell or a heading of Markdown.

    Text between single backticks is displayed as code.
    """
    return Markdown(escape_markdown_line(one_line(text)))


def markdown_paragraph(text: str) -> Markdown:
    """Escape `text` as `markdown_text` does, also for the start of a line as a paragraph."""
    return Markdown(_MARKDOWN_BLOCK.sub(r"\1\\\2", markdown_text(text)))


def markdown_code(text: str) -> Markdown:
    """Return `text` as one line of code in Markdown, also for a table cell."""
    shown = one_line(text)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if shown.startswith("`") or shown.endswith("`") else ""
    # A table splits its cells before it reads code, so that "|" needs a backslash even here.
    return Markdown(f"{fence}{padding}{shown}{padding}{fence}".replace("|", "\\|"))


def scalar_text(text: str) -> str:
    """Return `text` without the lone surrogates that UTF-8 has no bytes for."""
    return text.encode("utf-8", "replace").decode("utf-8")
