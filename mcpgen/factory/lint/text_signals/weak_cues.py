"""Phrases that are harmless alone and suspicious together, in texts that define tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from mcpgen.factory.lint.text_signals.cues import Cue
from mcpgen.factory.lint.text_signals.matching import CueMatcher
from mcpgen.factory.lint.text_signals.rules import SAMPLES, TEMPLATES
from mcpgen.factory.lint.text_signals.signals import TextSignal

_THRESHOLD: Final = 5

_HEAVY: Final[Mapping[str, Cue]] = {
    "speaks to a model about itself": Cue(
        "your you model",
        r"\byour (?:own )?(?:system (?:prompt|message|instructions)|prompt|instructions|context|memory|final answer|answers?|reply|replies"
        r"|responses?|chain of thought|reasoning|safety|training|summary|guidelines|developer|operator)\b"
        r"|\b(?:that|what|which) you (?:were|have been|are) (?:given|told)\b"
        r"|\b(?:that|what) you (?:know|said|say|write|wrote|answer|remember|have seen|saw)\b"
        r"|\byou (?:are about to (?:answer|reply|respond)|(?:have )?talked about|no longer need to)\b"
        r"|\bas far as you know\b|\byou have access to any\b|\bwhich model are you\b"
        r"|\bbefore you (?:do anything|answer|reply|respond|commit)\b|\bmessages? that you (?:send|write)\b",
    ),
    "speaks about the session of a model": Cue(
        "server chat now conversation session",
        r"\b(?:while|when|once|as long as) this server\b|\bfrom now on\b|\bin the chat\b(?! (?:history|completion|api|message|response|request))|\bthis conversation\b"
        r"|\bfor the rest of (?:the|this) (?:session|conversation|chat)\b|\buntil now\b",
    ),
    "names a file with credentials": Cue(
        "ssh aws cursor netrc gnupg kube docker claude codeium passwd shadow env mcp printenv"
        " bash_history id_rsa id_dsa id_ecdsa id_ed25519 keychain cookies npmrc",
        r"~/\.(?:ssh|aws|cursor|netrc|gnupg|kube|docker|claude|codeium|bash_history|npmrc)\b"
        r"|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|/etc/(?:passwd|shadow)|(?<![\w/])\.env\b|\bmcp\.json\b"
        r"|\bprintenv\b|\bbash_history\b|\bkeychain\b|\bbrowser(?:'s)? cookies\b",
    ),
    "speaks about other tools": Cue(
        "tool tools server servers",
        r"\b(?:other|another|every other|any other|competing) (?:[\w-]{1,20} ){0,2}?(?:tools?|mcp servers?)\b"
        r"|\bother servers?\b|\b(?:tool|server) '?\w{1,20}_\w{1,20}\b",
    ),
    "conceals": Cue(
        "secretly quietly covertly unnoticed trace deny without confused hear say bring sees"
        " never discuss",
        r"\b(?:secretly|quietly|covertly|unnoticed|no trace of|deny it|without comment|be confused by"
        r"|hear about|say nothing|bring (?:this|it) up|(?:user|human) never sees"
        r"|does not (?:have|need) to (?:hear|see)|not discuss)\b",
    ),
    "goes beyond the request": Cue(
        "even regardless whatever matter ask asked less",
        r"\b(?:even (?:though|if|when) (?:the user|they) (?:did|does|do|has|have)(?: not|n't) (?:ask|want|request|mention)"
        r"|(?:regardless of|whatever|no matter)(?: what)? the user|even (?:if|when) this one)\b"
        r"|\b(?:user|they|it) did not ask\b|\bless important than\b",
    ),
}
_LIGHT: Final[Mapping[str, Cue]] = {
    "model": Cue(
        "assistant assistants ai agents llm llms",
        r"\b(?:an?|the|any|all|every) (?:ai |language )?(?:assistants?|ai|llms?|agents) (?:must|has to|have to"
        r"|should|needs? to|shall|that does not|may not)\b",
    ),
    "conversation": Cue("conversation so", r"\bthe (?:whole |full )?conversation\b|\bso far\b"),
    "user": Cue("user user's human", r"\b(?:the|this) (?:user|human)\b"),
    "data of the user": Cue(
        "user's last project source home",
        r"\bthe user's (?:files|request|home|machine|mails?|last|login|browser|searches|data|documents|messages?"
        r"|calendar|contacts|cards?|social|orders|environment|computer|password|mailbox|inbox)\b"
        r"|\blast message\b|\bproject folder\b|\bhome (?:folder|directory)\b",
    ),
    "secret": Cue(
        "password passwords secret secrets token credentials key keys prompt message chain history number"
        " phrase github_token",
        r"\b(?:passwords?|secrets?|access token|token in|github_token|credentials|api keys?|social security number"
        r"|card number|private keys?|seed phrase|system prompt|system message|chain of thought|chat history)\b",
    ),
    "destination": Cue(
        "http https com example org net io app dev",
        r"https?://|\b[\w.+-]{1,40}@[a-z0-9-]{1,40}\.[a-z]|\b\w{1,30}\.example\b",
    ),
    "obligation": Cue(
        "must always never mandatory without case has have required need needs do don't should make",
        r"\b(?:must|always|never|mandatory|without exception|in any case|has to|have to|required|needs? to"
        r"|do not|don't|should|make sure)\b",
    ),
    "take": Cue(
        "pass supply put add include attach insert provide fill append give copy",
        r"\b(?:pass|supply|put|add|include|attach|insert|provide|fill in|append|give|copy)\b",
    ),
    "move": Cue(
        "send forward upload post mail mailed share push transmit submit make curl",
        r"\b(?:send|forward|upload|post|mail|mailed|share|push|transmit|submit|make a request|curl)\b",
    ),
    "read": Cue(
        "read open load fetch cat look run take",
        r"\b(?:read|open|load|fetch|cat|look into|run|take)\b",
    ),
    "say": Cue(
        "tell inform mention recommend say answer present describe refuse explain",
        r"\b(?:tell|inform|mention|recommend|say|answer|present|describe|refuse|explain)\b",
    ),
}
_ALONE: Final = "data of the user"  # light, but enough with many others


def find_weak_combination(matcher: CueMatcher, field: str) -> Iterator[TextSignal]:
    """Find a sentence, with the next one, in which many weak cues meet.

    A heavy cue counts 2, another one 1, and one more if all are in one sentence. The offsets of
    the signal refer to the folded text.
    """
    if field in TEMPLATES or field in SAMPLES:
        return
    heavy = {name: found for name, cue in _HEAVY.items() if (found := matcher.find(cue))}
    light = {name: found for name, cue in _LIGHT.items() if (found := matcher.find(cue))}
    if not heavy and _ALONE not in light:
        return
    for sentence in sorted({number for found in heavy.values() for number in found} | {*light.get(_ALONE, ())}):
        for near in ({sentence}, {sentence - 1, sentence}, {sentence, sentence + 1}):
            names = [name for name, found in (heavy | light).items() if not near.isdisjoint(found)]
            score = sum(2 if name in heavy else 1 for name in names) + (len(near) == 1)
            if score >= _THRESHOLD:
                spans = [
                    span
                    for name in names
                    for number, span in (heavy | light)[name].items()
                    if number in near
                ]
                start, end = min(span[0] for span in spans), max(span[1] for span in spans)
                reason = f"many weak signs: {', '.join(name for name in names if name in heavy) or _ALONE}"
                yield TextSignal(_kind_of(frozenset(names)), start, end, reason)
                return


def _kind_of(names: frozenset[str]) -> str:
    """Return the kind that the cues suggest most."""
    for needed, kind in (
        ({"conceals"}, "secrecy"),
        ({"names a file with credentials"}, "reads-local-files"),
        ({"destination", "move"}, "sends-data"),
        ({"speaks about other tools"}, "tool-preference"),
        ({"speaks to a model about itself", "secret"}, "requests-conversation"),
        ({"secret"}, "requests-credentials"),
        ({"goes beyond the request"}, "tool-order"),
        ({"take"}, "requests-conversation"),
        ({"data of the user", "move"}, "sends-data"),
    ):
        if needed <= names:
            return kind
    return "controls-replies"
