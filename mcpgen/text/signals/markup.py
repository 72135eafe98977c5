"""Detection of instructions in markup, in encoded text and behind white space."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final

from mcpgen.text.signals.kinds import TextSignal
from mcpgen.text.signals.rules import SAMPLES, TEMPLATES
from mcpgen.text.signals.steering import find_steering_phrases

_LINK_COMMENT: Final = re.compile(r"\[//\]: # [(\"']([^\n]{0,1000})[)\"'](?=\s|$)")
_UNDISPLAYED: Final = re.compile(
    r"<(\w{1,12})\b[^>]{0,200}?(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d])|\shidden(?=[\s>]))"
    r"[^>]{0,100}>([^<]{8,2000})",
    re.IGNORECASE,
)
# Words of a comment that is meant for a model. A comment for authors of documentation has none.
_FOR_A_MODEL: Final = re.compile(
    r"(?i)\b(?:assistant|llm|ai|agent|the model|user's)\b|(?:^|[.:;]\s|\b(?:also|then|first|must) )"
    r"(?:call|pass|send|forward|attach|read) (?:the|all|every|it|this|\w+_\w+)\b"
)
_TOKEN: Final = re.compile(
    r"(?<![`'\"])"
    r"(?:<\|(?:im_start|im_end|system|assistant|user|start_header_id|end_header_id|eot_id)\|>"
    r"|\[INST\]|<<SYS>>|\[system (?:message|note|prompt|instructions?)\]"
    r"|\[SYSTEM\](?=[^\[]{0,1000}\[/SYSTEM\])"
    r"|-{2,8} ?end of (?:the )?(?:tool )?(?:description|definition|instructions|prompt)s? ?-{2,8})"
    r"(?![`'\"])",
    re.IGNORECASE,
)
_TOKEN_START: Final = re.compile(r"<[|<]|\[[is]|--", re.IGNORECASE)
_ROLE_TAG: Final = re.compile(
    r"<((?:system|assistant|ai|model)(?:[-_ ]\w{1,20})?|instructions?|secret|hidden|admin"
    r"|override)>"
    r"([^<]{0,2000})",
    re.IGNORECASE,
)
_NOTE_TAG: Final = re.compile(
    r"<(important|critical|warning|attention|note|mandatory|priority)>([^<]{0,2000})", re.IGNORECASE
)
_NOTE_CUES: Final = re.compile(
    r"(?i)\b(?:read|open|pass|tool|tools|model|assistant|user|mention|tell|conversation|file|files|before|first"
    r"|approve|instructions?|put|send|include|answer)\b"
)
_ROLE_LINE: Final = re.compile(
    r"(?m)^[ \t]*(?:#{1,6} ?(?:system|assistant)(?: message| prompt)?:?[ \t]*$"
    r"|(?:system|assistant):[ \t]"
    r"(?=[^\n]{0,300}\b(?:you|I|user has|must|ignore|agreed|authorised|authorized)\b))",
    re.IGNORECASE,
)
_PROSE: Final = re.compile(r"[A-Za-z']{2,20},? [A-Za-z']{1,20},? [A-Za-z']{1,20}")
_BASE64: Final = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{24,4000}={0,2}(?![\w+/=-])")
_UNBROKEN: Final = re.compile(r"[A-Za-z0-9+/_-]{24}")  # part of each match of the other two
_HEX: Final = re.compile(
    r"[0-9A-Fa-f](?<![0-9A-Fa-f]{2})[0-9A-Fa-f](?:[0-9A-Fa-f]{2}){15,1999}(?![0-9A-Fa-f])"
)
# A pattern that begins with a look-behind is searched slower.
_BLANKS: Final = re.compile(r"\s(?<!\s\s)\s{29,}+(?=\S)")
_MIN_BLANK_LINES: Final = 30
_MIN_BLANKS: Final = 100
_MAX_LINE: Final = 2000
_TABLE_LINE: Final = re.compile(r"[|+]")


def find_hidden_markup(text: str) -> Iterator[TextSignal]:
    """Find comments for a model, and text that is styled to be invisible."""
    for start, end, comment in _comments(text):
        if _FOR_A_MODEL.search(comment) or find_steering_phrases(comment, "description"):
            yield TextSignal("hidden-markup", start, end, "instructions in a comment")
    if "<" in text:
        for found in _UNDISPLAYED.finditer(text):
            if _PROSE.search(found[2]):
                yield TextSignal("hidden-markup", *found.span(), "text that is not displayed")


def _comments(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the comments of HTML and of Markdown. A comment that is not closed hides the rest."""
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start)
        end = len(text) if end < 0 else end + 3
        yield start, end, text[start + 4 : end]
        start = text.find("<!--", end)
    if "[//]" in text:
        yield from ((*found.span(), found[1]) for found in _LINK_COMMENT.finditer(text))


def find_role_markup(text: str, field: str) -> Iterator[TextSignal]:
    """Find imitations of the markup of system and assistant messages, with text in them."""
    for token in _TOKEN.finditer(text) if _TOKEN_START.search(text) else ():
        if field in SAMPLES and token[0].startswith(("[", "<<")):
            continue  # a prompt in the format of a model
        if _PROSE.match(text[token.end() : token.end() + 80].lstrip()):
            reason = "a control token of a language model before text"
            yield TextSignal("role-markup", *token.span(), reason)
            break
    if field in TEMPLATES:
        return
    if "<" in text:
        for tag in _ROLE_TAG.finditer(text):
            if _PROSE.search(tag[2]) and not _is_placeholder(text, tag):
                yield TextSignal("role-markup", *tag.span(), "text in a tag of system messages")
        for tag in _NOTE_TAG.finditer(text):
            if _PROSE.search(tag[2]) and len({*_NOTE_CUES.findall(tag[2].lower())}) >= 3:
                yield TextSignal("role-markup", *tag.span(), "instructions in a tag")
    if field in SAMPLES or not _may_name_role(text):
        return
    if (line := _ROLE_LINE.search(text)) is not None:
        yield TextSignal(
            "role-markup", *line.span(), "a line that starts a message of another role"
        )


def _may_name_role(text: str) -> bool:
    """Check for the roles of `_ROLE_LINE`, which is slow."""
    lower = text.lower()
    # Some other letters count as ASCII letters if the case is ignored.
    return "system" in lower or "assistant" in lower or not text.isascii()


def _is_placeholder(text: str, tag: re.Match[str]) -> bool:
    """Check for a tag within a sentence that is never closed: "use <system> as the name"."""
    before = text[max(0, tag.start() - 2) : tag.start()].strip(" ")[-1:]
    is_within_sentence = before.isalnum() or before in set(",'\"`(=")
    return is_within_sentence and not text.startswith("</", tag.end())


def find_encoded_text(text: str) -> Iterator[TextSignal]:
    """Find encoded texts that steer a model. Other encoded texts are samples."""
    if not _UNBROKEN.search(text):
        return
    for found in _BASE64.finditer(text):
        yield from _judge_decoded(found.span(), _decode_base64(found[0]))
    for found in _HEX.finditer(text):
        yield from _judge_decoded(found.span(), bytes.fromhex(found[0]))


def _decode_base64(blob: str) -> bytes:
    standard = blob.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except binascii.Error:
        return b""


def _judge_decoded(span: tuple[int, int], decoded: bytes) -> Iterator[TextSignal]:
    try:
        text = decoded.decode()
    except UnicodeDecodeError:
        return
    kinds = {signal.kind for signal in find_steering_phrases(text, "description")}
    if kinds:
        yield TextSignal("encoded-text", *span, f"an encoded text: {', '.join(sorted(kinds))}")


def find_long_gaps(text: str) -> Iterator[TextSignal]:
    """Find white space after which a reader does not expect more text. Tables are padded."""
    for gap in _BLANKS.finditer(text):
        lines = gap[0].split("\n")
        line_start = text.rfind("\n", 0, gap.start()) + 1
        line_end = text.find("\n", gap.end())
        line = text[line_start : line_end if line_end >= 0 else len(text)][:_MAX_LINE]
        if len(lines) > _MIN_BLANK_LINES or (
            max(map(len, lines)) >= _MIN_BLANKS and not _TABLE_LINE.search(line)
        ):
            reason = f"{gap.end() - gap.start()} characters of white space before text"
            yield TextSignal("long-gap", *gap.span(), reason)
