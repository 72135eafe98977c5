"""Removal of Markdown and HTML from the descriptions of API documents.

What stands in code stays as it is: `<branch>` in a code span is a placeholder, not a tag.
References to pages that a model cannot open ("For more information, see [Pagination](…)") are
removed as well, since only the text of a link is left of them. All functions are pure.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Final

_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,400}>|<!--.{0,2000}?-->", re.DOTALL)
_ANCHOR: Final = re.compile(
    r"<a\s[^<>]{0,600}?href\s*=\s*[\"']?([^\"'\s<>]{1,600})[^<>]{0,200}>([^<>\[\]]{1,300})</a>",
    re.IGNORECASE,
)
_IMAGE: Final = re.compile(r"!\[([^\]\n]{0,200})\]\([^)\n]{0,600}\)")
_LINK: Final = re.compile(r"\[([^\]]{1,300})\]\([^)\n]{0,600}\)")
_TABLE_LINE: Final = re.compile(r"^[ \t]*\|.*$|^[ \t]*:?-{3,}:?([ \t]*\|[ \t:-]*)+$", re.MULTILINE)
_HEADING: Final = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+(.*?)[ \t]*#*$", re.MULTILINE)
_EMPHASIS: Final = re.compile(r"(([*_])\2)(?=\S)(.{1,300}?)(?<=\S)\1")

# Alerts of GitHub's Markdown, and quotes.
_NOTE: Final = re.compile(r"^[ \t]*>[ \t]*\[!(?:NOTE|TIP)\][ \t]*$", re.MULTILINE | re.IGNORECASE)
_WARNING: Final = re.compile(
    r"^[ \t]*>[ \t]*\[!(?:IMPORTANT|WARNING|CAUTION)\]\s*(?:>[ \t]*)?", re.MULTILINE | re.IGNORECASE
)
_QUOTE: Final = re.compile(r"^[ \t]*>[ \t]", re.MULTILINE)

# The first tick before the look-behind, so that the search skips to it.
_SPAN: Final = (
    r"(?P<ticks>`(?<!``)`{0,2})(?!`)(?:[^\n]|\n(?![ \t]*\n)){1,500}?(?<!`)(?P=ticks)(?!`)"
)
_CODE_SPAN: Final = re.compile(_SPAN)
_CODE: Final = re.compile(
    r"^[ \t]*(?P<fence>```+|~~~+)[^\n`]*\n(?P<block>.*?)(?:^[ \t]*(?P=fence)[ \t]*$|\Z)"
    rf"|{_SPAN}",
    re.MULTILINE | re.DOTALL,
)
_HIDDEN: Final = re.compile("\0([0-9]+)\0")

_TARGET: Final = r"[\"“]?\[[^\]]{1,300}\]\((?!#)[^)\n]{0,600}\)[\"”]?"
_TARGETS: Final = rf"{_TARGET}(?:\s*(?:,|and|or)\s+(?:the\s+)?{_TARGET}){{0,4}}"
_LOOK: Final = r"(?:please\s+)?(?:also\s+)?(?:see|refer\s+to|read|visit|consult|check(?:\s+out)?)"
_MORE: Final = (
    r"for\s+(?:an?\s+)?(?:(?:more|further|additional|other|full|complete|detailed)\s+)?"
    r"(?:information|info|details?|documentation|examples?|guidance|help)"
)
_START: Final = r"(^|[.!?:][\"”)]?\s+|\n[ \t]*(?:[-*][ \t]+)?)"
_END: Final = r"(?:[.!][\"”]?(?=\s|$)|[ \t]*$|(?=[ \t]*\n[ \t]*\n))"
_PAGE: Final = r"(?:section|page|guide|documentation|docs|article|manual|reference|website)"
_SOURCE: Final = rf"(?:\s+(?:in|on)\s+(?:the|our)\s+[\w' -]{{0,40}}?\b{_PAGE}|\s+{_PAGE})?"
_ABOUT: Final = r"(?:[^.!?\[\n]|\n(?![ \t]*\n)){0,160}?"  # within the sentence, before the link

_REFERENCES: Final = (
    # "For more information about X, see [A] and [B] in the manual."
    re.compile(
        rf"{_START}{_MORE}\b{_ABOUT}\b{_LOOK}\s+(?:the\s+|our\s+)?{_TARGETS}"
        rf"{_SOURCE}{_END}",
        re.IGNORECASE | re.MULTILINE,
    ),
    # "See [A] for more details." "Learn more in [A]." "More information: [A]"
    re.compile(
        rf"{_START}(?:(?:please\s+)?(?:also\s+)?(?:see|refer\s+to|check\s+out)|(?:you\s+can\s+)?(?:learn|read|find\s+out)\s+more(?:\s+(?:in|at|on|"
        rf"about|from))?|more\s+(?:information|details?)(?:\s+(?:in|at|on))?|documentation)[: ]\s*"
        rf"(?:the\s+|our\s+)?{_TARGETS}{_SOURCE}"
        rf"(?:,?\s+{_MORE}(?:\s+(?:about|on)\s[^.!?\n]{{1,100}})?|,?\s+to\s+learn\s+more)?{_END}",
        re.IGNORECASE | re.MULTILINE,
    ),
    # "…, for more information, see [A]." as the end of a sentence, "(see [A])" within one
    re.compile(rf"[;,]()\s*{_MORE},?\s+{_LOOK}\s+(?:the\s+)?{_TARGETS}", re.IGNORECASE),
    re.compile(rf"()\s*\(\s*{_LOOK}\s+(?:the\s+)?{_TARGETS}[^()]{{0,40}}\)", re.IGNORECASE),
)
_LOOKING: Final = ("see", "refer", "read", "visit", "consult", "check", "more", "documentation")
"""Words, in lower case, of which each reference has one; a text without them has no reference."""


def remove_markup(text: str, clean: Callable[[str], str]) -> str:
    """Return `text` without HTML, tables, link targets and references; code stays as it is.

    `clean` removes what is invisible. It is applied before code is set aside, and again where
    HTML character references are resolved.
    """
    text = clean(text)
    codes: list[str] = []
    if "```" in text or "~~~" in text:
        text = _CODE.sub(lambda match: _hide(match, codes), text)
    elif "`" in text:
        text = _CODE_SPAN.sub(lambda match: _hide(match, codes), text)
    if "<" in text:
        text = _TAG.sub(" ", _ANCHOR.sub(r"[\2](\1)", text))
    if "&" in text:
        text = "\0".join(map(clean, html.unescape(text).split("\0")))
    if ">" in text:
        text = _QUOTE.sub("", _WARNING.sub("Warning: ", _NOTE.sub("", text)))
    if "[" in text:
        text = _remove_links(text)
    if "|" in text:
        text = _TABLE_LINE.sub("", text)
    if "#" in text:
        text = _HEADING.sub(r"\1:", text)
    if "**" in text or "__" in text:
        text = _EMPHASIS.sub(r"\3", text)
    return _HIDDEN.sub(lambda match: codes[int(match[1])], text) if codes else text


def _hide(match: re.Match[str], codes: list[str]) -> str:
    """Store a code span, or a block without its fences, and return the placeholder for it."""
    codes.append(html.unescape(match[0] if match["ticks"] else match["block"]))
    return f"\0{len(codes) - 1}\0"


def _remove_links(text: str) -> str:
    """Replace images and links by their texts, without sentences that only refer to a link."""
    if "](" not in text:
        return text
    text = _IMAGE.sub(r"\1", text)
    lowered = text.lower()
    if any(word in lowered for word in _LOOKING):
        for reference in _REFERENCES:
            text = reference.sub(r"\1", text)
            if "](" not in text:
                return text
    return _LINK.sub(r"\1", text)
