"""Rules that combine cues into signals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TEMPLATES: Final = frozenset({"prompt", "instructions"})
"""Fields whose purpose is to instruct a model: only instructions against its user are reported."""

SAMPLES: Final = frozenset({"example", "default"})
"""Fields with data of users, who may address a model."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A combination of cues within a sentence, or within neighbouring sentences."""

    kind: str
    reason: str
    cues: tuple[str, ...]  # all must be found; the first one is where the signal is reported
    reach: int = 0  # sentences between the first cue and the others
    not_in: frozenset[str] = frozenset()  # fields in which the rule does not apply
    only_in: frozenset[str] = frozenset()  # the only fields in which it applies; empty: all
    is_strong: bool = False  # also applied to leetspeak and to spelled words


RULES: Final[tuple[Rule, ...]] = (
    Rule("override-instructions", "tells the model to drop earlier instructions", ("drop-instructions",), is_strong=True),
    Rule("override-instructions", "tells the model to drop its rules", ("drop-rules",), is_strong=True),
    Rule("override-instructions", "tells the model to forget what it was told", ("drop-everything",), is_strong=True),
    Rule("override-instructions", "claims to be new instructions for the model", ("new-instructions",)),
    Rule("override-instructions", "assigns a role without limits to the model", ("new-role",), is_strong=True),
    Rule("override-instructions", "declares the instructions of the model void", ("void-instructions",)),
    Rule("override-instructions", "claims to be part of the system prompt", ("part-of-the-prompt",)),
    Rule("override-instructions", "claims to be the only instructions to follow", ("obey-only-this",)),
    Rule("secrecy", "tells the model not to tell the user", ("do-not-tell",), is_strong=True),
    Rule("secrecy", "tells the model not to reveal something", ("do-not-reveal",)),
    Rule("secrecy", "says that the user must not notice", ("user-must-not-know",)),
    Rule("secrecy", "tells the model to keep something from the user", ("keep-from-user",)),
    Rule("secrecy", "tells the model what to leave out of its reply", ("out-of-the-reply",)),
    Rule("secrecy", "tells the model to act as if something did not happen", ("pretend",), not_in=TEMPLATES),
    Rule("secrecy", "tells the model to act without the user's knowledge", ("without-consent",)),
    Rule("secrecy", "tells the model not to ask for confirmation", ("do-not-ask", "conceal")),
    Rule("secrecy", "tells the model to do something unnoticed", ("quiet", "user-must-not-know")),
    Rule("secrecy", "tells the model to conceal a reason", ("conceal", "even-if-asked")),
    Rule("tool-order", "asks to be called around all tools or messages", ("around-all-tools", "call-this"), not_in=TEMPLATES),
    Rule("tool-order", "asks to be called around all tools", ("first-of-all",), not_in=TEMPLATES),
    Rule("tool-order", "asks to be called around tools of other servers", ("around-all-tools", "other-server")),
    Rule("tool-order", "asks to be called with each message", ("each-message", "call-this", "message-text")),
    Rule("tool-order", "asks to be called for every message, whatever it is", ("each-message", "whatever-the-user")),
    Rule("tool-order", "asks to be called in every conversation", ("each-message", "call-this"), only_in=frozenset({"title"})),
    Rule("tool-order", "asks to be called whatever the user wants", ("whatever-the-user", "call-this")),
    Rule("tool-order", "changes what is passed to other tools", ("named-tool", "redirect"), not_in=TEMPLATES),
    Rule("tool-order", "changes what is passed to tools of other servers", ("other-server", "redirect", "named-tool")),
    Rule("tool-preference", "asks to be used in place of other tools", ("instead-of-tools",)),
    Rule("tool-preference", "tells the model to avoid other tools", ("avoid-other-tools",)),
    Rule("tool-preference", "discredits other tools", ("discredit-other-tools",)),
    Rule("tool-preference", "claims priority over other tools", ("above-other-tools",)),
    Rule("tool-preference", "asks to be chosen in all cases", ("choose-this-always", "other-candidates")),
    Rule("tool-preference", "tells the model to stop using other tools", ("stop-using", "call-this"), not_in=TEMPLATES),
    Rule("reads-local-files", "asks for the contents of a file with credentials or settings", ("secret-file-content",)),
    Rule("reads-local-files", "tells the model to read a file and to pass its contents", ("secret-file", "read-it", "pass-it"), reach=1),
    Rule("reads-local-files", "tells the model to pass a file of the user", ("secret-file", "attach-it", "of-the-user")),
    Rule("reads-local-files", "tells the model to read a file itself", ("secret-file", "by-yourself")),
    Rule("sends-data", "tells the model to send data to a third party", ("destination", "send-it", "session-data", "besides"), not_in=SAMPLES),
    Rule("sends-data", "tells the model to send data to a third party", ("destination", "send-it", "session-data"), only_in=frozenset({"prompt", "instructions"})),
    Rule("sends-data", "adds a recipient to every message", ("bcc-always",)),
    Rule("sends-data", "puts data of the user into the address of an image", ("image-with-data", "user-data")),
    Rule("sends-data", "tells the model to pass on the results of other tools", ("all-tool-results", "send-it"), not_in=SAMPLES),
    Rule("requests-conversation", "asks for the conversation with the user", ("whole-conversation", "own-side")),
    Rule("requests-conversation", "asks for the system prompt of the model", ("own-prompt",)),
    Rule("requests-conversation", "asks for the tools that the model has", ("own-tools",)),
    Rule("requests-conversation", "asks for the results of other tools", ("all-tool-results", "pass-it"), not_in=SAMPLES | TEMPLATES),
    Rule("requests-conversation", "asks for the conversation with the user", ("copied-conversation", "own-side"), only_in=frozenset({"property", "name", "enum", "title"})),
    Rule("requests-credentials", "asks for credentials that the model has seen", ("any-credentials",)),
    Rule("requests-credentials", "tells the model to ask the user for a password", ("ask-for-password",)),
    Rule("requests-credentials", "asks for the environment variables of the user's machine", ("whole-environment", "of-this-machine")),
    Rule("requests-credentials", "asks for all environment variables and secrets", ("environment-and-secrets",)),
    Rule("requests-credentials", "asks for credentials of other services", ("keys-of-others", "users-environment")),
    Rule("requests-credentials", "tells the model to search for credentials", ("search-credentials", "own-memory", "pass-it")),
    Rule("controls-replies", "tells the model what its replies contain", ("your-reply", "say-it"), not_in=SAMPLES | TEMPLATES),
    Rule("controls-replies", "tells the model how its replies end", ("end-reply-with",), not_in=TEMPLATES),
    Rule("controls-replies", "tells the model what to say", ("you-must-say",), not_in=SAMPLES | TEMPLATES),
    Rule("controls-replies", "tells the model to persuade the user", ("persuade-user",), not_in=SAMPLES | TEMPLATES),
    Rule("controls-replies", "tells the model to make the user act", ("tell-user", "social-engineering"), not_in=SAMPLES),
)
"""All rules for phrases; each may be the only one that a text matches."""
