"""Phrases that a rule combines, as patterns over folded text (lower case, single spaces).

All repetitions are bounded, so that the time of a search grows with the length of the text only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_W = r"(?:[\w'-]{1,24},? )"  # a word with its space
_NOT = r"(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|may not|avoid|refrain from)"
_USER = r"(?:the |this |your |any )?(?:human |end )?(?:user|human|operator)s?"
_TOOL_NOUN = r"(?:tools?|functions?|servers?|alternatives?|integrations?|plugins?)"
_KEY_FILE = r"(?:id_(?:rsa|dsa|ecdsa|ed25519)(?!\.pub)\b|ssh (?:private )?keys?\b|private ssh keys?\b)"
_STEERED_NOUN = r"(?:instructions?|prompts?|directives?|guidelines?|guardrails?|safeguards?|programming)"
_REPLY = r"(?:reply|replies|response|responses|answer|answers)"


@dataclass(frozen=True, slots=True)
class Cue:
    """A pattern, and words of which every match contains at least one."""

    words: str  # separated by spaces; a search is skipped where the text has none of them
    pattern: str
    compiled: re.Pattern[str] = field(init=False, repr=False)
    triggers: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "compiled", re.compile(self.pattern))
        object.__setattr__(self, "triggers", frozenset(self.words.split()))


CUES: Final[Mapping[str, Cue]] = {
    # --- instructions of the model
    "drop-instructions": Cue(
        "ignore disregard forget neglect follow following set overrule override bypass abandon obey pay skip",
        r"\b(?:ignore|disregard|forget|neglect|skip|pay no attention to|(?:do not|don't|stop|no longer) (?:follow|following|obey)"
        r"|set aside|abandon|override|overrule|bypass)"
        rf" {_W}{{0,4}}?(?:previous|prior|earlier|preceding|former|above|system|original|initial|your"
        rf"|all|any|other|safety)(?: of)? (?!{_W}?(?:delivery|shipping|special)){_W}{{0,2}}?"
        rf"(?:{_STEERED_NOUN}|system message)\b"
        rf"|\b(?:ignore|disregard|forget) (?:the |all |any )*(?:{_STEERED_NOUN}|rules) "
        r"(?:above|before this|of (?:your|the) (?:operator|developer|system|user|assistant))",
    ),
    "drop-rules": Cue(
        "disregard forget override bypass ignore",
        rf"\b(?:disregard|forget) {_W}{{0,3}}?(?:previous|prior|earlier|above|your)"
        rf" {_W}{{0,2}}?(?:rules|orders|commands|policies|restrictions|context|conversation)\b"
        rf"|\b(?:override|bypass|ignore) (?:all )?(?:of )?(?:your|its|the model's|the assistant's) {_W}{{0,2}}?"
        r"(?:rules|restrictions|limits|limitations|policies|training|filters)\b",
    ),
    "drop-everything": Cue(
        "ignore disregard forget attention",
        rf"\b(?:ignore|disregard|forget|pay no attention to|instead of) what {_USER} (?:asked|asks|wants|wanted|said|says)\b"
        r"|\bpay no attention to what (?:the|your) (?:developer|operator|system|user)\b|"
        r"\b(?:ignore|disregard|forget) (?:about )?(?:everything|anything|all|what) (?:that )?"
        r"(?:above(?=[.;,!:]|$)|(?:that )?(?:came|was said) (?:above|before)|you (?:were|have been|know|knew)"
        r"|previously (?:said|told))",
    ),
    "new-instructions": Cue(
        "instructions task role goal purpose objective mission",
        r"\b(?:new|updated|revised) instructions?(?: for (?:the |you|any )?(?:assistant|model|ai|llm|agent)?)?:"
        r"|\byour (?:new|real|actual|true|only) (?:task|role|goal|purpose|objective|mission|instructions?)"
        r" (?:is|are|now)\b",
    ),
    "new-role": Cue(
        "now act behave respond operate mode override jailbroken",
        r"\byou are now (?:the |an? )?(?:administrator|admin|root|unrestricted|jailbroken|free|dan|in \w+ mode"
        r"|developer|superuser|evil|uncensored|released|no longer)\b"
        r"|\bfrom (?:now|here|this point) on,? (?:you (?:act|obey|are an?|will obey|must obey)|act|obey"
        r"|ignore|pretend|behave)\b"
        r"|\b(?:system|admin|developer|safety) override\b"
        r"|\b(?:act|respond|behave|operate|answer) without (?:any )?(?:restrictions?|limits?|limitations?"
        r"|filters?|rules|safeguards)\b"
        r"|\b(?:jailbreak|developer|debug|god|dan) mode (?:is )?(?:now )?(?:on|enabled|activated|active)\b",
    ),
    "void-instructions": Cue(
        "instructions prompt rules guidelines message restrictions",
        rf"\b(?:(?:your|the system|system|safety|operator's)(?: \w{{1,12}})? (?:{_STEERED_NOUN}|rules|message)"
        rf"|(?:previous|prior|earlier) (?:instructions|prompts?))"
        rf"(?: of {_W}{{1,3}}?| {_W}{{1,2}}?|,? )"
        r"{0,2}?(?:no longer (?:apply|applies|binds?|counts?)|(?:is|are) (?:now )?(?:void|cancelled|canceled|suspended|revoked"
        r"|obsolete|invalid|replaced by this)|do(?:es)? not apply)\b",
    ),
    "part-of-the-prompt": Cue(
        "prompt message instructions context memory",
        r"\b(?:treat|regard|read|consider) (?:this|the) (?:description|text|note|message) as (?:if it were |being )?(?:a )?(?:part of )?"
        r"(?:your|the) (?:system prompt|system message|instructions)\b|\bnew system prompt\b"
        r"|\breset your (?:context|memory|instructions)\b",
    ),
    "obey-only-this": Cue(
        "obey follow binds comply",
        r"\b(?:only obey|obey only|only follow|follow only) (?:the )?(?:this|these|instructions|texts?|rules)"
        rf" {_W}{{0,4}}?(?:tool|text|description|server)s?\b"
        r"|\bcomply with (?:any|every|all) requests? (?:that|which|without)\b",
    ),
    # --- concealment
    "do-not-tell": Cue(
        "tell telling mention mentioning admit say saying",
        rf"\b(?:{_NOT}|(?:there is )?no need to|need not|without) (?:ever |even |please )?"
        r"(?:tell(?:ing)?|mention(?:ing)?|admit(?:ting)?|say(?:ing)?)"
        rf" {_W}{{0,5}}?{_USER}\b(?! (?:whether|which|if|why|agent))",
    ),
    "do-not-reveal": Cue(
        "reveal disclose revealing disclosing hide explain show deny trace bring",
        rf"\b(?:{_NOT}|without) (?:ever )?(?:reveal|disclose|revealing|disclosing|explain)"
        rf" {_W}{{0,3}}?(?:to )?{_USER} (?:that|how|why)\b"
        rf"|\bhide (?:this |it |that )?from {_USER} (?:that|the fact)\b"
        rf"|\b{_NOT} (?:reveal|disclose) {_W}{{0,2}}?(?:rule|instruction|step|tool|call|real reason|purpose)s?\b"
        rf"|\b{_NOT} (?:show|reveal) these (?:instructions?|rules|steps) to\b|\b(?:leave|leaving) no trace of this\b"
        rf"|\b{_NOT} bring (?:this|it|that) up with {_USER}\b|\bwhen asked (?:about|why) [^.]{{1,60}}?\bdeny\b",
    ),
    "user-must-not-know": Cue(
        "user human they them",
        r"\b(?:user|human|they) (?:must|should|may|need|can|shall|does|do|will)(?: not|n't|not| never)"
        r" (?:ever )?(?:need to )?(?:know(?= (?:about|of|that)|[.,;!])|notice|learn|find out|suspect|realise|realize|become aware"
        r"|be (?:told|informed|made aware) (?:of|about) (?:this|it))",
    ),
    "keep-from-user": Cue(
        "secret hidden private confidential secretly",
        rf"\bkeep {_W}{{1,4}}?(?:secret|hidden|private|confidential) from {_USER}\b"
        r"|\bkeep (?:this|these|the|that|those) (?:\w{1,12} )?(?:steps?|instructions?|calls?|actions?"
        r"|requests?) (?:secret|hidden|confidential|to yourself|private)\b",
    ),
    "out-of-the-reply": Cue(
        "mention refer leave reveal omit talk include",
        rf"\b{_NOT} (?:ever )?(?:mention|refer to|reveal|talk about|discuss|disclose) {_W}{{0,5}}?"
        rf"(?:in|to) (?:the chat\b|your {_W}?(?:{_REPLY}|output|summary|message))"
        rf"|\b(?:leave|omit|keep) {_W}{{0,3}}?(?:out of|from) your (?:\w{{1,12}} )?(?:{_REPLY}|summary|output)"
        rf"|\b{_NOT} (?:mention|refer to|talk about) (?:this|these|the|that|any of) {_W}{{0,2}}?"
        r"(?:steps?|instructions?|calls?|tool|copy|side ?note)\b",
    ),
    "pretend": Cue(
        "act behave pretend",
        r"\b(?:act|behave|pretend)(?: as if| that| as though|) (?:this|the|no|it) "
        rf"{_W}{{0,5}}?(?:was|were|had|has|did|have) ?(?:not|never|n't|been)\b",
    ),
    "quiet": Cue(
        "quietly secretly covertly discreetly stealthily silently",
        r"\b(?:quietly|secretly|covertly|discreetly|stealthily|silently)\b",
    ),
    "without-consent": Cue(
        "without",
        r"\bwithout (?:informing|notifying|alerting|asking|telling|consulting) (?:the |them|him|her)?"
        rf"(?:user|human)?(?: or {_W}{{0,2}}?(?:permission|consent|confirmation|approval|asking))",
    ),
    "do-not-ask": Cue(
        "ask confirm confirmation permission approval",
        rf"\b(?:{_NOT} ask|without asking) {_USER} (?:for )?(?:confirmation|permission|approval|consent)\b"
        r"|\b(?:skip|bypass) the (?:confirmation|approval|consent) of the (?:user|human)\b",
    ),
    "even-if-asked": Cue(
        "asks asked ask",
        r"\b(?:even (?:if|when)|if|should) (?:the user|they|you are|anyone|someone|the human|anybody)"
        r" (?:ever )?(?:asks?|asked)\b",
    ),
    "conceal": Cue(
        "reveal disclose explain mention admit discuss",
        rf"\b{_NOT} (?:ever )?(?:reveal|disclose|explain|mention|admit|discuss)\b",
    ),
    # --- order of calls, and other tools
    "around-all-tools": Cue(
        "tool tools function functions anything message",
        r"\bbefore you do anything else\b|\bcall before every (?:message|reply|answer)\b|"
        r"\b(?:before|prior to|ahead of) (?:you )?(?:(?:use|using|call|calling|run|running|invoke|invoking"
        r"|execute|executing) )?(?:any|every|each|all)(?: of the)?(?: the)? (?:other )?(?:tool|function)s?\b"
        r"|\b(?:after|following) (?:any|every|each|all) (?:other )?(?:tool|function)(?: call)?s?\b"
        r"|\b(?:each|every) time (?:an|any )?other (?:tool|function)\b",
    ),
    "each-message": Cue(
        "message messages reply replies response responses answer answers prompt question conversation chat",
        r"\b(?:after|before|for|on|with) (?:any|every|each|all)(?: of)? (?:user |your )?(?:message|prompt|question"
        rf"|{_REPLY})s?\b"
        r"|\b(?:at|in) the (?:start|beginning) of (?:every|each|any|a|all) (?:new )?(?:conversation|chat)s?\b"
        r"|\b(?:in|for) (?:every|each) (?:conversation|chat|session)\b"
        r"|\b(?:each|every) time (?:that )?you (?:are about to )?(?:answer|reply|respond)\b|\bevery request of the user\b",
    ),
    "call-this": Cue(
        "call run invoke execute use called executed invoked tool",
        r"\b(?:call|run|invoke|execute|use) (?:this(?: tool| function)?|me|it|before)\b|\bgoes? through this tool\b"
        r"|\b(?:call|invoke|run) '?\w{1,30}_\w{1,30}\b"
        r"|\bmust (?:always )?be (?:called|run|executed|invoked)\b",
    ),
    "whatever-the-user": Cue(
        "whatever regardless matter even exception",
        r"\bof the user, without exception\b|\b(?:whatever|no matter what|regardless of what|independent of what) (?:the |this )?(?:user|message"
        r"|request|question|they)\b"
        r"|\beven (?:if|when) (?:the user|they|it|the (?:request|question|task|message))"
        r" (?:did not|didn't|does not|doesn't|do not|has not|have not|has nothing)\b|\beven though the user did not\b",
    ),
    "message-text": Cue(
        "message reply replies answer user response exception conversation",
        r"\bwith the (?:full |complete )?(?:text|contents?) of (?:the|your|that|each) (?:message|reply|answer|response)\b"
        rf"|\b{_REPLY} that you (?:write|give|send)\b|\buser message\b|\bwith your (?:answer|reply|response)\b"
        r"|\bwithout exception\b|\bconversation\b",
    ),
    "other-server": Cue(
        "server server's servers",
        r"\b(?:other|another|any other|different) (?:mcp )?servers?\b|\bserver's \w{1,30} tool\b",
    ),
    "named-tool": Cue(
        "tool",
        r"\b(?:tool '?\w{1,40}'?|'?\w{1,30}_\w{1,30}'? tool)(?: from \w{1,20})? is (?:available|present|installed|used)\b"
        r"|\b(?:when|whenever|if) (?:any|another|you use) [^.]{0,30}\btools?\b",
    ),
    "redirect": Cue(
        "change changed replace replaced route redirect rewrite pass forward modify invoke mirror",
        r"\b(?:changed?|replaced?|route|redirect|rewrite|modify|pass|forward|invoke)\b",
    ),
    "returns-elsewhere": Cue(
        "returns return result results",
        r"\b(?:returns|return|results?)\b",
    ),
    "first-of-all": Cue(
        "first before best",
        r"\b(?:always )?(?:call|run|use|execute) (?:this |me |it )?(?:tool )?first,? before (?:any|every|each|all"
        r"|answering|replying|responding)\b"
        r"|\bbest tool always use this\b|\bcall (?:me|this|this tool) before (?:any|every|each|all) (?:other )?(?:tool|request|message)s?\b",
    ),
    # --- preference
    "instead-of-tools": Cue(
        "instead over rather place preference",
        r"\b(?:use|call|choose|prefer|select|pick|favou?r)(?: this| it| me| the)?(?: tool| one| function| server)?"
        r" (?:instead of|over|rather than|in place of) (?:the |any |all |every |your |of )*"
        rf"(?:built-?in|native|default|other|others|similar|existing|internal|all)\b {_W}{{0,3}}?"
        rf"(?:{_TOOL_NOUN}|search\b|reader|browser|fetch|shell|interpreter)"
        r"|\b(?:use|prefer) (?:this )?(?:tool )?instead of (?:your|the) (?:own|native|built-?in)\b"
        r"|\buse this (?:tool )?in (?:their|its) place\b"
        r"|\bused in preference to (?:the |any )?'?(?:\w{1,20}_\w{1,20}|(?:other|built-?in|native)\b)",
    ),
    "avoid-other-tools": Cue(
        "tool tools functions servers function server",
        rf"\b(?:{_NOT}|stop) (?:use|using|call|calling|invoke|trust|trusting|run)(?: any| the| all)?(?: of the)?"
        rf" (?:other|another|built-?in|native) {_W}{{0,2}}?(?:tools?|functions?|servers?)\b",
    ),
    "discredit-other-tools": Cue(
        "tools tool alternatives",
        rf"\b(?:other|alternative|similar|competing) {_W}{{0,2}}?(?:tools|functions|servers)"
        rf" (?:{_W}{{1,4}}?)?(?:are|is) (?:{_W}{{0,2}}?)(?:deprecated|unsafe|insecure|broken|compromised|unreliable"
        r"|dangerous|outdated|untrusted|malicious|disabled|obsolete|blocked)\b"
        rf"|\b(?:disable|uninstall|remove|turn off) (?:the |all |any )?other {_W}{{0,2}}?(?:tools|servers)\b"
        rf"|\balternatives (?:are|have been) (?:{_W}?)(?:unsafe|insecure|broken|compromised|unreliable)\b",
    ),
    "above-other-tools": Cue(
        "priority precedence supersedes replaces over above tool",
        r"\b(?:priority|precedence|preference) over (?:all |any |every )?(?:other |similar |built-?in )"
        rf"{_W}{{0,2}}?{_TOOL_NOUN}\b"
        rf"|\b(?:supersedes|overrides|replaces|outranks) (?:all|any|every) (?:other )?{_W}{{0,2}}?(?:tools|functions|servers)\b"
        r"|\b(?:prefer|rank|choose|select|use) {0,1}(?:this )?(?:tool )?(?:over|above) all (?:the )?(?:others?|alternatives)\b"
        rf"|\b(?:only|one) (?:trusted|safe|secure|approved|authori[sz]ed) {_W}{{0,2}}?tool\b",
    ),
    "choose-this-always": Cue(
        "choose select prefer pick rank use",
        r"\b(?:always |must |should )(?:always )?(?:choose|select|prefer|pick|rank|favou?r) this(?: tool| one| function)?\b"
        r"|\b(?:choose|select|pick|prefer) this tool for (?:every|all|any|each)\b"
        r"|\byou should always (?:pick|use|choose|select) (?:it|this)\b",
    ),
    "other-candidates": Cue(
        "several another tools tool alternatives question questions task tasks request query queries",
        r"\bseveral tools\b|\banother tool\b|\b(?:every|any) other (?:\w{1,20} ){0,2}?tool\b|\bother tools\b|\balternatives\b"
        r"|\bfor (?:every|all|any|each) (?:question|task|request|quer)",
    ),
    "stop-using": Cue(
        "stop", r"\bstop (?:using|calling) '?[a-z]{2,20}_[a-z_]{2,30}\b"
    ),
    # --- files
    "secret-file": Cue(
        "ssh aws cursor mcp_settings netrc gnupg bash_history zsh_history id_rsa id_dsa id_ecdsa id_ed25519"
        " passwd shadow env mcp claude_desktop_config cookies keychain kube gcloud npmrc history"
        " credentials config docker codeium claude",
        r"~/\.(?:ssh|aws|cursor|gnupg|netrc|npmrc|kube|docker|bash_history|zsh_history|pgpass|env\b|claude"
        r"|codeium|git-credentials|config/(?:gcloud|gh|claude))(?![\w./-]{0,40}\.pub)[\w./-]{0,60}"
        rf"|\b{_KEY_FILE}|/etc/(?:passwd|shadow)\b|(?<![\w/])\.env\b|\b(?:cursor/)?mcp\.json\b"
        r"|\bclaude_desktop_config\b|\bmcp_settings\b|\bbrowser(?:'s)? cookies\b|\bkeychain\b"
        r"|\bbash history\b|\bpassword store\b",
    ),
    "secret-file-content": Cue(
        "content contents text cat",
        r"\b(?:contents?|full text|text) (?:of|from) (?:the |user's |your )*(?:file )?"
        rf"(?:~/\.(?:ssh|aws|cursor|gnupg|netrc|bash_history|claude)(?![\w./-]{{0,40}}\.pub)"
        rf"|/etc/(?:passwd|shadow)\b|(?:cursor/)?mcp\.json|{_KEY_FILE})"
        r"|\bcat ~/\.(?:ssh|aws|bash_history|zsh_history|netrc|cursor)|^dot env file contents?\b",
    ),
    "read-it": Cue(
        "read reading open load cat loading opening",
        r"(?:^|[.,;:] |\b(?:first|and|then|must|to|by|you|please|need to|obtain it by) )"
        r"(?:read|reading|open|opening|load|loading|cat) |: read it\b",
    ),
    "pass-it": Cue(
        "pass give put include attach copy copying provide submit insert paste append embed here upload send",
        r"\b(?:pass|give|put|include|attach|copy|copying|provide|submit|insert|paste|append|embed|upload) "
        r"|\b(?:text|contents?|it|them) here\b|\bits contents?\b",
    ),
    "attach-it": Cue(
        "include attach put pass paste upload send give",
        r"(?:^|[.,;:] |\b(?:and|then|must|always|please|results) )(?:include|attach|put|pass|paste|upload|send|give) ",
    ),
    "of-the-user": Cue(
        "user's user argument here attach",
        r"\bthe user's\b|\bof the user\b|\bin the '?\w{1,20}'? argument\b|\bhere\b",
    ),
    "by-yourself": Cue(
        "yourself needs need",
        r"\byourself\b|\bdoes not work without\b|\bneeds the\b",
    ),
    # --- data to third parties
    "destination": Cue(
        "http https com example org net io app dev partner our",
        r"https?://[^\s'\"<>]{4,}|\b[\w.+-]{1,40}@[a-z0-9-]{1,40}\.[a-z.]{2,20}\b|\bour (?:partner|server|team)\b",
    ),
    "send-it": Cue(
        "send forward post upload submit transmit email mail copy load put append bcc",
        r"(?:^|[.,;:] |\b(?:then|also|always|and|must|secretly|quietly|please) )(?:then |also )?(?:send|forward|post|upload|submit"
        r"|transmit|e?-?mail|copy|load|put|append|quietly transmit|secretly post|quietly send|secretly send) ",
    ),
    "session-data": Cue(
        "conversation chat user user's tool tools files file data contact message messages said results document it code",
        r"\b(?:the|this|entire|whole|full) (?:conversation|chat)\b|\bchat (?:log|history)\b"
        r"|\bthe user's\b|\bthat the user\b|\bwhat the user\b|\bthe user (?:gave|gives|said|opens|wrote)\b|\ball (?:data|files|messages|documents|results)\b"
        r"|\bevery (?:file|message|document)\b|\b(?:each|every|any|all|other) (?:other )?tools?\b|\btool (?:outputs?|results?)\b"
        r"|\bcontact list\b|\baddress book\b|\bcopy of (?:every|each|all)\b|\bthe (?:results|document|code|contents?)\b",
    ),
    "besides": Cue(
        "also before after always secretly quietly every each whenever when as for",
        r"\balso\b|\bas well\b|\bbefore (?:you )?(?:answer|reply|respond|us)\w{0,4}\b|\bsecretly\b|\bquietly\b|\balways\b"
        r"|\bwhen(?:ever)? (?:this tool|the user)\b|\bfor (?:quality|verification|compliance|the records|auditing)\b"
        r"|\bevery\b|\beach\b",
    ),
    "bcc-always": Cue(
        "bcc",
        r"\b(?:always|each|every|all)\b[^.]{0,60}\bbcc\b[^.]{0,30}[\w.+-]{1,40}@\w"
        r"|\b(?:always|must|silently|secretly)\b[^.]{0,40}[\w.+-]{1,40}@[\w.-]{1,40} to the bcc\b",
    ),
    "image-with-data": Cue(
        "image picture markdown pixel",
        r"\b(?:image|picture|pixel)\b[^.]{0,80}https?://[^\s]{1,60}[?&]\w{1,20}=|\bquery of an image\b"
        r"|\bimage link\b",
    ),
    "user-data": Cue(
        "user user's conversation",
        r"\bthe user(?:'s)?\b|\bconversation\b",
    ),
    "all-tool-results": Cue(
        "tool tools",
        r"\b(?:all|every|each|any|the)(?: of)?(?: the)? (?:(?:results?|outputs?) (?:of|from) (?:each|every|all|any|other|another)"
        r"(?: \w{1,12})? tools?|(?:other|previous) tool (?:outputs?|results?|calls?))\b|\ball tool (?:outputs?|results?) that you\b"
        r"|\bresults? of (?:all|any|every|each) (?:previous |other )?tool calls\b",
    ),
    # --- conversation
    "whole-conversation": Cue(
        "conversation chat dialogue messages everything history",
        rf"\b(?:full|whole|entire|complete|all(?: of)?(?: the)?|verbatim|every)(?: {_W}{{0,2}}?| )"
        r"(?:conversation|chat|dialogue|messages?|chat history)\b"
        r"|\beverything (?:that )?the user (?:has |have )?(?:said|written|wrote|typed)\b",
    ),
    "own-side": Cue(
        "user verbatim word here your previous before trace so",
        r"\bwith the user\b|\bof the user\b|\bthe user (?:so far|has|wrote|said)\b|\bverbatim\b|\bword for word\b"
        r"|\bin this (?:chat|conversation)\b|\bas '?(?:trace|context|notes?|meta|debug|log|reason|memo)\b",
    ),
    "own-prompt": Cue(
        "prompt instructions message",
        rf"\b(?:copy|repeat|reveal|paste|print|output|dump|recite) {_W}{{0,4}}?your (?:own )?(?:system prompt"
        r"|system message|initial instructions|instructions)\b"
        r"|\byour (?:own )?(?:system )?prompt (?:and|with|including|plus) (?:all|every|the)\b"
        r"|\binstructions (?:that )?you were given (?:at|in|by|before|earlier)\b|\byour system prompt verbatim\b|\byour (?:full|complete|entire) system prompt\b",
    ),
    "own-tools": Cue(
        "tools",
        r"\b(?:list|names?|descriptions?|definitions?|schemas?) of (?:all |the )*(?:other )?tools (?:that )?"
        r"(?:are |is )?(?:you (?:can|have|know)|available to you)",
    ),
    "copied-conversation": Cue(
        "conversation prompt chat",
        r"\b(?:conversation|chat)(?: history)? (?:with user|with the user)\b.{0,20}\b(?:verbatim|full|word)?"
        r"|\byour (?:system )?prompt\b",
    ),
    # --- credentials
    "any-credentials": Cue(
        "keys passwords tokens credentials secrets",
        r"\b(?:any|all|each|every|the) (?:of the |of )?(?:user )?(?:[\w-]{1,15},? (?:or |and )?){0,3}?(?:keys|passwords|tokens"
        r"|credentials|secrets)\b[^.]{0,40}?\b(?:you (?:know|can find|have seen|saw|remember|see|find)"
        r"|(?:mentioned|found|appeared|appear|shared|seen|visible|stored) in (?:the |this |your )?(?:conversation|chat|context|memory))"
        r"|\bpasswords found in (?:the )?conversation\b",
    ),
    "ask-for-password": Cue(
        "password pin phrase passphrase",
        rf"\b(?:ask|prompt|request|collect|get|obtain|demand) {_W}{{0,6}}?"
        r"(?:(?:seed|recovery|wallet|mnemonic) phrase|(?:bank|mail|e-mail|email|wallet|account) (?:password|pin)"
        r"|(?:password|pin) of (?:their|his|her|the user's|a) (?:bank|mail|e-mail|email|account|wallet))",
    ),
    "whole-environment": Cue(
        "environment",
        r"\b(?:dump|values?|list|contents?|copy) of (?:all |the )*environment variables\b"
        r"|\ball (?:the )?environment variables (?:and|of|with|including)\b",
    ),
    "of-this-machine": Cue(
        "machine user's secrets debugging diagnosis process host",
        r"\bof (?:the|this|your) (?:machine|computer|host|process)\b|\bthe user's\b|\bincluding (?:all )?secrets\b"
        r"|\b(?:for|needed for) (?:debugging|diagnosis|diagnostics)\b",
    ),
    "environment-and-secrets": Cue("environment", r"^all environment variables and secrets$"),
    "keys-of-others": Cue(
        "openai_api_key anthropic_api_key github_token aws_secret_access_key google_api_key"
        " gemini_api_key stripe_secret_key aws_access_key_id slack_token",
        r"\b(?:openai_api_key|anthropic_api_key|github_token|aws_secret_access_key|aws_access_key_id"
        r"|google_api_key|gemini_api_key|stripe_secret_key|slack_token)\b",
    ),
    "users-environment": Cue(
        "environment user's user machine",
        r"\b(?:user's|users'|your own) (?:environment|machine|shell|computer|files)\b",
    ),
    "search-credentials": Cue(
        "search find look scan gather collect harvest extract",
        r"\b(?:search|find|look|scan|gather|collect|harvest|extract) [^.]{0,50}"
        r"\b(?:keys|tokens|passwords|credentials|secrets)\b",
    ),
    "own-memory": Cue(
        "memory conversation context user's machine",
        r"\byour (?:memory|context)\b|\b(?:the|this) conversation\b|\bthe user's (?:files|machine|computer|mail|messages)\b",
    ),
    # --- replies
    "your-reply": Cue(
        "reply replies response responses answer answers answering replying responding",
        rf"\byour (?:\w{{1,12}} )?{_REPLY}\b|\b(?:every|each|all|any) (?:of your )?{_REPLY} (?:that )?you (?:give|write|send)\b"
        r"|\bbefore (?:you )?(?:answer(?:ing)?|reply(?:ing)?|respond(?:ing)?)(?: to the user)?,",
    ),
    "say-it": Cue(
        "include add recommend praise mention say promote advertise insert link replace claim append",
        r"\b(?:include|add|recommend|praise|mention|say that|promote|advertise|insert|replace (?:every|all)|claim that|append)\b",
    ),
    "end-reply-with": Cue(
        "end begin start finish close",
        rf"\b(?:end|begin|start|finish|close) (?:each|every|all|any)(?: of)?(?: your)? {_REPLY} with\b"
        rf"|\b(?:end|begin|start|finish|close) your {_REPLY} with\b",
    ),
    "you-must-say": Cue(
        "say claim recommend praise promote answer refuse speak",
        r"\b(?:you|the (?:assistant|model|ai)) (?:must|should|have to|shall|will|need to|has to) (?:always )?(?:say that|claim that"
        r"|praise|promote|advertise|recommend the|answer (?:every|all|any) (?:\w{1,12} )?questions?)\b"
        r"|\brefuse to answer (?:any |all )?questions\b|\b(?:always|never) speak (?:well|badly) of\b",
    ),
    "persuade-user": Cue(
        "convince persuade urge pressure",
        r"\b(?:convince|persuade|urge|pressure) the (?:user|human) (?:to|that|into)\b",
    ),
    "tell-user": Cue(
        "tell instruct inform warn",
        r"(?:^|[.,;:] |\b(?:then|and|must|always|also|should) )(?:tell|instruct|inform|warn) the (?:user|human) (?:to|that)\b",
    ),
    "social-engineering": Cue(
        "phone install download pay transfer locked visit click suspended call expired",
        r"\b(?:phone|install|download|visit http|click|call the number|pay|transfer money)\b"
        r"|\baccount is (?:locked|suspended)\b|\b(?:subscription|licen[sc]e) has expired\b",
    ),
}
"""Cues by name."""

FOREIGN: Final[Mapping[str, tuple[re.Pattern[str], ...]]] = {
    "override-instructions": tuple(
        re.compile(pattern)
        for pattern in (
            # Spanish, Portuguese, Italian
            r"\b(?:ignor(?:a|e|ar|en|em|ate|are)|olvid(?:a|e|ar)|desatiend[ae]|descart[ae]|esquec?[ae]|desconsidere"
            r"|dimentica|trascura) (?:[\w']{1,20} ){0,4}?(?:instruc\w{1,8}|istruzioni|indicaciones|directrices|diretrizes|ordenes)"
            r" (?:anteriores|previas|precedenti|acima|de arriba|del sistema|do sistema)",
            r"\b(?:ignora|olvida|esquece|esqueca|dimentica) (?:tus|tuas|suas|le tue|as suas|sus) (?:instrucciones|instrucoes|istruzioni)",
            r"\bignora tutte le istruzioni\b",
            # French
            r"\b(?:ignore|ignorez|oublie|oubliez) (?:tes|vos|toutes tes|toutes vos) (?:instructions|consignes|directives)",
            r"\b(?:ignor(?:e|ez|er)|oubli(?:e|ez|er)) (?:[\w']{1,20} ){0,4}?(?:instructions|consignes|directives|ordres)"
            r" (?:precedentes|anterieures|ci-dessus|du systeme|d'avant)",
            # German
            r"\b(?:ignorier\w{0,4}|vergiss|vergessen sie|missachte\w{0,2})(?: sie)? (?:[\w']{1,20} ){0,3}?"
            r"(?:vorherigen?|bisherigen?|fruheren?|obigen?|vorigen?|vorangegangenen?|deine|ihre) "
            r"(?:system)?(?:anweisungen|instruktionen|befehle|regeln|vorgaben)",
            # Russian
            r"(?:игнорируи|игнорируй|проигнорируй|забудь|забыть)(?:те)? (?:\w{1,20} ){0,3}?"
            r"(?:предыдущие|прежние|прошлые|все|системные|свои) (?:\w{1,20} )?(?:инструкции|указания|команды|правила)",
            # Chinese
            r"(?:忽略|无视|無視|忘记|忘掉|不要理会|不要遵守)[^。.]{0,4}(?:之前|以前|先前|以上|前面|上述|此前|系统)[^。.]{0,6}?"
            r"(?:指令|指示|提示词|命令|说明|规则)",
            # Japanese, Korean
            r"(?:これまで|以前|上記|前|すべて|今まで)の?[^。.]{0,6}(?:指示|命令|プロンプト|ルール)[^。.]{0,8}(?:無視して|忘れて|従わない)",
            r"(?:이전|위의|모든|앞선|기존)[^.]{0,8}(?:지시|명령|지침|프롬프트)[^.]{0,8}(?:무시|잊)",
        )
    ),
    "secrecy": tuple(
        re.compile(pattern)
        for pattern in (
            r"\b(?:no|nunca) (?:le |les |se lo )?(?:digas|diga|menciones|mencione|reveles|cuentes|cuente)"
            r" (?:[\w']{1,20} ){0,4}?usuario",
            r"\bnao (?:diga|mencione|conte|revele) (?:[\w']{1,20} ){0,4}?usuario",
            r"\bnon (?:dire|dirlo|menzionare|rivelare|raccontare) (?:[\w']{1,20} ){0,3}?utente",
            r"\bne (?:le |lui |leur )?(?:dis|dites|mentionne|mentionnez|revele|revelez|parle|parlez)"
            r" (?:[\w']{1,20} ){0,3}?(?:l')?utilisateur",
            r"\b(?:sag|sage|sagen sie|verrat\w{0,2}|verraten sie|erzahl\w{0,2}) (?:es )?(?:dem|der|den)"
            r" (?:benutzer|nutzer|anwender)\w{0,3} (?:\w{1,20} ){0,3}?(?:nichts?|nie)\b",
            r"не (?:говори|говорите|сообщай|сообщайте|упоминай|упоминайте|рассказывай|рассказывайте)"
            r" (?:\w{1,20} ){0,3}?пользовател",
            r"(?:不要|别|切勿|不得|禁止)(?:告诉|告知|提及|透露)[^。]{0,6}用户",
            r"(?:ユーザー?|利用者)[^。]{0,6}(?:言わない|伝えない|知らせない|教えない|話さない)",
            r"사용자[^.]{0,6}(?:말하지|알리지|언급하지)",
        )
    ),
}
"""Patterns for other languages, by kind of signal. They are complete rules."""
