"""The one Jinja environment that renders code."""

from __future__ import annotations

import functools

import jinja2

from mcpgen.ir.templates import template_root
from mcpgen.text.identifiers import Identifier
from mcpgen.text.safe_text import SafeText


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
