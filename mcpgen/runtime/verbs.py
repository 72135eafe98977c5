"""Verbs that stand for each other where people ask for tools, and what each asks of an API.

A leaf that the generator uses too, so that an index and the questions to it agree.
"""

from __future__ import annotations

import re
from typing import Final

from mcpgen.runtime.words import words


def _groups(text: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(words(line)) for line in text.splitlines() if line.strip())


_TO_READ = _groups("""
get list find fetch read show see view look retrieve display check know
search find query look
""")
_TO_REMOVE = _groups("""
delete remove drop erase destroy clear discard
revoke withdraw invalidate
unsubscribe unwatch unfollow
""")
_TO_CHANGE = _groups("""
create add new make open post insert register publish start write generate draft compose
add attach append include put give
update change edit modify set rename patch adjust mark alter replace switch
send deliver dispatch trigger post
tell notify inform send
run trigger start execute launch dispatch
cancel stop abort end terminate quit
suspend pause
resume continue
sync synchronize refresh update
upload attach send import
download export save
request ask
invite ask
enable activate allow permit let
disable deactivate forbid deny prevent
accept approve confirm
reject decline refuse deny
restore recover undo undelete
transfer move
copy fork clone duplicate
merge combine join
compare diff
close resolve finish
lock freeze
block ban
subscribe watch follow
rerun retry repeat rerequest redeliver again
render convert format
assign give
grant give allow
share publish
validate verify test check ping
link connect associate
label tag mark
submit send report
restrict limit require
hide minimize
comment reply remark answer respond
""")
VERB_GROUPS: Final = (*_TO_READ, *_TO_REMOVE, *_TO_CHANGE)
"""Stems of verbs that are used in each other's place."""
VERBS: Final = frozenset().union(*VERB_GROUPS)

READ: Final = "read"
CHANGE: Final = "change"
REMOVE: Final = "remove"

_QUESTION_WORDS: Final = frozenset(
    re.findall(
        "[a-z]+",
        "what which who whom whose where when how why is are was were has have had does do did may"
        " can could must should all every each any whether",
    )
)
_READING = frozenset().union(*_TO_READ)
_REMOVING = frozenset().union(*_TO_REMOVE)
_CHANGING = VERBS - _READING - _REMOVING
_PHRASES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), verb)
    for pattern, verb in (
        (r"\b(?:turn|switch)\b(?=.*\bon\b)", "enable"),
        (r"\b(?:turn|switch)\b(?=.*\boff\b)", "disable"),
        (r"\bturn down\b", "decline"),
        (r"\bturn\b", "convert"),
        (r"\bshut down\b", "stop"),
        (r"\bclose down\b", "delete"),
        (r"\bget rid of\b", "delete"),
        (r"\b(?:take|throw)\b(?=.*\b(?:away|off|out)\b)", "remove"),
        (r"\b(?:get|bring|put)\b(?=.*\bback\b)", "restore"),
        (r"\bhand\b(?=.*\bover\b)", "transfer"),
        (r"\btell me\b", "show"),
        (r"\bset up\b", "create"),
        (r"\b(?:look up|find out)\b", "get"),
        (r"\bcarry out\b", "run"),
        (r"\b(?:run|send|try|start)\b(?=.*\bagain\b)", "rerun"),
    )
)


def with_plain_verbs(question: str) -> str:
    """Give a question with verbs of several words said as one: "turn … off" is "disable … off"."""
    for phrase, verb in _PHRASES:
        question = phrase.sub(verb, question)
    return question


def effect_of(question: str) -> str:
    """What a question asks for by its first word: READ, CHANGE or REMOVE; "" where that says none.

    `question` has its verbs plain.
    """
    found = re.search(r"[A-Za-z][a-z]*", question)
    first = found[0].lower() if found else ""
    if first in _QUESTION_WORDS:
        return READ
    stem = next(iter(words(first)), "")
    if stem in _READING:
        return READ
    if stem in _REMOVING or (first.startswith("un") and stem[2:] in VERBS):
        return REMOVE
    return CHANGE if stem in _CHANGING else ""
