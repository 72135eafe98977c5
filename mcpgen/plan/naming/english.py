"""English verbs of operations and singulars of nouns, for the names of tools.

Published tool names depend on these rules; a stemmer (`mcpgen.search.words`) has other ones.
"""

from __future__ import annotations

from functools import lru_cache

VERBS = frozenset(
    {
        "abort", "accept", "acknowledge", "activate", "add", "adjust", "allow", "append",
        "apply", "approve", "archive", "assign", "attach", "authenticate", "authorize",
        "autocomplete", "await", "ban", "begin", "bind", "browse", "build", "calculate",
        "call", "cancel", "capture", "change", "charge", "check", "clean", "clear", "clone",
        "close", "commit", "compare", "compile", "complete", "compute", "configure", "confirm",
        "connect",
        "consume", "convert", "copy", "count", "create", "deactivate", "decline", "decode",
        "decrypt", "delete", "deny", "deploy", "deprecate", "describe", "destroy", "detach",
        "detect", "disable", "disconnect", "discover", "dismiss", "dispatch", "download",
        "duplicate", "edit", "enable", "encode", "encrypt", "enqueue", "ensure", "enter",
        "evaluate", "exchange", "execute", "expire", "explain", "export", "extract", "fetch",
        "find", "finish", "flush", "follow", "force", "generate", "get", "give", "grant",
        "handle", "hide", "identify", "ignore", "import", "increment", "initialize", "initiate",
        "insert", "install", "instantiate", "introspect", "invalidate", "invite", "invoke",
        "join", "kick", "kill", "launch", "leave", "link", "list", "load", "lock", "login",
        "logout", "lookup", "make", "mark", "match", "merge", "migrate", "modify", "move",
        "mute", "notify", "obtain", "open", "overwrite", "parse", "patch", "pause", "perform",
        "persist", "pick", "pin", "ping", "play", "poll", "populate", "prepare", "preview",
        "print", "process", "promote", "provide", "provision", "publish", "pull", "purchase",
        "purge", "push", "put", "query", "read", "rebuild", "recalculate", "receive", "recover",
        "redeem", "redeliver", "refresh", "refund", "regenerate", "register", "reindex",
        "reject", "release", "reload", "remove", "rename", "render", "renew", "reopen",
        "reorder", "replace", "replay", "reply", "report", "request", "reschedule", "resend",
        "reset", "resize", "resolve", "respond", "restart", "restore", "resume", "retrieve",
        "retry", "return", "revert", "revoke", "rotate", "run", "save", "scale", "scan",
        "search", "seek", "select", "send", "set", "share", "show", "shutdown", "sign",
        "simulate", "skip", "sort", "split", "start", "stop", "store", "submit", "subscribe",
        "suggest", "suspend", "swap", "switch", "sync", "synchronize", "terminate", "test",
        "toggle", "track", "transfer", "transform", "translate", "trigger", "unarchive",
        "unassign", "unban", "unblock", "undelete", "undeploy", "unfollow", "uninstall",
        "unlink", "unlock", "unmute", "unpin", "unpublish", "unregister", "unshare", "unstar",
        "unsubscribe", "unwatch", "update", "upgrade", "upload", "upsert", "use", "validate",
        "verify", "view", "void", "watch", "withdraw", "write",
    }
)  # fmt: skip
"""Verbs that begin the names of operations."""

_NOUNS_TOO = frozenset(
    {
        "build", "call", "change", "charge", "check", "commit", "copy", "count",
        "exchange", "force", "grant", "handle", "import", "invite", "link", "list",
        "lock", "mark", "match", "mute", "notify", "open", "pick",
        "pin", "play", "poll", "print", "process", "purchase", "query",
        "refund", "release", "report", "request", "return", "run", "scale", "scan",
        "set", "share", "show", "sign", "split", "start", "stop", "store", "suspend", "swap",
        "switch", "sync", "test", "track", "transfer", "trigger", "upgrade",
        "use", "view", "void", "watch",
    }
)  # fmt: skip


def is_verb(word: str) -> bool:
    """Check whether `word` may begin the name of an operation."""
    return word in VERBS


def is_only_verb(word: str) -> bool:
    """Check whether `word` is a verb but not a noun of APIs: true for "find", false for "check"."""
    return word in VERBS and word not in _NOUNS_TOO


def base_form(word: str) -> str:
    """Return the verb whose third person `word` is, or `word`: "creates" returns "create"."""
    for ending in ("es", "s"):
        stem = word.removesuffix(ending)
        if stem != word and stem in VERBS:
            return stem
    ies = word.removesuffix("ies")
    return f"{ies}y" if ies != word and f"{ies}y" in VERBS else word


_SINGULARS = {
    "addresses": "address", "aliases": "alias", "analyses": "analysis", "apis": "api",
    "atlases": "atlas", "axes": "axis", "biases": "bias", "bonuses": "bonus", "buses": "bus",
    "businesses": "business", "caches": "cache", "calves": "calf", "campuses": "campus",
    "canvases": "canvas", "censuses": "census", "children": "child", "consensuses": "consensus",
    "cookies": "cookie", "corpuses": "corpus", "crises": "crisis", "criteria": "criterion",
    "datasets": "dataset", "feet": "foot", "focuses": "focus", "gases": "gas", "geese": "goose",
    "halves": "half", "hypotheses": "hypothesis", "ids": "id", "indices": "index", "ips": "ip",
    "knives": "knife", "leaves": "leaf", "lenses": "lens", "lives": "life", "loaves": "loaf",
    "matrices": "matrix", "men": "man", "mice": "mouse", "movies": "movie", "niches": "niche",
    "people": "person", "pies": "pie", "quizzes": "quiz", "selfies": "selfie", "selves": "self",
    "shelves": "shelf", "statuses": "status", "surpluses": "surplus", "teeth": "tooth",
    "thieves": "thief", "ties": "tie", "uris": "uri", "urls": "url", "vertices": "vertex",
    "viruses": "virus", "vms": "vm", "wives": "wife", "wolves": "wolf", "women": "woman",
    "zombies": "zombie",
}  # fmt: skip
_NOT_PLURAL = frozenset(
    {
        "alias", "always", "analytics", "atlas", "aws", "barracks", "bias", "bios", "canvas",
        "chaos", "christmas", "corps", "cors", "css", "diagnostics", "dns", "economics",
        "electronics", "ethics", "gas", "gps", "graphics", "headquarters", "https", "ios",
        "jeans", "js", "kms", "kubernetes", "lens", "logistics", "mathematics", "means",
        "metadata", "mms", "news", "os", "overseas", "pancreas", "perhaps", "physics", "pos",
        "premises", "previous", "robotics", "rss", "sales", "scissors", "series", "settings",
        "sms", "sns", "species", "sqs", "statistics", "success", "tennis", "thanks", "this",
        "tls", "trousers", "vas", "vps", "was", "windows", "ws", "yes",
    }
)  # fmt: skip


@lru_cache(maxsize=8192)
def singular(word: str) -> str:
    """Return the singular of a plural noun, or `word` itself where that is not certain."""
    if word in _SINGULARS:
        return _SINGULARS[word]
    if len(word) < 4 or word in _NOT_PLURAL or not word.isalpha():
        return word
    if word.endswith(("ss", "us", "is", "ics")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y" if len(word) > 4 else word
    if word.endswith(("sses", "shes", "ches", "xes", "zzes", "tuses")):
        return word[:-2]
    if word.endswith("oes"):
        return word[:-2] if len(word) > 5 else word[:-1]
    return word.removesuffix("s")
