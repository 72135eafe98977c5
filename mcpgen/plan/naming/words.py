"""Words of identifiers: splitting, transliteration, English verbs and singulars."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache, lru_cache

from anyascii import anyascii

# Scripts in which some letters look like Latin ones.
_LOOK_ALIKES = ("ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "GREEK")
_WORD = re.compile(r"[^\W\d_]+|.", re.DOTALL)
# Unassigned code points (Cn) and private ones (Co) may be letters.
_LETTERS = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Co", "Cn"})
_MODIFIERS = frozenset({"Lm", "Mn", "Mc", "Me"})
_SIGNS = str.maketrans("", "", "'`")  # anyascii's spelling of a soft sign or an ayn


def transliterate(text: str) -> str:
    """Transliterate `text` to ASCII: drop accents, romanize letters of other scripts.

    A letter that looks like a Latin one inside a word with Latin letters becomes its code point
    between "_" ("_u430_"), and so does a letter without a known romanization.
    """
    return text if text.isascii() else "".join(_transliterate_characters(text))


def is_latin(text: str) -> bool:
    """Check whether every letter of `text` is Latin, so that its transliteration is unambiguous.

    Other scripts have several readings: Chinese characters in Japanese, for example.
    """
    return text.isascii() or all(
        unicodedata.name(character, "").startswith("LATIN ")
        for character in unicodedata.normalize("NFKC", text)
        if unicodedata.category(character) in _LETTERS
    )


def _transliterate_characters(text: str) -> Iterator[str]:
    for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
        has_ascii = any(character.isascii() for character in word)
        for character in word:
            name = unicodedata.name(character, "")
            is_disguised = has_ascii and name.startswith(_LOOK_ALIKES)
            yield _spell_code_point(character) if is_disguised else _transliterate(character)


def _spell_code_point(character: str) -> str:
    return f"_u{ord(character):x}_"


@cache
def _transliterate(character: str) -> str:
    """Transliterate one character; "" for a mark that only modifies the letter before it."""
    if character.isascii():
        return character
    romanized = anyascii(character)
    plain, category = romanized.translate(_SIGNS), unicodedata.category(character)
    if category[0] == "S":
        return f"_{plain}_"
    if romanized or category in _MODIFIERS:
        return plain
    return _spell_code_point(character) if category in _LETTERS or category[0] == "N" else "_"


VERSION = re.compile(r"v[0-9]+((alpha|beta|rc|p)[0-9]*|[a-z])?\Z")
"""A version as one word: "v1", "v2beta1", "v1p3"."""

# Terms whose inner capitals do not begin words; digits and a plural "s" may follow.
_TERMS = (
    "BigQuery", "BitBucket", "DDoS", "DevOps", "DoS", "DynamoDB", "ETag", "GitHub", "GitLab",
    "GraphQL", "IdP", "IoT", "IPsec", "IPv", "JavaScript", "LinkedIn", "MongoDB", "MySQL", "NoSQL",
    "OAuth", "OpenAPI", "OpenID", "PayPal", "PostgreSQL", "QoS", "SaaS", "TikTok", "TypeScript",
    "VoIP", "WebAuthn", "WhatsApp", "WiFi", "WordPress", "YouTube",
)  # fmt: skip
_CODES = ("2FA", "3DS", "A2A", "A2P", "B2B", "B2C", "C2C", "D2C", "E2E", "M2M", "P2P")
# These match only at the start of a word: the "oAuth" of "videoAuth" is not a term.
_LOWER_TERMS = (
    "eBay", "eSIM", "gRPC", "iCal", "iCloud", "iOS", "iPad", "iPhone", "macOS", "mTLS", "tvOS",
    "vCPU", "watchOS", *(term[0].lower() + term[1:] for term in _TERMS if len(term) > 3),
)  # fmt: skip
_TERM = re.compile(
    rf"(?<![A-Z])({'|'.join(_TERMS)})[0-9]*s?(?![a-z])"
    rf"|(?<![A-Za-z0-9])({'|'.join(_LOWER_TERMS)})[0-9]*s?(?![a-z])"
    rf"|(?<![A-Z0-9])({'|'.join(_CODES)})(?![a-z0-9])"
)
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s(?![a-z])")  # "IPs", "URLsOf"
_NUMBERED = re.compile(r"(?<![A-Za-z0-9])[0-9]+[A-Z]+(?![a-z])")  # "3D", "4K"
_ACRONYM = re.compile(r"([A-Z]+)([A-Z][a-z])")
_CAMEL = re.compile(r"([a-z0-9])([A-Z])")
_OTHER = re.compile(r"[^A-Za-z0-9]+")
_MAX_CHARACTERS = 1_000  # of a name that is split; every use of its words is shorter


def digest(text: str) -> str:
    """Return six hexadecimal digits that identify `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:6]


@lru_cache(maxsize=8192)
def split_words(text: str) -> tuple[str, ...]:
    """Split `text` into lower-case words of `[a-z0-9]`.

    Every separator ends a word, and so does a change to a capital letter: "floatingIPs" returns
    ("floating", "ips"), "OAuth2Client" ("oauth2", "client"), "getHTTPStatus" ("get", "http",
    "status"). Digits belong to the letters before them.
    """
    plain = transliterate(text[:_MAX_CHARACTERS])
    if plain != plain.lower():
        plain = _TERM.sub(lambda found: f"_{found[0].lower()}_", plain)
        for pattern in (_PLURAL_ACRONYM, _NUMBERED):
            plain = pattern.sub(lambda found: found[0].capitalize(), plain)
        plain = _CAMEL.sub(r"\1_\2", _ACRONYM.sub(r"\1_\2", plain))
    return tuple(word.lower() for word in _OTHER.split(plain) if word)


def keep_published_spelling(name: str, published: Collection[str]) -> str:
    """Return the one published name that differs from `name` only in its "_", else `name`.

    "oauth_token" returns a published "o_auth_token": the rules of splitting may change, a
    published name must not.
    """
    if name in published:
        return name
    letters = name.replace("_", "")
    same = [other for other in published if other.replace("_", "") == letters]
    return same[0] if len(same) == 1 else name


def snake_case(text: str) -> str:
    """Join the words of `text` by "_"; "" if it has none."""
    return "_".join(split_words(text))


VERBS = frozenset(
    """
    abort accept acknowledge activate add adjust allow append apply approve archive assign
    attach authenticate authorize autocomplete await ban begin bind browse build calculate call
    cancel capture change charge check clean clear clone close commit compare compile complete
    compute configure confirm connect consume convert copy count create deactivate decline
    decode decrypt delete deny deploy deprecate describe destroy detach detect disable
    disconnect discover dismiss dispatch download duplicate edit enable encode encrypt enqueue
    ensure enter evaluate exchange execute expire explain export extract fetch find finish flush
    follow force generate get give grant handle hide identify ignore import increment initialize
    initiate insert install instantiate introspect invalidate invite invoke join kick kill
    launch leave link list load lock login logout lookup make mark match merge migrate modify
    move mute notify obtain open overwrite parse patch pause perform persist pick pin ping play
    poll populate prepare preview print process promote provide provision publish pull purchase
    purge push put query read rebuild recalculate receive recover redeem redeliver refresh
    refund regenerate register reindex reject release reload remove rename render renew reopen
    reorder replace replay reply report request reschedule resend reset resize resolve respond
    restart restore resume retrieve retry return revert revoke rotate run save scale scan search
    seek select send set share show shutdown sign simulate skip sort split start stop store
    submit subscribe suggest suspend swap switch sync synchronize terminate test toggle track
    transfer transform translate trigger unarchive unassign unban unblock undelete undeploy
    unfollow uninstall unlink unlock unmute unpin unpublish unregister unshare unstar
    unsubscribe unwatch update upgrade upload upsert use validate verify view void watch
    withdraw write
    """.split()
)
"""Verbs that begin the names of operations."""

_NOUNS_TOO = frozenset(
    """
    build call change charge check commit copy count exchange force grant handle import invite
    link list lock mark match mute notify open pick pin play poll print process purchase query
    refund release report request return run scale scan set share show sign split start stop
    store suspend swap switch sync test track transfer trigger upgrade use view void watch
    """.split()
)


ONLY_VERBS = VERBS - _NOUNS_TOO
"""Verbs that are not also nouns of APIs: "find", but not "check"."""


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
    """
    alias always analytics atlas aws barracks bias bios canvas chaos christmas corps cors css
    diagnostics dns economics electronics ethics gas gps graphics headquarters https ios jeans
    js kms kubernetes lens logistics mathematics means metadata mms news os overseas pancreas
    perhaps physics pos premises previous robotics rss sales scissors series settings sms sns
    species sqs statistics success tennis thanks this tls trousers vas vps was windows ws yes
    """.split()
)


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
